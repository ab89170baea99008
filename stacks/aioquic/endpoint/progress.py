"""What this process has carried so far, as lines of a file that grows while it works. Nothing of aioquic is imported here."""

import json
import os
import time


class Counters:
    """Counted since the process started, over all its connections."""

    def __init__(self):
        # Bytes of streams that were handed to aioquic and taken from it.
        self.sent = 0
        self.received = 0
        # Streams that are over in both directions.
        self.exchanges = 0
        # Completed handshakes.
        self.connections = 0
        # The newest connection, which knows of its path; None: nothing is connected.
        self.path = None

    def line(self, nanoseconds):
        """One line; `path` is a function that returns the smoothed RTT in seconds, the window in bytes and the packets lost."""
        rtt, window, lost = self.path() if self.path else (None, None, None)
        counted = {
            "monotonic_ns": nanoseconds,
            "sent": self.sent,
            "received": self.received,
            "exchanges": self.exchanges,
            "connections": self.connections,
            "rtt_ns": None if rtt is None else round(rtt * 1e9),
            "window": window,
            "lost": lost,
        }
        return json.dumps(counted, separators=(",", ":")) + "\n"


class Reporter:
    """Appends a line at once, one each interval, and one when it is closed. It lives in asyncio's loop, like everything else."""

    def __init__(self, loop, counters, path, interval):
        self.counters = counters
        self.loop = loop
        self.interval = interval
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.write()
        self.due = loop.time()
        self.timer = None
        self.schedule()

    def schedule(self):
        # Lines that are late already are not made up for.
        self.due = max(self.due + self.interval, self.loop.time())
        self.timer = self.loop.call_at(self.due, self.on_timer)

    def on_timer(self):
        self.write()
        self.schedule()

    def write(self):
        os.write(self.file, self.counters.line(time.monotonic_ns()).encode())

    def close(self):
        self.timer.cancel()
        self.write()
        os.close(self.file)
