"""Adaptive grids against the full grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from quiclab.refine import Map, RefineError, agreement, refine, sign, values_of

SIDE = 65
AXES = {"x": list(range(SIDE)), "y": list(range(SIDE))}


def circle(x: float, y: float) -> float:
    """Negative within a circle."""
    return math.hypot(x - 30, y - 22) - 17.3


def diagonal(x: float, y: float) -> float:
    """Changes sign along a slope that follows no axis."""
    return y - 0.37 * x - 9.1


@pytest.mark.parametrize("border", [circle, diagonal])
def test_a_tenth_of_the_runs_gives_the_map_of_the_full_grid(border: Callable[[float, float], float]) -> None:
    calls: list[dict[str, Any]] = []

    def measure(points: list[dict[str, Any]]) -> list[list[float]]:
        calls.extend(points)
        return [[border(point["x"], point["y"])] for point in points]

    found = refine(measure, AXES, budget=SIDE * SIDE // 8, coarse=16)
    oracle = {point: sign(border(*point)) for point in itertools.product(range(SIDE), repeat=2)}
    assert len(calls) == len(found.samples) <= SIDE * SIDE / 8
    assert agreement(found, oracle) > 0.99, (agreement(found, oracle), len(calls))


def test_a_metric_that_never_changes_costs_the_coarse_grid_only() -> None:
    found = refine(lambda points: [[1.0] for _ in points], AXES, budget=4000, coarse=16)
    assert len(found.samples) == 25


def test_no_point_is_measured_twice_and_none_beyond_the_budget() -> None:
    seen: list[tuple[int, int]] = []

    def measure(points: list[dict[str, Any]]) -> list[list[float]]:
        seen.extend((point["x"], point["y"]) for point in points)
        return [[circle(point["x"], point["y"])] for point in points]

    refine(measure, AXES, budget=100, coarse=16)
    assert len(seen) == len(set(seen)) <= 100


def test_what_is_left_repeats_points_that_do_not_agree() -> None:
    values = itertools.cycle([1.0, -1.0])
    found = refine(
        lambda points: [[next(values), 1.0] for _ in points],
        {"x": [0, 1]},
        budget=20,
        repetitions=2,
        most_repetitions=6,
    )
    assert max(map(len, found.samples.values())) == 6


def test_a_budget_below_the_coarse_grid_is_refused() -> None:
    with pytest.raises(RefineError, match="found 3 runs, expected at least 25"):
        refine(lambda points: [[1.0] for _ in points], AXES, budget=3, coarse=16)
    with pytest.raises(RefineError, match="fewer than two values"):
        refine(lambda points: [], {"x": [1]}, budget=3)


def test_a_point_that_was_not_measured_has_the_value_of_its_neighbours() -> None:
    found = Map({"x": [0, 1, 2]}, sign, {(0,): [2.0], (2,): [4.0]})
    assert found.estimate((1,)) == pytest.approx(3)


def test_metrics_with_dots_are_found_both_ways() -> None:
    runs = [{"metrics": {"share": {"a": 1}}}, {"metrics": {"share.a": 2}}, {"metrics": {}}]
    report = {"groups": [{"runs": runs[:1]}, {"runs": runs[1:]}]}
    assert values_of(report, "share.a") == [1.0, 2.0]
