"""The options of each function are those of its verb in docs/reference/cli.md. QUICLAB_BLESS=1 writes their types."""

import os
import re

import pytest

import quiclab
from quiclab import Experiment, QuiclabError

from .conftest import REPOSITORY

FILE = REPOSITORY / "python/src/quiclab/_options.py"
HEAD = '''"""Options of the verbs, as keyword arguments: their names and types, for editors and type checkers.

Made from docs/reference/cli.md by `QUICLAB_BLESS=1` and the test `test_options` in `python/tests`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypedDict

# A value as the command line reads it.
Text: TypeAlias = "str | int | float | Path | None"
# One value, or several of an option that can be repeated.
Many: TypeAlias = "Text | Sequence[str | int | float | Path]"
# Settings by their keys, or ``KEY=VALUE`` as text.
Settings: TypeAlias = "Mapping[str, object] | Many"
# A flag.
Flag: TypeAlias = "bool | None"
# A number.
Number: TypeAlias = "int | None"
'''
# The verb of each type, and the options that the functions set themselves or whose answer is not theirs.
VERBS = {
    "Run": ("run", {"demo", "dry_run", "needs", "handshakes", "handshakes_table", "json"}),
    "Ab": ("ab", {"json"}),
    "Analyze": ("analyze", {"json", "keys"}),
    "Check": ("check", {"json", "markdown"}),
    "Look": ("look", {"json", "html"}),
}
NUMBERS = {"N", "REPS", "JOBS", "PORT"}
RESERVED = {"from"}


def kind(value: str, text: str) -> str:
    if not value:
        return "Flag"
    if "KEY=VALUE" in value:
        return "Settings"
    if "can be repeated" in text:
        return "Many"
    return "Number" if value.strip("<>") in NUMBERS else "Text"


def types() -> str:
    page = (REPOSITORY / "docs/reference/cli.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in re.split(r"^## quiclab ", page, flags=re.MULTILINE)[1:])
    out = HEAD
    for name, (verb, own) in VERBS.items():
        items = re.findall(r"^- `(?:-\w, )?--([\w-]+) ?([^`]*)`((?:.|\n  )*)", sections[verb], flags=re.MULTILINE)
        assert len(items) > 2, f"{verb}: its options have another form"
        out += f'\n\nclass {name}Options(TypedDict, total=False):\n    """Options of ``quiclab {verb}``."""\n\n'
        for option, value, text in items:
            key = option.replace("-", "_")
            if key not in own:
                out += f"    {key}{'_' if key in RESERVED else ''}: {kind(value, ' '.join(text.split()))}\n"
    return out


def test_the_types_are_those_of_the_command_line() -> None:
    if os.environ.get("QUICLAB_BLESS"):
        FILE.write_text(types(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == types(), "QUICLAB_BLESS=1 make test-python writes it again"


def test_an_unknown_option_is_refused_by_checkers_and_by_the_command() -> None:
    # mypy, which checks the tests as well, fails where it has nothing to ignore in these lines.
    experiment = Experiment("options", title="Options", stack={"name": "quiche"})
    with pytest.raises(QuiclabError):
        quiclab.plan(experiment, jbs=2)  # type: ignore[call-arg]
    with pytest.raises(QuiclabError):
        quiclab.plan(experiment, reps="two")  # type: ignore[arg-type]


def test_an_error_names_the_experiment_and_the_key_and_no_file_that_is_gone() -> None:
    wrong = Experiment("mine", title="x", stack={"name": "quiche"}, path={"rat": "20 Mbit/s"})
    with pytest.raises(QuiclabError) as caught:
        wrong.check()
    assert "Experiment 'mine'" in caught.value.message and "rat" in caught.value.message
    assert ".quiclab-" not in caught.value.message
