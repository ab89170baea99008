"""Memory and overhead of a campaign of many planned runs, with a fake command that only writes tiny records.

    PYTHONPATH=python/src:python python bench/campaign/scale.py --runs 100000 --batch 500 --budget 60

Prints a JSON object: largest resident memory of client and scheduler (one process here), seconds of planning and of resuming, tasks, and what
a task took beyond `perform`. The budget ends the first call, so that the second one resumes.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.campaign.conftest import cluster, experiment, machine
from quiclab.campaign import Options, campaign


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--runs", type=int, default=100_000)
    arguments.add_argument("--batch", type=int, default=500)
    arguments.add_argument("--seconds", type=float, default=0)
    arguments.add_argument("--budget", type=float, default=60)
    arguments.add_argument("--workers", type=int, default=2)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="quiclab-scale-") as place:
        folder = Path(place)
        command = folder / "quiclab"
        fake = Path(__file__).parents[2] / "python/tests/campaign/fake_quiclab.py"
        command.write_text(f"#!{sys.executable} -S\n" + fake.read_text().split("\n", 1)[1])
        command.chmod(0o755)
        (folder / "cache").mkdir()
        os.environ |= {"QUICLAB": str(command), "QUICLAB_CACHE": str(folder / "cache")}
        file = experiment(folder, runs=chosen.runs, seconds=chosen.seconds)
        rows = []
        with cluster(*[machine(f"m{number}") for number in range(chosen.workers)]) as client:
            for budget in (chosen.budget / 2, chosen.budget / 2):
                start = time.monotonic()
                options = Options(batch=chosen.batch, budget_s=budget)
                outcome = campaign(file, client, store=str(folder / "store"), out=folder / "out", options=options)
                elapsed = time.monotonic() - start
                rows.append({
                    "runs_made": chosen.runs - len(outcome.missing), "tasks": outcome.tasks, "elapsed_s": round(elapsed, 1),
                    "overhead_median_ms": round(1000 * statistics.median(outcome.overhead_s), 1) if outcome.overhead_s else None,
                    "whole_per_task_ms": round(1000 * (elapsed * chosen.workers - chosen.seconds * outcome.tasks) / max(outcome.tasks, 1), 1),
                    "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                })
        print(json.dumps({"runs": chosen.runs, "batch": chosen.batch, "load": os.getloadavg()[0], "calls": rows}, indent=2))


if __name__ == "__main__":
    main()
