"""Figures of the report on axes of matplotlib, so that a paper can restyle them (extra ``figures``).

Every function draws numbers that the command has computed. It takes `quiclab.Results`, an axis (by default the current
one) and keywords for matplotlib's artist, and returns the axis. A group of runs is a line, a bar or a box. Times are drawn
in ms and rates in Mbit/s, as the label of the axis says.
"""

from __future__ import annotations

import math
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
        factor, name = label(series)
        values = [math.nan if value is None else value * factor for value in known[series]]
        axes.plot(known["time"], values, **{"label": group["label"], **style})
        axes.set_ylabel(name)
    axes.set_xlabel("time, s")
    axes.legend()
    return axes


def boxes(results: Results, metric: str = "goodput_wire_bps", ax: Axes | None = None, **style: Any) -> Axes:
    """Draw a box for each group of the values of a metric in its runs; runs without a value are left out.

    Raises:
        KeyError: if no run has a value.
    """
    axes = _axis(ax)
    values, name = _values(results, metric)
    axes.boxplot(values, **style)
    _name_groups(axes, results, name)
    return axes


def dots(results: Results, metric: str = "goodput_wire_bps", ax: Axes | None = None, **style: Any) -> Axes:
    """Draw a dot for each run and a line at the mean of each group; runs without a value are left out.

    For a few runs, of which a box would say more than is known.

    Raises:
        KeyError: if no run has a value.
    """
    axes = _axis(ax)
    values, name = _values(results, metric)
    for place, of_group in enumerate(values, 1):
        axes.plot([place] * len(of_group), of_group, **{"marker": "o", "linestyle": "none", "alpha": 0.7, **style})
        if of_group:
            axes.hlines(sum(of_group) / len(of_group), place - 0.25, place + 0.25, color="black")
    axes.set_xlim(0.5, len(values) + 0.5)
    _name_groups(axes, results, name)
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
    factor, name = label(metric)
    fields: dict[tuple[str, str], float] = {}
    for group in results.groups:
        place = (group["settings"][y], group["settings"][x])
        if place in fields:
            raise ValueError(f"{x} = {place[1]}, {y} = {place[0]}: found several groups, expected one")
        fields[place] = factor * (group["metrics"].get(metric) or {}).get("mean", float("nan"))
    image = axes.imshow([[fields.get((row, column), float("nan")) for column in columns] for row in rows], **style)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(xlabel=x, ylabel=y)
    axes.figure.colorbar(image, ax=axes, label=name)
    return axes


def label(metric: str) -> tuple[float, str]:
    """Return by what a metric is multiplied to be drawn, and what is written at the axis: ``x_ns`` becomes ``x, ms``."""
    for ending, factor, unit in (("_ns", 1e-6, "ms"), ("_bps", 1e-6, "Mbit/s"), ("_bytes", 1e-3, "kB")):
        if metric.endswith(ending):
            return factor, f"{metric.removesuffix(ending).replace('_', ' ')}, {unit}"
    return 1.0, metric.replace("_", " ")


def _axis(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def _values(results: Results, metric: str) -> tuple[list[list[float]], str]:
    """Return the values of a metric by group as they are drawn, and the name of their axis."""
    factor, name = label(metric)
    values = [[run["metrics"].get(metric) for run in group["runs"]] for group in results.groups]
    found = [[factor * value for value in of_group if value is not None] for of_group in values]
    if not any(found):
        raise KeyError(f"{metric}: found no run with a value, of {sum(map(len, values))}")
    return found, name


def _name_groups(axes: Axes, results: Results, name: str) -> None:
    axes.set_xticks(range(1, len(results.groups) + 1), [group["label"] for group in results.groups])
    axes.set_ylabel(name)


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
