"""Options of the verbs, as keyword arguments: their names and types, for editors and type checkers.

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


class RunOptions(TypedDict, total=False):
    """Options of ``quiclab run``."""

    profile: Text
    reps: Number
    until_decided: Flag
    most_repetitions: Number
    filter: Settings
    set: Settings
    testbed: Text
    hosts: Text
    jobs: Number
    out: Text
    wall_timeout: Text
    wait_for_quiet: Text
    roofline: Flag
    audit: Flag
    parquet: Flag
    figures: Text
    no_wait: Flag
    stacks: Text
    stack: Many
    replace: Flag
    rebuild: Flag


class AbOptions(TypedDict, total=False):
    """Options of ``quiclab ab``."""

    a: Settings
    b: Settings
    set: Settings
    profile: Text
    filter: Settings
    reps: Number
    until_decided: Flag
    budget: Text
    smallest_change: Text
    testbed: Text
    jobs: Number
    out: Text
    wall_timeout: Text
    stacks: Text
    rebuild: Flag
    fail_if: Many
    metric: Many
    strict: Flag
    all: Flag
    html: Text
    markdown: Text


class AnalyzeOptions(TypedDict, total=False):
    """Options of ``quiclab analyze``."""

    qlog: Many
    planned: Text
    server_port: Number
    train_threshold: Text
    window: Text
    response_size: Text
    merge_interfaces: Flag
    threads: Number
    parquet: Text
    html: Text
    ladder: Text


class CheckOptions(TypedDict, total=False):
    """Options of ``quiclab check``."""

    strict: Flag
    allow_none: Flag
    audit: Flag


class LookOptions(TypedDict, total=False):
    """Options of ``quiclab look``."""

    keys: Many
    qlog: Text
    tap: Text
    server_port: Number
    from_: Text
    to: Text
