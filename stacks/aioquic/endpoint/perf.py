"""The test case perf, draft-banks-quic-performance: numbers of bytes in both directions, without files.

A request begins with the number of bytes that the server is to send, as 8 bytes in network byte order. What follows on the
stream has no meaning, in either direction, and nothing of it is kept.
"""

import asyncio
import time

from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StopSendingReceived, StreamDataReceived, StreamReset

from . import client, server
from .client import Fetching
from .loads import HEAD, Latencies, plan
from .progress import Counters, Reporter
from .server import AHEAD, Answering

# Resets the stream of a request that has no answer; the draft has no codes.
NO_HEAD = 1
# What is sent: handed over by slices, which aioquic copies once.
ZEROS = memoryview(bytes(AHEAD))

COUNTERS = Counters()
LATENCIES = Latencies()


async def run(settings, logger):
    """Both roles, with lines of progress from before the first byte to the end."""
    if settings.perf_latencies is not None:
        LATENCIES.keep()
    reporter = None
    if settings.perf_progress is not None:
        reporter = Reporter(asyncio.get_running_loop(), COUNTERS, settings.perf_progress, settings.perf_interval)
    try:
        if settings.role == "server":
            await server.serve(settings, logger, Responding)
        elif settings.perf_load == "handshakes":
            await shake_hands(settings, logger)
        else:
            await client.fetch_all(settings, logger, Exchanging)
    finally:
        # Nothing ran since the role ended, so this line and the latencies count the same.
        if reporter:
            reporter.close()
    if settings.perf_latencies is not None:
        LATENCIES.write(settings.perf_latencies)


async def shake_hands(settings, logger):
    """Opens connections, one after the other, as many at a time as there are URLs, until the time is over."""
    configuration = client.configuration(settings, logger)

    async def one_after_the_other():
        while True:
            await client.connect(settings, configuration, settings.requests, protocol=Exchanging)

    at_a_time = min(len(settings.requests), settings.streams or len(settings.requests))
    running = [asyncio.create_task(one_after_the_other()) for _ in range(at_a_time)]
    done, _ = await asyncio.wait(running, timeout=settings.perf_duration, return_when=asyncio.FIRST_EXCEPTION)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    for task in done:
        task.result()


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


class Exchange:
    """What a client knows of a stream that is not over."""

    __slots__ = ("sizes", "began", "received", "ended")

    def __init__(self, sizes):
        # Bytes of the request and of the response.
        self.sizes = sizes
        # By time.perf_counter_ns.
        self.began = time.perf_counter_ns()
        # Bytes of the response that have arrived, and whether they are all.
        self.received = 0
        self.ended = False


class Exchanging(Sending, Fetching):
    """A client's connection: requests of so many bytes for responses of so many."""

    def __init__(self, settings, configuration, requests):
        super().__init__(settings, configuration, requests)
        # Sizes of the streams that are not opened yet, the next one last.
        self.waiting = list(reversed(plan(settings.perf_load, settings.perf, len(requests))))
        self.repeats = settings.perf_load == "requests"
        self.most = settings.streams or len(self.waiting)
        # By stream.
        self.running = {}
        # When it was begun, by time.perf_counter_ns.
        self.began = 0

    def connect(self, *arguments, **named):
        self.began = time.perf_counter_ns()
        super().connect(*arguments, **named)

    async def finish(self):
        """Waits for the responses, or until the time is over."""
        if self.settings.perf_load == "handshakes":
            # The time is that of all connections.
            await self.patiently(self.all_fetched, "no response")
            return
        await asyncio.wait([self.all_fetched], timeout=self.settings.perf_duration)
        if self.all_fetched.done():
            self.all_fetched.result()

    def start(self):
        self.open_requests()
        self.transmit()

    def transmit(self):
        """The server may allow more streams now, for which exchanges of the load `requests` wait here and not in aioquic."""
        if self.repeats and self.handshake_done.done():
            self.open_requests()
        super().transmit()

    def open_requests(self):
        while self.waiting and len(self.running) < self.most:
            stream_id = self._quic.get_next_available_stream_id()
            if self.repeats and stream_id // 4 >= self._quic._remote_max_streams_bidi:
                return
            request, response = sizes = self.waiting.pop()
            self.running[stream_id] = Exchange(sizes)
            self._quic.send_stream_data(stream_id, response.to_bytes(HEAD, "big"), end_stream=request == HEAD)
            COUNTERS.sent += HEAD
            if request > HEAD:
                self.left[stream_id] = request - HEAD
        if not self.waiting and not self.running and not self.all_fetched.done():
            self.all_fetched.set_result(None)

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.on_data(event)
        elif isinstance(event, HandshakeCompleted):
            if self.settings.perf_load == "handshakes":
                LATENCIES.since(self.began)
            follow(self._quic)
            self.handshake_done.set_result(None)
        elif isinstance(event, ConnectionTerminated):
            self.fail(f"connection closed: code {event.error_code:#x}, {event.reason_phrase or 'no reason'}")
        elif isinstance(event, (StreamReset, StopSendingReceived)) and event.stream_id in self.running:
            self.fail(f"stream {event.stream_id}: the server reset it, code {event.error_code:#x}")

    def on_data(self, event):
        exchange = self.running.get(event.stream_id)
        if exchange is None:
            return
        COUNTERS.received += len(event.data)
        exchange.received += len(event.data)
        _, expected = exchange.sizes
        if exchange.received > expected or event.end_stream and exchange.received != expected:
            self.fail(f"stream {event.stream_id}: found a response of {exchange.received} bytes, expected {expected}")
        elif event.end_stream:
            exchange.ended = True
            self.settle(event.stream_id)

    def on_sent(self, stream_id):
        self.settle(stream_id)

    def settle(self, stream_id):
        """A stream is over when both of its directions are."""
        exchange = self.running.get(stream_id)
        if exchange is None or not exchange.ended or stream_id in self.left:
            return
        del self.running[stream_id]
        COUNTERS.exchanges += 1
        if self.repeats:
            LATENCIES.since(exchange.began)
            self.waiting.append(exchange.sizes)
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
