"""Campaigns of the real command. QUICLAB_TESTS names it; without it these tests are skipped.

`QUICLAB_CACHE` should be one that has what the runs need. Workers get an empty cache, so that all they use comes from the store.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from quiclab import refine
from quiclab.campaign import Options, by_campaign, campaign

from .conftest import HERE, cluster, comparable, killing, machine, same

COMMAND = os.environ.get("QUICLAB_TESTS")
ROOT = HERE.parents[2]
pytestmark = pytest.mark.skipif(COMMAND is None, reason="QUICLAB_TESTS names no command")

TRANSFERS = """name = "campaign/transfers"
title = "Transfers for the tests of campaigns"
[stack]
name = "quinn"
[workload]
size = "256 KiB"
repetitions = 2
[matrix]
"path.rate" = ["10 Mbit/s", "20 Mbit/s"]
"""


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Return the environment of workers that have nothing but the store."""
    monkeypatch.setenv("QUICLAB", str(COMMAND))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python/src"), str(HERE)]))
    monkeypatch.chdir(ROOT)
    return {"QUICLAB_CACHE": str(tmp_path / "far")}


def by_command(file: Path, out: Path, *words: str) -> dict[str, bytes]:
    """Return the results folder that one process makes."""
    subprocess.run(
        [str(COMMAND), "run", str(file), "--out", str(out), "-j", "1", *words], check=True, capture_output=True
    )
    return comparable(out)


def test_flows_of_models_are_the_same_from_one_process_and_from_workers(real: dict[str, str], tmp_path: Path) -> None:
    file = ROOT / "experiments/examples/scenario.toml"
    with cluster(machine("a", **real), machine("b", **real)) as client:
        outcome = campaign(
            file, client, store=str(tmp_path / "store"), out=tmp_path / "x", options=Options(batch=2, verify=1.0)
        )
    assert outcome.is_whole, outcome.failures
    assert (outcome.verified, outcome.verdicts) == (6, [])
    same(by_command(file, tmp_path / "one"), comparable(tmp_path / "x"))


@pytest.mark.parametrize("testbed", ["sim", "vm"])
def test_transfers_are_the_same_with_nothing_but_the_store_and_kills(
    real: dict[str, str], tmp_path: Path, testbed: str
) -> None:
    file = tmp_path / "transfers.toml"
    file.write_text(TRANSFERS)
    words = ["--testbed", testbed]
    with cluster(*[machine(name, **real) for name in "ab"]) as client, killing(client, 20):
        outcome = campaign(file, client, store=str(tmp_path / "store"), out=tmp_path / "x", words=words)
    assert outcome.is_whole, outcome.failures
    assert not (tmp_path / "far" / "build").exists()
    same(by_command(file, tmp_path / "one", *words), comparable(tmp_path / "x"))


def test_points_of_a_grid_are_the_same_from_the_command_and_from_workers(real: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "transfer.toml"
    file.write_text(TRANSFERS.split("[matrix]")[0])
    axes = {"path.rate": ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"], "workload.size": ["64 KiB", "256 KiB", "512 KiB"]}
    words = ["--testbed", "sim", "--reps", "1"]

    def explored(measure: refine.Measure) -> dict[refine.Point, list[float]]:
        return refine.refine(measure, axes, 8, classes=lambda rate: rate > 8e6, coarse=2).samples

    here = explored(refine.by_command(file, "goodput_wire_bps", tmp_path / "here", words))
    with cluster(machine("a", **real), machine("b", **real)) as client:
        given = (file, "goodput_wire_bps", tmp_path / "there", client, str(tmp_path / "store"), words)
        there = explored(by_campaign(*given))
        with pytest.raises(refine.RefineError, match="1 of 1 runs are missing: the budget is spent"):
            by_campaign(*given, options=Options(budget_s=0))([{"path.rate": "7 Mbit/s"}])
    assert here == there and 4 < len(here) <= 8
    assert len({value > 8e6 for values in here.values() for value in values}) == 2
