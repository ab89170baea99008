"""Figures of the report on axes of matplotlib, so that a paper can restyle them (extra ``figures``).

Every function draws numbers that the command has computed. It takes `quiclab.Results`, an axis (by default the current
one) and keywords for matplotlib's artist, and returns the axis. A group of runs is a line, a bar or a box.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from quiclab.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trains(results: Results, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the share of packets in trains of each length, a bar for each group."""
    axes = _axis(ax)
    groups = results.groups
    for number, group in enumerate(groups):
        counts = _distribution(results, group, "trains")
        packets = sum(length * count for length, count in counts.items())
        width = 0.8 / max(len(groups), 1)
        places = [length + (number - (len(groups) - 1) / 2) * width for length in counts]
        heights = [length * count / packets for length, count in counts.items()]
        axes.bar(places, heights, **{"width": width, "label": group["label"], **style})
    axes.set(xlabel="packets in the train", ylabel="share of packets")
    axes.legend()
    return axes


def gaps(results: Results, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the cumulative distribution of the gaps between packets, in ms, a line for each group."""
    axes = _axis(ax)
    for group in results.groups:
        counts = _distribution(results, group, "gaps_ns")
        times, shares = _cumulative(counts)
        axes.step([time / 1e6 for time in times], shares, **{"where": "post", "label": group["label"], **style})
    axes.set(xlabel="gap, ms", ylabel="share of gaps", xscale="log", ylim=(0, 1))
    axes.legend()
    return axes


def over_time(results: Results, series: str = "goodput_bps", ax: Axes | None = None, **style: Any) -> Axes:
    """Draw a series of flows of models over time in seconds, a line for each group.

    Raises:
        KeyError: if the results have no such series; it names those that they have.
    """
    axes = _axis(ax)
    for group in results.groups:
        known = group.get("series") or {}
        if series not in known:
            raise KeyError(f"{series}: found {sorted(known) or 'no series (only flows of models have them)'}")
        axes.plot(known["time"], known[series], **{"label": group["label"], **style})
    axes.set(xlabel="time, s", ylabel=series)
    axes.legend()
    return axes


def boxes(results: Results, metric: str = "goodput_wire_bps", ax: Axes | None = None, **style: Any) -> Axes:
    """Draw a box for each group of the values of a metric in its runs; runs without a value are left out."""
    axes = _axis(ax)
    values = [
        [run["metrics"][metric] for run in group["runs"] if run["metrics"].get(metric) is not None]
        for group in results.groups
    ]
    axes.boxplot(values, **style)
    axes.set_xticks(range(1, len(values) + 1), [group["label"] for group in results.groups])
    axes.set_ylabel(metric)
    return axes


def heat_map(
    results: Results, x: str, y: str, metric: str = "handshake_client_complete_ns", ax: Axes | None = None, **style: Any
) -> Axes:
    """Draw the mean of a metric as colour over two settings, such as ``stack.name`` and ``path.rate``.

    Raises:
        ValueError: if several groups differ in other settings too, so that a field would have several values.
    """
    axes = _axis(ax)
    columns = list(dict.fromkeys(group["settings"][x] for group in results.groups))
    rows = list(dict.fromkeys(group["settings"][y] for group in results.groups))
    fields: dict[tuple[str, str], float] = {}
    for group in results.groups:
        place = (group["settings"][y], group["settings"][x])
        if place in fields:
            raise ValueError(f"{x} = {place[1]}, {y} = {place[0]}: found several groups, expected one")
        fields[place] = (group["metrics"].get(metric) or {}).get("mean", float("nan"))
    image = axes.imshow([[fields.get((row, column), float("nan")) for column in columns] for row in rows], **style)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel=x, ylabel=y)
    axes.figure.colorbar(image, ax=axes, label=metric)
    return axes


def _axis(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def _distribution(results: Results, group: dict[str, Any], name: str) -> dict[int, int]:
    """Return how often each value occurs in all runs of a group, in the order of values."""
    counts: Counter[int] = Counter()
    for run in group["runs"]:
        for value, count in results.metrics(run["record"]).get("distributions", {}).get(name, []):
            counts[value] += count
    return dict(sorted(counts.items()))


def _cumulative(counts: dict[int, int]) -> tuple[list[int], list[float]]:
    total = sum(counts.values())
    shares: list[float] = []
    seen = 0
    for count in counts.values():
        seen += count
        shares.append(seen / total)
    return list(counts), shares
