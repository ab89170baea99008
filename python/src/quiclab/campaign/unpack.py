"""Unpacks the records of a campaign into its results folder, with a process for each of some cores: for short runs this takes longer than the runs.

As a program, it reads JSON lines, each the arguments of `place_object`.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiclab.campaign import archive
from quiclab.campaign.store import DamagedError, Store

#: Below so many objects, processes cost more than they save.
FEW_OBJECTS = 200
MOST_PROCESSES = 16


class UnpackError(OSError):
    """A process that unpacks records failed; its message says why."""


def place_object(store: Store, out: Path, name: str, sha256: str | None, records: list[str]) -> None:
    """Unpack the records of an object of the store to where they are not yet.

    Args:
        store: the store.
        out: the results folder.
        name: the object.
        sha256: the hash that it must have, of one with several records in a folder ``batch``; None for one with a single record.
        records: the records that are wanted.

    Raises:
        DamagedError: if it has another hash.
    """
    packed = store.get(name)
    if sha256 is None:
        [record] = records
        archive.place_whole(packed, out, record)
        return
    if hashlib.sha256(packed).hexdigest() != sha256:
        raise DamagedError(f"{store.path(name)}: its SHA-256 is not {sha256}; remove it and its notes in made/")
    with tempfile.TemporaryDirectory(prefix=".campaign-", dir=out) as aside:
        archive.unpack(packed, Path(aside), "batch")
        for record in records:
            if not (out / record).is_dir():
                (Path(aside) / "batch" / record).rename(out / record)


def place_objects(store: Store, out: Path, objects: Sequence[dict[str, Any]]) -> None:
    """Unpack many objects: ``name``, ``sha256``, ``records`` of each as in `place_object`.

    Raises:
        UnpackError: if a process fails.
    """
    if len(objects) < FEW_OBJECTS:
        for each in objects:
            place_object(store, out, **each)
        return
    count = min(MOST_PROCESSES, os.cpu_count() or 1)
    command = [sys.executable, "-m", "quiclab.campaign.unpack", store.place, str(out)]
    processes = []
    for number in range(count):
        said = tempfile.TemporaryFile()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said, text=True)
        processes.append((process, said, objects[number::count]))
    for process, _, share in processes:
        assert process.stdin is not None
        try:
            process.stdin.writelines(json.dumps(each) + "\n" for each in share)
            process.stdin.close()
        except BrokenPipeError:
            # It says why below.
            process.kill()
    for process, said, _ in processes:
        status = process.wait()
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
        said.close()
        if status != 0:
            raise UnpackError(f"unpacking records into {out} failed: {text.splitlines()[-1] if text else status}")


def main(place: str, out: str) -> None:
    """Unpack what standard input says."""
    store = Store(place)
    # All of it before the first: whoever writes to several processes must not wait for one of them.
    for line in sys.stdin.readlines():
        place_object(store, Path(out), **json.loads(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
