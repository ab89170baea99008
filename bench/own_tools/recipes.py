"""Fetches and builds the own tools of stacks, at fixed versions, into a folder; nothing is built twice.

Crates and Go modules are unpacked by cargo and go, and built as their users build them: none of this repository's settings of
cargo apply, because cargo is run in the root folder.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

AIOQUIC = "1.7.2"
# Of aioquic's requirements/examples.txt, what http3_server.py and http3_client.py import.
AIOQUIC_MORE = ("starlette==1.10.0", "jinja2==3.1.6", "wsproto==1.3.2")


# What this repository builds its own programs with.
NOT_THOSE = ("RUSTFLAGS", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "GOFLAGS")


class Missing(Exception):
    """Something that a tool needs is not on this machine, or could not be built."""


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"`{program}` is not installed")


def run(command, log, folder="/", **environment):
    """Runs a step of a build, with what it prints in `log`."""
    need(str(command[0]))
    print(f"  {' '.join(map(str, command))}", file=sys.stderr)
    mine = {name: value for name, value in os.environ.items() if name not in NOT_THOSE}
    with open(log, "a") as file:
        done = subprocess.run(command, cwd=folder, env={**mine, **environment}, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Missing(f"`{' '.join(map(str, command))}` exited with {done.returncode}: see {log}")


class Builds:
    """A folder of tools."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)

    def once(self, name, build):
        """The folder `name`, with what `build(folder, log)` puts there. Some programs know the folder that they were built in."""
        folder, log, complete = self.folder / name, self.folder / "logs" / f"{name}.log", self.folder / name / ".complete"
        if not complete.exists():
            print(f"building {name}", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            log.unlink(missing_ok=True)
            build(folder, log)
            complete.touch()
        return folder

    def certificate(self):
        """A folder with cert.pem, cert.der and key.pem for localhost: ECDSA P-256, as `quiclab perf` has it."""

        def make(folder, log):
            run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                 "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], log)
            run(["openssl", "x509", "-in", folder / "cert.pem", "-outform", "der", "-out", folder / "cert.der"], log)

        return self.once("certificate", make)

    def cargo_install(self, crate, version):
        """The programs of a published crate."""

        def make(folder, log):
            run(["cargo", "install", crate, "--version", version, "--locked", "--no-track", "--root", folder,
                 "--target-dir", self.folder / "build" / crate], log)

        return self.once(f"{crate}-{version}", make) / "bin"

    def cargo_examples(self, crate, version, examples):
        """The source of a published crate, with these examples in its folder `built`."""

        def make(folder, log):
            source = self.unpacked(crate, version, log)
            shutil.copytree(source, folder, dirs_exist_ok=True)
            # This repository is a workspace, and its target folder may be inside.
            with open(folder / "Cargo.toml", "a") as manifest:
                manifest.write("\n[workspace]\n")
            # One for all, so that BoringSSL is built once.
            target = self.folder / "build" / "examples"
            names = [argument for example in examples for argument in ("--example", example)]
            run(["cargo", "build", "--release", "--locked", *names, "--manifest-path", folder / "Cargo.toml",
                 "--target-dir", target], log)
            (folder / "built").mkdir()
            for example in examples:
                shutil.copy2(target / "release" / "examples" / example, folder / "built")

        return self.once(f"{crate}-{version}", make)

    def unpacked(self, crate, version, log):
        """Where cargo has unpacked a published crate."""
        asking = self.folder / "build" / f"ask-{crate}"
        (asking / "src").mkdir(parents=True, exist_ok=True)
        (asking / "src" / "lib.rs").touch()
        manifest = asking / "Cargo.toml"
        manifest.write_text(f'[package]\nname = "ask"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n'
                            f'[dependencies]\n"{crate}" = "={version}"\n')
        run(["cargo", "fetch", "--manifest-path", manifest], log)
        said = subprocess.run(["cargo", "metadata", "--format-version", "1", "--manifest-path", manifest], cwd="/",
                              check=True, capture_output=True).stdout
        packages = json.loads(said)["packages"]
        return Path(next(one["manifest_path"] for one in packages if one["name"] == crate)).parent

    def cargo_loop(self, name, *features):
        """A loop of this folder, in Rust, with these of its features."""
        folder_name = "-".join([name, "loop", *features])

        def make(folder, log):
            target = self.folder / "build" / folder_name
            more = ["--features", ",".join(features)] if features else []
            run(["cargo", "build", "--release", "--locked", *more, "--manifest-path", HERE / name / "Cargo.toml",
                 "--target-dir", target], log)
            shutil.copy2(target / "release" / f"{name}-loop", folder)

        return self.once(folder_name, make) / f"{name}-loop"

    def go_loop(self, name):
        """A loop of this folder, in Go."""

        def make(folder, log):
            run(["go", "build", "-o", folder / f"{name}-loop", "."], log, HERE / name, CGO_ENABLED="0")

        return self.once(f"{name}-loop", make) / f"{name}-loop"

    def bun_loop(self, name):
        """A folder with a loop of this folder, in JavaScript, and Bun. Of the registry's package, the program is all that is used."""

        def make(folder, log):
            shutil.copytree(HERE / name, folder, dirs_exist_ok=True)
            run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], log, folder)

        return self.once(f"{name}-loop", make)

    def go_programs(self, module, version, packages):
        """Programs of a Go module, built inside it, by their names. `packages` has a name and a path for each."""
        name = f"{module.rsplit('/', 1)[-1]}-{version}"

        def make(folder, log):
            need("go")
            asked = subprocess.run(["go", "mod", "download", "-json", f"{module}@v{version}"], cwd="/", capture_output=True,
                                   text=True)
            if asked.returncode != 0:
                raise Missing(f"`go mod download {module}@v{version}`: {asked.stdout} {asked.stderr}")
            shutil.copytree(json.loads(asked.stdout)["Dir"], folder / "source")
            run(["chmod", "-R", "u+w", folder / "source"], log)
            for program, path in packages.items():
                run(["go", "build", "-buildvcs=false", "-o", folder / program, path], log, folder / "source", CGO_ENABLED="0")

        return self.once(name, make)

    def debian(self, *packages):
        """The files of these packages of Debian trixie and all that they need."""

        def make(folder, log):
            run(["mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(packages)}", "trixie", folder / "root"], log)

        return Debian(self.once("debian-" + "-".join(packages), make) / "root")

    def aioquic(self):
        """aioquic's source, with the packages that its examples import in `packages`."""

        def make(folder, log):
            pip = [sys.executable, "-m", "pip"]
            run([*pip, "install", "--quiet", "--target", folder / "packages", f"aioquic=={AIOQUIC}", *AIOQUIC_MORE], log)
            run([*pip, "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", folder,
                 f"aioquic=={AIOQUIC}"], log)
            shutil.unpack_archive(folder / f"aioquic-{AIOQUIC}.tar.gz", folder)

        return self.once(f"aioquic-{AIOQUIC}", make)


class Debian:
    """Files of Debian's packages, used without being installed."""

    def __init__(self, root):
        self.root = root

    def program(self, name):
        """The words of a command that starts one of its programs, with its own libraries."""
        libraries = self.root / "usr" / "lib" / "x86_64-linux-gnu"
        found = [path for folder in ("bin", "sbin") if (path := self.root / "usr" / folder / name).exists()]
        if not found:
            raise Missing(f"`{name}` is not in the packages of {self.root}")
        return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(found[0])]

    def version(self, package):
        """The version of one of its packages."""
        with gzip.open(self.root / "usr" / "share" / "doc" / package / "changelog.Debian.gz", "rt") as changes:
            return changes.readline().split("(")[1].split(")")[0]
