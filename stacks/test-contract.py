#!/usr/bin/env python3
"""Proves what a stack's stack.toml claims, and that the stack refuses everything else.

    stacks/test-contract.py stacks/quiche                      # builds it and runs it on this host
    stacks/test-contract.py stacks/ngtcp2 --root /tmp/trixie   # runs it inside a Debian root folder

The endpoints talk over the loopback of a network namespace of their own. Needs root (unshare, mount), Python 3.11, openssl,
iproute2, and for --root a folder with the packages of [guest], for example made by
    mmdebstrap --variant=minbase --include=ngtcp2-server,ngtcp2-client,nginx-light,curl trixie /tmp/trixie
Exit status: 0 all claims hold, 1 some do not, 2 the test itself could not run.
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

SIZE = 10 * 1024 * 1024
PORT = 4433
# A client that finds no server, or a silent one, must say so within this time, in seconds.
PATIENCE = 45
INSIDE = "QUICLAB_TEST_CONTRACT_INSIDE"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stack", type=pathlib.Path, help="folder with stack.toml")
    parser.add_argument("--root", type=pathlib.Path, help="Debian root folder to run inside; default: this host")
    parser.add_argument("--out", type=pathlib.Path, help="folder with the build's files; default: build now")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="variable of every transfer, for example QUICLAB_CCA=reno where this host's kernel has no CUBIC for TCP")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root, for a network and a mount namespace of its own; hint: sudo", file=sys.stderr)
        return 2
    if INSIDE not in os.environ:
        with tempfile.TemporaryDirectory() as out:
            # Before the namespace: it has no way to a package registry.
            built = [] if arguments.out else ["--out", build(arguments.stack, out)]
            command = ["unshare", "--net", "--mount", sys.executable, *sys.argv, *built]
            return subprocess.run(command, env=os.environ | {INSIDE: "yes"}).returncode
    with tempfile.TemporaryDirectory() as scratch:
        laboratory = Laboratory(arguments, pathlib.Path(scratch))
        failures = 0
        for name, check in checks(laboratory):
            found = check()
            failures += found is not None
            print(f"{'ok  ' if found is None else 'FAIL'} {laboratory.stack['name']}: {name}{f': {found}' if found else ''}", flush=True)
        return 1 if failures else 0


def build(folder, out):
    """Runs the stack's build command as quiclab does, and returns the folder it left its files in."""
    with open(folder / "stack.toml", "rb") as file:
        command = tomllib.load(file)["build"]["command"]
    subprocess.run(["sh", "-c", command], cwd=folder, env=os.environ | {"QUICLAB_STACK_OUT": out}, check=True)
    return out


def checks(laboratory):
    """Pairs of a sentence and a function that returns None where the sentence holds, and what was found otherwise."""
    default = laboratory.stack["default"]
    yield "a file arrives whole, and its TLS secrets are logged", lambda: laboratory.transfer({})
    for variable, key in CLAIMS.items():
        for value in laboratory.stack[key]:
            sentence = f"{variable}={value} is honoured, or refused by both roles beside the other defaults"
            yield sentence, lambda variable=variable, value=value: laboratory.claim({variable: value}, value == laboratory.always.get(variable, default[key]))
    refused = [("TESTCASE", f"t{random.getrandbits(64):x}"), ("QUICLAB_NO_SUCH_SETTING", "1"), ("SERVER_PARAMS", "-x"), ("CLIENT_PARAMS", "-x")]
    refused += [(variable, "nonsense") for variable in CLAIMS]
    refused += [(variable, value) for variable, key in CLAIMS.items() for value in KNOWN[key] if value not in laboratory.stack[key]]
    for variable, value in refused:
        for role in laboratory.stack["roles"]:
            sentence = f"{role}: {variable}={value} is not supported"
            yield sentence, lambda role=role, variable=variable, value=value: laboratory.ends(role, 127, {variable: value})
    yield "a file that the server does not have fails the client", lambda: laboratory.transfer({"REQUESTS": f"https://server:{PORT}/absent"}, 1)
    yield "a server that is not there fails the client", lambda: laboratory.ends("client", 1, {})
    yield "a client that comes before its server waits for it", lambda: laboratory.transfer({}, head_start=1.0)
    yield "a server that dies fails the client", lambda: laboratory.transfer({"REQUESTS": f"https://server:{PORT}/huge"}, 1, kill_after=0.5)


# The settings that a stack claims, by the key of stack.toml.
CLAIMS = {"QUICLAB_CCA": "congestion_control", "QUICLAB_GSO": "gso", "QUICLAB_PACING": "pacing", "QUICLAB_HTTP": "http"}
# Every value that the contract knows.
KNOWN = {"congestion_control": ["cubic", "reno", "bbr", "bbr2"], "gso": ["on", "off", "paced"], "pacing": ["off", "user", "txtime"], "http": ["h3", "hq", "h2"]}


class Laboratory:
    """Folders, certificates and a network for one stack under test."""

    def __init__(self, arguments, scratch):
        with open(arguments.stack / "stack.toml", "rb") as file:
            self.stack = tomllib.load(file)
        self.scratch = scratch
        self.root = arguments.root
        for folder in ["www", "downloads", "certs", "logs"]:
            (scratch / folder).mkdir()
        out = arguments.out
        self.always = dict(setting.split("=", 1) for setting in arguments.set)
        body = random.Random(self.stack["name"]).randbytes(SIZE)
        (scratch / "www/file10M").write_bytes(body)
        with open(scratch / "www/huge", "wb") as file:
            file.truncate(8 << 30)
        self.sha256 = hashlib.sha256(body).hexdigest()
        self.make_certificates()
        self.run("ip", "link", "set", "lo", "up")
        # Nothing of these mounts is seen outside of this process's namespace.
        self.run("mount", "--make-rprivate", "/")
        (scratch / "hosts").write_text("127.0.0.1 server localhost\n")
        root = self.root or pathlib.Path("/")
        self.run("mount", "--bind", scratch / "hosts", root / "etc/hosts")
        self.view = scratch
        if self.root:
            self.view = pathlib.Path("/mnt")
            self.run("mount", "-t", "proc", "proc", self.root / "proc")
            self.run("mount", "--bind", scratch, self.root / "mnt")
            (self.root / "stack").mkdir(exist_ok=True)
            self.run("mount", "--bind", out, self.root / "stack")
        self.command = [str(word) if self.root else str(word).replace("/stack/", f"{out}/") for word in self.stack["guest"]["command"]]

    def make_certificates(self):
        certs = self.scratch / "certs"
        (certs / "extensions").write_text("subjectAltName=DNS:server\nbasicConstraints=CA:FALSE\n")
        for key in ["ca.key", "priv.key"]:
            self.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", certs / key)
        self.run("openssl", "req", "-x509", "-new", "-key", certs / "ca.key", "-subj", "/CN=authority", "-days", "2", "-out", certs / "ca.pem")
        self.run("openssl", "req", "-new", "-key", certs / "priv.key", "-subj", "/CN=server", "-out", certs / "request")
        self.run("openssl", "x509", "-req", "-in", certs / "request", "-CA", certs / "ca.pem", "-CAkey", certs / "ca.key", "-CAcreateserial",
                 "-days", "2", "-extfile", certs / "extensions", "-out", certs / "cert.pem")

    def run(self, *command):
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self, role, changes):
        environment = {
            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "ROLE": role, "TESTCASE": "transfer", "REQUESTS": f"https://server:{PORT}/file10M",
            "WWW": f"{self.view}/www", "DOWNLOADS": f"{self.view}/downloads", "CERTS": f"{self.view}/certs", "LOGS": f"{self.view}/logs",
            "SSLKEYLOGFILE": f"{self.view}/{role}.keys", "QUICLAB_PORT": str(PORT), **self.always, **changes,
        }
        command = ["chroot", str(self.root), *self.command] if self.root else self.command
        log = open(self.scratch / f"{role}.output", "wb")
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def end(self, process):
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        process.wait(5)
        # So that the next server finds its port free, and nothing is left behind.
        while any_of_group(process.pid):
            time.sleep(0.01)

    def said(self, role):
        return (self.scratch / f"{role}.output").read_text(errors="replace").strip()[-300:]

    def ends(self, role, expected, changes):
        """None where the endpoint exits with the expected status by itself."""
        process = self.start(role, changes)
        try:
            found = process.wait(PATIENCE if expected == 1 else 5)
        except subprocess.TimeoutExpired:
            found = "no exit"
        self.end(process)
        return None if found == expected else f"found {found}, expected {expected}; {role} said {self.said(role)!r}"

    def claim(self, changes, is_default):
        """None where the transfer works; a value that is not the default may also be refused with 127, by both roles alike."""
        found = self.transfer(changes)
        if found is None or is_default:
            return found
        refused = [self.ends(role, 127, changes) for role in self.stack["roles"]]
        if any(refused):
            return found
        print(f"     note: both roles answer 127: {self.said('client')}", flush=True)
        return None

    def transfer(self, changes, expected=0, head_start=0.0, kill_after=None):
        """None where the client's exit status is the expected one and, if it is 0, the file is there and the same."""
        stored = self.scratch / "downloads/file10M"
        keys = self.scratch / "client.keys"
        for path in [stored, keys]:
            path.unlink(missing_ok=True)
        if head_start:
            client = self.start("client", changes)
            time.sleep(head_start)
            server = self.start("server", changes)
        else:
            server = self.start("server", changes)
            time.sleep(0.5)
            client = self.start("client", changes)
        if kill_after:
            time.sleep(kill_after)
            os.killpg(server.pid, signal.SIGKILL)
        try:
            found = client.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            found = "no exit"
        alive = server.poll() is None
        self.end(client)
        self.end(server)
        if found != expected:
            return f"found {found}, expected {expected}; client said {self.said('client')!r}, server said {self.said('server')!r}"
        if not alive and not kill_after:
            return f"the server ended by itself: {self.said('server')!r}"
        if expected != 0:
            return None
        if not stored.exists() or hashlib.sha256(stored.read_bytes()).hexdigest() != self.sha256:
            return f"the stored file differs, or is not there; client said {self.said('client')!r}"
        if "SECRET" not in (keys.read_text() if keys.exists() else ""):
            return "found no secrets in the client's key log"
        return None


def any_of_group(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


if __name__ == "__main__":
    sys.exit(main())
