"""Results that several tests read: of flows of models, and of one transfer in a virtual machine."""

import os
from pathlib import Path

import pytest

import quiclab
from quiclab import Results

REPOSITORY = Path(__file__).parents[2]
EXPERIMENTS = REPOSITORY / "experiments"

os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("models") / "fig03"
    return quiclab.run(EXPERIMENTS / "tcp-pacing/fig03.toml", profile="quick", out=out)


@pytest.fixture(scope="session")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("transfer") / "first"
    return quiclab.run(EXPERIMENTS / "examples/first.toml", out=out, stacks=REPOSITORY / "stacks")
