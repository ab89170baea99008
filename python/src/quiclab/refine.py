"""Adaptive grids: a coarse grid first, then more runs only where the metric changes, until a budget is spent.

:func:`refine` needs a function that measures points: :func:`by_command` makes one that lets ``quiclab run`` perform them,
``quiclab.campaign.by_campaign`` one that uses the workers of a Dask client.
"""

from __future__ import annotations

import heapq
import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclab._command import call, setting

Point = tuple[int, ...]
#: A box of the grid: on each axis its first and its last place.
Cell = tuple[tuple[int, int], ...]
#: Returns the values of the metric for each of some settings, one for each repetition.
Measure = Callable[[list[dict[str, Any]]], list[list[float]]]


class RefineError(ValueError):
    """An axis, a budget or a measured value that cannot be used."""


@dataclass
class Map:
    """What is known of the grid.

    Attributes:
        axes: the values of each axis, by setting.
        classes: decides the class of a value, such as its sign; None where values themselves are compared.
        samples: by point (places on the axes): the values measured there.
    """

    axes: dict[str, list[Any]]
    classes: Callable[[float], Any]
    samples: dict[Point, list[float]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of values of each axis."""
        return tuple(len(values) for values in self.axes.values())

    def value(self, point: Point) -> float:
        """Return the median of what was measured at a point."""
        return statistics.median(self.samples[point])

    def settings(self, point: Point) -> dict[str, Any]:
        """Return the settings of a point."""
        return {key: values[place] for (key, values), place in zip(self.axes.items(), point, strict=True)}

    def estimate(self, point: Point) -> float:
        """Return the value at a point: as measured, else that of the nearest measured points, weighted by closeness.

        Distances are in steps of the axes. With no point measured this is not a number.
        """
        if point in self.samples:
            return self.value(point)
        if not self.samples:
            return math.nan
        near = heapq.nsmallest(2 ** len(self.axes), self.samples, key=lambda other: _distance(point, other))
        weights = [1 / _distance(point, other) ** 2 for other in near]
        return sum(weight * self.value(other) for weight, other in zip(weights, near, strict=True)) / sum(weights)

    def classified(self) -> dict[Point, Any]:
        """Return the class of every point of the full grid, estimated where it was not measured."""
        return {point: self.classes(self.estimate(point)) for point in itertools.product(*map(range, self.shape))}


def _distance(one: Point, other: Point) -> float:
    return math.dist(one, other)


def sign(value: float) -> int:
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


def refine(
    measure: Measure,
    axes: Mapping[str, Sequence[Any]],
    budget: int,
    *,
    classes: Callable[[float], Any] = sign,
    coarse: int = 4,
    repetitions: int = 1,
    most_repetitions: int = 1,
) -> Map:
    """Measure a grid where its metric changes class, and leave out what lies between equals.

    Cells of a coarse grid are halved along their longest side where their corners differ in class, the smallest cells last, so that the
    whole border becomes known evenly. What remains of the budget repeats points at the border whose interval includes both classes.

    Args:
        measure: measures points.
        axes: the full grid: each setting with its values in order; at least two each.
        budget: runs, at most.
        classes: what makes two values differ, such as :func:`sign`, or ``lambda v: v > 1e6``.
        coarse: steps of the first grid, in places of the axes; a power of two wastes least.
        repetitions: runs of each point.
        most_repetitions: runs of a point at the border whose repetitions do not agree.

    Returns:
        the map; `Map.classified` has every point.

    Raises:
        RefineError: for an axis with fewer than two values, or a budget that does not suffice for the coarse grid.
    """
    if not axes or any(len(values) < 2 for values in axes.values()):
        raise RefineError("axes: found one with fewer than two values, expected at least two")
    grid = Map({key: list(values) for key, values in axes.items()}, classes)
    spent = 0

    def need(points: list[Point]) -> bool:
        nonlocal spent
        new = [point for point in dict.fromkeys(points) if point not in grid.samples]
        if spent + len(new) * repetitions > budget:
            return False
        if new:
            for point, values in zip(new, measure([grid.settings(point) for point in new]), strict=True):
                if not values:
                    raise RefineError(f"{grid.settings(point)}: found no value of the metric")
                grid.samples[point] = list(values)
            spent += len(new) * repetitions
        return True

    places = [sorted({*range(0, length, coarse), length - 1}) for length in grid.shape]
    if not need(list(itertools.product(*places))):
        raise RefineError(
            f"budget: found {budget} runs, expected at least {math.prod(map(len, places)) * repetitions} for the coarse grid"
        )
    lows, highs = (itertools.product(*(axis[part] for axis in places)) for part in (slice(None, -1), slice(1, None)))
    cells: set[Cell] = {tuple(zip(low, high, strict=True)) for low, high in zip(lows, highs, strict=True)}
    queue: list[tuple[int, Cell]] = []
    for cell in sorted(cells):
        _push(queue, grid, cell)
    while queue:
        # Cells of one size together, so that a campaign has many points at a time.
        size, wanted = queue[0][0], dict[Cell, tuple[Cell, Cell]]()
        points: dict[Point, None] = {}
        while queue and queue[0][0] == size:
            _, cell = heapq.heappop(queue)
            if cell in wanted or cell not in cells or -size < 2 or not _is_mixed(grid, cell):
                continue
            halves = _halves(cell)
            corners = [corner for half in halves for corner in itertools.product(*half) if corner not in grid.samples]
            if spent + len({*points, *corners}) * repetitions <= budget:
                points.update(dict.fromkeys(corners))
                wanted[cell] = halves
        need(list(points))
        cells.difference_update(wanted)
        cells.update(half for halves in wanted.values() for half in halves)
        # What a border leaves through its side, a neighbour must look at too.
        for other in sorted({other for cell in wanted for other in _touching(cells, cell)}):
            _push(queue, grid, other)
    _repeat(grid, measure, budget - spent, repetitions, most_repetitions)
    return grid


def _push(queue: list[tuple[int, Cell]], grid: Map, cell: Cell) -> None:
    if _is_mixed(grid, cell):
        heapq.heappush(queue, (-max(high - low for low, high in cell), cell))


def _halves(cell: Cell) -> tuple[Cell, Cell]:
    """Return the halves of a cell along its longest side."""
    axis = max(range(len(cell)), key=lambda place: cell[place][1] - cell[place][0])
    low, high = cell[axis]
    middle = (low + high) // 2
    return cell[:axis] + ((low, middle),) + cell[axis + 1 :], cell[:axis] + ((middle, high),) + cell[axis + 1 :]


def _is_mixed(grid: Map, cell: Cell) -> bool:
    """Whether measured points in or on a cell differ in class: also those on its sides that belong to smaller neighbours."""
    inside = [
        grid.classes(grid.value(p))
        for p in grid.samples
        if all(low <= at <= high for at, (low, high) in zip(p, cell, strict=True))
    ]
    return len(set(inside)) > 1


def _touching(cells: set[Cell], cell: Cell) -> list[Cell]:
    """Return the cells that have a point in common with another, which may have been halved."""
    return [other for other in cells if all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(cell, other, strict=True))]


def _repeat(grid: Map, measure: Measure, left: int, repetitions: int, most: int) -> None:
    """Repeat points whose repetitions do not agree on the class, the closest calls first."""
    while left >= repetitions:
        unsure = [
            p
            for p, values in grid.samples.items()
            if len(values) < most and len({grid.classes(value) for value in values}) > 1
        ]
        if not unsure:
            return
        point = min(unsure, key=lambda p: len(grid.samples[p]))
        [values] = measure([grid.settings(point)])
        grid.samples[point] += values
        left -= repetitions


def agreement(found: Map, oracle: Mapping[Point, Any]) -> float:
    """Return the share of the full grid's points whose class is that of the oracle, 0 to 1."""
    classified = found.classified()
    right = sum(1 for point, kind in oracle.items() if classified[point] == kind)
    return right / len(oracle)


def by_command(
    experiment: str | Path, metric: str, out: str | Path, words: Sequence[str] = (), *, jobs: int = 1
) -> Measure:
    """Return a measure that performs points with ``quiclab run``; records that are there already cost nothing.

    Args:
        experiment: the file; a point's settings are its ``--set``.
        metric: a metric of docs/reference/metrics.md, or of a scenario's groups such as ``share.plain``.
        out: folder for the results of all points.
        words: further options of ``quiclab run``.
        jobs: points that are performed at the same time.

    The measure raises `quiclab.QuiclabError` where a run fails.
    """

    def one(point: dict[str, Any]) -> list[float]:
        folder = Path(out) / name_of(point)
        said = call(["run", str(experiment), *words, *words_of(point), "--out", str(folder), "--json"])
        return values_of(said["report"], metric)

    return side_by_side(one, jobs)


def words_of(point: Mapping[str, Any]) -> list[str]:
    """Return the options of the command that set a point."""
    return [word for key, value in point.items() for word in ("--set", f"{key}={setting(value)}")]


def name_of(point: Mapping[str, Any]) -> str:
    """Return the name of the folder with a point's results."""
    return "-".join(setting(value).replace("/", "_").replace(" ", "_") for value in point.values())


def side_by_side(one: Callable[[dict[str, Any]], list[float]], jobs: int) -> Measure:
    """Return a measure that asks ``one`` for so many points at the same time."""

    def measure(points: list[dict[str, Any]]) -> list[list[float]]:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, points))

    return measure


def values_of(report: dict[str, Any], metric: str) -> list[float]:
    """Return a metric of every run of a report, as ``quiclab run --json`` prints it."""
    values = []
    for run in [run for group in report["groups"] for run in group["runs"]]:
        value: Any = run["metrics"]
        for part in [metric] if metric in value else metric.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, (int, float)):
            values.append(float(value))
    return values
