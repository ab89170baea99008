"""The client: fetches all URLs over one connection, or over two where the test case is about sessions,
or each over its own (multiconnect)."""

import asyncio
import dataclasses
import os
import socket

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.buffer import Buffer
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, StreamReset
from aioquic.quic.packet import pull_quic_transport_parameters

from . import transport
from .moves import may_move
from .settings import TWO_CONNECTIONS

# Seconds that a server which does not answer is given, and a session ticket.
PATIENCE = 10.0
# The same for a handshake where packets are lost (multiconnect).
LOSSY_PATIENCE = 60.0
# When a client leaves its path (connectionmigration): some round trips after the handshake, within the transfer.
MIGRATE_AFTER = 0.5
# Bytes of a body that are collected before they are written.
WRITE_BUFFER = 256 * 1024


class Failed(Exception):
    """A request or a connection failed: exit status 1."""


async def fetch_all(settings, logger, protocol=None):
    """Fetches everything; raises Failed at the first thing that goes wrong. `protocol`: the class of its connection, where not Fetching."""
    chosen = configuration(settings, logger)
    if settings.test_case == "multiconnect":
        for request in settings.requests:
            await connect(settings, chosen, [request])
        return
    if settings.test_case not in TWO_CONNECTIONS:
        await connect(settings, chosen, settings.requests, protocol=protocol)
        return
    first = await connect(settings, chosen, settings.requests[:1], wait_for_ticket=True)
    early = settings.test_case == "zerortt"
    # A ticket that allows early data makes aioquic offer it, whether or not there is any.
    ticket = first.ticket if early else dataclasses.replace(first.ticket, max_early_data_size=None)
    chosen.session_ticket = ticket
    second = await connect(settings, chosen, settings.requests[1:], early=early)
    if not second.handshake.session_resumed:
        raise Failed("second connection: found a full handshake, expected one by the first connection's session")
    if early and not second.handshake.early_data_accepted:
        raise Failed("second connection: the server did not take the early data")


def configuration(settings, logger):
    """That of the settings, with the server's name and whom to trust about it."""
    made = transport.configuration(settings, logger)
    made.load_verify_locations(cafile=os.path.join(settings.certs, "ca.pem"))
    made.server_name = settings.host
    return made


async def connect(settings, configuration, requests, early=False, wait_for_ticket=False, protocol=None):
    """Opens a connection, fetches the requests, closes it, and returns it. With `early`, requests go with the first flight."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if settings.ip == 6 else socket.AF_INET
    try:
        # The hosts file answers at once; asyncio would start a thread to ask.
        address = socket.getaddrinfo(settings.host, settings.host_port, family, socket.SOCK_DGRAM)[0][4]
    except OSError as error:
        raise Failed(f"{settings.host}: {error}") from error
    udp, connection = await loop.create_datagram_endpoint(
        lambda: (protocol or Fetching)(settings, configuration, requests), sock=transport.udp_socket(settings, 0)
    )
    try:
        connection.connect(address, transmit=False)
        if early:
            connection.start()
        connection.transmit()
        await connection.patiently(connection.handshake_done, "no handshake")
        if settings.test_case == "keyupdate":
            # aioquic defers it until the handshake is confirmed.
            connection.request_key_update()
        if not early:
            connection.start()
        if settings.test_case == "connectionmigration":
            done, _ = await asyncio.wait([connection.all_fetched], timeout=MIGRATE_AFTER)
            for fetched in done:
                # Raises what went wrong until then.
                fetched.result()
            if connection.may_move():
                old, udp = udp, await connection.migrate()
                old.abort()
        await connection.finish()
        if wait_for_ticket:
            await connection.patiently(connection.ticket_received, "no session ticket")
    finally:
        # Tells the server. Nobody waits for the end of the closing period.
        connection.close(error_code=0x100 if settings.http == "h3" and settings.perf is None else 0)
        udp.close()
    return connection


class Connection(QuicConnection):
    """Keeps the server's transport parameters, of which aioquic forgets some."""

    parameters = None

    def _parse_transport_parameters(self, data, from_session_ticket=False):
        super()._parse_transport_parameters(data, from_session_ticket)
        if not from_session_ticket:
            self.parameters = pull_quic_transport_parameters(Buffer(data=data))


class Fetching(QuicConnectionProtocol):
    """One connection and the bodies that arrive over it."""

    def __init__(self, settings, configuration, requests):
        super().__init__(Connection(configuration=configuration, session_ticket_handler=self.on_ticket))
        transport.report_congestion_control(self._quic)
        self.settings = settings
        self.leaves_paths = False
        self.http = None
        self.handshake = None
        self.ticket = None
        self.waiting = list(reversed(requests))
        # The file each open stream's body goes to.
        self.bodies = {}
        self.handshake_done = self._loop.create_future()
        self.ticket_received = self._loop.create_future()
        self.all_fetched = self._loop.create_future()

    async def patiently(self, future, otherwise):
        patience = LOSSY_PATIENCE if self.settings.test_case == "multiconnect" else PATIENCE
        try:
            async with asyncio.timeout(patience):
                await future
        except TimeoutError:
            raise Failed(f"{otherwise} after {patience:.0f} s") from None

    async def finish(self):
        """Waits until everything is there."""
        await self.all_fetched

    def may_move(self):
        """Whether the connection may move on. Raises NotSupported where the server does not let it."""
        known = self._quic.parameters
        spare = len(self._quic._peer_cid_available)
        return may_move(known.disable_active_migration, known.preferred_address is not None, spare)

    async def migrate(self):
        """Moves to another port, with another connection ID (RFC 9000 section 9.5). Returns the new transport."""
        self.leaves_paths = True
        udp, _ = await self._loop.create_datagram_endpoint(lambda: self, sock=transport.udp_socket(self.settings, 0))
        # The server hears of it at once.
        await self.ping()
        return udp

    def connection_made(self, udp):
        super().connection_made(udp)
        # Only now: nothing with the new ID leaves by the old path, nor anything with the old one by the new path.
        if self.leaves_paths:
            self.change_connection_id()

    def connection_lost(self, exc):
        """A socket was closed: not the end, where the connection has another one."""
        if not self.leaves_paths:
            super().connection_lost(exc)

    def start(self):
        """Opens as many requests as may be open at once; aioquic holds back what the server does not allow yet."""
        if self.http is None:
            self.http = transport.http_connection(self.settings, self._quic)
        self.open_requests()
        self.transmit()

    def open_requests(self):
        while self.waiting and (self.settings.streams is None or len(self.bodies) < self.settings.streams):
            request = self.waiting.pop()
            stream_id = self._quic.get_next_available_stream_id()
            authority = f"{self.settings.host}:{self.settings.host_port}"
            headers = [(":method", "GET"), (":scheme", "https"), (":authority", authority), (":path", request.path)]
            self.http.send_headers(stream_id, [(name.encode(), value.encode()) for name, value in headers], end_stream=True)
            stored = os.path.join(self.settings.downloads, request.stored)
            self.bodies[stream_id] = open(stored, "wb", buffering=WRITE_BUFFER)
        if not self.waiting and not self.bodies and not self.all_fetched.done():
            self.all_fetched.set_result(None)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and self.http is None:
            # Not later: a server's own streams may come with the rest of its handshake.
            self.http = transport.http_connection(self.settings, self._quic)
        elif isinstance(event, HandshakeCompleted):
            self.handshake = event
            if not self.handshake_done.done():
                self.handshake_done.set_result(None)
        elif isinstance(event, ConnectionTerminated):
            self.fail(f"connection closed: code {event.error_code:#x}, {event.reason_phrase or 'no reason'}")
        elif isinstance(event, StreamReset) and event.stream_id in self.bodies:
            self.fail(f"{self.bodies[event.stream_id].name}: the server reset the stream, code {event.error_code:#x}")
        if self.http is not None:
            for http_event in self.http.handle_event(event):
                self.on_http(http_event)

    def on_http(self, event):
        body = self.bodies.get(event.stream_id)
        if body is None:
            return
        if isinstance(event, HeadersReceived) and self.settings.http == "h3":
            status = dict(event.headers).get(b":status")
            # Trailers have none; aioquic itself compares the length with the announced one.
            if status is not None and not status.startswith(b"1") and status != b"200":
                self.fail(f"{body.name}: found status {status.decode(errors='replace')}, expected 200")
        elif isinstance(event, DataReceived):
            body.write(event.data)
        if event.stream_ended:
            self.bodies.pop(event.stream_id).close()
            self.open_requests()

    def on_ticket(self, ticket):
        self.ticket = ticket
        if not self.ticket_received.done():
            self.ticket_received.set_result(None)

    def fail(self, message):
        """Whatever is waited for does not come any more."""
        for future in (self.handshake_done, self.all_fetched, self.ticket_received):
            if not future.done():
                future.set_exception(Failed(message))
                # Only one of them is waited for.
                future.exception()
