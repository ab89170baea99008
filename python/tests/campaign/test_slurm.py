"""A campaign through dask-jobqueue on a real Slurm of this machine; `make test-slurm` starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quiclab.campaign import campaign
from quiclab.campaign.clusters import ClusterError, slurm_settings

from .conftest import cluster, contents, experiment, machine


def test_words_become_arguments_of_the_cluster() -> None:
    jobs, settings = slurm_settings(["jobs=20", "queue=batch", "walltime=02:00:00"])
    assert jobs == 20
    assert settings == {"cores": 1, "processes": 1, "memory": "2GB", "queue": "batch", "walltime": "02:00:00"}
    with pytest.raises(ClusterError, match="found 'jobs', expected KEY=VALUE"):
        slurm_settings(["jobs"])


@pytest.mark.skipif("SLURM_CONF" not in os.environ, reason="make test-slurm starts Slurm")
def test_a_campaign_on_slurm_makes_the_folder_of_one_process(fake: Path, tmp_path: Path) -> None:
    file = experiment(tmp_path, runs=20, seconds=0.2)
    words = [
        "--slurm",
        "jobs=2",
        "--slurm",
        "memory=1GB",
        "--slurm",
        f"log_directory={tmp_path}",
        "--slurm",
        "walltime=00:10:00",
    ]
    words += ["--slurm", "interface=lo"]
    command = [
        sys.executable,
        "-m",
        "quiclab.campaign",
        str(file),
        *words,
        "--store",
        str(tmp_path / "store"),
        "--out",
        str(tmp_path / "slurm"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    logs = "\n".join(path.read_text()[-2000:] for path in tmp_path.glob("dask-worker-*.out"))
    assert done.returncode == 0, done.stderr + logs
    assert len(list(tmp_path.glob("dask-worker-*.out"))) == 2
    with cluster(machine("a")) as client:
        campaign(file, client, store=str(tmp_path / "again"), out=tmp_path / "one")
    assert contents(tmp_path / "slurm") == contents(tmp_path / "one")
