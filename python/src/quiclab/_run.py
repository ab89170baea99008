"""Runs experiments and measures captures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quiclab._command import call, options
from quiclab.experiment import Experiment
from quiclab.results import Results, load

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from quiclab._options import AbOptions, AnalyzeOptions, CheckOptions, LookOptions, RunOptions


def run(experiment: str | Path | Experiment, *, quiet: bool = False, **given: Unpack[RunOptions]) -> Results:
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


def plan(experiment: str | Path | Experiment, **given: Unpack[RunOptions]) -> list[dict[str, Any]]:
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
    capture: str | Path | Sequence[str | Path],
    *,
    keys: str | Path | Sequence[str | Path] = (),
    **given: Unpack[AnalyzeOptions],
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


# Exit statuses up to this one count what fails; above it the command itself could not continue.
MOST_FAILING = 99


def ab(
    a: str | Path, b: str | Path, /, *files: str | Path, quiet: bool = False, **given: Unpack[AbOptions]
) -> dict[str, Any]:
    """Compare two builds, stacks or settings with the same seeds, or two result folders, and return the answer.

    Args:
        a: a folder with a stack.toml, a program, the name of a shipped stack, or a result folder.
        b: the same, for the other side.
        *files: experiment files; without any 4 MiB over the default path.
        quiet: do not show the command's progress on standard error.
        **given: options of ``quiclab ab`` with underscores: ``reps=3``, ``fail_if=["goodput_wire_bps < -5%"]``,
            ``set={"workload.size": "1 MiB"}``, ``b={"stack.gso": "on"}``, ``html="page.html"``.

    Returns:
        What ``quiclab ab --json`` prints: ``answer`` in a sentence, ``conditions`` with their ``outcome``, ``pairs`` with
        every metric (docs/reference/ab.md).

    Raises:
        QuiclabError: if nothing could be run or compared. A condition that fails is no error.
    """
    asked = [str(path) for path in (a, b, *files)]
    answer: dict[str, Any] = call(["ab", *asked, *options(given), "--json"], quiet=quiet, most=MOST_FAILING)
    return answer


def check(*folders: str | Path, **given: Unpack[CheckOptions]) -> dict[str, Any]:
    """Judge the expectations of results and return what ``quiclab check --json`` prints.

    Args:
        *folders: folders that ``quiclab run`` has filled, or folders of such folders.
        **given: options of ``quiclab check``: ``strict=True``.

    Raises:
        QuiclabError: if a folder cannot be read, or has no expectations. An expectation that fails is no error.
    """
    judged: dict[str, Any] = call(["check", *map(str, folders), *options(given), "--json"], most=MOST_FAILING)
    return judged


def look(record: str | Path, *other: str | Path, html: str | Path, **given: Unpack[LookOptions]) -> Path:
    """Write the page that shows a transfer packet by packet, or two on one time axis, and return its path.

    Args:
        record: a record's folder, as `Results.record` returns it, or a capture.
        *other: a second one.
        html: where the page is written.
        **given: options of ``quiclab look`` with underscores: ``tap="server"``, ``to="2 s"``.

    Raises:
        QuiclabError: if a file cannot be read or written.
    """
    call(["look", str(record), *map(str, other), *options({"html": html, **given}), "--json"])
    return Path(html)
