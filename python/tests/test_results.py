"""Results as tables and figures, against the report that the command writes."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import quiclab
from quiclab import QuiclabError, Results, figures

from .conftest import EXPERIMENTS, REPOSITORY

CAPTURE = REPOSITORY / "crates/metrics/tests/data/ngtcp2-cubic-rep1.pcap.gz"


def report_metrics(results: Results, name: str) -> list[float]:
    report = json.loads((results.folder / "report.json").read_text())
    return [run["metrics"][name] for group in report["groups"] for run in group["runs"]]


def test_runs_have_the_metrics_of_the_report(models: Results) -> None:
    assert models.experiment == "tcp-pacing/fig03"
    assert models.runs.column("goodput_bps").to_pylist() == report_metrics(models, "goodput_bps")
    assert sorted(expectation["outcome"] for expectation in models.expectations) == ["fails"] + ["holds"] * 6


def test_a_transfer_has_packets_events_and_samples(transfer: Results) -> None:
    assert transfer.packets(0).num_rows > 500
    sent = transfer.runs.column("packets_sent")[0].as_py()
    packets = transfer.packets(0).to_pylist()
    at_sender = {row["frame_number"] for row in packets if row["interface"] == 0 and row["sender"] == "server"}
    assert len(at_sender) == sent
    assert "name" in transfer.events(0).column_names
    assert transfer.samples(0).num_rows == 0
    assert "record" not in transfer.packets(0).column_names


def test_times_are_timestamps_and_durations(transfer: Results) -> None:
    plain, times = transfer.packets(0), transfer.packets(0, times=True)
    assert times.schema.field("time_ns").type == pa.timestamp("ns")
    assert times.column("time_ns").cast(pa.int64()).to_pylist() == plain.column("time_ns").to_pylist()
    assert times.column_names == plain.column_names
    assert transfer.events(0, times=True).schema.field("time_ns").type == pa.duration("ns")
    frame, numbers = transfer.to_pandas(times=True), transfer.to_pandas()
    assert frame["rtt_median_ns"].dt.total_seconds()[0] == pytest.approx(numbers["rtt_median_ns"][0] / 1e9, abs=1e-9)
    withheld = [name for name in transfer.runs.column_names if name.endswith("_ns") and numbers[name].isna().all()]
    assert withheld
    assert all(frame[name].isna().all() for name in withheld)


def test_runs_are_named_by_number_record_and_identity(models: Results) -> None:
    row = models.runs.to_pylist()[1]
    assert models.record(1) == models.record(row["record"]) == models.record(row["id"])
    with pytest.raises(KeyError, match="expected one of"):
        models.record("models-")
    with pytest.raises(KeyError, match="found 2 runs"):
        models.record(2)


def test_polars_reads_the_same_memory(models: Results) -> None:
    polars = pytest.importorskip("polars")
    column = models.runs.column("goodput_bps").combine_chunks()
    back = polars.from_arrow(pa.table({"goodput_bps": column}))["goodput_bps"].to_arrow()
    assert back.buffers()[1].address == column.buffers()[1].address


def test_pandas_and_duckdb_read_the_same_values(models: Results) -> None:
    pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    goodput = report_metrics(models, "goodput_bps")
    assert models.runs.to_pandas()["goodput_bps"].tolist() == goodput
    relation = duckdb.from_arrow(models.runs.select(["goodput_bps"]))
    assert [row[0] for row in relation.fetchall()] == goodput


def test_the_summary_of_a_notebook_is_short_and_escaped(models: Results) -> None:
    page = models._repr_html_()
    assert "Paced Reno" in page and "6 × holds" in page
    assert len(page) < 2000


def test_results_have_a_length_rows_and_a_data_frame(models: Results) -> None:
    pytest.importorskip("pandas")
    rows = list(models)
    assert len(models) == len(rows) == models.runs.num_rows > 0
    assert [row["goodput_bps"] for row in rows] == report_metrics(models, "goodput_bps")
    assert models.to_pandas()["goodput_bps"].tolist() == report_metrics(models, "goodput_bps")


def test_the_summary_of_a_notebook_has_the_means_of_the_report(transfer: Results) -> None:
    page = transfer._repr_html_()
    (goodput,) = report_metrics(transfer, "goodput_wire_bps")
    assert "<th>goodput, Mbit/s</th>" in page and f"<td>{goodput / 1e6:.2f}</td>" in page


def test_two_result_folders_are_compared_and_what_fails_is_no_error(transfer: Results) -> None:
    answer = quiclab.ab(transfer.folder, transfer.folder, fail_if="goodput_wire_bps < 1 Gbit/s", quiet=True)
    assert answer["answer"] == answer["verdict"][0]["text"]
    assert answer["conditions"][0]["outcome"] != "passes"
    with pytest.raises(QuiclabError, match="found no results") as error:
        quiclab.ab(transfer.folder, EXPERIMENTS, quiet=True)
    assert error.value.status == 125


def test_expectations_are_judged_and_one_that_fails_is_no_error(models: Results, transfer: Results) -> None:
    judged = quiclab.check(models.folder)
    assert (judged["judged"], judged["holding"]) == (7, 6)
    with pytest.raises(QuiclabError, match="expectation") as error:
        quiclab.check(transfer.folder)
    assert error.value.status == 125


def test_look_writes_a_page(transfer: Results, tmp_path: Path) -> None:
    page = quiclab.look(transfer.record(0), html=tmp_path / "page.html")
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_the_version_is_that_of_the_package() -> None:
    package = (REPOSITORY / "python/pyproject.toml").read_text()
    assert f'version = "{quiclab.__version__}"' in package


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"found no report\.json"):
        quiclab.load(tmp_path)


def test_an_experiment_that_is_missing_is_an_error_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(QuiclabError, match=r"missing\.toml") as error:
        quiclab.run(tmp_path / "missing.toml", out=tmp_path / "out")
    assert error.value.status == 125


def test_a_wrong_option_is_an_error_of_the_command() -> None:
    with pytest.raises(QuiclabError, match="--no-such-option"):
        quiclab.plan(EXPERIMENTS / "examples/first.toml", no_such_option=True)  # type: ignore[call-arg]


def test_analyze_measures_a_capture() -> None:
    measured = quiclab.analyze(CAPTURE, response_size="100 MiB")
    sender = max(measured["flows"], key=lambda flow: flow["metrics"]["packets_sent"])
    # The study published 0.512 of gaps and 0.9942 of packets; see experiments/quic-steps/baseline.toml.
    assert abs(sender["metrics"]["gap_share_below_100us"] - 0.512) < 0.05


def test_trains_are_those_of_the_report(transfer: Results) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = figures.trains(transfer, plt.figure().gca())
    bars = axes.containers[0]
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in bars}
    assert heights[1] == pytest.approx(report_metrics(transfer, "train_share_of_packets_1")[0], abs=1e-12)
    below = sum(height for length, height in heights.items() if length <= 5)
    assert below == pytest.approx(report_metrics(transfer, "train_share_of_packets_le_5")[0], abs=1e-12)


def test_gaps_are_those_of_the_report(transfer: Results) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    line = figures.gaps(transfer, plt.figure().gca(), color="black").lines[0]
    below = [
        share
        for gap, share in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
        if gap <= 0.1
    ]
    assert below[-1] == pytest.approx(report_metrics(transfer, "gap_share_below_100us")[0], abs=1e-12)
    assert line.get_color() == "black"


def test_series_and_boxes_are_those_of_the_report(models: Results) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = figures.over_time(models, ax=plt.figure().gca())
    for line, group in zip(axes.lines, models.groups, strict=True):
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx([v / 1e6 for v in group["series"]["goodput_bps"]])
    assert axes.get_ylabel() == "goodput, Mbit/s"
    axes = figures.boxes(models, "goodput_bps", plt.figure().gca())
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Reno", "Paced Reno"]
    axes = figures.heat_map(models, "flows.pacing", "bottleneck.rate", "goodput_bps", plt.figure().gca())
    goodput = [value / 1e6 for value in report_metrics(models, "goodput_bps")]
    assert np.asarray(axes.images[0].get_array()).ravel().tolist() == pytest.approx(goodput)
    axes = figures.dots(models, "goodput_bps", plt.figure().gca())
    assert [np.asarray(line.get_ydata()).tolist() for line in axes.lines] == [
        [pytest.approx(value)] for value in goodput
    ]
    with pytest.raises(KeyError, match="found no run with a value, of 2"):
        figures.dots(models, "handshake_client_first_pto_ns", plt.figure().gca())
    with pytest.raises(KeyError, match="window_sum_segments"):
        figures.over_time(models, "missing", plt.figure().gca())
