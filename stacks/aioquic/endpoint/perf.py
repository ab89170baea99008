"""The test case perf, draft-banks-quic-performance: numbers of bytes in both directions, without files.

A request begins with the number of bytes that the server is to send, as 8 bytes in network byte order. What follows on the
stream has no meaning, in either direction, and nothing of it is kept.
"""

import asyncio

from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StopSendingReceived, StreamDataReceived, StreamReset

from .client import Failed, Fetching
from .progress import Counters, Reporter
from .server import AHEAD, Answering

# Bytes of a request that have a meaning, section 2.3.
HEAD = 8
# Resets the stream of a request that has no answer; the draft has no codes.
NO_HEAD = 1
# What is sent: handed over by slices, which aioquic copies once.
ZEROS = memoryview(bytes(AHEAD))

COUNTERS = Counters()


async def run(role, settings, logger):
    """Both roles, with lines of progress from before the first byte to the end."""
    reporter = None
    if settings.perf_progress is not None:
        reporter = Reporter(asyncio.get_running_loop(), COUNTERS, settings.perf_progress, settings.perf_interval)
    try:
        await role(settings, logger, Responding if settings.role == "server" else Exchanging)
    finally:
        if reporter:
            reporter.close()


def follow(quic):
    """Counts a connection. Returns nothing; what it knows of its path stands in the lines from now on."""
    COUNTERS.connections += 1
    recovery = quic._loss
    lost = 0
    forward = recovery._cc.on_packets_lost

    def on_packets_lost(*, packets, **others):
        # Called for what loss detection declares lost; not for a probe, which takes packets for lost to send their data again.
        nonlocal lost
        packets = list(packets)
        lost += len(packets)
        forward(packets=packets, **others)

    recovery._cc.on_packets_lost = on_packets_lost

    def path():
        rtt = recovery._rtt_smoothed if recovery._rtt_initialized else None
        return rtt, recovery.congestion_window, lost

    COUNTERS.path = path


class Sending:
    """What one end still has to send on its streams: `left` bytes by stream. The rest of a protocol is the roles' own."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.left = {}

    def transmit(self):
        """Called by aioquic after each datagram and timer: hands over as much as will soon be sent."""
        for stream_id in list(self.left):
            self.hand_over(stream_id)
        super().transmit()

    def hand_over(self, stream_id):
        left = self.left[stream_id]
        # aioquic has no word for how much it still holds back; a stream of which nothing was sent yet may not be there.
        stream = self._quic._streams.get(stream_id)
        waiting = stream.sender._buffer_stop - stream.sender.highest_offset if stream else 0
        room = AHEAD - waiting
        if left and room < AHEAD // 2:
            return
        length = min(left, room)
        left -= length
        self._quic.send_stream_data(stream_id, ZEROS[:length], end_stream=not left)
        COUNTERS.sent += length
        if left:
            self.left[stream_id] = left
        else:
            del self.left[stream_id]
            self.on_sent(stream_id)


class Exchanging(Sending, Fetching):
    """A client's connection: requests of so many bytes for responses of so many."""

    def __init__(self, settings, configuration, requests):
        super().__init__(settings, configuration, requests)
        # Bytes of the response that have arrived, by stream; None once it is complete and the request is not.
        self.bodies = {}

    async def finish(self):
        """Waits for the responses, or until the time is over."""
        await asyncio.wait([self.all_fetched], timeout=self.settings.perf_duration)
        if self.all_fetched.done():
            self.all_fetched.result()

    def start(self):
        self.open_requests()
        self.transmit()

    def open_requests(self):
        request, response = self.settings.perf
        while self.waiting and (self.settings.streams is None or len(self.bodies) < self.settings.streams):
            self.waiting.pop()
            stream_id = self._quic.get_next_available_stream_id()
            self._quic.send_stream_data(stream_id, response.to_bytes(HEAD, "big"), end_stream=request == HEAD)
            COUNTERS.sent += HEAD
            self.bodies[stream_id] = 0
            if request > HEAD:
                self.left[stream_id] = request - HEAD
        if not self.waiting and not self.bodies and not self.all_fetched.done():
            self.all_fetched.set_result(None)

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.on_data(event)
        elif isinstance(event, HandshakeCompleted):
            follow(self._quic)
            self.handshake_done.set_result(None)
        elif isinstance(event, ConnectionTerminated):
            self.fail(f"connection closed: code {event.error_code:#x}, {event.reason_phrase or 'no reason'}")
        elif isinstance(event, (StreamReset, StopSendingReceived)) and event.stream_id in self.bodies:
            self.fail(f"stream {event.stream_id}: the server reset it, code {event.error_code:#x}")

    def on_data(self, event):
        found = self.bodies.get(event.stream_id)
        if found is None:
            return
        COUNTERS.received += len(event.data)
        found += len(event.data)
        self.bodies[event.stream_id] = found
        _, expected = self.settings.perf
        if found > expected or event.end_stream and found != expected:
            self.fail(f"stream {event.stream_id}: found a response of {found} bytes, expected {expected}")
        elif event.end_stream:
            self.bodies[event.stream_id] = None
            self.settle(event.stream_id)

    def on_sent(self, stream_id):
        self.settle(stream_id)

    def settle(self, stream_id):
        """A stream is over when both of its directions are."""
        if self.bodies.get(stream_id, 0) is None and stream_id not in self.left:
            del self.bodies[stream_id]
            COUNTERS.exchanges += 1
            self.open_requests()


class Responding(Sending, Answering):
    """A server's connection."""

    def __init__(self, settings, quic):
        super().__init__(settings, quic)
        # Of requests that are not complete: their first bytes, by stream.
        self.heads = {}

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.on_data(event)
        elif isinstance(event, HandshakeCompleted):
            follow(self._quic)
        elif isinstance(event, (StopSendingReceived, StreamReset)):
            self.left.pop(event.stream_id, None)
            self.heads.pop(event.stream_id, None)
        elif isinstance(event, ConnectionTerminated):
            self.left.clear()
            self.heads.clear()

    def on_data(self, event):
        COUNTERS.received += len(event.data)
        # The second bit of the number: a stream of one direction, which has no answer (RFC 9000 section 2.1).
        if event.stream_id & 2:
            return
        head = self.heads.get(event.stream_id, b"")
        if len(head) < HEAD:
            head = self.heads[event.stream_id] = head + event.data[: HEAD - len(head)]
        if not event.end_stream:
            return
        del self.heads[event.stream_id]
        if len(head) == HEAD:
            # `transmit` follows.
            self.left[event.stream_id] = int.from_bytes(head, "big")
        else:
            self._quic.reset_stream(event.stream_id, NO_HEAD)

    def on_sent(self, stream_id):
        COUNTERS.exchanges += 1
