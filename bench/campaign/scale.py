"""Memory and overhead of a campaign of many planned runs.

    PYTHONPATH=python/src:python python bench/campaign/scale.py --runs 100000 --batch 500 --budget 60

With a fake command that only writes tiny records; with ``--file FILE`` the real one (``QUICLAB``) performs an experiment. Prints a JSON
object with a row for each call: the first stops in the middle, the second resumes. `beyond_ms` is what each task took of its worker beyond
`perform`, whatever the reason: by worker, the seconds between the end of its first and of its last task, less those of `perform`. The memory is
that of the process with client and scheduler.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from quiclab.campaign import Options
from quiclab.campaign.client import campaign
from quiclab.campaign.schedule import Schedule
from tests.campaign.conftest import cluster, experiment, machine


def resident_mib() -> int:
    """Return the resident memory of this process now; the largest would include what the first call left."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


def watched(tasks: list[tuple[float, float, float, str]]) -> None:
    """Note when each task ends, its seconds, those of `perform` in it, and its worker."""
    usual = Schedule.perform

    def perform(self, *given):  # noqa: ANN001, ANN002, ANN202
        for job, result, error in usual(self, *given):
            if result is not None:
                tasks.append((time.monotonic(), result["seconds"], result["perform_seconds"], result["address"]))
            yield job, result, error

    Schedule.perform = perform


def beyond(tasks: list[tuple[float, float, float, str]]) -> float:
    """Return the seconds of a worker beyond `perform`, by task."""
    seconds, count = 0.0, 0
    for address in {address for _, _, _, address in tasks}:
        own = [(end, perform) for end, _, perform, at in tasks if at == address]
        seconds += own[-1][0] - own[0][0] - sum(perform for _, perform in own[1:])
        count += len(own) - 1
    return seconds / count


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--file", type=Path)
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--batch", type=int, default=500)
    arguments.add_argument("--seconds", type=float, default=0)
    arguments.add_argument("--budget", type=float, default=1e9, help="seconds of tasks after which the first call stops")
    arguments.add_argument("--workers", type=int, default=2)
    chosen = arguments.parse_args()
    logging.disable(logging.INFO)
    tasks: list[tuple[float, float, float, str]] = []
    watched(tasks)
    with tempfile.TemporaryDirectory(prefix="quiclab-scale-") as place:
        folder = Path(place)
        file = chosen.file
        if file is None:
            command = folder / "quiclab"
            fake = Path(__file__).parents[2] / "python/tests/campaign/fake_quiclab.py"
            command.write_text(f"#!{sys.executable} -S\n" + fake.read_text().split("\n", 1)[1])
            command.chmod(0o755)
            (folder / "cache").mkdir()
            os.environ |= {"QUICLAB": str(command), "QUICLAB_CACHE": str(folder / "cache")}
            file = experiment(folder, runs=chosen.runs, seconds=chosen.seconds)
        rows = []
        with cluster(*[machine(f"m{number}") for number in range(chosen.workers)]) as client:
            for budget in (chosen.budget, None):
                tasks.clear()
                start = time.monotonic()
                options = Options(batch=chosen.batch, budget_s=budget)
                outcome = campaign(file, client, store=str(folder / "store"), out=folder / "out", options=options)
                row = {
                    "runs": outcome.total, "runs_made": outcome.total - len(outcome.missing), "tasks": outcome.tasks,
                    "elapsed_s": round(time.monotonic() - start, 1), "resident_mib": resident_mib(),
                }
                if len(tasks) > 1:
                    ends = [end for end, _, _, _ in tasks]
                    row["first_task_after_s"] = round(ends[0] - start, 1)
                    row["assembled_in_s"] = round(time.monotonic() - ends[-1], 1)
                    row["perform_median_ms"] = round(1000 * statistics.median(perform for _, _, perform, _ in tasks), 1)
                    row["on_worker_beyond_perform_ms"] = round(1000 * statistics.median(a - b for _, a, b, _ in tasks), 1)
                    row["beyond_ms"] = round(1000 * beyond(tasks), 1)
                rows.append(row)
                if outcome.is_whole:
                    break
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        facts = {"batch": chosen.batch, "workers": chosen.workers, "load": os.getloadavg()[0], "largest_resident_mib": largest}
        print(json.dumps({**facts, "calls": rows}, indent=2))


if __name__ == "__main__":
    main()
