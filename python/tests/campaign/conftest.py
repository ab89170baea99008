"""A fake command, a cache and a store for each test, and small local clusters."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster, Nanny, Scheduler  # noqa: F401 - Nanny is used by tests

HERE = Path(__file__).parent


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the fake command, which workers find through their environment."""
    command = tmp_path / "bin" / "quiclab"
    command.parent.mkdir()
    body = (HERE / "fake_quiclab.py").read_text().split("\n", 1)[1]
    command.write_text(f"#!{sys.executable}\n{body}")
    command.chmod(0o755)
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("QUICLAB", str(command))
    monkeypatch.setenv("QUICLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)]))
    return command


def experiment(folder: Path, **spec: object) -> Path:
    """Write an experiment for the fake command."""
    file = folder / "x.toml"
    file.write_text(json.dumps(spec))
    return file


def thing(cache: Path, name: str, content: bytes) -> None:
    """Put a thing into a cache as quiclab lists it."""
    (cache / name).mkdir(parents=True)
    (cache / name / "content").write_bytes(content)
    (cache / name / "sums").write_text(f"{hashlib.sha256(content).hexdigest()} content")


@contextlib.contextmanager
def cluster(*environments: dict[str, str]) -> Iterator[Client]:
    """Yield a client of workers, each with an environment of its own."""
    from distributed import SpecCluster

    def spec(environment: dict[str, str]) -> dict[str, Any]:
        options = {"nthreads": 1, "env": environment, "death_timeout": 60}
        return {"cls": Nanny, "options": options}

    workers = {number: spec(environment) for number, environment in enumerate(environments)}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0}}
    with SpecCluster(workers=workers, scheduler=scheduler) as made, Client(made) as client:
        client.wait_for_workers(len(environments), timeout=120)
        yield client


def machine(name: str, **more: str) -> dict[str, str]:
    """Return the environment of a worker that says it is another machine."""
    return {"QUICLAB_CAMPAIGN_MACHINE": name, **more}


@contextlib.contextmanager
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of a bucket of a server of this machine, and what the environment of workers needs for it."""
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    _, port = server.get_host_and_port()
    keys = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    # One of another server would be found again by its arguments, which do not include the address.
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("quiclab-tests")
    try:
        yield "s3://quiclab-tests", keys
    finally:
        server.stop()


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def comparable(out: Path) -> dict[str, bytes]:
    """Return the files of a results folder, without those that say how long this machine took."""
    return {
        name: content for name, content in contents(out).items() if not name.startswith(".") and name != "costs.json"
    }


def same(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    """Compare folders; name what differs."""
    differing = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    assert not differing, differing


@contextlib.contextmanager
def killing(client: Client, every_s: float, is_wanted: bool = True) -> Iterator[list[int]]:
    """Kill a worker every so many seconds; yield the numbers of those that were killed."""
    ended = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while not ended.wait(every_s):
            with contextlib.suppress(Exception):
                # A worker that is just coming back does not answer.
                pids = list(client.run(os.getpid, on_error="ignore").values())
                os.kill(pid := random.choice(pids), signal.SIGKILL)  # noqa: S311
                killed.append(pid)

    killer = threading.Thread(target=kill)
    if is_wanted:
        killer.start()
    try:
        yield killed
    finally:
        ended.set()
        if is_wanted:
            killer.join()
