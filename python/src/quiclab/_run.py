"""Runs experiments and measures captures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiclab._command import Option, call, options
from quiclab.experiment import Experiment
from quiclab.results import Results, load


def run(experiment: str | Path | Experiment, *, quiet: bool = False, **given: Option) -> Results:
    """Run an experiment and return its results. Runs that already have a record are not repeated.

    Args:
        experiment: an experiment file, or an `Experiment`.
        quiet: do not show the command's progress on standard error.
        **given: options of ``quiclab run`` with underscores: ``profile="quick"``, ``reps=3``, ``jobs=2``,
            ``filter={"stack": "quiche"}``, ``set={"path.rate": "20 Mbit/s"}``, ``testbed="sim"``,
            ``out="results/mine"``, ``parquet=True``.

    Raises:
        QuiclabError: if the file is refused, or if runs failed; ``status`` is then how many. The results of the
            others can be loaded.
    """
    if isinstance(experiment, Experiment):
        with experiment.file() as path:
            return run(path, quiet=quiet, **given)
    asked = [str(experiment), *options(given)]
    results = call(["run", *asked, "--json"], quiet=quiet)["results"]
    return load(results)


def plan(experiment: str | Path | Experiment, **given: Option) -> list[dict[str, Any]]:
    """Return the runs that `run` would perform, with every setting, as ``quiclab run --dry-run --json`` prints them.

    Raises:
        QuiclabError: if the experiment is refused; the message names the key.
    """
    if isinstance(experiment, Experiment):
        with experiment.file() as path:
            return plan(path, **given)
    runs: list[dict[str, Any]] = call(["run", str(experiment), *options(given), "--dry-run", "--json"])
    return runs


def analyze(
    capture: str | Path | Sequence[str | Path], *, keys: str | Path | Sequence[str | Path] = (), **given: Option
) -> dict[str, Any]:
    """Measure captures made anywhere and return what ``quiclab analyze --json`` prints (docs/reference/analyze.md).

    Args:
        capture: a pcap or pcapng file, plain, gzip or zstd, or several.
        keys: files in the format of SSLKEYLOGFILE.
        **given: options of ``quiclab analyze`` with underscores: ``server_port=443``, ``response_size="100 MiB"``,
            ``parquet="folder"``.

    Raises:
        QuiclabError: if a file cannot be read (status 125) or is truncated (status 1).
    """
    files = [capture] if isinstance(capture, (str, Path)) else list(capture)
    logs = [keys] if isinstance(keys, (str, Path)) else list(keys)
    asked = [*map(str, files), *options({"keys": logs, **given})]
    measured: dict[str, Any] = call(["analyze", *asked, "--json"])
    return measured
