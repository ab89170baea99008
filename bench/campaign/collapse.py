"""Where quinn's goodput collapses over delay and loss: the map of `quiclab.refine` beside that of the full grid.

    quiclab run bench/campaign/collapse.toml --testbed sim --out DIR
    quiclab report DIR --json > grid.json
    PYTHONPATH=python/src python bench/campaign/collapse.py grid.json picture.svg
"""

import json
import sys
from pathlib import Path

from maps import Grid, milliseconds

COLLAPSED_BPS = 2e6
METRIC = "goodput_wire_bps"


def stage(settings: dict, name: str) -> dict:
    """Return a stage of a path."""
    return next(each for each in settings["path"]["to_client"] if each["name"] == name)


def main(given: str, picture: str) -> None:
    report = json.loads(Path(given).read_text())
    values = {}
    for group in report["groups"]:
        key = (milliseconds(stage(group["settings"], "queue")["delay"]), stage(group["settings"], "loss")["probability"])
        values[key] = [run["metrics"][METRIC] for run in group["runs"]]
    delays, losses = (sorted({key[axis] for key in values}) for axis in (0, 1))
    grid = Grid({"delay": delays, "loss": losses}, values, lambda value: value < COLLAPSED_BPS)
    grid.compare((25, 29, 35, 43, 58))
    grid.draw(43, {False: "#c6dbef", True: "#c44e52"}, ("one-way delay, ms", "probability of loss"), picture,
              {False: "2 Mbit/s or more", True: "below 2 Mbit/s"})


if __name__ == "__main__":
    main(*sys.argv[1:])
