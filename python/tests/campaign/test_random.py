"""Answers, notes and archives that are changed at random places: refused with the error that says so, or what they were said to be."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import random
import tarfile
from pathlib import Path
from typing import Any

import pytest

from quiclab.campaign import answer, archive
from quiclab.campaign.store import DamagedError

from .test_hostile import HASH, MACHINE, RUNS, said

#: How often each test changes something; more with QUICLAB_RANDOM.
ROUNDS = int(os.environ.get("QUICLAB_RANDOM", "2000"))
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**64,
    10**400,
    1e999,
    -0.0,
    "",
    "x" * 2000,
    "../x",
    "\ud800",
    "\0",
    [],
    [[]],
    {},
    {"a": 1},
    HASH,
]

NOTE: dict[str, Any] = {
    "machine": MACHINE,
    "batch": {"object": f"batches/{'0' * 32}.tar.gz", "sha256": HASH},
    "rows": [{"id": "0123456789abcdef", "files": {"run.toml": HASH}}],
}


def places(value: object) -> list[tuple[Any, Any]]:
    """Return every container within a value, with every key of it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inside for place in [(value, key), *places(each)]]


def changed(value: object, draw: random.Random) -> bytes:
    """Return it as JSON, with some values and some bytes changed."""
    value = copy.deepcopy(value)
    for _ in range(draw.randint(0, 2)):
        found = places(value)
        if not found:
            break
        container, key = draw.choice(found)
        if draw.random() < 0.2:
            del container[key]
        elif isinstance(container, dict) and draw.random() < 0.2:
            container[draw.choice(["", "../x", "wire.pcapng", "id"])] = container[key]
        else:
            container[key] = draw.choice(VALUES)
    content = bytearray(json.dumps(value).encode())
    for _ in range(draw.choice([0, 0, 1, 2])):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return bytes(content)


def test_an_answer_is_refused_or_is_one_about_its_runs() -> None:
    draw, read = random.Random(1), 0
    for _ in range(ROUNDS):
        content = changed(said(files={"run.toml": HASH}), draw)
        try:
            found = answer.read(content, RUNS)
        except answer.AnswerError as error:
            assert len(str(error)) < 1000 and str(error).isprintable(), content
            continue
        read += 1
        assert found == json.loads(content) and [row["id"] for row in found["rows"]] == list(RUNS), content
        [row] = found["rows"]
        assert row["name"] == "fake-0" and set(row["files"]) <= set(answer.COMPARED), content
        assert 0 <= found["seconds"] <= answer.MOST_SECONDS and len(found["machine"]["name"]) <= answer.MOST_FACT
    assert read > ROUNDS / 10


def test_a_note_is_refused_or_leads_nowhere_else() -> None:
    draw, read = random.Random(2), 0
    for _ in range(ROUNDS):
        content = changed(NOTE, draw)
        try:
            found = answer.note("made/x.json", content)
        except DamagedError:
            continue
        read += 1
        assert found["batch"] is None or found["batch"]["object"].startswith("batches/"), content
        assert all(row["id"].isalnum() and ".." not in str(row["files"]) for row in found["rows"]), content
    assert read > ROUNDS / 10


def record() -> bytes:
    """Return an unpacked archive with a record, as workers pack it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as packed:
        folder = tarfile.TarInfo("r")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        packed.addfile(folder)
        for name in ("r/run.toml", "r/logs/\u00e9" + "x" * 120, "r/wire.pcapng"):
            info = tarfile.TarInfo(name)
            info.size = 5
            packed.addfile(info, io.BytesIO(b"hello"))
    return made.getvalue()


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """Return an archive of which some headers are changed, with right checksums mostly, cut or compressed with faults."""
    content = bytearray(whole)
    for _ in range(draw.randint(1, 3)):
        start = draw.choice([at for at in range(0, len(content), 512) if content[at + 257 : at + 262] == b"ustar"])
        # Name, mode, length, kind, target of a link, prefix; or the block behind, which may be an extended header.
        at, length = draw.choice([(0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (345, 155), (512, 60)])
        if draw.random() < 0.3 and at != 156:
            text = draw.choice(
                [b"../../x", b"/etc/passwd", b"r/../../x", b"-1", b"77777777777", b"\x80" + b"\xff" * 11, b"r"]
            )
            content[start + at : start + at + length] = text[:length].ljust(length, b"\0")
        else:
            content[start + at + draw.randrange(length)] = draw.choice([*b"0123456789xgLKS\0/.", draw.randrange(256)])
        header = content[start : start + 512]
        header[148:156] = b" " * 8
        if draw.random() < 0.9:
            content[start + 148 : start + 156] = b"%06o\0 " % sum(header)
    packed = bytearray(
        gzip.compress(bytes(content[: draw.choice([None, None, None, draw.randrange(len(content))])]), 1)
    )
    if draw.random() < 0.1:
        packed[draw.randrange(len(packed))] ^= 1 << draw.randrange(8)
    return bytes(packed)


def test_a_record_is_refused_or_unpacked_within_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "HARMLESS_BYTES", 1 << 20)
    draw, whole, unpacked = random.Random(3), record(), 0
    for number in range(ROUNDS // 4):
        packed, out = damaged(whole, draw), tmp_path / str(number)
        try:
            archive.place_whole(packed, out, "r")
        except (archive.ArchiveError, OSError):
            assert list(out.iterdir()) == [], number
        else:
            unpacked += 1
            assert [each.name for each in out.iterdir()] == ["r"], number
            found = [each for each in out.rglob("*") if not each.is_dir()]
            assert all(each.is_file() and not each.is_symlink() for each in found), number
            assert sum(each.stat().st_size for each in found) <= archive.most_bytes(packed), number
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(map(str, range(ROUNDS // 4)))
    assert unpacked > ROUNDS / 100
