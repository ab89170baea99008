"""Bad days of real machines, with runs of the real command: memory and disks that are full, a store that is read-only or gone, a process
that hangs, a scheduler that is killed. QUICLAB_TESTS names the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from distributed import Client

from quiclab.campaign import Options, Outcome, campaign

from .conftest import comparable, same
from .machines import Machines, machines, needs_namespaces
from .test_real import COMMAND, ROOT, TRANSFERS, by_command

pytestmark = [pytest.mark.skipif(COMMAND is None, reason="QUICLAB_TESTS names no command"), needs_namespaces()]


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return an experiment of four transfers; workers get empty caches."""
    monkeypatch.setenv("QUICLAB", str(COMMAND))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python/src"))
    monkeypatch.chdir(ROOT)
    made = tmp_path / "transfers.toml"
    made.write_text(TRANSFERS)
    return made


def cache(folder: Path, name: str) -> dict[str, str]:
    """Return the environment of a worker with a cache of its own."""
    return {"QUICLAB_CACHE": str(folder / f"cache-{name}")}


def perform(made: Machines, file: Path, testbed: str, workers: int, **options: float) -> Outcome:
    """Perform the campaign when all workers are there."""
    with Client(made.address) as client:
        client.wait_for_workers(workers, timeout=120)
        words = ["--testbed", testbed]
        chosen = Options(**options)  # type: ignore[arg-type]
        return campaign(
            file, client, store=str(made.folder / "store"), out=made.folder / "out", words=words, options=chosen
        )


def is_that_of_one_process(folder: Path, file: Path, testbed: str) -> None:
    """Compare the results with those of one process that had no bad day."""
    same(by_command(file, folder / "one", "--testbed", testbed), comparable(folder / "out"))


@pytest.mark.parametrize("testbed", ["sim", "vm"])
@pytest.mark.parametrize("size", ["64k", "1m"])
def test_a_worker_without_room_in_dev_shm_makes_the_same_records(
    file: Path, tmp_path: Path, testbed: str, size: str
) -> None:
    with machines(tmp_path) as made:
        made.worker("a", f"mount -t tmpfs -o size={size},mode=1777 none /dev/shm", **cache(tmp_path, "a"))
        outcome = perform(made, file, testbed, 1)
    assert outcome.is_whole, outcome.failures
    is_that_of_one_process(tmp_path, file, testbed)


@pytest.mark.parametrize("testbed", ["sim", "vm"])
def test_a_disk_that_fills_up_during_a_run_moves_it_to_another_worker(file: Path, tmp_path: Path, testbed: str) -> None:
    full = tmp_path / "full"
    full.mkdir()
    # Room for the folders of a task, and for no record. The check before a task is switched off: it cannot know what a run needs.
    setup = f"mount -t tmpfs -o size=200k none {full}"
    with machines(tmp_path) as made:
        made.worker("full", setup, TMPDIR=str(full), QUICLAB_CAMPAIGN_LEAST_FREE="0", **cache(tmp_path, "full"))
        made.worker("b", **cache(tmp_path, "b"))
        outcome = perform(made, file, testbed, 2)
    assert outcome.is_whole, outcome.failures
    assert not outcome.failures
    is_that_of_one_process(tmp_path, file, testbed)


def test_a_cache_that_cannot_hold_what_a_run_needs_moves_it_to_another_worker(file: Path, tmp_path: Path) -> None:
    full = tmp_path / "cache-full"
    full.mkdir()
    with machines(tmp_path) as made:
        made.worker("full", f"mount -t tmpfs -o size=1m none {full}", **cache(tmp_path, "full"))
        made.worker("b", **cache(tmp_path, "b"))
        outcome = perform(made, file, "vm", 2)
    assert outcome.is_whole, outcome.failures
    is_that_of_one_process(tmp_path, file, "vm")


def test_a_store_that_one_worker_cannot_write_for_a_while_is_waited_for(file: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    # The worker sees the store read-only, and writable again after 20 s.
    setup = f"mount --bind {store} {store}\nmount -o remount,bind,ro {store}\n(sleep 20; mount -o remount,bind,rw {store}) &"
    with machines(tmp_path) as made:
        start = time.monotonic()
        made.worker("a", setup, **cache(tmp_path, "a"))
        outcome = perform(made, file, "sim", 1, retries=0)
    assert outcome.is_whole, outcome.failures
    # Nothing can be stored before, however long the worker takes to start.
    assert time.monotonic() - start > 20
    is_that_of_one_process(tmp_path, file, "sim")


def test_a_store_that_is_gone_for_a_while_is_waited_for(file: Path, tmp_path: Path) -> None:
    store, away = tmp_path / "store", tmp_path / "away"
    moved = []

    def move() -> None:
        while not list(store.glob("records/*/*.tar.gz")):
            time.sleep(0.05)
        store.rename(away)
        moved.append(True)
        time.sleep(15)
        away.rename(store)

    mover = threading.Thread(target=move, daemon=True)
    with machines(tmp_path) as made:
        made.worker("a", **cache(tmp_path, "a"))
        mover.start()
        outcome = perform(made, file, "sim", 1)
    mover.join()
    assert moved and outcome.is_whole, outcome.failures
    is_that_of_one_process(tmp_path, file, "sim")


def test_a_run_whose_process_is_stopped_is_ended_and_made_again(file: Path, tmp_path: Path) -> None:
    stopped: list[int] = []

    def stop() -> None:
        while not stopped:
            for process in psutil.process_iter(["cmdline", "pid"]):
                words = process.info["cmdline"] or []
                if (
                    "perform" in words
                    and str(os.getpid()) not in words
                    and any(str(tmp_path) in word for word in words)
                ):
                    os.kill(process.info["pid"], signal.SIGSTOP)
                    stopped.append(process.info["pid"])
                    return
            time.sleep(0.02)

    stopper = threading.Thread(target=stop, daemon=True)
    with machines(tmp_path) as made:
        for name in "ab":
            made.worker(name, TMPDIR=str(tmp_path), **cache(tmp_path, name))
        stopper.start()
        outcome = perform(made, file, "sim", 2, task_timeout_s=10)
    assert stopped and outcome.is_whole, outcome.failures
    # Where the other worker was faster, it ends with its worker.
    # Minutes only end a hang.
    deadline = time.monotonic() + 300
    while Path(f"/proc/{stopped[0]}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{stopped[0]}").exists()
    is_that_of_one_process(tmp_path, file, "sim")


def test_a_scheduler_that_is_killed_ends_the_command_and_the_same_command_goes_on(file: Path, tmp_path: Path) -> None:
    file.write_text(TRANSFERS.replace("repetitions = 2", "repetitions = 40"))
    words = [sys.executable, "-m", "quiclab.campaign", str(file), "--testbed", "sim", "--batch", "1"]
    words += ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    with machines(tmp_path) as made:
        made.worker("a", **cache(tmp_path, "a"))
        words += ["--scheduler", made.address]
        command = made.start("command", words)
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "store").glob("records/*/*.tar.gz"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(made.processes[0].pid, signal.SIGKILL)
        assert command.wait(timeout=150) not in (0, None)
        log = (tmp_path / "command-2.log").read_text()
        assert "Traceback" not in log, log
        there = len(list((tmp_path / "store").glob("records/*/*.tar.gz")))
        assert 3 <= there < 80
        made.end()
        made.scheduler()
        made.worker("a", **cache(tmp_path, "a"))
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert f"80 runs, {there} of them have a record" in done.stderr
    is_that_of_one_process(tmp_path, file, "sim")
