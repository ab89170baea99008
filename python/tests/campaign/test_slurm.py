"""A campaign through dask-jobqueue on a real Slurm of this machine; `make test-slurm` starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quiclab.campaign import campaign
from quiclab.campaign.clusters import ClusterError, slurm_settings

from .conftest import bucket, cluster, comparable, contents, experiment, machine, same
from .test_real import COMMAND, TRANSFERS, by_command, real  # noqa: F401 - a fixture

on_slurm = pytest.mark.skipif("SLURM_CONF" not in os.environ, reason="make test-slurm starts Slurm")


def test_words_become_arguments_of_the_cluster() -> None:
    jobs, settings = slurm_settings(["jobs=20", "queue=batch", "walltime=02:00:00"])
    assert jobs == 20
    assert settings == {"cores": 1, "processes": 1, "memory": "2GB", "queue": "batch", "walltime": "02:00:00"}
    with pytest.raises(ClusterError, match="found 'jobs', expected KEY=VALUE"):
        slurm_settings(["jobs"])


def perform(command: list[str], file: Path, store: str, out: Path, *words: str) -> None:
    """Perform a campaign in two jobs of Slurm."""
    settings = ["jobs=2", "memory=1GB", f"log_directory={out.parent}", "walltime=00:10:00", "interface=lo"]
    slurm = [word for setting in settings for word in ("--slurm", setting)]
    done = subprocess.run(
        [*command, str(file), *slurm, "--store", store, "--out", str(out), *words],
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    logs = "\n".join(path.read_text()[-2000:] for path in out.parent.glob("dask-worker-*.out"))
    assert done.returncode == 0, done.stderr + logs
    assert len(list(out.parent.glob("dask-worker-*.out"))) == 2


@on_slurm
def test_a_campaign_on_slurm_makes_the_folder_of_one_process(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=20, seconds=0.2)
    perform([sys.executable, "-m", "quiclab.campaign"], file, str(tmp_path / "store"), tmp_path / "slurm")
    with cluster(machine("a")) as client:
        campaign(file, client, store=str(tmp_path / "again"), out=tmp_path / "one")
    assert contents(tmp_path / "slurm") == contents(tmp_path / "one")


@on_slurm
@pytest.mark.parametrize("testbed", ["sim", "vm"])
def test_transfers_on_slurm_with_a_bucket_are_those_of_one_process(
    real: dict[str, str],  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    testbed: str,
) -> None:
    file = tmp_path / "transfers.toml"
    file.write_text(TRANSFERS)
    # Slurm gives jobs the environment of whoever submits them. The client has its things in another cache than they.
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__JOB_SCRIPT_PROLOGUE", f"['export QUICLAB_CACHE={real['QUICLAB_CACHE']}']")
    command = [str(COMMAND), "campaign", "--python", sys.executable]
    words = ["--testbed", testbed]
    with bucket(monkeypatch) as (address, _):
        perform(command, file, address, tmp_path / "slurm", *words)
    assert not (tmp_path / "far" / "build").exists()
    same(by_command(file, tmp_path / "one", *words), comparable(tmp_path / "slurm"))
