"""How a campaign tells what it does: a line that changes on a terminal, plain lines elsewhere, JSON lines on request."""

from __future__ import annotations

import json
import sys
import time

#: Seconds between lines where nobody looks at a terminal.
PLAIN_EVERY_S = 10


def span(seconds: float) -> str:
    """Return a time for people: ``42 s``, ``3 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Progress:
    """Tells people on standard error, and programs on standard output.

    Args:
        total: runs of the campaign.
        done: runs that have a record at the start.
        as_json: whether each event is also a JSON line.
        quiet: whether people are told nothing.
    """

    def __init__(self, total: int, done: int, as_json: bool, quiet: bool = False) -> None:
        self.total, self.done, self.failed = total, done, 0
        self.made = 0
        self.spent_s = 0.0
        self.as_json, self.quiet = as_json, quiet
        self.start = self.told = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def event(self, kind: str, **facts: object) -> None:
        """Print a JSON line, if these are wanted."""
        if self.as_json:
            print(json.dumps({"event": kind, **facts}), flush=True)

    def say(self, text: str) -> None:
        """Tell people something."""
        if self.quiet:
            return
        lead = "\r\033[K" if self.is_terminal else ""
        print(f"{lead}quiclab: {text}", file=sys.stderr, flush=True)

    def on_done(self, runs: int, failed: int, seconds: float, workers: int) -> None:
        """Count the runs of a task that ended."""
        self.done += runs - failed
        self.made += runs - failed
        self.failed += failed
        self.spent_s += seconds
        self.event(
            "task",
            done=self.done,
            failed=self.failed,
            total=self.total,
            seconds=round(seconds, 3),
            left_s=self.left_s(workers),
        )
        now = time.monotonic()
        if self.is_terminal and not self.quiet:
            print(f"\r\033[K{self.line(workers)}", end="", file=sys.stderr, flush=True)
        elif now - self.told >= PLAIN_EVERY_S:
            self.told = now
            self.say(self.line(workers))

    def left_s(self, workers: int) -> float | None:
        """Return an estimate of what remains in s: the mean cost of runs that are done, shared by the workers. None before the first."""
        if self.made == 0:
            return None
        return round(self.spent_s / self.made * (self.total - self.done) / max(workers, 1), 1)

    def line(self, workers: int) -> str:
        """Return where the campaign stands."""
        left = self.left_s(workers)
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total} runs{failed}, {workers} workers" + (
            f", about {span(left)} left" if left is not None else ""
        )
