"""Stores what is needed of Debian's source package firefox-esr, as a tar archive without compression, in the file that is named.

The package has neqo, and NSS and NSPR that it uses. It comes from the mirrors that apt is configured for, by apt's own client and with
its keys, and is 683 MB long; 60 MB of it are kept. Which suite still has this version depends on the day, so the archive is found by its
hash in all that apt knows.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

VERSION = "140.12.0esr"
SHA256 = "5c72347381233dcc97cbd02c0324116258769d8b9b0f869fd0c6f1d59519ce2a"
KEPT = [
    "nsprpub",
    "security/nss/lib",
    "security/nss/cmd",
    "security/nss/coreconf",
    "security/nss/cpputil",
    "security/nss/nss-tool",
    "security/nss/build.sh",
    "security/nss/exports.gyp",
    "security/nss/help.txt",
    "security/nss/nss.gyp",
    *(f"third_party/rust/neqo-{crate}" for crate in ["common", "crypto", "http3", "qpack", "transport", "udp"]),
]


def apt(folder, *arguments):
    """What a command of apt prints, with lists of source packages of its own in `folder`."""
    options = {
        "Dir::Etc::sourcelist": f"{folder}/sources.list",
        "Dir::Etc::sourceparts": f"{folder}/sources.list.d",
        "Dir::State::lists": f"{folder}/lists",
        "Dir::Cache": f"{folder}/cache",
        "APT::Sandbox::User": "",
    }
    pairs = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return subprocess.run([arguments[0], *pairs, *arguments[1:]], stdout=subprocess.PIPE, text=True, check=False).stdout


def source_lists(folder):
    """Asks for the sources of what this machine takes its packages from."""
    os.makedirs(f"{folder}/sources.list.d")
    os.makedirs(f"{folder}/lists/partial")
    os.makedirs(f"{folder}/cache/archives/partial")
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"(?m)^deb ", "deb-src ", re.sub(r"(?m)^Types:.*$", "Types: deb-src", text))
        with open(f"{folder}/sources.list.d/{os.path.basename(path)}", "w", encoding="utf-8") as file:
            file.write(text)


def address(folder):
    """Where the archive is. Exits where nobody has it."""
    source_lists(folder)
    # Other suppliers of packages have no sources, which is no failure here.
    updated = apt(folder, "apt-get", "--quiet", "update")
    sources = apt(folder, "apt-cache", "showsrc", "firefox-esr")
    for entry in sources.split("\n\n"):
        if SHA256 not in entry:
            continue
        version = re.search(r"(?m)^Version: (.*)$", entry).group(1)
        for line in apt(folder, "apt-get", "source", "--print-uris", f"firefox-esr={version}").splitlines():
            found = re.match(rf"'([^']+)' \S+ \d+ SHA256:{SHA256}", line)
            if found:
                return found.group(1)
    known = re.findall(r"(?m)^Version: (.*)$", sources)
    sys.exit(
        f"the source archive of firefox-esr {VERSION} (SHA-256 {SHA256}) is in no suite that apt knows: found "
        f"{', '.join(known) or 'no sources at all: ' + updated[-500:]}"
    )


with tempfile.TemporaryDirectory() as folder:
    archive = f"{folder}/archive.tar.xz"
    helper = ["/usr/lib/apt/apt-helper", "-o", "APT::Sandbox::User=", "download-file", address(folder), archive]
    subprocess.run([*helper, f"SHA256:{SHA256}"], stdout=sys.stderr, check=True)
    top = f"firefox-{VERSION.removesuffix('esr')}"
    extract = ["tar", "-C", folder, "-xJf", archive, "--no-same-owner", "--strip-components=1"]
    subprocess.run([*extract, *(f"{top}/{path}" for path in KEPT)], check=True)
    os.remove(archive)
    kept = f"{sys.argv[1]}.new"
    subprocess.run(["tar", "-C", folder, "-cf", kept, "nsprpub", "security", "third_party"], check=True)
    os.replace(kept, sys.argv[1])
