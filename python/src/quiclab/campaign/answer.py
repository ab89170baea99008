"""What workers say, as JSON, and what of it is believed: nothing whose type, length or place is not the expected one.

A worker that lies can still invent records. It can also do more than that: Dask's own messages are pickles, and whoever sends one to a client
or a scheduler can let it execute code. What is checked here keeps a broken or a confused worker from doing harm by its answers, and names it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from quiclab.campaign.machine import Machine
from quiclab.campaign.store import DamagedError

#: The files that tell whether two records are the same; docs/reference/record.md says why these.
COMPARED = ("run.toml", "wire.pcapng", "path.json", "metrics.json")
#: Bytes of an answer, and for each of its runs besides.
MOST_BYTES, MOST_BYTES_OF_RUN = 64 << 10, 128 << 10
#: Characters of a text about a machine, and of why a run failed.
MOST_FACT, MOST_FAILURE = 1000, 100_000
#: Bytes of a note in the store.
MOST_NOTE_BYTES = 64 << 20
#: No task takes longer, in s.
MOST_SECONDS = 1e9

SHA256 = re.compile(r"[0-9a-f]{64}")
IDENTITY = re.compile(r"[0-9a-f]{16}")
BATCH = re.compile(r"batches/[0-9a-f]{32}\.tar\.gz")


class AnswerError(ValueError):
    """An answer that is not what a worker of this version says; the message has the place in it."""


def read(answer: object, expected: dict[str, str]) -> dict[str, Any]:
    """Return what a worker says of a task.

    Args:
        answer: bytes, as :func:`.schedule.on_worker` returns them.
        expected: the names of the records of the task's runs, by the runs' identities.

    Raises:
        AnswerError: for anything else than an answer about these runs.
    """
    most = MOST_BYTES + len(expected) * MOST_BYTES_OF_RUN
    found = _object(_parse(answer, most), "the answer", {"machine", "seconds", "perform_seconds", "rows"})
    _machine(found["machine"])
    for name in ("seconds", "perform_seconds"):
        _check(_is_seconds(found[name]), name, found[name], f"seconds from 0 to {MOST_SECONDS:g}")
    rows = _list(found["rows"], "rows", len(expected))
    for place, row in enumerate(rows):
        _row(row, f"rows[{place}]", expected)
    identities = [row["id"] for row in rows]
    _check(sorted(identities) == sorted(expected), "rows", identities, "each run of the task once")
    return found


def _row(row: object, place: str, expected: dict[str, str]) -> None:
    fields = _object(row, place, {"id", "name", "failure", "cost", "sha256", "files"})
    _check(_is_text(fields["id"], 16) and fields["id"] in expected, f"{place}.id", fields["id"], "a run of the task")
    name = expected[fields["id"]]
    _check(fields["name"] == name, f"{place}.name", fields["name"], repr(name))
    failure, sha256, cost = fields["failure"], fields["sha256"], fields["cost"]
    _check(failure is None or _is_text(failure, MOST_FAILURE), f"{place}.failure", failure, "null or a text")
    _check(sha256 is None or _is_hash(sha256), f"{place}.sha256", sha256, "null or a SHA-256")
    _check(cost is None or isinstance(cost, dict), f"{place}.cost", cost, "null or an object")
    _files(fields["files"], f"{place}.files")


def note(name: str, content: bytes) -> dict[str, Any]:
    """Return a note of the store about who made which records.

    Raises:
        DamagedError: for anything else than such a note.
    """
    try:
        found = _object(_parse(content, MOST_NOTE_BYTES), "the note", {"machine", "batch", "rows"})
        _machine(found["machine"])
        if found["batch"] is not None:
            batch = _object(found["batch"], "batch", {"object", "sha256"})
            named = batch["object"]
            _check(_is_text(named, 64) and bool(BATCH.fullmatch(named)), "batch.object", named, "batches/HASH.tar.gz")
            _check(_is_hash(batch["sha256"]), "batch.sha256", batch["sha256"], "a SHA-256")
        for place, row in enumerate(_list(found["rows"], "rows", None)):
            fields = _object(row, f"rows[{place}]", {"id", "files"})
            identity = fields["id"]
            is_identity = _is_text(identity, 16) and bool(IDENTITY.fullmatch(identity))
            _check(is_identity, f"rows[{place}].id", identity, "an identity of 16 hexadecimal digits")
            _files(fields["files"], f"rows[{place}].files")
    except AnswerError as error:
        raise DamagedError(f"{name}: {error}; remove it, and the records that it is about are made again") from None
    return found


def machine_name(said: object) -> str | None:
    """Return the name that a worker says its machine has; None where it is no name."""
    return said if isinstance(said, str) and len(said) <= MOST_FACT else None


def _parse(content: object, most: int) -> object:
    _check(isinstance(content, bytes), "the answer", content, "bytes with JSON")
    assert isinstance(content, bytes)
    if len(content) > most:
        raise AnswerError(f"found {len(content)} bytes, expected at most {most}")
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"found no JSON ({error}), expected an object") from None
    return found


def _machine(value: object) -> None:
    fields = _object(value, "machine", set(Machine.__dataclass_fields__))
    for name, fact in fields.items():
        is_fact = _is_text(fact, MOST_FACT) or (name == "qemu" and fact is None)
        _check(is_fact, f"machine.{name}", fact, f"a text of at most {MOST_FACT} characters")


def _files(value: object, place: str) -> None:
    _check(isinstance(value, dict), place, value, "an object")
    assert isinstance(value, dict)
    for name, sha256 in value.items():
        _check(name in COMPARED, place, name, f"one of {', '.join(COMPARED)}")
        _check(_is_hash(sha256), f"{place}.{name}", sha256, "a SHA-256")


def _object(value: object, place: str, keys: set[str]) -> dict[str, Any]:
    _check(isinstance(value, dict) and set(value) == keys, place, value, f"an object of {', '.join(sorted(keys))}")
    assert isinstance(value, dict)
    return value


def _list(value: object, place: str, length: int | None) -> list[Any]:
    _check(isinstance(value, list) and length in (None, len(value)), place, value, f"a list of {length or 'objects'}")
    assert isinstance(value, list)
    return value


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and bool(SHA256.fullmatch(value))


def _is_seconds(value: object) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # A comparison first: an integer may be too long for a float. Not-a-number fails it.
    return is_number and 0 <= value <= MOST_SECONDS  # type: ignore[operator]


def _check(is_good: bool, place: str, found: object, expected: str) -> None:
    if not is_good:
        shown = ascii(found)
        shown = shown if len(shown) <= 100 else f"{shown[:100]}..."
        raise AnswerError(f"{place}: found {shown}, expected {expected}")
