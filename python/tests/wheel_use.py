"""Uses the installed package, in a folder that has nothing of the repository; wheel.sh starts it with the folder of the experiments."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import polars
from distributed import Client, LocalCluster

import quiclab
from quiclab.campaign import Options, campaign

SHARE = Path(sys.argv[1])


def tables() -> None:
    """Read a transfer in a virtual machine with each library."""
    results = quiclab.load("vm")
    assert results.expectations == [] or results.expectations[0]["outcome"]
    packets = results.packets(0)
    pandas = packets.to_pandas()
    frame = polars.from_arrow(packets)
    assert isinstance(frame, polars.DataFrame)
    [count] = duckdb.from_arrow(packets).aggregate("count(*)").fetchall()[0]
    assert len(pandas) == frame.height == count == packets.num_rows > 100
    assert results.events(0).num_rows > 0


def models() -> None:
    """Run an experiment made in Python, and draw it."""
    from quiclab import figures

    experiment = quiclab.Experiment.from_file(SHARE / "experiments/examples/scenario.toml")
    # In a folder that can be written, as an installed one may not be.
    experiment.save("scenario.toml")
    results = quiclab.run("scenario.toml", quiet=True, out="models")
    assert results.runs.num_rows > 1
    figures.boxes(results, "goodput_bps")
    plt.savefig("boxes.pdf")


def kills() -> None:
    """Perform the same experiment as a campaign whose workers are killed, and compare every byte."""
    ended = threading.Event()
    killed = []
    # All of it again in every task, so that there is something to kill.
    options = Options(batch=1, verify=1.0)
    with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:

        def kill() -> None:
            while not ended.wait(0.5):
                pids = list(client.run(os.getpid, on_error="ignore").values())
                if pids:
                    os.kill(pid := random.choice(pids), signal.SIGKILL)
                    killed.append(pid)
                if len(killed) == 2:
                    return

        killer = threading.Thread(target=kill)
        killer.start()
        outcome = campaign("scenario.toml", client, store="store", out="campaign", options=options)
        ended.set()
        killer.join()
    assert outcome.is_whole and not outcome.verdicts, (outcome.failures, outcome.verdicts)
    one, other = (files(Path(name)) for name in ("models", "campaign"))
    assert one == other, sorted({name for name in {*one, *other} if one.get(name) != other.get(name)})
    print(f"{outcome.total} runs of a campaign are the same with {len(killed)} kills")


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a results folder, without those that say how long this machine took."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != "costs.json" and name[0] != "."}


if __name__ == "__main__":
    assert Path(quiclab.__file__).is_relative_to(sys.prefix), quiclab.__file__
    tables()
    models()
    kills()
