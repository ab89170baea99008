"""Finds and calls the command ``quiclab``, which does all the work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class QuiclabError(RuntimeError):
    """The command failed.

    Attributes:
        message: what the command said, without the progress before it.
        status: its exit status: 1 to 99 failed runs (1 also for a truncated capture), 125 it could not continue, 130
            interrupted.
        arguments: what it was called with.
    """

    def __init__(self, message: str, status: int, arguments: Sequence[str]) -> None:
        """Make the error of one call."""
        super().__init__(f"{message} (exit status {status})")
        self.message = message
        self.status = status
        self.arguments = tuple(arguments)


class CommandNotFoundError(FileNotFoundError):
    """The command ``quiclab`` is neither in this environment nor on the ``PATH``."""


def find() -> Path:
    """Return the command: that of ``QUICLAB``, else the one installed with this package, else that on the ``PATH``.

    Raises:
        CommandNotFoundError: if there is none.
    """
    named = os.environ.get("QUICLAB")
    if named:
        path = Path(named)
        if not path.is_file():
            raise CommandNotFoundError(f"QUICLAB names {named}, which is not a file")
        return path
    installed = Path(sysconfig.get_path("scripts")) / "quiclab"
    if installed.is_file():
        return installed
    on_path = shutil.which("quiclab")
    if on_path is None:
        raise CommandNotFoundError(
            f"the command quiclab is neither in {installed.parent} nor on the PATH: "
            "install the wheel again, or set QUICLAB to the path of the command"
        )
    return Path(on_path)


def options(given: Mapping[str, object]) -> list[str]:
    """Return keyword arguments as options of the command: ``train_threshold="1 ms"`` is ``--train-threshold=1 ms``.

    ``True`` is a flag, ``False`` and ``None`` are nothing, a list repeats the option, a mapping repeats it with
    ``KEY=VALUE``. A trailing underscore is dropped, for names that Python reserves.
    """
    arguments: list[str] = []
    for name, value in given.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
        elif isinstance(value, Mapping):
            arguments += [f"{flag}={key}={setting(item)}" for key, item in value.items()]
        elif isinstance(value, (str, int, float, Path)):
            arguments.append(f"{flag}={value}")
        elif isinstance(value, Sequence):
            arguments += [f"{flag}={item}" for item in value]
        else:
            raise TypeError(f"{name}: found {value!r}, expected a flag, a value, a list or a mapping")
    return arguments


def setting(value: object) -> str:
    """Return a value as ``--set KEY=`` and ``--filter KEY=`` read it."""
    if isinstance(value, (bool, list, tuple)):
        return json.dumps(value)
    return str(value)


def call(arguments: Sequence[str], *, quiet: bool = True, most: int = 0) -> Any:
    """Call the command and return the JSON that it prints.

    Args:
        arguments: verb, files and options, with ``--json`` where the verb has it.
        quiet: keep what the command says for an error; otherwise it goes to the terminal too, while it happens.
        most: the largest exit status that is an answer and no failure: verbs that judge return how much fails.

    Raises:
        QuiclabError: if the exit status is larger, or nothing was printed where it is not 0.
    """
    process = subprocess.Popen(
        [str(find()), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    printed, said = _gather(process, quiet=quiet)
    if not 0 <= process.returncode <= most or (process.returncode != 0 and not printed.strip()):
        raise QuiclabError(_message(said), process.returncode, arguments)
    return json.loads(printed) if printed.strip() else None


def _gather(process: subprocess.Popen[str], *, quiet: bool) -> tuple[str, str]:
    """Return standard output and standard error, and show the latter line by line unless ``quiet``."""
    if quiet:
        return process.communicate()
    chunks: list[str] = []

    def read() -> None:
        assert process.stdout is not None
        chunks.append(process.stdout.read())

    reader = threading.Thread(target=read)
    reader.start()
    said: list[str] = []
    assert process.stderr is not None
    try:
        for line in process.stderr:
            said.append(line)
            print(line, end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        # The command got the signal too; it ends its runs and tidies up.
        process.wait()
        raise
    reader.join()
    process.wait()
    return "".join(chunks), "".join(said)


def _message(said: str) -> str:
    """Return the last thing that the command said about itself, with the hint that follows it."""
    lines = said.strip().splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith(("quiclab: ", "error: "))]
    return "\n".join(lines[starts[-1] :] if starts else lines).removeprefix("quiclab: ") or "it said nothing"
