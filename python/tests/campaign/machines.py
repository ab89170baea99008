"""Machines with something wrong: workers in mount namespaces of their own, beside a scheduler of their own, all processes of this test."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

#: A mount namespace, as root of a user namespace where that is allowed.
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"]


def needs_namespaces() -> pytest.MarkDecorator:
    """Return the mark of tests that need mount namespaces."""
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False)
    return pytest.mark.skipif(tried.returncode != 0, reason="this user cannot make mount namespaces")


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Machines:
    """A scheduler and workers as processes. All end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, name: str, words: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a process whose output goes to a file of this name."""
        log = (self.folder / f"{name}-{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            words, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **environment}, start_new_session=True
        )
        self.processes.append(process)
        return process

    def scheduler(self) -> subprocess.Popen[bytes]:
        """Start the scheduler, and wait until it listens."""
        process = self.start(
            "scheduler",
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(self.port),
                "--no-dashboard",
            ],
        )
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return process
            time.sleep(0.2)
        raise AssertionError("hung: the scheduler does not listen after five minutes")

    def worker(self, name: str, setup: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker with one thread; ``setup`` is what a shell does first, in a mount namespace of its own."""
        worker = f"exec {sys.executable} -m dask worker {self.address} --nthreads 1 --no-dashboard --no-nanny"
        words = [*NAMESPACE, "sh", "-ec", f"{setup}\n{worker}"] if setup else ["sh", "-ec", worker]
        scratch = self.folder / f"dask-{name}"
        return self.start(
            name, words, QUICLAB_CAMPAIGN_MACHINE=name, DASK_TEMPORARY_DIRECTORY=str(scratch), **environment
        )

    def end(self) -> None:
        """End all processes."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def machines(folder: Path) -> Iterator[Machines]:
    """Yield machines with a scheduler."""
    made = Machines(folder)
    try:
        made.scheduler()
        yield made
    finally:
        made.end()
