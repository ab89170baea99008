"""aioquic as a quiclab endpoint: server or client, by ROLE.

Nothing of QUIC is decided here: timers, packet sizes and pacing are aioquic's. Read settings.py first (what is honoured, what
is refused), then transport.py, server.py and client.py; perf.py is both roles of the test case that has no files.

Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
"""

import asyncio
import os
import sys

from .settings import NotSupported, NotUnderstood, Settings

EXIT_FAILED = 1
EXIT_NOT_SUPPORTED = 127


def main():
    try:
        settings = Settings.parse(os.environ)
    except NotSupported as error:
        print(error, file=sys.stderr)
        return EXIT_NOT_SUPPORTED
    except NotUnderstood as error:
        print(error, file=sys.stderr)
        return EXIT_FAILED
    # After the refusals: importing aioquic takes most of a start.
    from . import client, perf, server, transport

    logger = transport.QlogFolder(settings.qlog) if settings.qlog else None
    role = server.serve if settings.role == "server" else client.fetch_all
    try:
        asyncio.run((perf.run if settings.test_case == "perf" else role)(settings, logger))
        status = 0
    except NotSupported as error:
        # What only the peer could tell.
        print(error, file=sys.stderr)
        status = EXIT_NOT_SUPPORTED
    except (client.Failed, OSError) as error:
        print(error, file=sys.stderr)
        status = EXIT_FAILED
    if logger:
        logger.close()
    return status
