"""Where an instant ACK wins when the rest of the server's first flight is lost: the map of `quiclab.refine` beside that of the full grid.

    quiclab run bench/campaign/instant_ack.toml --out DIR
    quiclab report DIR --json > grid.json
    PYTHONPATH=python/src python bench/campaign/instant_ack.py grid.json picture.svg
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from maps import Grid, milliseconds

#: Gains that are smaller say nothing: the work of both ends differs by as much.
MARGIN_MS = 2.0


def kind(gain_ms: float) -> int:
    """Return 1 where the instant ACK wins, -1 where it loses, 0 within the margin."""
    return (gain_ms > MARGIN_MS) - (gain_ms < -MARGIN_MS)


def main(given: str, picture: str) -> None:
    report = json.loads(Path(given).read_text())
    times_ms: dict[tuple[float, float], dict[str, float]] = defaultdict(dict)
    for group in report["groups"]:
        settings = group["settings"]
        delay = next(stage for stage in settings["path"]["to_client"] if stage["name"] == "delay")["delay"]
        point = milliseconds(delay), milliseconds(settings["workload"]["certificate_delay"])
        [run] = group["runs"]
        times_ms[point][settings["stack"]["first_ack"]] = run["metrics"]["time_to_first_byte_ns"] / 1e6
    values = {point: [times["wait"] - times["instant"]] for point, times in times_ms.items()}
    rtts, delays = (sorted({point[axis] for point in values}) for axis in (0, 1))
    grid = Grid({"rtt": rtts, "delay": delays}, values, kind, cost=2)
    counts = {name: sum(kind(gain) == each for [gain] in values.values()) for each, name in ((1, "wins"), (0, "same"), (-1, "loses"))}
    print(json.dumps(counts))
    grid.compare((25, 29, 35, 43, 58))
    grid.draw(29, {-1: "#c44e52", 0: "#dddddd", 1: "#4c72b0"}, ("round-trip time, ms", "delay of the certificate, ms"), picture,
              {-1: "instant ACK loses", 0: f"within {MARGIN_MS:g} ms", 1: "instant ACK wins"})


if __name__ == "__main__":
    main(*sys.argv[1:])
