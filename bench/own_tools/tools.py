"""The own tools: how each is started, how it tells the time, and with which settings `quiclab perf` is compared."""

import json
import re
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

import recipes
from measure import PORT, fill

ADDRESS = f"127.0.0.1:{PORT}"
# What the endpoints of quinn, noq, s2n-quic and x-net-quic have as windows.
WINDOW = 16 << 20
# Tools that keep a whole file in memory get no more bytes than this.
MOST_FILE = 1_500_000_000
FILE = "The server reads a file of /dev/shm; the time is that of the loopback's counters."


@dataclass
class Program:
    """How a program is started."""

    command: list
    folder: Path | str = "/"
    environment: dict = field(default_factory=dict)
    # What it prints to standard output is the body, or of no use.
    prints_body: bool = False


@dataclass
class Tool:
    """A server and a client, which move bytes from the server to the client."""

    name: str
    stack: str
    # The tool with its version and its protocol.
    what: str
    # How `quiclab perf` is started beside it: the same settings.
    quiclab: list
    # Both get a scratch folder in /dev/shm and the number of bytes.
    server: Callable
    client: Callable
    # Bytes and seconds, from what the client printed. None: all bytes, and the time of the loopback's counters.
    printed: Callable | None = None
    notes: str = ""
    most_bytes: int = 20_000_000_000


def printed_by_loop(said):
    """The line of a loop of this folder."""
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return (lines[-1]["bytes"], lines[-1]["seconds"]) if lines else None


def tquic(builds):
    programs, own = builds.cargo_install("tquic_tools", "1.6.0"), builds.certificate()

    def server(scratch, size):
        fill(scratch / "file", size)
        return Program([programs / "tquic_server", "--listen", ADDRESS, "--cert", own / "cert.pem", "--key", own / "key.pem",
                        "--root", scratch, "--log-level", "OFF"])

    def client(_scratch, _size):
        return Program([programs / "tquic_client", "--connect-to", ADDRESS, "--alpn", "hq-interop", "--log-level", "OFF",
                        "https://localhost/file"], prints_body=True)

    notes = (f"{FILE} BBR, no GSO, a first window of 32 packets, 16 packets for each call of the server, which is what the tool "
             "has by default.")
    return [Tool("tquic", "tquic", "tquic_server and tquic_client of tquic_tools 1.6.0, HTTP/0.9",
                 ["--stack", "tquic", "--cc", "bbr", "--gso", "off"], server, client, None, notes, MOST_FILE)]


def quiche_source(builds, version):
    return builds.cargo_examples("quiche", version, ["client", "server", "http3-client"])


def quiche(builds, stack, version):
    source = quiche_source(builds, version)

    def server(scratch, size):
        examples = scratch / "examples"
        (examples / "root").mkdir(parents=True)
        for name in ("cert.crt", "cert.key"):
            shutil.copy2(source / "examples" / name, examples)
        fill(examples / "root" / "file", size)
        return Program([source / "built" / "server"], scratch)

    def client(_scratch, _size):
        return Program([source / "built" / "client", f"http://{ADDRESS}/file"], prints_body=True)

    notes = f"{FILE} CUBIC, no GSO (the examples have none), windows of 10 MB and 1 MB a stream; the client prints the body to /dev/null."
    same = Tool(stack, stack, f"examples server and client of the crate quiche {version}, HTTP/0.9",
                ["--stack", stack, "--cc", "cubic", "--gso", "off", "--pacing", "off"], server, client, None, notes, MOST_FILE)
    return [same, replace(same, name=f"{stack}-defaults", quiclab=["--stack", stack])]


def quiche_newest(builds):
    return quiche(builds, "quiche", "0.30.0")


def quiche_24(builds):
    return quiche(builds, "quiche-0.24", "0.24.6")


def quiche_22(builds):
    return quiche(builds, "quiche-0.22", "0.22.0")


def tokio_quiche(builds):
    source = builds.cargo_examples("tokio-quiche", "0.20.1", ["async_http3_server"])
    client_program = quiche_source(builds, "0.30.0") / "built" / "http3-client"

    def server(_scratch, _size):
        return Program([source / "built" / "async_http3_server", "--address", ADDRESS, "--tls-cert-path",
                        source / "examples" / "cert.crt", "--tls-private-key-path", source / "examples" / "cert.key"])

    def client(_scratch, size):
        return Program([client_program, f"https://{ADDRESS}/stream-bytes/{size}"], prints_body=True)

    notes = ("The crate has no client, so both sides have quiche 0.30.0's; the time is that of the loopback's counters. The server "
             "makes the body in memory.")
    return [Tool("tokio-quiche", "tokio-quiche", "example async_http3_server of tokio-quiche 0.20.1 and http3-client of quiche 0.30.0, "
                 "HTTP/3", ["--stack", "tokio-quiche", "--client-stack", "quiche", "--cc", "cubic"], server, client, None, notes,
                 MOST_FILE)]


def quinn_examples(builds, stack, version):
    source, own = builds.cargo_examples(stack, version, ["client", "server"]), builds.certificate()

    def server(scratch, size):
        fill(scratch / "file", size)
        return Program([source / "built" / "server", "--listen", ADDRESS, "--cert", own / "cert.pem", "--key", own / "key.pem",
                        scratch])

    def client(_scratch, _size):
        return Program([source / "built" / "client", "--ca", own / "cert.der", "--host", "localhost", "--bind", "127.0.0.1:0",
                        f"https://{ADDRESS}/file"], prints_body=True)

    notes = f"{FILE} The client keeps the body in memory. Windows of the library: 1.25 MB a stream."
    return [Tool(f"{stack}-example", stack, f"examples server and client of the crate {stack} {version}, HTTP/0.9",
                 ["--stack", stack], server, client, None, notes, MOST_FILE)]


def quinn(builds):
    return quinn_examples(builds, "quinn", "0.11.12")


def noq(builds):
    return quinn_examples(builds, "noq", "1.4.0")


def loop(program, stack, version, own, window):
    """A loop of this folder, with the windows that the endpoint has, or with those of the library."""
    more = [str(WINDOW)] if window else []

    def server(_scratch, _size):
        return Program([program, "server", ADDRESS, own / "cert.pem", own / "key.pem", *more])

    def client(_scratch, size):
        return Program([program, "client", ADDRESS, own / "cert.pem", size, *more])

    which = "windows as the endpoint has them" if window else "windows of the library"
    return Tool(f"{stack}-loop" + ("-windows" if window else ""), stack, f"plain loop over {stack} {version}, {which}",
                ["--stack", stack], server, client, printed_by_loop)


def quinn_loop(builds):
    program = builds.cargo_loop("quinn")
    return [loop(program, "quinn", "0.11.12", builds.certificate(), window) for window in (False, True)]


def noq_loop(builds):
    plain, own = builds.cargo_loop("noq"), builds.certificate()
    # Built with the feature, noq takes more CPU time even if nothing is logged.
    logging = loop(builds.cargo_loop("noq", "qlog"), "noq", "1.4.0", own, True)
    logging = replace(logging, name="noq-loop-qlog", what=f"{logging.what}, built with its feature qlog as the endpoint is")
    return [*(loop(plain, "noq", "1.4.0", own, window) for window in (False, True)), logging]


def s2n_quic_loop(builds):
    program = builds.cargo_loop("s2n-quic")
    return [loop(program, "s2n-quic", "1.91.0", builds.certificate(), window) for window in (False, True)]


def quic_go_loop(builds):
    return [loop(builds.go_loop("quic-go"), "quic-go", "0.65.0", builds.certificate(), False)]


def x_net_quic_loop(builds):
    program = builds.go_loop("x-net-quic")
    return [loop(program, "x-net-quic", "0.62.0", builds.certificate(), window) for window in (False, True)]


def lsquic_loop(builds):
    folder, own = builds.bun_loop("lsquic"), builds.certificate()
    bun = folder / "node_modules" / "@oven" / "bun-linux-x64-baseline" / "bin" / "bun"

    def server(_scratch, _size):
        return Program([bun, folder / "loop.js", "server", ADDRESS, own / "cert.pem", own / "key.pem"])

    def client(_scratch, size):
        return Program([bun, folder / "loop.js", "client", ADDRESS, own / "cert.pem", size])

    return [Tool("lsquic-loop", "lsquic", "plain loop over LSQUIC of Bun 1.4.5, windows as the endpoint has them",
                 ["--stack", "lsquic", "--cc", "bbr"], server, client, printed_by_loop)]


def quic_go(builds):
    packages = {"server": "./example", "client": "./example/client"}
    built, own = builds.go_programs("github.com/quic-go/quic-go", "0.65.0", packages), builds.certificate()

    def server(scratch, size):
        fill(scratch / "file", size)
        return Program([built / "server", "-bind", ADDRESS, "-cert", own / "cert.pem", "-key", own / "key.pem", "-www", scratch])

    def client(_scratch, _size):
        return Program([built / "client", "-q", "-insecure", f"https://{ADDRESS}/file"])

    notes = f"{FILE} The client keeps the body in a buffer that grows."
    return [Tool("quic-go-example", "quic-go", "example server and client of quic-go 0.65.0, HTTP/3", ["--stack", "quic-go"], server,
                 client, None, notes, MOST_FILE)]


def x_net_quic(builds):
    built = builds.go_programs("golang.org/x/net", "0.62.0", {"interop": "./internal/quic/cmd/interop"})
    own = builds.certificate()
    # The test case that leaves the windows as the library has them.
    case = {"TESTCASE": "handshake"}

    def server(scratch, size):
        fill(scratch / "file", size)
        return Program([built / "interop", "-listen", ADDRESS, "-cert", own / "cert.pem", "-key", own / "key.pem", "-root", scratch],
                       environment=case)

    def client(scratch, _size):
        (scratch / "out").mkdir()
        (scratch / "out" / "file").symlink_to("/dev/null")
        return Program([built / "interop", "-output", scratch / "out", f"https://{ADDRESS}/file"], environment=case)

    notes = f"{FILE} The client writes it to /dev/null. Windows of the library: 1 MiB."
    return [Tool("x-net-quic-interop", "x-net-quic", "internal/quic/cmd/interop of golang.org/x/net 0.62.0, HTTP/0.9",
                 ["--stack", "x-net-quic"], server, client, None, notes, MOST_FILE)]


def ngtcp2(builds):
    debian, own = builds.debian("ngtcp2-server", "ngtcp2-client"), builds.certificate()

    def server(scratch, size):
        fill(scratch / "file", size)
        return Program([*debian.program("gtlsserver"), "--quiet", "--cc=cubic", f"--htdocs={scratch}", "127.0.0.1", str(PORT),
                        own / "key.pem", own / "cert.pem"])

    def client(_scratch, _size):
        return Program([*debian.program("gtlsclient"), "--quiet", "--no-quic-dump", "--no-http-dump", "--exit-on-all-streams-close",
                        "--cc=cubic", "127.0.0.1", str(PORT), f"https://localhost:{PORT}/file"])

    version = debian.version("ngtcp2-client")
    notes = (f"{FILE} The server maps it into memory. Another release of ngtcp2 than the stack's, with GnuTLS instead of AWS-LC: no "
             "registry has the programs of 1.25.0.")
    return [Tool("ngtcp2", "ngtcp2-1.25", f"gtlsserver and gtlsclient {version} of Debian trixie, HTTP/3",
                 ["--stack", "ngtcp2-1.25", "--cc", "cubic", "--gso", "on"], server, client, None, notes, MOST_FILE)]


def aioquic(builds):
    source, own = builds.aioquic(), builds.certificate()
    examples = source / f"aioquic-{recipes.AIOQUIC}" / "examples"
    environment = {"PYTHONPATH": str(source / "packages")}

    def server(_scratch, _size):
        return Program([sys.executable, "http3_server.py", "--host", "127.0.0.1", "--port", str(PORT), "--certificate",
                        own / "cert.pem", "--private-key", own / "key.pem"], examples, environment)

    def client(_scratch, size):
        return Program([sys.executable, "http3_client.py", "--insecure", f"https://{ADDRESS}/{size}"], examples, environment)

    def printed(said):
        found = re.search(r": (\d+) bytes in [\d.]+ s \(([\d.]+) Mbps\)", said)
        return (int(found[1]), int(found[1]) * 8 / (float(found[2]) * 1e6)) if found else None

    notes = "Reno, by the tool's own time. It is compared with the endpoint in another Python, of Debian trixie or this machine's."
    return [Tool("aioquic", "aioquic", f"examples http3_server.py and http3_client.py of aioquic {recipes.AIOQUIC}, HTTP/3",
                 ["--stack", "aioquic", "--cc", "reno"], server, client, printed, notes, 50_000_000)]


def tcp(builds):
    debian = builds.debian("iperf3")

    def server(_scratch, _size):
        return Program([*debian.program("iperf3"), "--server", "--port", str(PORT), "--bind", "127.0.0.1"])

    def client(_scratch, size):
        return Program([*debian.program("iperf3"), "--client", "127.0.0.1", "--port", str(PORT), "--reverse", "--bytes", size,
                        "--congestion", "cubic", "--json"])

    notes = ("CUBIC; the time is that of the loopback's counters, because iperf3's own ends with a whole second. It reads and writes "
             "128 KiB with each call, quiclab 64 KiB. Its server's CPU time goes on after the transfer.")
    return [Tool("iperf3", "--tcp", f"iperf3 {debian.version('iperf3')} of Debian trixie, TCP without TLS", ["--tcp", "--cc", "cubic"],
                 server, client, None, notes)]


# By what is given to --tools.
ALL = {
    "quinn": [quinn_loop, quinn], "noq": [noq_loop, noq], "s2n-quic": [s2n_quic_loop], "quiche": [quiche_newest],
    "quiche-0.24": [quiche_24], "quiche-0.22": [quiche_22], "tokio-quiche": [tokio_quiche], "tquic": [tquic],
    "ngtcp2": [ngtcp2], "quic-go": [quic_go_loop, quic_go], "x-net-quic": [x_net_quic_loop, x_net_quic], "lsquic": [lsquic_loop],
    "aioquic": [aioquic], "tcp": [tcp],
}

# Stacks that have no row, and why.
WITHOUT = {
    "msquic": "secnetperf is not in the crate's archive, nor found in another registry, and there is no loop for it yet.",
    "kwik": "its programs are not published, only the library; it has a client only.",
    "nginx": "`quiclab perf` has no nginx: it serves files only.",
    "tcp-tls": "no tool of a registry measures TCP with rustls.",
}
