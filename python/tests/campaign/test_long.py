"""The same folder from one process, from four workers, and from four workers of which one is killed every 20 s. `make test-campaign-kills`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from quiclab.campaign import Options, campaign

from .conftest import cluster, comparable, killing, machine, same
from .test_real import COMMAND, TRANSFERS, by_command, real  # noqa: F401 - a fixture

MINUTES = os.environ.get("QUICLAB_KILLS_MINUTES")
pytestmark = pytest.mark.skipif(
    COMMAND is None or MINUTES is None, reason="make test-campaign-kills sets QUICLAB_TESTS and QUICLAB_KILLS_MINUTES"
)


@pytest.mark.parametrize("testbed", ["sim", "vm"])
def test_kills_every_20_s_change_nothing(real: dict[str, str], tmp_path: Path, testbed: str) -> None:  # noqa: F811
    """Makes as many runs as one process makes in the minutes that are given."""
    file = tmp_path / "transfers.toml"
    words = ["--testbed", testbed]
    file.write_text(TRANSFERS)
    by_command(file, tmp_path / "warm", *words)
    file.write_text(TRANSFERS.replace("repetitions = 2", "repetitions = 4"))
    start = time.monotonic()
    by_command(file, tmp_path / "measured", *words)
    repetitions = max(2, round(float(MINUTES or 1) * 60 / (time.monotonic() - start) * 4))
    file.write_text(TRANSFERS.replace("repetitions = 2", f"repetitions = {repetitions}"))
    one = by_command(file, tmp_path / "one", *words)
    folders = []
    for name in ("quiet", "killed"):
        with (
            cluster(*[machine(each, **real) for each in "abcd"]) as client,
            killing(client, 20, name == "killed") as killed,
        ):
            outcome = campaign(
                file,
                client,
                store=str(tmp_path / f"store-{name}"),
                out=tmp_path / name,
                words=words,
                options=Options(batch=1),
            )
        assert outcome.is_whole, outcome.failures
        assert len(killed) >= 2 or name == "quiet"
        print(f"{testbed}, {name}: {outcome.total} runs, {len(killed)} kills")
        folders.append(comparable(tmp_path / name))
    for folder in folders:
        same(one, folder)
