"""A worker that does not say what a worker says. A module of its own, so that workers find it by name."""

from __future__ import annotations

import json
import os
from typing import Any

from quiclab.campaign import machine, schedule


def on_worker(task: dict[str, Any]) -> object:
    """Perform a task and return a lie about it where the machine is named ``liar``."""
    said = schedule.on_worker(task)
    if machine.name() != "liar":
        return said
    rows = json.loads(said)
    lie = os.environ["LIE"]
    if lie == "another run":
        rows["rows"][0]["id"] = "0" * 16
    elif lie == "text":
        return rows
    elif lie == "long":
        rows["rows"][0]["cost"] = {"x": "x" * (1 << 20)}
    return json.dumps(rows).encode()
