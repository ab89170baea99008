"""Where quinn's goodput collapses over delay and loss: the map of `quiclab.refine` beside that of the full grid.

    quiclab run bench/campaign/collapse.toml --testbed sim --out DIR
    quiclab report DIR --json > grid.json
    PYTHONPATH=python/src python bench/campaign/collapse.py grid.json picture.svg

A run is a function of its settings and seed, so that the values of the grid are those that `refine` would have measured.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "quiclab"
import matplotlib.pyplot as plt  # noqa: E402

from quiclab.refine import agreement, refine  # noqa: E402

COLLAPSED_BPS = 2e6
METRIC = "goodput_wire_bps"


def stage(settings: dict, name: str) -> dict:
    """Return a stage of a path."""
    return next(each for each in settings["path"]["to_client"] if each["name"] == name)


def nanoseconds(text: str) -> float:
    """Return a duration of the settings, such as ``2600 us``."""
    number, unit = text.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def main(given: str, picture: str) -> None:
    report = json.loads(Path(given).read_text())
    values = {}
    for group in report["groups"]:
        key = (nanoseconds(stage(group["settings"], "queue")["delay"]), stage(group["settings"], "loss")["probability"])
        values[key] = [run["metrics"][METRIC] for run in group["runs"]]
    delays, losses = (sorted({key[axis] for key in values}) for axis in (0, 1))
    axes = {"delay": delays, "loss": losses}

    def measure(points: list[dict]) -> list[list[float]]:
        return [values[point["delay"], point["loss"]] for point in points]

    def is_collapsed(value: float) -> bool:
        return value < COLLAPSED_BPS

    oracle = {(x, y): is_collapsed(values[delay, loss][0]) for x, delay in enumerate(delays) for y, loss in enumerate(losses)}
    figure, drawn = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    for budget in (25, 29, 35, 43, 58):
        found = refine(measure, axes, budget, classes=is_collapsed, coarse=8)
        share = agreement(found, oracle)
        print(json.dumps({"budget": budget, "runs": len(found.samples), "of": len(oracle), "agreement": round(share, 4)}))
        if budget == 43:
            shown = found
    for axis, classes, title in ((drawn[0], oracle, f"full grid: {len(oracle)} runs"),
                                 (drawn[1], shown.classified(), f"refined: {len(shown.samples)} runs")):
        points = sorted(classes)
        axis.scatter([delays[x] / 1e6 for x, _ in points], [losses[y] for _, y in points], marker="s", s=34,
                     c=["#c44e52" if classes[point] else "#c6dbef" for point in points])
        axis.set(xscale="log", yscale="log", xlabel="one-way delay, ms", title=title)
    drawn[1].scatter([delays[x] / 1e6 for x, _ in shown.samples], [losses[y] for _, y in shown.samples], s=9, c="black", label="measured")
    drawn[1].legend(loc="lower left")
    drawn[0].set_ylabel("probability of loss")
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
