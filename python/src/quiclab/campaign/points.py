"""Points of an adaptive grid, each of them a small campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import Client

from quiclab.campaign.client import Options, campaign
from quiclab.refine import Measure, RefineError, name_of, side_by_side, values_of, words_of
from quiclab.results import load


def by_campaign(
    experiment: str | Path,
    metric: str,
    out: str | Path,
    client: Client,
    store: str,
    words: Sequence[str] = (),
    *,
    together: int = 8,
    options: Options | None = None,
) -> Measure:
    """Return a measure for `quiclab.refine.refine` that performs points on the workers of a Dask client.

    Args:
        experiment: the file; a point's settings are its ``--set``.
        metric: as for `quiclab.refine.by_command`.
        out: folder for the results of all points.
        client: a client of Dask; its workers need this package.
        store: a folder that all machines share, or an address of fsspec.
        words: further options of ``quiclab run``.
        together: points that are with the workers at the same time; at least as many as there are workers.
        options: how each campaign is performed.

    The measure raises `RefineError` where runs of a point fail, after the others have ended; what is in the store is not
    performed again.
    """
    chosen = replace(options or Options(), quiet=True)

    def one(point: dict[str, Any]) -> list[float]:
        folder = Path(out) / name_of(point)
        outcome = campaign(
            experiment, client, store=store, out=folder, words=[*words, *words_of(point)], options=chosen
        )
        if not outcome.is_whole:
            reason = next(iter(outcome.failures.values()), "the budget is spent")
            raise RefineError(f"{point}: {len(outcome.missing)} of {outcome.total} runs are missing: {reason}")
        return values_of(load(folder).report, metric)

    return side_by_side(one, together)
