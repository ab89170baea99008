"""Whoever is killed: the same command goes on, and the folder is the same, byte for byte."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from quiclab.campaign import Options, campaign

from .conftest import cluster, contents, experiment, killing, machine


def test_workers_that_are_killed_change_nothing(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=40, seconds=0.3)
    with cluster(*[machine(name) for name in "abcd"]) as client:
        assert campaign(file, client, store=str(tmp_path / "one"), out=tmp_path / "quiet").is_whole
        with killing(client, 2) as killed:
            assert campaign(file, client, store=str(tmp_path / "two"), out=tmp_path / "killed").is_whole
    assert killed
    assert contents(tmp_path / "quiet") == contents(tmp_path / "killed")
    assert not [name for name in (tmp_path / "two").rglob(".aside-*") if name.stat().st_mtime > time.time()]


def test_a_client_that_is_killed_goes_on_where_it_was(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=15, seconds=0.3)
    words = ["--local", "2", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "quiclab.campaign", str(file), *words]
    kills = 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        deadline = time.monotonic() + 120
        before = len(records(tmp_path))
        while process.poll() is None and len(records(tmp_path)) < before + 5 and time.monotonic() < deadline:
            time.sleep(0.1)
        if process.poll() is not None:
            break
        # The scheduler is in the client's process; workers are its children.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert process.stderr is not None
    assert process.wait(timeout=120) == 0, process.stderr.read().decode()[-2000:]
    assert kills >= 2
    shutil.rmtree(tmp_path / "store")
    with cluster(machine("a")) as client:
        campaign(file, client, store=str(tmp_path / "store"), out=tmp_path / "quiet", options=Options(batch=5))
    assert contents(tmp_path / "out") == contents(tmp_path / "quiet")
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]


def records(folder: Path) -> list[Path]:
    """Return the records in the store."""
    return list((folder / "store").glob("records/*/*.tar.gz"))
