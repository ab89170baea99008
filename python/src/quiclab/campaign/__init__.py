"""Campaigns: an experiment's runs on many machines, with Dask. :func:`campaign` is all that most programs need.

What is where: :mod:`.plan` asks the command for the runs, :mod:`.schedule` hands them out, :mod:`.worker` performs them, :mod:`.store` keeps the
records, :mod:`.verify` compares those that were made twice.
"""

from quiclab.campaign.client import Options, Outcome, campaign
from quiclab.campaign.machine import Machine, RefusedError
from quiclab.campaign.plan import PlanError
from quiclab.campaign.points import by_campaign
from quiclab.campaign.store import DamagedError, Store, StoreError

__all__ = [
    "DamagedError",
    "Machine",
    "Options",
    "Outcome",
    "PlanError",
    "RefusedError",
    "Store",
    "StoreError",
    "by_campaign",
    "campaign",
]
