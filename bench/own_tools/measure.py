"""Runs one own tool, or `quiclab perf`, and says what goodput it had.

An own tool runs over the loopback of a network namespace, as the endpoints of `quiclab perf` do: its server on one CPU, its client
on another one.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from recipes import Missing, need

PORT = 4433
# Between two looks at the counters of the loopback. `quiclab perf` looks at its progress every 20 ms.
LOOK_SECONDS = 0.01
# What a handshake, a request and its headers stay below, and the last acknowledgements too.
LITTLE_BYTES = 64 << 10
START_SECONDS = 20
# A tool gets this many times the seconds that it should take, and these seconds.
PATIENCE = 10
MORE_SECONDS = 30
# iperf3 ends a little early.
ENOUGH = 0.9


class Failed(Exception):
    """A test that came to nothing."""


class Loopback:
    """A network namespace with nothing but a loopback. It ends with this program."""

    def __enter__(self):
        need("unshare", "nsenter", "ip", "taskset")
        command = ["unshare", "--map-root-user", "--net", "sh", "-c", "ip link set lo up && echo up && exec cat"]
        self.holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "up\n":
            raise Missing(f"a network namespace: {self.holder.stderr.read().strip()}")
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()

    def enter(self, cpu, command):
        inside = ["nsenter", "--target", str(self.holder.pid), "--user", "--net", "--preserve-credentials"]
        return [*inside, "taskset", "--cpu-list", str(cpu), *map(str, command)]

    def of_holder(self, name):
        return Path(f"/proc/{self.holder.pid}/net/{name}").read_text()

    def bytes(self):
        """What has gone over the loopback so far."""
        line = next(line for line in self.of_holder("dev").splitlines() if line.lstrip().startswith("lo:"))
        return int(line.split(":")[1].split()[0])

    def has_server(self):
        """Whether a socket of UDP, or one of TCP that listens, has the port."""
        for name in ("udp", "udp6", "tcp", "tcp6"):
            for line in self.of_holder(name).splitlines()[1:]:
                fields = line.split()
                if int(fields[1].rsplit(":", 1)[1], 16) == PORT and (name.startswith("udp") or fields[3] == "0A"):
                    return True
        return False


class Process:
    """A program of an own tool, and the lines that it prints."""

    def __init__(self, place, cpu, program):
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "RUST_BACKTRACE": "0", **program.environment}
        self.lines, self.status, self.cpu_seconds = [], None, 0.0
        self.process = subprocess.Popen(
            place.enter(cpu, program.command), cwd=program.folder, env=environment, stdin=quiet,
            stdout=quiet if program.prints_body else subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            process_group=0)
        pipes = [pipe for pipe in (self.process.stdout, self.process.stderr) if pipe]
        self.readers = [threading.Thread(target=self.read, args=(pipe,), daemon=True) for pipe in pipes]
        for reader in self.readers:
            reader.start()

    def read(self, pipe):
        with pipe:
            self.lines.extend(iter(pipe.readline, ""))

    def said(self):
        for reader in self.readers:
            reader.join(1)
        return "".join(self.lines)

    def has_ended(self):
        """Whether it has, with `status` and `cpu_seconds` then."""
        if self.status is None:
            process, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if process:
                self.status = os.waitstatus_to_exitcode(status)
                self.cpu_seconds = used.ru_utime + used.ru_stime
                self.process.returncode = self.status
        return self.status is not None

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        while not self.has_ended():
            time.sleep(0.001)


def last_words(text):
    return " / ".join(line.strip() for line in text.strip().splitlines()[-3:])[-300:] or "it printed nothing"


def own(tool, size, cpus, seconds):
    """One transfer of `size` bytes from the tool's server to its client."""
    with Loopback() as place, tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        server = Process(place, cpus[0], tool.server(Path(scratch), size))
        try:
            until = time.monotonic() + START_SECONDS
            while not place.has_server():
                if server.has_ended() or time.monotonic() > until:
                    raise Failed(f"the server did not start: {last_words(server.said())}")
                time.sleep(0.02)
            done = client_of(tool, size, cpus[1], place, Path(scratch), server, seconds)
        finally:
            server.end()
        return {**done, "server_cpu_ns_per_byte": server.cpu_seconds * 1e9 / done["bytes"]}


def client_of(tool, size, cpu, place, scratch, server, seconds):
    looks = [(time.monotonic(), place.bytes())]
    client = Process(place, cpu, tool.client(scratch, size))
    try:
        until = looks[0][0] + PATIENCE * seconds + MORE_SECONDS
        while not client.has_ended():
            looks.append((time.monotonic(), place.bytes()))
            if looks[-1][0] > until:
                raise Failed(f"the client did not end; {looks[-1][1]} bytes went over the loopback: {last_words(client.said())}")
            time.sleep(LOOK_SECONDS)
        looks.append((time.monotonic(), place.bytes()))
    finally:
        client.end()
    said = client.said()
    if client.status != 0:
        raise Failed(f"the client exited with {client.status}: {last_words(said)}; server: {last_words(server.said())}")
    printed = tool.printed(said) if tool.printed else (size, between(looks))
    if not printed or min(printed) <= 0:
        raise Failed(f"found no time in what the client printed: {last_words(said)}")
    count, elapsed = printed
    carried = looks[-1][1] - looks[0][1]
    if carried < count or count < ENOUGH * size:
        raise Failed(f"only {carried} bytes went over the loopback, {count} arrived, of {size}: {last_words(said)}")
    return {"bytes": count, "seconds": elapsed, "seconds_by_loopback": between(looks), "bits_per_second": count * 8 / elapsed,
            "client_cpu_ns_per_byte": client.cpu_seconds * 1e9 / count}


def between(looks):
    """Seconds from the last look before the first byte of the body to the first look with the last one."""
    first, last = looks[0][1] + LITTLE_BYTES, looks[-1][1] - LITTLE_BYTES
    began = max(at for at, count in looks if count <= first)
    ended = min(at for at, count in looks if count >= last)
    return max(ended - began, LOOK_SECONDS)


def quiclab(program, tool, size, cpus, more, seconds):
    """The same transfer by `quiclab perf`."""
    command = [program, "perf", "--reverse", "--bytes", f"{size} B", "--json", "--cpus", f"{cpus[0]},{cpus[1]}", *tool.quiclab, *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * seconds + MORE_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed("quiclab perf did not end") from None
    if done.returncode != 0:
        # Each test has a folder of its own; without it the same reason is the same text.
        said = re.sub(r"/\S*/quiclab-try-\w+", "", done.stderr)
        raise Failed(f"quiclab perf exited with {done.returncode}: {last_words(said)}")
    end = json.loads(done.stdout)["end"]
    received = end["sum_received"]
    if not received["bits_per_second"]:
        raise Failed("quiclab perf: too few bytes for a rate")
    return {"bytes": received["bytes"], "seconds": received["seconds"], "bits_per_second": received["bits_per_second"],
            **{f"{side}_cpu_ns_per_byte": (end["quiclab"][name] or {}).get("cpu_ns_per_byte")
               for side, name in (("server", "sender"), ("client", "receiver"))}}


def fill(path, size):
    """A file of zeros: real ones, not a hole, because some servers map it into memory."""
    zeros = bytes(1 << 20)
    with open(path, "wb") as file:
        for _ in range(size >> 20):
            file.write(zeros)
        file.write(zeros[:size & 0xFFFFF])
    return path


def version_of(program):
    """What a program says to --version, on one line."""
    if not shutil.which(program):
        raise Missing(f"`{program}` was not found: build quiclab first")
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return said.splitlines()[0] if said else "unknown"
