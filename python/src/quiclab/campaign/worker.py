"""What a worker does: performs the runs of one task, and puts their records into the store.

Nothing here is compiled or installed: what a run needs is in the worker's cache, or comes from the store and has the hash that the campaign
says.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from quiclab import _command
from quiclab.campaign import archive, machine
from quiclab.campaign.answer import COMPARED, MOST_FAILURE
from quiclab.campaign.machine import Machine, RefusedError
from quiclab.campaign.plan import unpack_lines
from quiclab.campaign.store import Store, digest_of

#: Bytes that must be free where a task works.
LEAST_FREE_BYTES = 256 << 20
PREFIX = "quiclab-campaign-"


class TaskError(RuntimeError):
    """A task failed in a way that another worker, or the same one later, may not."""


class HangingError(TaskError):
    """A task took longer than its limit and was ended."""


def record_object(identity: str) -> str:
    """Return the name of a record in the store."""
    return f"records/{identity[:2]}/{identity}.tar.gz"


@functools.lru_cache(maxsize=4)
def _store(place: str) -> Store:
    return Store(place)


@functools.lru_cache(maxsize=4)
def _header(place: str, name: str, sha256: str) -> dict[str, Any]:
    content = _store(place).get(name)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise TaskError(f"{name}: found the SHA-256 {found}, expected {sha256}")
    header: dict[str, Any] = json.loads(content)
    return header


def cache_folder() -> Path:
    """Return quiclab's cache on this machine, as the command finds it."""
    if folder := os.environ.get("QUICLAB_CACHE"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "quiclab"
    return Path.home() / ".cache/quiclab"


def perform_task(task: dict[str, Any]) -> dict[str, Any]:
    """Perform the runs of a task.

    Args:
        task: ``store``: address; ``header``: name and SHA-256 of the campaign's object; ``group``: number of the group of stacks;
            ``lines``: the runs as ``quiclab run --needs`` prints them, packed by :func:`.plan.pack_lines`; ``timeout_s``; ``keep``: whether
            records go to the store.

    Returns:
        ``machine``; ``seconds`` of the whole task and of ``perform`` in it; ``rows``: for each run its ``id``, ``name``, ``failure`` (or None),
        ``cost``, ``sha256`` of its archive, and ``files``: the SHA-256 of what is compared.

    Raises:
        RefusedError: if this machine cannot make these records.
        TaskError: if something failed that may not fail elsewhere.
    """
    start = time.monotonic()
    store = _store(task["store"])
    campaign = _header(task["store"], *task["header"])
    command = find_command(store, campaign)
    here = this_machine(command)
    machine.refuse(here, campaign["header"], campaign["client"])
    work = make_work_folder()
    try:
        stacks = fetch_sources(store, campaign)
        for thing in campaign["header"]["groups"][task["group"]]["needs"]:
            fetch_thing(store, campaign, thing)
        perform_start = time.monotonic()
        said = perform(command, task, campaign, stacks, work, store)
        perform_s = time.monotonic() - perform_start
        keep = task.get("keep", True)
        rows = [finish(store, row, work, keep and len(said) == 1) for row in said]
        batch = put_batch(store, rows, work) if keep and len(said) > 1 else None
    except OSError as error:
        if isinstance(error, TaskError):
            raise
        raise TaskError(f"{here.name}: {error!r}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    good = [row for row in rows if row["failure"] is None]
    if keep and good:
        note = {
            "machine": here.as_dict(),
            "batch": batch,
            "rows": [{key: row[key] for key in ("id", "files")} for row in good],
        }
        store.put(f"made/{good[0]['id']}-{len(good)}.json", json.dumps(note).encode())
    return {"machine": here.as_dict(), "seconds": time.monotonic() - start, "perform_seconds": perform_s, "rows": rows}


def this_machine(command: Path) -> Machine:
    """Return the facts of this machine. They are asked for once in each process: QEMU does not change under a worker."""
    return _machine(str(command), command.stat().st_mtime_ns, machine.name())


@functools.lru_cache(maxsize=4)
def _machine(command: str, _changed_ns: int, name: str) -> Machine:
    path = Path(command)
    return Machine(name, machine.cpu_model(), machine.version_of(path), digest_of(path), machine.qemu_version())


def make_work_folder() -> Path:
    """Make a folder for a task, and remove those that dead workers of this machine left.

    Raises:
        TaskError: if the disk is full.
    """
    base = Path(tempfile.gettempdir())
    for left in base.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(left, ignore_errors=True)
    free = shutil.disk_usage(base).free
    least = int(os.environ.get("QUICLAB_CAMPAIGN_LEAST_FREE", LEAST_FREE_BYTES))
    if free < least:
        raise TaskError(
            f"{machine.name()}: {base}: found {free >> 20} MiB free, expected at least {least >> 20} MiB; set TMPDIR, or free some"
        )
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))


def find_command(store: Store, campaign: dict[str, Any]) -> Path:
    """Return the command of the campaign: this machine's if it has the same bytes, else that of the store.

    Raises:
        RefusedError: if this machine has another version installed.
    """
    programs = campaign["header"]["programs"]
    try:
        own = _command.find()
    except _command.CommandNotFoundError:
        own = None
    if own is not None:
        if all(_same(own.with_name(name), facts["sha256"]) for name, facts in programs.items()):
            return own
        version = machine.version_of(own)
        if version != campaign["header"]["quiclab"]:
            raise RefusedError(
                f"quiclab: found version {version} on {machine.name()} ({own}), expected {campaign['header']['quiclab']} as on "
                f"{campaign['client']['name']}; install the same version on both"
            )
    folder = cache_folder() / "campaign" / "-".join(facts["sha256"][:16] for facts in programs.values())
    with _lock(folder.with_suffix(".lock")):
        for name, facts in programs.items():
            path = folder / name
            if path.is_file() and _same(path, facts["sha256"]):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            aside = folder / f".{name}-{os.getpid()}"
            store.fetch(f"programs/{facts['sha256']}", aside, facts["sha256"])
            aside.chmod(0o755)
            aside.rename(path)
    return folder / "quiclab"


@functools.lru_cache(maxsize=16)
def _digest_once(path: str, _facts: tuple[tuple[int, int], ...]) -> str:
    return digest_of(Path(path))


def _same(path: Path, sha256: str) -> bool:
    try:
        facts = path.stat()
    except OSError:
        return False
    return _digest_once(str(path), (facts.st_size, facts.st_mtime_ns, facts.st_ino)) == sha256


class _lock:  # noqa: N801 - it is used as a function
    """A lock between the workers of a machine, which the kernel frees when its process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


def fetch_sources(store: Store, campaign: dict[str, Any]) -> Path | None:
    """Return the folder of the stacks as the campaign has it; None where no stacks are needed."""
    sources = campaign.get("sources")
    if sources is None:
        return None
    folder = cache_folder() / "campaign" / f"sources-{sources['sha256'][:16]}"
    if not folder.is_dir():
        with _lock(folder.with_suffix(".lock")):
            if not folder.is_dir():
                packed = store.get(sources["object"])
                if hashlib.sha256(packed).hexdigest() != sources["sha256"]:
                    raise TaskError(f"{sources['object']}: its SHA-256 is not {sources['sha256']}")
                aside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
                archive.unpack(packed, aside)
                aside.rename(folder)
    return folder / str(sources["top"]) / str(campaign["header"]["stacks_name"])


def fetch_thing(store: Store, campaign: dict[str, Any], name: str, again: bool = False) -> None:
    """Make sure that this machine's cache has a thing with the hashes of the campaign."""
    cache = cache_folder()
    place = cache / name
    expected = campaign["header"]["things"][name]["sums_sha256"]
    if not again and _same(place / "sums", expected):
        return
    with _lock(cache / "campaign" / f"{name.replace('/', '-')}.lock"):
        if not again and _same(place / "sums", expected):
            return
        if place.exists():
            damaged = cache / "campaign" / f"damaged-{name.replace('/', '-')}-{time.time_ns()}"
            place.rename(damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        facts = campaign["things"][name]
        packed = cache / "campaign" / f".fetched-{name.replace('/', '-')}-{os.getpid()}"
        try:
            store.fetch(facts["object"], packed, facts["sha256"])
            archive.unpack_thing(
                packed, cache, name, {"archive": store.path(facts["object"]), "sha256": facts["sha256"]}
            )
        finally:
            packed.unlink(missing_ok=True)
        if digest_of(place / "sums") != expected:
            raise TaskError(f"{place}: what the store has under this name has other hashes than the campaign")


def perform(
    command: Path, task: dict[str, Any], campaign: dict[str, Any], stacks: Path | None, work: Path, store: Store
) -> list[dict[str, Any]]:
    """Run ``quiclab tools perform`` for the lines of a task, once more if a cached thing proves damaged."""
    words = [str(command), "tools", "perform", "-", "--records", str(work / "records"), "--no-build"]
    # By the command itself: code of Python between fork and exec costs 10 ms, and can hang in a process with threads.
    words += ["--with-parent", str(os.getpid())]
    words += ["--wall-timeout", str(max(1, int(task["timeout_s"])))]
    lines = unpack_lines(task["lines"])
    if stacks is not None:
        words += ["--stacks", str(stacks)]
    for attempt in (1, 2):
        status, out, err = run_bounded(words, lines, task["timeout_s"], work)
        rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        if status in (0, 1) and len(rows) == lines.count("\n"):
            return rows
        damaged = damaged_thing(err, campaign)
        if attempt == 1 and damaged is not None:
            fetch_thing(store, campaign, damaged, again=True)
            continue
        if "it was planned with other versions" in err:
            raise RefusedError(f"{machine.name()}: {err.strip()[-1000:]}")
        raise TaskError(f"{machine.name()}: quiclab tools perform ended with {status}: {err.strip()[-1000:]}")
    raise AssertionError("the last attempt returns or raises")


def damaged_thing(said: str, campaign: dict[str, Any]) -> str | None:
    """Return the name of the cached thing that the command calls damaged, if it does."""
    if not re.search(r"is damaged", said):
        return None
    return next(
        (
            name
            for name in campaign["header"]["things"]
            if f"/{name} " in said or f"/{name}:" in said or f" {name};" in said
        ),
        None,
    )


def run_bounded(words: list[str], given: str, timeout_s: float, work: Path) -> tuple[int, str, str]:
    """Run a program in a process group of its own, which ends after ``timeout_s`` on the monotonic clock.

    Raises:
        HangingError: if it took longer; nothing of its group is left.
    """
    environment = {**os.environ, "TMPDIR": str(work)}
    process = subprocess.Popen(  # noqa: S603
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
    )
    try:
        out, err = process.communicate(given, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise HangingError(f"{machine.name()}: the task took longer than {timeout_s:g} s and was ended") from error
    finally:
        if process.poll() is None or timeout_s <= 0:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, out, err


def put_batch(store: Store, rows: list[dict[str, Any]], work: Path) -> dict[str, Any] | None:
    """Put the records of several runs into the store as one object: of short runs, objects cost more than the runs.

    Returns:
        its name and SHA-256; None if all runs failed.
    """
    good = [row for row in rows if row["failure"] is None]
    if not good:
        return None
    folder = work / "batch"
    folder.mkdir()
    for row in good:
        (work / "records" / row["name"]).rename(folder / row["name"])
    packed = archive.pack(folder)
    name = f"batches/{hashlib.sha256(packed).hexdigest()[:32]}.tar.gz"
    return {"object": name, "sha256": store.put(name, packed)}


def finish(store: Store, row: dict[str, Any], work: Path, keep: bool) -> dict[str, Any]:
    """Put the record of a run into the store; return what the client is told of it."""
    done = {
        "id": row["id"],
        "name": row["name"],
        "failure": row.get("failure") and str(row["failure"])[:MOST_FAILURE],
        "cost": row.get("cost"),
        "sha256": None,
        "files": {},
    }
    if row["record"] is None:
        return done
    folder = work / "records" / row["name"]
    done["files"] = {name: digest_of(folder / name) for name in COMPARED if (folder / name).is_file()}
    if keep:
        done["sha256"] = store.put(record_object(row["id"]), archive.pack(folder))
    return done
