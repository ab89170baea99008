"""Results that several tests read: of flows of models, and of one transfer in a virtual machine."""

import contextlib
import os
import sys
from pathlib import Path

import pytest

import quiclab
from quiclab import Results

REPOSITORY = Path(__file__).parents[2]
EXPERIMENTS = REPOSITORY / "experiments"

os.environ.setdefault("MPLBACKEND", "agg")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write a line to stderr for each skipped test, in the form that the tests in Rust have."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        for report in terminalreporter.stats.get("skipped", []):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
            print(f"skipped: {report.nodeid}: {reason.removeprefix('Skipped: ')}", file=sys.stderr)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("models") / "fig03"
    return quiclab.run(EXPERIMENTS / "tcp-pacing/fig03.toml", profile="quick", out=out)


@pytest.fixture(scope="session")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("transfer") / "first"
    # With a stack that need not be compiled.
    return quiclab.run(
        EXPERIMENTS / "examples/first.toml", out=out, stacks=REPOSITORY / "stacks", set={"stack.name": "ngtcp2"}
    )
