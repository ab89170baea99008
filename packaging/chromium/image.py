"""Make an image of Chromium's headless shell from Debian's packages, as docker save would write it.

    python3 packaging/chromium/image.py chromium.tar
    quiclab stacks import chromium.tar --role client --http h3 --cases transfer,http3

Chromium's QUIC is Google's QUICHE. The packages come from this machine's Debian mirrors through
mmdebstrap, which does not need root.
"""

import argparse
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile

PACKAGES = "chromium-headless-shell,openssl,bash,coreutils,fonts-dejavu-core"
SOURCES = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"]
ENDPOINT = pathlib.Path(__file__).with_name("run_endpoint.sh")


def add(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a regular file with fixed owner and time."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(data))


def make(image: pathlib.Path) -> None:
    """Write the image: the packages, and the endpoint in front of them."""
    sources = [path for path in SOURCES if pathlib.Path(path).is_file()]
    if not sources:
        sys.exit(f"found none of {', '.join(SOURCES)}: Debian's mirrors are taken from there")
    with tempfile.TemporaryDirectory(dir=image.parent) as folder:
        layer = pathlib.Path(folder, "layer.tar")
        command = ["mmdebstrap", "--variant=extract", f"--include={PACKAGES}", "", str(layer)]
        subprocess.run([*command, *sources], check=True)
        with tarfile.open(layer, "a") as archive:
            add(archive, "run_endpoint.sh", ENDPOINT.read_bytes(), 0o755)
        with layer.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/run_endpoint.sh"], "Env": ["PATH=/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        }
        manifest = [{"Config": "config.json", "RepoTags": ["chromium:debian"], "Layers": ["layer.tar"]}]
        with tarfile.open(image, "w") as archive:
            add(archive, "manifest.json", json.dumps(manifest).encode())
            add(archive, "config.json", json.dumps(config).encode())
            archive.add(layer, "layer.tar")


def main() -> None:
    """Read the image's name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image", type=pathlib.Path, help="the file to write, such as chromium.tar")
    make(parser.parse_args().image.absolute())


if __name__ == "__main__":
    main()
