"""The runs of a campaign: planned by the command, kept in a file, so that 100,000 of them fit into little memory."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclab.campaign import archive, machine
from quiclab.campaign.store import Store, digest_of

#: Testbeds whose records depend on the machine.
REAL_TIME = frozenset({"netns", "hosts"})


class PlanError(RuntimeError):
    """The command refused the experiment; its message says why."""


@dataclass
class Plan:
    """What is to be performed.

    Attributes:
        header: the first line of ``quiclab run --dry-run --needs``.
        file: the other lines, one for each run.
        ids: identities of the runs, in their order.
        names: names of their records.
        groups: by run: its place in ``header["groups"]``.
        offsets: by run: where its line begins in the file, in bytes.
    """

    header: dict[str, Any]
    file: Path
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def lines(self, places: list[int]) -> list[str]:
        """Return the lines of some runs."""
        found = []
        with self.file.open("rb") as file:
            for place in places:
                file.seek(self.offsets[place])
                found.append(file.readline().decode().rstrip("\n"))
        return found

    @property
    def is_of_models(self) -> bool:
        """Whether the runs are flows of models, which take milliseconds."""
        return bool(self.offsets) and json.loads(self.lines([0])[0])["run"].get("kind") == "scenario"


def plan(command: Path, words: list[str], folder: Path) -> Plan:
    """Let the command plan an experiment and make what its runs need.

    Args:
        command: the command ``quiclab``.
        words: the experiment file and options of ``quiclab run``.
        folder: where the plan's file goes.

    Raises:
        PlanError: if the command fails.
    """
    path = folder / "plan.jsonl"
    with path.open("wb") as out, tempfile.TemporaryFile() as err:
        status = subprocess.run(
            [str(command), "run", *words, "--dry-run", "--needs"], stdout=out, stderr=err, check=False
        )  # noqa: S603
        if status.returncode != 0:
            err.seek(0)
            raise PlanError(err.read().decode(errors="replace").strip())
    return read(path)


def read(path: Path) -> Plan:
    """Read the lines of ``quiclab run --dry-run --needs``."""
    with path.open("rb") as file:
        header = json.loads(file.readline())
        if header.get("schema") != 1:
            raise PlanError(
                f"{path}: found the schema {header.get('schema')!r}, expected 1: is quiclab of another version than this package?"
            )
        found = Plan(header, path)
        seen = set()
        while True:
            offset = file.tell()
            line = file.readline()
            if not line:
                return found
            row = json.loads(line)
            if row["id"] in seen:
                continue
            seen.add(row["id"])
            found.ids.append(row["id"])
            found.names.append(row["name"])
            found.groups.append(row["group"])
            found.offsets.append(offset)


def pack_lines(lines: list[str]) -> bytes:
    """Return lines for a task. The scheduler keeps a few tasks of each worker in memory, and lines of one plan differ little."""
    return zlib.compress("".join(f"{line}\n" for line in lines).encode(), 1)


def unpack_lines(packed: bytes) -> str:
    """Return the text that :func:`pack_lines` made of lines."""
    return zlib.decompress(packed).decode()


def upload(found: Plan, store: Store, command: Path, work: Path) -> tuple[str, str]:
    """Put what workers need into the store, as far as it is not there; return name and SHA-256 of the object that lists it."""
    header = dict(found.header)
    programs = {}
    for name, facts in header["programs"].items():
        programs[name] = {"sha256": facts["sha256"]}
        _once(store, f"programs/{facts['sha256']}", Path(facts["path"]))
    header["programs"] = programs
    stacks = Path(header.pop("stacks"))
    cache = Path(header.pop("cache"))
    header["stacks_name"] = stacks.name
    campaign: dict[str, Any] = {"header": header, "things": {}, "sources": None}
    if any(group["stacks"] for group in header["groups"]):
        campaign["sources"] = _upload_sources(store, stacks, work)
    for name, facts in header["things"].items():
        campaign["things"][name] = _upload_thing(store, cache, name, facts["sums_sha256"], work)
    client = machine.Machine(
        machine.name(), machine.cpu_model(), header["quiclab"], digest_of(command), machine.qemu_version()
    )
    campaign["client"] = client.as_dict()
    content = json.dumps(campaign, sort_keys=True).encode()
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"campaigns/{sha256}.json"
    _once(store, name, content)
    return name, sha256


def _once(store: Store, name: str, content: bytes | Path) -> None:
    if not store.exists(name):
        store.put(name, content)


def _upload_sources(store: Store, stacks: Path, work: Path) -> dict[str, Any]:
    """Pack the folder of the stacks, and that of the kernels beside it, as they are in a clone."""
    top = work / "sources"
    for folder in (stacks, stacks.parent / "kernel", stacks.parent / "stacks" / "contract-rust"):
        to = top / folder.relative_to(stacks.parent)
        if folder.is_dir() and not to.exists():
            shutil.copytree(folder, to, ignore=shutil.ignore_patterns(*archive.NOT_SOURCE))
    packed = archive.pack(top, archive.NOT_SOURCE)
    shutil.rmtree(top)
    sha256 = hashlib.sha256(packed).hexdigest()
    _once(store, f"sources/{sha256}.tar.gz", packed)
    return {"object": f"sources/{sha256}.tar.gz", "sha256": sha256, "top": "sources"}


def _upload_thing(store: Store, cache: Path, name: str, sums: str, work: Path) -> dict[str, Any]:
    """Pack a cached thing. Its archive is named after the hashes of its files; a small object beside it has the archive's own hash."""
    base = f"things/{name.replace('/', '~')}-{sums[:16]}"
    if store.exists(f"{base}.json"):
        known: dict[str, Any] = json.loads(store.get(f"{base}.json"))
        return known
    packed = work / "thing.tar.gz"
    archive.pack_thing(cache, name, packed)
    facts = {"object": f"{base}.tar.gz", "sha256": store.put(f"{base}.tar.gz", packed), "bytes": packed.stat().st_size}
    store.put(f"{base}.json", json.dumps(facts).encode())
    packed.unlink()
    return facts
