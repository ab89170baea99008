"""What saturates first: a campaign of 10^6 runs on 1000 cores, simulated from measured costs.

    python bench/campaign/schedule_model.py

One event for each task, in a heap. A task passes client and scheduler (one at a time), performs on its core, then reads and writes the store (a
shared rate and a number of operations at a time). A machine's first task also fetches what it lacks from the store. At the end the client unpacks
the records, one after the other. All times are seconds. The costs are arguments; the defaults are those of docs/results/campaigns.md, which says
what is measured.
"""

import argparse
import heapq
import json
import random


def simulate(runs: int, cores: int, batch: int, costs: argparse.Namespace, seed: int = 1) -> dict:
    """Return the length of the campaign and how busy each resource was, as shares of the length."""
    rng = random.Random(seed)  # noqa: S311
    left = -(-runs // batch)
    free = dict.fromkeys(("scheduler", "store operations", "store link"), 0.0)
    busy = {**dict.fromkeys(free, 0.0), "cores": 0.0}

    def use(resource: str, now: float, seconds: float) -> float:
        """Take a resource that serves one after the other; return when it is done."""
        free[resource] = max(free[resource], now) + seconds
        busy[resource] += seconds
        return free[resource]

    # (time, core, step): events in the order of time, so that each resource serves who comes first.
    events = [(0.0, core, "ask") for core in range(cores)]
    heapq.heapify(events)
    fetched: set[int] = set()
    end = 0.0
    while events:
        now, core, step = heapq.heappop(events)
        end = max(end, now)
        if step == "ask" and left > 0:
            left -= 1
            ready = use("scheduler", now, costs.scheduler)
            new = core // costs.cores_per_machine not in fetched
            fetched.add(core // costs.cores_per_machine)
            heapq.heappush(events, (ready, core, "fetch" if new else "perform"))
        elif step == "fetch":
            heapq.heappush(events, (use("store link", now, costs.things_bytes / costs.link), core, "perform"))
        elif step == "perform":
            # The mean of a batch varies less than a run.
            work = batch * max(0.0, rng.gauss(costs.perform, costs.perform * 0.2 / batch**0.5)) + costs.start + costs.overhead
            busy["cores"] += work
            heapq.heappush(events, (now + work, core, "store"))
        elif step == "store":
            # An object with all records and a note, each written and read back.
            done = use("store operations", now, 4 * costs.operation / costs.operations_at_once)
            done = max(done, use("store link", now, 2 * batch * costs.record_bytes / costs.link))
            heapq.heappush(events, (done, core, "ask"))
    shares = {name: round(seconds / end / (cores if name == "cores" else 1), 3) for name, seconds in busy.items()}
    hours = {"hours": end, "ideal_hours": runs * costs.perform / cores, "assembly_hours": runs * costs.unpack}
    return {"batch": batch, **{name: round(seconds / 3600, 3) for name, seconds in hours.items()}, "busy": shares}


def main() -> None:
    options = argparse.ArgumentParser()
    for name, value in {
        "perform": 6.0, "start": 0.05, "overhead": 0.014, "scheduler": 0.004, "operation": 0.01, "link": 1.25e9,
        "record_bytes": 1e6, "things_bytes": 250e6, "unpack": 0.002,
    }.items():
        options.add_argument(f"--{name.replace('_', '-')}", type=float, default=value)
    options.add_argument("--operations-at-once", type=int, default=32)
    options.add_argument("--cores-per-machine", type=int, default=32)
    options.add_argument("--runs", type=int, default=1_000_000)
    options.add_argument("--cores", type=int, default=1000)
    options.add_argument("--batches", type=int, nargs="+", default=[1, 5, 20, 100])
    costs = options.parse_args()
    for batch in costs.batches:
        print(json.dumps(simulate(costs.runs, costs.cores, batch, costs)))


if __name__ == "__main__":
    main()
