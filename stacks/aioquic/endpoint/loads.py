"""What a client of perf does with its URLs, and how long each exchange or handshake took. Nothing of aioquic is imported here."""

import time

# Bytes of a request that have a meaning, draft-banks-quic-performance, section 2.3.
HEAD = 8
# Values of QUICLAB_PERF_LOAD; the first one is used where nothing is asked.
LOADS = ("bulk", "bidirectional", "requests", "handshakes")
# Those that repeat until their time is over, and whose latencies can be asked for.
REPEATING = ("requests", "handshakes")

# Bounds of the histogram in nanoseconds, the upper one is an hour; decimal digits of a value that are kept.
LEAST = 1000
MOST = 3_600_000_000_000
DIGITS = 3


def plan(load, sizes, urls):
    """Bytes of the request and of the response on each stream of a connection, in the order in which they are opened."""
    request, response = sizes
    if load == "handshakes":
        return [(HEAD, 0)]
    if load == "bidirectional":
        return [(request, 0), (HEAD, response)] * urls
    return [(request, response)] * urls


class Latencies:
    """An HdrHistogram of nanoseconds, once somebody wants it."""

    def __init__(self):
        # None: nothing is kept.
        self.histogram = None

    def keep(self):
        """From now on, values are kept."""
        # Not earlier: it imports ctypes, which takes time that most starts do not need.
        from hdrh.histogram import HdrHistogram

        self.histogram = HdrHistogram(LEAST, MOST, DIGITS)

    def since(self, began):
        """One took as long as from `began`, a value of time.perf_counter_ns, until now."""
        if self.histogram is not None:
            self.record(time.perf_counter_ns() - began)

    def record(self, nanoseconds):
        """One took so long."""
        self.histogram.record_value(min(nanoseconds, MOST))

    def write(self, path):
        """Writes all of them as base64 of the compressed serialisation, version 2."""
        with open(path, "wb") as file:
            file.write(self.histogram.encode() + b"\n")
