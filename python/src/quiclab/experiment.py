"""Experiments made in Python, with the names of the experiment file (docs/reference/experiment-file.md)."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab._command import QuiclabError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from quiclab._options import RunOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Table(dict[str, Any]):
    """A table of an experiment; its keys are attributes too, and tables that are missing appear when they are set."""

    def __init__(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Make a table of values; mappings become tables."""
        super().__init__()
        for key, value in {**(values or {}), **more}.items():
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a key; a mapping becomes a table."""
        super().__setitem__(key, _tables(value))

    def __getattr__(self, name: str) -> Any:
        """Return the value of a key, or a new empty table."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self:
            super().__setitem__(name, _Unset())
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a key."""
        self[name] = value


class _Unset(Table):
    """A table that only looking for it has made. It is not written until it has a key."""


class Experiment:
    """An experiment, with the same tables and keys as its file.

    ``Experiment("mine", stack={"name": "quiche"})``, ``experiment.path.rate = "20 Mbit/s"`` and
    ``experiment["path"]["rate"]`` are the same keys. Nothing is checked until `check`, `plan` or `run`, which the
    command does.
    """

    def __init__(self, name: str, *, folder: str | Path | None = None, **tables: Any) -> None:
        """Make an experiment.

        Args:
            name: its name, which its results are named after.
            folder: where the files that it names are (``path.include``); by default the current folder.
            **tables: the file's tables and keys.
        """
        self._folder = Path(folder) if folder is not None else None
        self._values = Table({"name": name, **tables})

    @classmethod
    def from_file(cls, path: str | Path) -> Experiment:
        """Read an experiment file.

        Raises:
            tomllib.TOMLDecodeError: if it is not TOML; keys are not checked.
        """
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        experiment = cls(values.get("name", ""), folder=Path(path).resolve().parent)
        experiment._values = Table(values)
        return experiment

    def __getattr__(self, name: str) -> Any:
        """Return a table or a key."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._values, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a table or a key."""
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            self._values[name] = value

    def __getitem__(self, key: str) -> Any:
        """Return a table or a key."""
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a table or a key."""
        self._values[key] = value

    def to_dict(self) -> dict[str, Any]:
        """Return all keys, as the TOML file has them."""
        return dict(self._values)

    def to_toml(self) -> str:
        """Return the experiment file.

        Raises:
            TypeError: if a value is not text, a number, a boolean, a list or a table; it names the key.
        """
        lines: list[str] = []
        _write(self._values, (), lines)
        return "\n".join(lines).strip() + "\n"

    def save(self, path: str | Path) -> None:
        """Write the experiment file. Names of other files in it are relative to it."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    @contextmanager
    def file(self) -> Iterator[Path]:
        """Write the experiment to a file that exists as long as the context, in the folder that its names refer to."""
        descriptor, name = tempfile.mkstemp(prefix=".quiclab-", suffix=".toml", dir=self._folder or Path.cwd())
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(self.to_toml())
            yield Path(name)
        except QuiclabError as error:
            # Whoever reads the message finds no such file any more.
            message = error.message.replace(name, f"Experiment {self._values.get('name')!r}")
            raise QuiclabError(message, error.status, error.arguments) from None
        finally:
            os.unlink(name)

    def check(self, **options: Unpack[RunOptions]) -> None:
        """Let the command check the experiment, without running it.

        Raises:
            QuiclabError: if it is refused; the message names the key.
        """
        from quiclab._run import plan

        plan(self, **options)

    def __repr__(self) -> str:
        """Return its name."""
        return f"<Experiment {self._values.get('name')!r}>"


def _tables(value: Any) -> Any:
    if isinstance(value, Mapping) and not isinstance(value, Table):
        return Table(value)
    if isinstance(value, (list, tuple)):
        return [_tables(item) for item in value]
    return value


def _is_table(value: Any) -> bool:
    """Return whether a value can have a header of its own: a table, or a list of tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, Mapping) for item in value)
    return isinstance(value, Mapping)


def _is_unset(value: Any) -> bool:
    return isinstance(value, _Unset) and all(_is_unset(item) for item in value.values())


def _write(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    """Write a table, with its keys in order: that of a matrix is the order of the runs."""
    values = {key: value for key, value in table.items() if value is not None and not _is_unset(value)}
    keys = list(values)
    plain = [number for number, key in enumerate(keys) if not _is_table(values[key])]
    # A key after the header of an inner table would belong to that table, so tables before a key are inline.
    headers = plain[-1] + 1 if plain else 0
    for key in keys[:headers]:
        lines.append(f"{_key(key)} = {_value(values[key], (*path, key))}")
    for key in keys[headers:]:
        value = values[key]
        name = ".".join(map(_key, (*path, key)))
        for item in value if isinstance(value, list) else [value]:
            lines += ["", f"[[{name}]]" if isinstance(value, list) else f"[{name}]"]
            _write(item, (*path, key), lines)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are those of a basic string of TOML, which also wants DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _value(value: Any, path: tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value(item, path) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item, (*path, key))}" for key, item in value.items()) + " }"
    raise TypeError(
        f"{'.'.join(path)}: found {type(value).__name__}, expected text, a number, a boolean, a list or a table"
    )
