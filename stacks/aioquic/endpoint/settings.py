"""What this endpoint was asked to do, read from the environment once. Nothing of aioquic is imported here."""

import dataclasses
import urllib.parse

from .loads import HEAD, LOADS, REPEATING

TEST_CASES = ("handshake", "transfer", "http3", "retry", "chacha20", "keyupdate", "resumption", "zerortt", "v2", "multiconnect",
              "connectionmigration", "perf")
# The values of a setting that this endpoint can honour; the first one is used where nothing is asked.
CHOICES = {
    "QUICLAB_CCA": ("reno", "cubic"),
    "QUICLAB_GSO": ("off",),
    "QUICLAB_PACING": ("user",),
    "QUICLAB_HTTP": ("h3", "hq"),
    "QUICLAB_IP": ("4", "6"),
}
# Settings whose values are numbers.
NUMBERS = ("QUICLAB_STREAMS", "QUICLAB_CERT_DELAY", "QUICLAB_PORT")
# Settings of the test case perf: those of its client, and all.
PERF_OF_CLIENT = ("QUICLAB_PERF_REQUEST", "QUICLAB_PERF_RESPONSE", "QUICLAB_PERF_DURATION", "QUICLAB_PERF_LOAD", "QUICLAB_PERF_LATENCIES")
PERF = (*PERF_OF_CLIENT, "QUICLAB_PERF_PROGRESS", "QUICLAB_PERF_INTERVAL")
# Test cases of two connections, the second one by a session of the first.
TWO_CONNECTIONS = ("resumption", "zerortt")


class NotSupported(Exception):
    """Well-formed, but not something this endpoint can do: exit status 127."""


class NotUnderstood(Exception):
    """A value that means nothing: exit status 1."""


@dataclasses.dataclass(frozen=True)
class Request:
    """A URL, and the name its body is stored under."""

    path: str
    stored: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything this endpoint was asked to do. If the value exists, it can be done."""

    role: str
    test_case: str
    # Name and port of the server, as in the URLs; empty and 0 for a server.
    host: str
    host_port: int
    # Never empty for a client, always empty for a server; at least two where the test case has two connections.
    requests: tuple[Request, ...]
    # Most requests open at the same time; None: all.
    streams: int | None
    www: str
    downloads: str
    certs: str
    # None: nothing is written.
    key_log: str | None
    qlog: str | None
    congestion_control: str
    # "h3" or "hq".
    http: str
    # 4 or 6.
    ip: int
    # Seconds.
    certificate_delay: float
    # UDP port the server listens on.
    port: int
    # Bytes of each request and of each response; None: a server, or another test case.
    perf: tuple[int, int] | None
    # Seconds that the client of perf goes on; None: until every response is complete.
    perf_duration: float | None
    # One of LOADS.
    perf_load: str
    # File that the latencies of a load that repeats are written to; None: nowhere.
    perf_latencies: str | None
    # File that lines of progress are appended to; None: nowhere.
    perf_progress: str | None
    # Seconds from a line of progress to the next.
    perf_interval: float

    @classmethod
    def parse(cls, environment):
        """Reads the endpoint contract from a mapping like os.environ; raises NotSupported or NotUnderstood."""
        test_case = environment.get("TESTCASE", "")
        if test_case not in TEST_CASES:
            raise NotSupported(f"TESTCASE: found {test_case!r}, this endpoint supports {', '.join(TEST_CASES)}")
        # In order of name, so that the same environment always gets the same answer.
        for name in sorted(environment):
            value = environment[name]
            if name in CHOICES and value not in CHOICES[name]:
                raise NotSupported(f"{name}: found {value!r}, this endpoint supports {', '.join(CHOICES[name])}")
            if name.startswith("QUICLAB_") and name not in (*CHOICES, *NUMBERS, *PERF):
                raise NotSupported(f"{name}: found {value!r}, this endpoint has no such setting")
            if name in ("SERVER_PARAMS", "CLIENT_PARAMS") and value:
                raise NotSupported(f"{name}: found {value!r}, this endpoint takes no parameters")
        chosen = {name: environment.get(name, values[0]) for name, values in CHOICES.items()}
        # Without QUICLAB_HTTP, the test case says it; beside it, the two must agree.
        if test_case == "http3" and chosen["QUICLAB_HTTP"] != "h3":
            raise NotSupported("QUICLAB_HTTP: found 'hq', TESTCASE http3 is HTTP/3")
        role = environment.get("ROLE", "")
        if role not in ("server", "client"):
            raise NotUnderstood(f"ROLE: found {role!r}, expected server or client")
        if role == "server" and test_case in ("keyupdate", "multiconnect", "connectionmigration"):
            raise NotSupported(f"TESTCASE: found {test_case!r}, a server is given transfer instead")
        refuse_perf_elsewhere(environment, role, test_case)
        sizes = None
        if test_case == "perf" and role == "client":
            sizes = tuple(number(name, environment.get(name, ""), least, (1 << 64) - 1) for name, least in zip(PERF[:2], (HEAD, 0)))
        host, host_port, requests = parse_requests(environment.get("REQUESTS", "")) if role == "client" else ("", 0, ())
        if role == "client" and test_case in TWO_CONNECTIONS and len(requests) < 2:
            raise NotUnderstood(f"REQUESTS: found 1 URL, expected at least 2 for {test_case}")
        streams = environment.get("QUICLAB_STREAMS", "all")
        load, latencies = load_of(environment)
        return cls(
            role=role,
            test_case=test_case,
            host=host,
            host_port=host_port,
            requests=requests,
            streams=None if streams == "all" else number("QUICLAB_STREAMS", streams, 1, 1 << 60),
            www=environment.get("WWW", "/www"),
            downloads=environment.get("DOWNLOADS", "/downloads"),
            certs=environment.get("CERTS", "/certs"),
            key_log=environment.get("SSLKEYLOGFILE") or None,
            qlog=environment.get("QLOGDIR") or None,
            congestion_control=chosen["QUICLAB_CCA"],
            http=chosen["QUICLAB_HTTP"],
            ip=int(chosen["QUICLAB_IP"]),
            certificate_delay=number("QUICLAB_CERT_DELAY", environment.get("QUICLAB_CERT_DELAY", "0"), 0, 10**9) / 1000,
            port=number("QUICLAB_PORT", environment.get("QUICLAB_PORT", "443"), 0, 65535),
            perf=sizes,
            perf_duration=duration(environment),
            perf_load=load,
            perf_latencies=latencies,
            perf_progress=environment.get("QUICLAB_PERF_PROGRESS") or None,
            perf_interval=number("QUICLAB_PERF_INTERVAL", environment.get("QUICLAB_PERF_INTERVAL", "1000"), 10, 60_000) / 1000,
        )


def refuse_perf_elsewhere(environment, role, test_case):
    """Settings of perf belong to perf, and some of them to its client."""
    for name in PERF:
        if name not in environment:
            continue
        of_client = name in PERF_OF_CLIENT
        if test_case != "perf" or of_client and role != "client":
            where = "for a client with TESTCASE=perf" if of_client else "with TESTCASE=perf"
            raise NotSupported(f"{name}: found {environment[name]!r}, this endpoint supports it {where}")
    if "QUICLAB_PERF_INTERVAL" in environment and not environment.get("QUICLAB_PERF_PROGRESS"):
        raise NotUnderstood("QUICLAB_PERF_INTERVAL: found no QUICLAB_PERF_PROGRESS, expected both")


def duration(environment):
    """QUICLAB_PERF_DURATION in seconds."""
    name = "QUICLAB_PERF_DURATION"
    return number(name, environment[name], 1, 1 << 60) / 1000 if name in environment else None


def load_of(environment):
    """The load that is asked for, and where its latencies go."""
    load = environment.get("QUICLAB_PERF_LOAD", LOADS[0])
    if load not in LOADS:
        raise NotSupported(f"QUICLAB_PERF_LOAD: found {load!r}, this endpoint supports {', '.join(LOADS)}")
    if load in REPEATING and "QUICLAB_PERF_DURATION" not in environment:
        raise NotUnderstood(f"QUICLAB_PERF_LOAD: found {load!r}, expected QUICLAB_PERF_DURATION beside it")
    latencies = environment.get("QUICLAB_PERF_LATENCIES") or None
    if latencies and load not in REPEATING:
        raise NotUnderstood(f"QUICLAB_PERF_LATENCIES: found QUICLAB_PERF_LOAD {load!r}, expected {' or '.join(REPEATING)}")
    return load, latencies


def number(name, text, smallest, largest):
    """A whole number in decimal digits."""
    if not (text.isascii() and text.isdigit() and smallest <= int(text) <= largest):
        raise NotUnderstood(f"{name}: found {text!r}, expected a whole number, {smallest} to {largest}")
    return int(text)


def parse_requests(text):
    """Host, port and requests; all URLs are of one host and port."""
    found = set()
    requests = []
    for word in text.split():
        url = urllib.parse.urlsplit(word)
        try:
            host, port = url.hostname, url.port
        except ValueError:
            host = port = None
        name = url.path.rpartition("/")[2]
        if url.scheme != "https" or not host or not name or name in (".", ".."):
            raise NotUnderstood(f"REQUESTS: found {word!r}, expected https://HOST[:PORT]/FILE")
        found.add((host, 443 if port is None else port))
        requests.append(Request(path=url.path, stored=name))
    if not requests:
        raise NotUnderstood(f"REQUESTS: found {text!r}, expected at least one URL")
    if len(found) > 1:
        raise NotUnderstood(f"REQUESTS: found {sorted(found)}, expected the same host and port in every URL")
    host, port = found.pop()
    return host, port, tuple(requests)
