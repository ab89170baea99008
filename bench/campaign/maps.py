"""What the maps of this folder have in common: a full grid beside the part of it that `quiclab.refine` measures.

A run is a function of its settings and seed, so that the values of the grid are those that `refine` would have measured.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "quiclab"
import matplotlib.pyplot as plt  # noqa: E402

from quiclab.refine import Map, agreement, refine  # noqa: E402


def milliseconds(text: str) -> float:
    """Return a duration of a run's settings, such as ``2600 us``."""
    number, unit = text.split()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}[unit]


@dataclass
class Grid:
    """A full grid of two axes.

    Attributes:
        axes: values of both axes, in order.
        values: by a value of each axis: what was measured there.
        classes: the class of a value.
        cost: runs that a point takes.
    """

    axes: dict[str, list[float]]
    values: dict[tuple[float, float], list[float]]
    classes: Callable[[float], Any]
    cost: int = 1

    def oracle(self) -> dict[tuple[int, int], Any]:
        """Return the class of each point by its places on the axes."""
        first, second = self.axes.values()
        return {(x, y): self.classes(self.values[one, two][0]) for x, one in enumerate(first) for y, two in enumerate(second)}

    def refined(self, budget: int) -> Map:
        """Return what `refine` finds with a budget of points."""
        first, second = self.axes
        return refine(
            lambda points: [self.values[point[first], point[second]] for point in points],
            self.axes, budget, classes=self.classes, coarse=8,
        )

    def compare(self, budgets: Sequence[int]) -> None:
        """Print, for each budget, how much of the grid was measured and how much of the map is right."""
        oracle = self.oracle()
        for budget in budgets:
            found = self.refined(budget)
            print(json.dumps({
                "runs": self.cost * len(found.samples), "of": self.cost * len(oracle),
                "agreement": round(agreement(found, oracle), 4),
            }))

    def draw(self, budget: int, colours: dict[Any, str], labels: tuple[str, str], picture: str, names: dict[Any, str] | None = None) -> None:
        """Draw both maps on logarithmic axes. ``labels`` are those of the axes, ``names`` those of the classes."""
        found = self.refined(budget)
        figure, drawn = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
        first, second = self.axes.values()
        oracle = self.oracle()
        maps = ((oracle, f"full grid: {self.cost * len(oracle)} runs"),
                (found.classified(), f"refined: {self.cost * len(found.samples)} runs"))
        for axis, (classes, title) in zip(drawn, maps, strict=True):
            for kind in sorted(colours):
                points = [point for point in sorted(classes) if classes[point] == kind]
                axis.scatter([first[x] for x, _ in points], [second[y] for _, y in points], marker="s", s=34, c=colours[kind],
                             label=(names or {}).get(kind))
            axis.set(xscale="log", yscale="log", xlabel=labels[0], title=title)
        drawn[1].scatter([first[x] for x, _ in found.samples], [second[y] for _, y in found.samples], s=9, c="black", label="measured")
        drawn[0].set_ylabel(labels[1])
        handles, said = drawn[1].get_legend_handles_labels()
        figure.legend(handles, said, loc="outside lower center", ncols=len(said), frameon=False)
        figure.savefig(picture, metadata={"Date": None})
