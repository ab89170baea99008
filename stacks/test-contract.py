#!/usr/bin/env python3
"""Proves what a stack's stack.toml claims, and that the stack refuses everything else.

    stacks/test-contract.py stacks/quiche                      # builds it and runs it on this host
    stacks/test-contract.py stacks/ngtcp2 --root /tmp/trixie   # runs it inside a Debian root folder
    stacks/test-contract.py stacks/nginx --root /tmp/trixie --peer stacks/ngtcp2 --peer-root /tmp/trixie
    stacks/test-contract.py stacks/quiche --case retry --capture /tmp/retry.pcapng   # one kind of check, and its packets

With --peer, each role of the stack is run against the peer's other role; a stack with a single role needs one. --case is any name
of a test case, or of another kind of check: settings, ip, multiplexing, streams, large-certificate, certificate-delay, refusals,
patience. --capture leaves the TLS secrets of both sides beside the packets, in FILE.keys.

The endpoints talk over the loopback of a network namespace of their own. Needs root (unshare, mount), Python 3.11, openssl,
iproute2, for --capture dumpcap (tshark), and for --root a folder with the packages of [guest], for example made by
    mmdebstrap --variant=minbase --include=ngtcp2-server,ngtcp2-client,nginx-light,haproxy,curl trixie /tmp/trixie
What a test case did on the wire is not judged here: look at the packets. Exit status: 0 all claims hold, 1 some do not,
2 the test itself could not run.
"""

import argparse
import hashlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

PORT = 4433
# A client that finds no server, or a silent one, must say so within this time, in seconds.
PATIENCE = 45
# How long the server's certificate takes where a stack claims that it can wait for it, in milliseconds.
CERTIFICATE_DELAY = 300
INSIDE = "QUICLAB_TEST_CONTRACT_INSIDE"
# The files that servers answer from, by size in bytes.
FILES = {"file10M": 10 << 20, "file1M": 1 << 20, "file20k": 20_000, "file1k": 1000} | {f"small{number}": 32 + number for number in range(200)}
# What the client of a test case asks for; any other: one file of 10 MiB.
REQUESTS = {
    "handshake": ["file1k"],
    "resumption": ["file1k", "file1M", "file20k"],
    "zerortt": ["file1k", "file20k", "file1M"],
    "http3": ["file1M", "file20k", "file1k"],
    "multiplexing": [f"small{number}" for number in range(200)],
}
# The settings that a stack claims, by the key of stack.toml.
CLAIMS = {"QUICLAB_CCA": "congestion_control", "QUICLAB_GSO": "gso", "QUICLAB_PACING": "pacing", "QUICLAB_HTTP": "http", "QUICLAB_IP": "ip"}
# Those that both sides must be told.
SHARED = ["QUICLAB_HTTP", "QUICLAB_IP", "QUICLAB_PORT"]
# Every value that the contract knows.
KNOWN = {
    "congestion_control": ["cubic", "reno", "bbr", "bbr2"], "gso": ["on", "off", "paced"], "pacing": ["off", "user", "txtime"],
    "http": ["h3", "hq", "h2"], "ip": ["4", "6"],
}
TEST_CASES = ["handshake", "transfer", "retry", "chacha20", "keyupdate", "resumption", "zerortt", "v2", "http3"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stack", type=pathlib.Path, help="folder with stack.toml")
    parser.add_argument("--root", type=pathlib.Path, help="Debian root folder to run inside; default: this host")
    parser.add_argument("--out", type=pathlib.Path, help="folder with the build's files; default: build now")
    parser.add_argument("--peer", type=pathlib.Path, help="folder of the stack that takes the other role; default: the same stack")
    parser.add_argument("--peer-root", type=pathlib.Path, help="--root of the peer")
    parser.add_argument("--peer-out", type=pathlib.Path, help="--out of the peer")
    parser.add_argument("--case", help="do only this kind of check")
    parser.add_argument("--capture", type=pathlib.Path, help="file for the packets of all checks, pcapng")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="variable of every transfer, for example QUICLAB_CCA=reno where this host's kernel has no CUBIC for TCP")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root, for a network and a mount namespace of its own; hint: sudo", file=sys.stderr)
        return 2
    if INSIDE not in os.environ:
        with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as peer_out:
            # Before the namespace: it has no way to a package registry.
            built = [] if arguments.out else ["--out", build(arguments.stack, out)]
            built += ["--peer-out", build(arguments.peer, peer_out)] if arguments.peer and not arguments.peer_out else []
            command = ["unshare", "--net", "--mount", sys.executable, *sys.argv, *built]
            return subprocess.run(command, env=os.environ | {INSIDE: "yes"}).returncode
    stack = Stack(arguments.stack, arguments.root, arguments.out)
    peer = Stack(arguments.peer, arguments.peer_root, arguments.peer_out) if arguments.peer else stack
    pairs = [(server, client) for server, client in {(stack, peer): 0, (peer, stack): 0} if "server" in server.roles and "client" in client.roles]
    if not pairs:
        print(f"{stack.name} has a single role; hint: --peer stacks/{stack.manifest.get('peer', 'NAME')}", file=sys.stderr)
        return 2
    always = dict(setting.split("=", 1) for setting in arguments.set)
    with tempfile.TemporaryDirectory() as scratch:
        laboratory = Laboratory(pathlib.Path(scratch), [stack, peer], arguments.capture)
        checks = [check for server, client in pairs for check in checks_of_pair(Pair(laboratory, stack, server, client, always))]
        checks += checks_of_refusal(laboratory, stack, always)
        checks = [check for check in checks if arguments.case in [None, check[0]]]
        failures = 0
        for _, sentence, check in checks:
            found = check()
            failures += found is not None
            print(f"{'ok  ' if found is None else 'FAIL'} {stack.name}: {sentence}{f': {found}' if found else ''}", flush=True)
        laboratory.close()
    if not checks:
        print(f"--case: found {arguments.case}, which this stack does not claim", file=sys.stderr)
        return 2
    return 1 if failures else 0


def build(folder, out):
    """Runs the stack's build command as quiclab does, and returns the folder it left its files in."""
    with open(folder / "stack.toml", "rb") as file:
        command = tomllib.load(file)["build"]["command"]
    subprocess.run(["sh", "-e", "-c", command], cwd=folder, env=os.environ | {"QUICLAB_STACK_OUT": out}, check=True)
    return out


def checks_of_pair(pair):
    """What must hold between a server and a client: triples of a kind, a sentence, and a function that returns None where the
    sentence holds, and what was found otherwise."""
    own, default = pair.stack, pair.stack.manifest["default"]
    checks = []

    def check(kind, sentence, function):
        checks.append((kind, f"{sentence}{pair.suffix}", function))

    check("transfer", "a file arrives whole, and its TLS secrets are logged", lambda: pair.transfer({}))
    check("settings", "all settings may be named", lambda: pair.transfer(
        {variable: default.get(key, "4") for variable, key in CLAIMS.items()} | {"QUICLAB_STREAMS": "1", "QUICLAB_CERT_DELAY": "0"} | pair.always))
    for variable, key in CLAIMS.items():
        for value in own.manifest[key]:
            if variable != "QUICLAB_IP" and pair.can(variable, value):
                check("settings", f"{variable}={value} is honoured, or refused by each role beside the other defaults",
                      lambda changes={variable: value}, is_default=value == pair.always.get(variable, default[key]): pair.claim(changes, is_default))
    for version in own.manifest["ip"]:
        for host in [f"server{version}", "server46"]:
            if pair.can("QUICLAB_IP", version):
                check("ip", f"{host} is reached over IPv{version}", lambda version=version, host=host: pair.over_ip(version, host))
    for http in own.manifest["http"]:
        for case in TEST_CASES if pair.can("QUICLAB_HTTP", http) else []:
            if pair.both_claim(case) and (case != "http3" or http == "h3"):
                check(case, f"TESTCASE={case} works with {http}", lambda case=case, http=http: pair.transfer({"TESTCASE": case, "QUICLAB_HTTP": http}))
        if pair.can("QUICLAB_HTTP", http):
            many = {"QUICLAB_HTTP": http, "REQUESTS": urls(REQUESTS["multiplexing"])}
            check("multiplexing", f"200 small files arrive with {http}", lambda many=many: pair.transfer(many))
            if "client" in pair.own:
                check("streams", f"the same, at most 10 at a time, or refused by the client with {http}",
                      lambda many=many: pair.claim(many | {"QUICLAB_STREAMS": "10"}, False, ["client"]))
    check("large-certificate", "a certificate chain of 10 kB is taken", lambda: pair.transfer({"CERTS": f"{pair.laboratory.scratch}/large"}))
    if pair.server.manifest["certificate_delay"] != "none":
        check("certificate-delay", f"a certificate that takes {CERTIFICATE_DELAY} ms delays the transfer", pair.delayed)
    check("patience", "a file that the server does not have fails the client", lambda: pair.transfer({"REQUESTS": urls(["absent"])}, 1))
    check("patience", "a client that comes before its server waits for it", lambda: pair.transfer({}, head_start=1.0))
    check("patience", "a server that dies fails the client", lambda: pair.transfer({"REQUESTS": urls(["huge"])}, 1, kill_after=0.5))
    return checks


def checks_of_refusal(laboratory, stack, always):
    """What a stack must answer by itself, in the same form."""
    refused = [("TESTCASE", f"t{random.getrandbits(64):x}"), ("QUICLAB_NO_SUCH_SETTING", "1"), ("SERVER_PARAMS", "-x"), ("CLIENT_PARAMS", "-x")]
    refused += [(variable, "nonsense") for variable in CLAIMS]
    refused += [(variable, value) for variable, key in CLAIMS.items() for value in KNOWN[key] if value not in stack.manifest[key]]
    for role in stack.roles:
        own = refused + [("TESTCASE", case) for case in TEST_CASES if not stack.claims(role, case) and (role, case) != ("server", "keyupdate")]
        if role == "server" and stack.manifest["certificate_delay"] == "none":
            own.append(("QUICLAB_CERT_DELAY", str(CERTIFICATE_DELAY)))
        for variable, value in own:
            yield "refusals", f"{role}: {variable}={value} is not supported", \
                lambda role=role, changes={variable: value}: laboratory.ends(stack, role, 127, changes)
    if "client" in stack.roles:
        yield "patience", "a server that is not there fails the client", lambda: laboratory.ends(stack, "client", 1, always)


def urls(names, host="server"):
    return " ".join(f"https://{host}:{PORT}/{name}" for name in names)


class Stack:
    """A stack.toml, and where its endpoints run."""

    def __init__(self, folder, root, out):
        with open(folder / "stack.toml", "rb") as file:
            self.manifest = tomllib.load(file)
        self.name, self.roles, self.root, self.out = self.manifest["name"], self.manifest["roles"], root, out

    def claims(self, role, case):
        # In a key update the server is told "transfer", and follows.
        told = "transfer" if (role, case) == ("server", "keyupdate") else case
        return told in self.manifest["test_cases"].get(role, [])

    def command(self):
        words = self.manifest["guest"]["command"]
        if not self.root:
            return [word.replace("/stack/", f"{self.out}/") for word in words]
        # Each in a mount namespace of its own: two stacks may share a root folder.
        script = 'mount --bind "$1" "$2/stack" && shift && exec chroot "$@"'
        return ["unshare", "--mount", "sh", "-c", script, "sh", str(self.out), str(self.root), *words]


class Laboratory:
    """Folders, certificates and a network for the stacks under test."""

    def __init__(self, scratch, stacks, capture):
        self.scratch = scratch
        for folder in ["www", "downloads", "certs", "large", "logs"]:
            (scratch / folder).mkdir()
        self.sha256 = {}
        for name, size in FILES.items():
            body = random.Random(name).randbytes(size)
            (scratch / "www" / name).write_bytes(body)
            self.sha256[name] = hashlib.sha256(body).hexdigest()
        with open(scratch / "www/huge", "wb") as file:
            file.truncate(8 << 30)
        self.make_certificates()
        run("ip", "link", "set", "lo", "up")
        # Nothing of these mounts is seen outside of this process's namespace.
        run("mount", "--make-rprivate", "/")
        (scratch / "hosts").write_text("127.0.0.1 server server4 server46 localhost\n::1 server6 server46\n")
        for root in {stack.root for stack in stacks}:
            hosts = (root or pathlib.Path("/")) / "etc/hosts"
            hosts.touch()
            run("mount", "--bind", scratch / "hosts", hosts)
            if root:
                run("mount", "-t", "proc", "proc", root / "proc")
                (root / "stack").mkdir(exist_ok=True)
                # By the same name inside and outside, so that a variable can hold it.
                inside = root / str(scratch)[1:]
                inside.mkdir(parents=True, exist_ok=True)
                run("mount", "--bind", scratch, inside)
        self.keys = capture and capture.with_name(capture.name + ".keys")
        self.capture = None
        if capture:
            self.keys.write_text("")
            self.capture = subprocess.Popen(["dumpcap", "-q", "-i", "lo", "-w", str(capture)], stderr=subprocess.DEVNULL)
            time.sleep(1)

    def close(self):
        if self.capture:
            time.sleep(0.5)
            self.capture.send_signal(signal.SIGINT)
            self.capture.wait()

    def make_certificates(self):
        names = ["server", "server4", "server6", "server46"]
        many = [f"name{number}.{'long' * 12}.example" for number in range(140)]
        for folder, alternatives in [("certs", names), ("large", names + many)]:
            certs = self.scratch / folder
            (certs / "leaf").write_text(f"subjectAltName={','.join(f'DNS:{name}' for name in alternatives)}\nbasicConstraints=CA:FALSE\n")
            (certs / "between").write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
            for key in ["ca.key", "between.key", "priv.key"]:
                run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", certs / key)
            run("openssl", "req", "-x509", "-new", "-key", certs / "ca.key", "-subj", "/CN=authority", "-days", "2", "-out", certs / "ca.pem")
            issuer = "ca"
            if folder == "large":
                sign(certs, "between", "between.key", "/CN=between", "ca", "ca.key", "between")
                issuer = "between"
            sign(certs, "leaf", "priv.key", "/CN=server", issuer, f"{issuer}.key", "cert")
            if folder == "large":
                (certs / "cert.pem").write_text((certs / "cert.pem").read_text() + (certs / "between.pem").read_text())

    def start(self, stack, role, changes):
        environment = {
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "ROLE": role, "TESTCASE": "transfer", "REQUESTS": urls(["file10M"]),
            "WWW": f"{self.scratch}/www", "DOWNLOADS": f"{self.scratch}/downloads", "CERTS": f"{self.scratch}/certs", "LOGS": f"{self.scratch}/logs",
            "SSLKEYLOGFILE": f"{self.scratch}/{role}.keys", "QUICLAB_PORT": str(PORT), **changes,
        }
        with open(self.scratch / f"{role}.output", "wb") as log:
            return subprocess.Popen(stack.command(), env=environment, cwd=self.scratch if not stack.root else "/",
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def end(self, process):
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)
        # So that the next server finds its port free, and nothing is left behind.
        while any_of_group(process.pid):
            time.sleep(0.01)

    def said(self, role):
        return (self.scratch / f"{role}.output").read_text(errors="replace").strip()[-300:]

    def ends(self, stack, role, expected, changes):
        """None where the endpoint exits with the expected status by itself."""
        process = self.start(stack, role, changes)
        try:
            found = process.wait(PATIENCE if expected == 1 else 5)
        except subprocess.TimeoutExpired:
            found = "no exit"
        self.end(process)
        return None if found == expected else f"found {found}, expected {expected}; {role} said {self.said(role)!r}"


class Pair:
    """A server and a client, at least one of them of the stack under test."""

    def __init__(self, laboratory, stack, server, client, always):
        self.laboratory, self.stack, self.server, self.client, self.always = laboratory, stack, server, client, always
        self.suffix = "" if server is client else f" ({server.name} to {client.name})"
        self.sides = {"server": server, "client": client}
        self.own = [role for role, side in self.sides.items() if side is stack]

    def can(self, variable, value):
        """True where a setting of both sides is claimed by both."""
        return variable not in SHARED or all(value in side.manifest[CLAIMS[variable]] for side in self.sides.values())

    def both_claim(self, case):
        return self.server.claims("server", case) and self.client.claims("client", case)

    def changes_of(self, role, changes):
        """What the endpoint of this role is told: a peer hears nothing of the stack's own settings."""
        changes = self.always | changes
        if role not in self.own:
            http = self.stack.manifest["default"]["http"]
            changes = {"QUICLAB_HTTP": http} | {name: value for name, value in changes.items() if name not in CLAIMS or name in SHARED}
        if role == "server" and changes.get("TESTCASE") == "keyupdate":
            changes = changes | {"TESTCASE": "transfer"}
        return changes

    def start(self, role, changes):
        return self.laboratory.start(self.sides[role], role, self.changes_of(role, changes))

    def claim(self, changes, is_default, refusing=("server", "client")):
        """None where the transfer works; a value that is not the default may also be refused with 127, by each of the stack's roles."""
        found = self.transfer(changes)
        refusing = [role for role in self.own if role in refusing]
        if found is None or is_default or not refusing:
            return found
        refused = [self.laboratory.ends(self.stack, role, 127, self.changes_of(role, changes)) for role in refusing]
        if any(refused):
            return found
        print(f"     note: {' and '.join(refusing)} answer 127: {self.laboratory.said(refusing[-1])}", flush=True)
        return None

    def over_ip(self, version, host):
        """None where the transfer works and this IP version carried it."""
        before = octets_in(version)
        found = self.transfer({"QUICLAB_IP": version, "REQUESTS": urls(["file10M"], host)})
        carried = octets_in(version) - before
        return found or (None if carried > FILES["file10M"] else f"found {carried} bytes over IPv{version}, expected all of the file")

    def delayed(self):
        """None where the server's wait is seen in how long a small file takes."""
        changes = {"REQUESTS": urls(["file1k"])}
        times = []
        for delay in [0, CERTIFICATE_DELAY]:
            found = self.transfer(changes | {"QUICLAB_CERT_DELAY": str(delay)}, times=times)
            if found:
                return found
        longer = times[1] - times[0]
        return None if longer > 0.8 * CERTIFICATE_DELAY / 1000 else f"found {longer:.3f} s more, expected {CERTIFICATE_DELAY} ms"

    def transfer(self, changes, expected=0, head_start=0.0, kill_after=None, times=None):
        """None where the client's exit status is the expected one and, if it is 0, all files are there and the same."""
        laboratory = self.laboratory
        requests = changes.get("REQUESTS") or urls(REQUESTS.get(changes.get("TESTCASE"), ["file10M"]))
        changes = changes | {"REQUESTS": requests}
        for path in [*(laboratory.scratch / "downloads").iterdir(), *laboratory.scratch.glob("*.keys")]:
            path.unlink()
        if head_start:
            client = self.start("client", changes)
            time.sleep(head_start)
            server = self.start("server", changes)
        else:
            server = self.start("server", changes)
            time.sleep(0.5)
            client = self.start("client", changes)
        started = time.monotonic()
        if kill_after:
            time.sleep(kill_after)
            os.killpg(server.pid, signal.SIGKILL)
        try:
            found = client.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            found = "no exit"
        if times is not None:
            times.append(time.monotonic() - started)
        alive = server.poll() is None
        laboratory.end(client)
        laboratory.end(server)
        if laboratory.keys:
            with open(laboratory.keys, "a") as file:
                file.writelines(path.read_text() for path in laboratory.scratch.glob("*.keys"))
        said = {role: laboratory.said(role) for role in self.sides}
        if found != expected:
            return f"found {found}, expected {expected}; client said {said['client']!r}, server said {said['server']!r}"
        if not alive and not kill_after:
            return f"the server ended by itself: {said['server']!r}"
        if expected != 0:
            return None
        for name in [url.rsplit("/", 1)[1] for url in requests.split()]:
            stored = laboratory.scratch / "downloads" / name
            if not stored.exists() or hashlib.sha256(stored.read_bytes()).hexdigest() != laboratory.sha256[name]:
                return f"the stored {name} differs, or is not there; client said {said['client']!r}"
        keys = laboratory.scratch / "client.keys"
        if "SECRET" not in (keys.read_text() if keys.exists() else ""):
            return "found no secrets in the client's key log"
        return None


def octets_in(version):
    """Bytes of IP packets that came in over the namespace's interfaces."""
    if version == "6":
        lines = [line.split() for line in pathlib.Path("/proc/net/snmp6").read_text().splitlines()]
        return int(next(value for name, value in lines if name == "Ip6InOctets"))
    lines = [line.split() for line in pathlib.Path("/proc/net/netstat").read_text().splitlines() if line.startswith("IpExt:")]
    return int(dict(zip(*lines))["InOctets"])


def sign(certs, extensions, key, subject, issuer, issuer_key, name):
    run("openssl", "req", "-new", "-key", certs / key, "-subj", subject, "-out", certs / "request")
    run("openssl", "x509", "-req", "-in", certs / "request", "-CA", certs / f"{issuer}.pem", "-CAkey", certs / issuer_key, "-CAcreateserial",
        "-days", "2", "-extfile", certs / extensions, "-out", certs / f"{name}.pem")


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def any_of_group(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


if __name__ == "__main__":
    sys.exit(main())
