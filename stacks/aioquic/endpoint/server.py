"""The server: files of one folder, over as many connections as come."""

import asyncio
import os
import signal

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.h3.events import HeadersReceived
from aioquic.quic.events import ConnectionTerminated, ProtocolNegotiated, StopSendingReceived, StreamReset

from . import transport
from .settings import TWO_CONNECTIONS

# Bytes of a body that wait in aioquic for their first transmission: enough for what one packet or timer can set free. More
# is only memory, as aioquic copies what it is given.
AHEAD = 256 * 1024
# H3_REQUEST_CANCELLED; HTTP/0.9 has neither a status nor codes of its own.
NOT_FOUND = 0x10C


async def serve(settings, logger, protocol=None):
    """Answers until SIGTERM. `protocol`: the class of its connections, where not Answering."""
    configuration = transport.configuration(settings, logger)
    configuration.load_cert_chain(os.path.join(settings.certs, "cert.pem"), os.path.join(settings.certs, "priv.key"))
    tickets = {}
    resumption = settings.test_case in TWO_CONNECTIONS

    def create_protocol(quic, stream_handler=None):
        transport.report_congestion_control(quic)
        return (protocol or Answering)(settings, quic)

    def server():
        return QuicServer(
            configuration=configuration,
            create_protocol=create_protocol,
            retry=settings.test_case == "retry",
            # A ticket is used once: early data cannot be replayed.
            session_ticket_fetcher=(lambda identity: tickets.pop(identity, None)) if resumption else None,
            session_ticket_handler=(lambda ticket: tickets.update({ticket.ticket: ticket})) if resumption else None,
        )

    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    await loop.create_datagram_endpoint(server, sock=transport.udp_socket(settings, settings.port))
    await ended.wait()


class Answering(QuicConnectionProtocol):
    """One connection."""

    def __init__(self, settings, quic):
        super().__init__(quic)
        self.settings = settings
        self.http = None
        # The open file and the bytes of it still to be handed over, by stream.
        self.answers = {}
        # Datagrams that came while the certificate was not there; None: it is.
        self.waiting = [] if settings.certificate_delay else None

    def datagram_received(self, data, addr):
        if self.waiting is None:
            super().datagram_received(data, addr)
            return
        if not self.waiting:
            self._loop.call_later(self.settings.certificate_delay, self.on_certificate)
        self.waiting.append((data, addr))

    def on_certificate(self):
        """The certificate is there: everything that came meanwhile is handled now."""
        waiting, self.waiting = self.waiting, None
        for data, addr in waiting:
            super().datagram_received(data, addr)

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = transport.http_connection(self.settings, self._quic)
        elif isinstance(event, (StopSendingReceived, StreamReset)):
            self.drop(event.stream_id)
        elif isinstance(event, ConnectionTerminated):
            for stream_id in list(self.answers):
                self.drop(stream_id)
        if self.http is None:
            return
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.answer(http_event.stream_id, dict(http_event.headers))

    def answer(self, stream_id, headers):
        """Begins an answer; `transmit` goes on with it."""
        file = None
        if headers.get(b":method") == b"GET":
            file = open_inside(self.settings.www, headers.get(b":path", b""))
        if file is not None:
            length = os.fstat(file.fileno()).st_size
            self.answers[stream_id] = (file, length)
            self.http.send_headers(stream_id, [(b":status", b"200"), (b"content-length", b"%d" % length)])
        elif self.settings.http == "h3":
            self.http.send_headers(stream_id, [(b":status", b"404"), (b"content-length", b"0")], end_stream=True)
        else:
            self._quic.reset_stream(stream_id, NOT_FOUND)

    def transmit(self):
        """Called by aioquic after each datagram and timer: hands over as much of the bodies as will soon be sent."""
        for stream_id in list(self.answers):
            self.hand_over(stream_id)
        super().transmit()

    def hand_over(self, stream_id):
        file, left = self.answers[stream_id]
        # aioquic has no word for how much it still holds back.
        sender = self._quic._streams[stream_id].sender
        room = AHEAD - (sender._buffer_stop - sender.highest_offset)
        if left and room < AHEAD // 2:
            return
        data = file.read(min(left, room))
        left = left - len(data) if data else 0
        self.http.send_data(stream_id, data, end_stream=not left)
        self.answers[stream_id] = (file, left)
        if not left:
            self.drop(stream_id)

    def drop(self, stream_id):
        file, _ = self.answers.pop(stream_id, (None, 0))
        if file is not None:
            file.close()


def open_inside(folder, path):
    """The regular file that a path names, None where there is none in the folder, links followed."""
    root = os.path.realpath(os.fsencode(folder))
    found = os.path.realpath(os.path.join(root, path.partition(b"?")[0].lstrip(b"/")))
    if b"\0" in path or os.path.commonpath([root, found]) != root or not os.path.isfile(found):
        return None
    return open(found, "rb", buffering=0)
