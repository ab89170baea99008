"""Results of an experiment, as Arrow tables."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from quiclab._command import call

if TYPE_CHECKING:
    import pandas as pd

# What the summary in a notebook shows of each group, as far as it was measured: name, heading, factor, digits.
SUMMARY = (
    ("goodput_wire_bps", "goodput, Mbit/s", 1e-6, 2),
    ("goodput_bps", "goodput, Mbit/s", 1e-6, 2),
    ("train_share_of_packets_le_5", "packets in trains ≤ 5, share", 1, 4),
    ("train_max_packets", "longest train, packets", 1, 1),
    ("drops_packets", "drops, packets", 1, 1),
    ("time_to_first_byte_ns", "time to first byte, ms", 1e-6, 3),
)


def with_times(table: pa.Table, *, has_clock: bool) -> pa.Table:
    """Return the table with its columns in nanoseconds as durations; `time_ns` as a timestamp if it is that of a clock.

    Fractions of nanoseconds, which means have, are rounded.
    """
    for place, field in enumerate(table.schema):
        if not field.name.endswith("_ns") or not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            continue
        kind = pa.timestamp("ns") if has_clock and field.name == "time_ns" else pa.duration("ns")
        column = table.column(place)
        whole = pc.round(column) if pa.types.is_floating(field.type) else column
        table = table.set_column(place, field.name, whole.cast(pa.int64()).cast(kind))
    return table


class Results:
    """A folder that ``quiclab run`` has filled.

    Tables are ``pyarrow.Table``: ``.to_pandas()``, ``polars.from_arrow(table)`` and ``duckdb.from_arrow(table)`` read
    them. A run is named by its record, its number in `runs` from 0, or the start of its record's name or identity.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: str | Path) -> None:
        """Open a folder of results; `load` is the usual way."""
        self.folder = Path(folder)
        if not (self.folder / "report.json").is_file():
            raise FileNotFoundError(
                f"{self.folder}: found no report.json, expected a folder that quiclab run has filled; "
                f"`quiclab report {self.folder}` makes it from records"
            )

    @cached_property
    def report(self) -> dict[str, Any]:
        """The whole ``report.json``: docs/reference/report.md."""
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report

    @cached_property
    def runs(self) -> pa.Table:
        """One row for each run, with settings and metrics; the columns are those of docs/reference/runs.md."""
        return pq.read_table(self.folder / "runs.parquet")

    @property
    def experiment(self) -> str:
        """The experiment's name."""
        return str(self.report["experiment"])

    @property
    def title(self) -> str:
        """The experiment's title."""
        return str(self.report["title"])

    @property
    def expectations(self) -> list[dict[str, Any]]:
        """What the experiment expects, each with ``claim``, ``outcome`` (holds, fails, undecided) and numbers."""
        return list(self.report["expectations"])

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What to look at before trusting the numbers: ``group``, ``code``, ``message``, ``runs`` (how many)."""
        return [{"group": group["label"], **warning} for group in self.groups for warning in group.get("warnings", [])]

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Runs with equal settings: ``label``, ``settings``, ``metrics`` (mean, deviation, count, ...), ``runs``."""
        return list(self.report["groups"])

    def record(self, run: int | str) -> Path:
        """Return the folder of a run's record.

        Raises:
            KeyError: if no run has that name, or several have.
        """
        names = self.runs.column("record").to_pylist()
        if isinstance(run, int):
            if not -len(names) <= run < len(names):
                raise KeyError(f"run {run}: found {len(names)} runs in {self.folder}")
            return self.folder / str(names[run])
        ids = self.runs.column("id").to_pylist()
        named = {
            name for name, id_ in zip(names, ids, strict=True) if run == name or name.startswith(run) or id_ == run
        }
        found = sorted({run} & named or named)
        if len(found) != 1:
            raise KeyError(f"run {run!r}: found {found or 'none'}, expected one of {names}")
        return self.folder / str(found[0])

    def metrics(self, run: int | str) -> dict[str, Any]:
        """Return a record's ``metrics.json``, with distributions and the handshake (docs/reference/record.md)."""
        metrics: dict[str, Any] = json.loads((self.record(run) / "metrics.json").read_text())
        return metrics

    def packets(self, run: int | str, *, times: bool = False) -> pa.Table:
        """Return the packets of a run at both taps; the columns are those of docs/reference/trace.md.

        Args:
            run: the run.
            times: whether columns in nanoseconds are timestamps and durations and not numbers.
        """
        return self._trace(run, "packets", times)

    def frames(self, run: int | str, *, times: bool = False) -> pa.Table:
        """Return the QUIC frames of a run (docs/reference/trace.md).

        Args:
            run: the run.
            times: whether columns in nanoseconds are timestamps and durations and not numbers.
        """
        return self._trace(run, "frames", times)

    def events(self, run: int | str, *, times: bool = False) -> pa.Table:
        """Return the qlog events of a run (docs/reference/trace.md).

        Args:
            run: the run.
            times: whether columns in nanoseconds are durations and not numbers.
        """
        return self._trace(run, "events", times)

    def samples(self, run: int | str, *, times: bool = False) -> pa.Table:
        """Return what the hosts did over time (docs/reference/trace.md); no rows in virtual time.

        Args:
            run: the run.
            times: whether columns in nanoseconds are timestamps and durations and not numbers.
        """
        return self._trace(run, "samples", times)

    def _trace(self, run: int | str, kind: str, times: bool) -> pa.Table:
        record = self.record(run)
        file = self.folder / "trace" / f"record={record.name}" / f"{kind}.parquet"
        if not file.is_file():
            call(["report", str(record), "--parquet", "--json"])
        # Without hive partitions, whose dictionary column the file does not have.
        table = pq.read_table(file, partitioning=None)
        # A qlog has times since one of its own.
        return with_times(table, has_clock=kind != "events") if times else table

    def to_pandas(self, *, times: bool = False) -> pd.DataFrame:
        """Return `runs` as a ``pandas.DataFrame``; needs pandas.

        Args:
            times: whether columns in nanoseconds are durations and not numbers.
        """
        frame: pd.DataFrame = (with_times(self.runs, has_clock=False) if times else self.runs).to_pandas()
        return frame

    def __len__(self) -> int:
        """Return the number of runs."""
        return int(self.runs.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return settings and metrics of each run, by name."""
        return iter(self.runs.to_pylist())

    def __repr__(self) -> str:
        """Return what it is, in one line."""
        return f"<Results of {self.experiment}: {self.runs.num_rows} runs in {self.folder}>"

    def _repr_html_(self) -> str:
        def mean(group: dict[str, Any], name: str) -> float | None:
            summary = group["metrics"].get(name)
            return None if summary is None else summary["mean"]

        shown = [column for column in SUMMARY if any(mean(group, column[0]) is not None for group in self.groups)]
        heads = "".join(f"<th>{heading}</th>" for _, heading, _, _ in shown)
        rows = ""
        for group in self.groups:
            means = [(mean(group, name), factor, digits) for name, _, factor, digits in shown]
            cells = "".join(
                "<td></td>" if value is None else f"<td>{value * factor:.{digits}f}</td>"
                for value, factor, digits in means
            )
            rows += f"<tr><td>{html.escape(group['label'])}</td><td>{len(group['runs'])}</td>{cells}</tr>"
        outcomes = [expectation["outcome"] for expectation in self.expectations]
        notes = [f"{outcomes.count(outcome)} × {html.escape(outcome)}" for outcome in sorted(set(outcomes))]
        codes = sorted({f"{warning['group']}: {warning['code']}" for warning in self.warnings})
        notes += [f"warning: {html.escape(code)}" for code in codes[:10]]
        return (
            f"<b>{html.escape(self.title)}</b> ({html.escape(self.experiment)})"
            f"<table><tr><th>group</th><th>runs</th>{heads}</tr>{rows}</table>{'<br>'.join(notes)}"
        )


def load(folder: str | Path) -> Results:
    """Return the results in a folder that ``quiclab run`` has filled.

    Raises:
        FileNotFoundError: if the folder has no report.
    """
    return Results(folder)
