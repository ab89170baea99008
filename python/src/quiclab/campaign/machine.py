"""What a machine is, and whether it may perform the runs of a campaign."""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shutil
import socket
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class RefusedError(RuntimeError):
    """This machine cannot make the records of this campaign; another one may."""


@dataclass(frozen=True)
class Machine:
    """A machine, as its differences are reported.

    Attributes:
        name: its host name, or ``QUICLAB_CAMPAIGN_MACHINE``.
        cpu: its CPU model.
        quiclab: version of the command.
        quiclab_sha256: the command's SHA-256.
        qemu: version of QEMU; None where there is none.
    """

    name: str
    cpu: str
    quiclab: str
    quiclab_sha256: str
    qemu: str | None

    def told(self) -> str:
        """Return it in a line."""
        qemu = f"QEMU {self.qemu}" if self.qemu else "no QEMU"
        return f"{self.name} ({self.cpu}, quiclab {self.quiclab}, {qemu})"

    def as_dict(self) -> dict[str, str | None]:
        """Return its fields."""
        return asdict(self)


def name() -> str:
    """Return the name of this machine in reports."""
    return os.environ.get("QUICLAB_CAMPAIGN_MACHINE") or socket.gethostname()


def cpu_model() -> str:
    """Return the CPU model, as Linux names it."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.machine()


def qemu_version(program: str = "qemu-system-x86_64") -> str | None:
    """Return the version of QEMU as its program says it, such as ``8.2.1``; None where it is not installed."""
    path = shutil.which(program)
    if path is None:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    return said.strip().splitlines()[0] if said.strip() else None


@functools.lru_cache(maxsize=8)
def _version(path: str, _changed_ns: int) -> str:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=60)
    return said.stdout.strip().removeprefix("quiclab ") or f"unknown: {said.stderr.strip()[:100]}"


def version_of(command: Path) -> str:
    """Return the version that the command says, such as ``0.1.0``."""
    return _version(str(command), command.stat().st_mtime_ns)


def refuse(machine: Machine, header: dict[str, Any], client: dict[str, Any]) -> None:
    """Refuse a machine that has no QEMU or another version than the campaign was planned with.

    Args:
        machine: this one.
        header: the first line of ``quiclab run --dry-run --needs``.
        client: the planning machine, as :meth:`Machine.as_dict`.

    Raises:
        RefusedError: with what was found and expected.
    """
    if machine.quiclab != header["quiclab"]:
        raise RefusedError(
            f"quiclab: found version {machine.quiclab} on {machine.name}, expected {header['quiclab']} as on {client['name']}; "
            "install the same version on both"
        )
    wanted = header.get("qemu")
    if not wanted:
        return
    if machine.qemu is None:
        raise RefusedError(f"QEMU: found none on {machine.name}, expected {wanted}; install qemu-system-x86")
    if client.get("qemu") and machine.qemu != client["qemu"]:
        raise RefusedError(
            f"QEMU: found {machine.qemu} on {machine.name}, expected {client['qemu']} as on {client['name']}: "
            "records of different versions differ; use machines with the same one"
        )


def told(text: str | dict[str, Any]) -> str:
    """Return a machine of a message in a line."""
    return Machine(**(json.loads(text) if isinstance(text, str) else text)).told()
