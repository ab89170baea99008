"""Trust: which runs are performed twice, and whose records are marked where they differ."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


def chosen(identities: list[str], share: float, seed: int = 0) -> list[str]:
    """Return the runs to repeat: each by chance ``share``, which its identity and the seed decide; at least one if the share is not 0."""
    if share <= 0 or not identities:
        return []
    rank = {
        identity: int(hashlib.sha256(f"{seed}:{identity}".encode()).hexdigest()[:16], 16) / 2**64
        for identity in identities
    }
    return [identity for identity in identities if rank[identity] < share] or [min(identities, key=rank.__getitem__)]


@dataclass
class Verdict:
    """What came of a run that was performed on several machines.

    Attributes:
        identity: the run.
        differing: names of the files that differ.
        minority: the machines (as dictionaries) whose record differs from that of most; empty where two disagree and there is no third.
        made_by: every machine, with the hashes of its files.
    """

    identity: str
    differing: list[str] = field(default_factory=list)
    minority: list[dict[str, Any]] = field(default_factory=list)
    made_by: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether all records are the same, byte for byte."""
        return not self.differing

    def told(self) -> str:
        """Return the difference and both machines in a few words."""
        from quiclab.campaign.machine import told

        machines = " and ".join(told(facts) for facts, _ in self.made_by)
        return f"run {self.identity}: {', '.join(self.differing)} differ between {machines}"


def judge(identity: str, made_by: list[tuple[dict[str, Any], dict[str, str]]]) -> Verdict:
    """Compare the records of one run.

    Args:
        identity: the run.
        made_by: for each attempt the machine and the SHA-256 of its compared files by name; two or three.
    """
    names = sorted({name for _, files in made_by for name in files})
    differing = [name for name in names if len({files.get(name) for _, files in made_by}) > 1]
    verdict = Verdict(identity, differing, made_by=made_by)
    if differing and len(made_by) > 2:
        keys = [tuple(sorted(files.items())) for _, files in made_by]
        usual, count = Counter(keys).most_common(1)[0]
        if count > 1:
            verdict.minority = [machine for (machine, _), key in zip(made_by, keys, strict=True) if key != usual]
    return verdict


def share_of(text: str) -> float:
    """Return ``1%`` as 0.01.

    Raises:
        ValueError: for anything but a percentage from 0 % to 100 %; a bare number could mean either.
    """
    number = text.strip()
    if not number.endswith("%"):
        raise ValueError(f"--verify: found {text!r}, expected a percentage such as 1%")
    share = float(number[:-1]) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"--verify: found {text!r}, expected 0% to 100%")
    return share
