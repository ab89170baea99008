"""What both roles take from aioquic: configuration, sockets, qlog."""

import functools
import json
import os
import socket
import sys

from aioquic.h0.connection import H0_ALPN, H0Connection
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicLogger
from aioquic.quic.packet import QuicProtocolVersion
from aioquic.tls import CipherSuite

# Name of draft-banks-quic-performance, section 2.1.
PERF_ALPN = ["perf"]
# Flow control for one stream and for a connection, in bytes; aioquic doubles both as data comes. Its default is 1 MiB.
WINDOW = 16 * 1024 * 1024
# Seconds of silence that end a connection. aioquic's default of 60 is more than the contract allows.
IDLE_TIMEOUT = 30.0


def configuration(settings, logger):
    """aioquic's defaults, but for what the settings ask for. Certificates are the roles' own."""
    made = QuicConfiguration(
        alpn_protocols=PERF_ALPN if settings.test_case == "perf" else H3_ALPN if settings.http == "h3" else H0_ALPN,
        congestion_control_algorithm=settings.congestion_control,
        idle_timeout=IDLE_TIMEOUT,
        is_client=settings.role == "client",
        max_data=WINDOW,
        max_stream_data=WINDOW,
        quic_logger=logger,
    )
    if settings.key_log:
        made.secrets_log_file = open(settings.key_log, "a")
    if settings.test_case == "chacha20":
        made.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    if settings.test_case == "v2":
        # The order is the client's preference: it begins with version 1 and offers to go on with version 2.
        made.original_version = QuicProtocolVersion.VERSION_1
        made.supported_versions = [QuicProtocolVersion.VERSION_2, QuicProtocolVersion.VERSION_1]
    elif settings.role == "client":
        made.supported_versions = [QuicProtocolVersion.VERSION_1]
    return made


def http_connection(settings, quic):
    """The HTTP side of a connection: both kinds have the same methods."""
    return H3Connection(quic) if settings.http == "h3" else H0Connection(quic)


def udp_socket(settings, port):
    """A socket of the IP version asked for, at all addresses. Buffers stay as the kernel makes them."""
    opened = socket.socket(socket.AF_INET6 if settings.ip == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    if settings.ip == 6:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    opened.bind(("", port))
    return opened


def report_congestion_control(quic):
    """Says which controller the library made: the class, not the setting. aioquic's qlog has no event for it."""
    say_congestion_control(type(quic._loss._cc).__name__)


# Once each: a client of perf can open thousands of connections.
@functools.cache
def say_congestion_control(name):
    print(f"congestion control: {name}", file=sys.stderr)


class QlogFolder(QuicLogger):
    """Keeps the traces in memory and writes each one into a file of its own when its connection is over."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def end_trace(self, trace):
        """Called by aioquic after the closing period, and by `close` for what is still open."""
        if trace in self._traces:
            self._traces.remove(trace)
            written = trace.to_dict()
            name = f"{written['common_fields']['ODCID']}_{written['vantage_point']['type']}.qlog"
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(json.dumps({"qlog_format": "JSON", "qlog_version": "0.3", "traces": [written]}))

    def close(self):
        """Writes the traces of connections that are not over yet."""
        for trace in list(self._traces):
            self.end_trace(trace)
