#!/usr/bin/env python3
"""Writes an SBOM and the licences of everything that is linked into the command and the agent.

    packaging/sbom.py VERSION SBOM.spdx.json LICENCES.txt

Both follow from Cargo.lock and the sources that cargo has; the SBOM is SPDX 2.3.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from datetime import datetime, timezone

TARGET = "x86_64-unknown-linux-gnu"
ROOTS = ("quiclab", "quiclab-agent")
# Names of files that packages keep their licences in.
LICENCE_FILE = re.compile(r"^(un)?licen[cs]e|^copying|^notice|^copyright", re.IGNORECASE)


def metadata():
    """What cargo says of all packages, as a dictionary."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={TARGET}"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def linked(facts):
    """The packages that become part of a binary, in order of name and version: no build or test dependencies."""
    nodes = {node["id"]: node for node in facts["resolve"]["nodes"]}
    packages = {package["id"]: package for package in facts["packages"]}
    todo = [package["id"] for package in facts["packages"] if package["name"] in ROOTS and package["source"] is None]
    seen = set()
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        for dependency in nodes[each]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    return sorted((packages[each] for each in seen), key=lambda package: (package["name"], package["version"]))


def checksums():
    """SHA-256 of each package's archive by name and version, as in Cargo.lock."""
    found, name, version = {}, None, None
    for line in pathlib.Path("Cargo.lock").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition(" = ")
        value = value.strip('"')
        if key == "name":
            name = value
        elif key == "version":
            version = value
        elif key == "checksum":
            found[name, version] = value
    return found


def sbom(packages, version):
    """The SPDX document as a dictionary."""
    sums = checksums()
    time = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = []
    for package in packages:
        row = {
            "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package['name']}-{package['version']}"),
            "name": package["name"],
            "versionInfo": package["version"],
            "licenseDeclared": (package["license"] or "NOASSERTION").replace("/", " OR "),
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
        }
        checksum = sums.get((package["name"], package["version"]))
        if checksum:
            row["downloadLocation"] = f"https://crates.io/crates/{package['name']}/{package['version']}"
            row["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
            locator = f"pkg:cargo/{package['name']}@{package['version']}"
            reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
            row["externalRefs"] = [reference]
        rows.append(row)
    top = f"SPDXRef-quiclab-{version}"
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": top}]
    for row in rows:
        if row["SPDXID"] != top:
            relation = {"spdxElementId": top, "relationshipType": "CONTAINS", "relatedSpdxElement": row["SPDXID"]}
            relations.append(relation)
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"quiclab-{version}",
        "documentNamespace": f"https://quiclab.invalid/spdx/quiclab-{version}-{digest}",
        "creationInfo": {"created": time, "creators": [f"Tool: quiclab-packaging-{version}"]},
        "packages": rows,
        "relationships": relations,
    }


def licences(packages):
    """The texts, each once, below the names of the packages that have it."""
    texts = {}
    without = []
    for package in packages:
        label = f"{package['name']} {package['version']} ({package['license']})"
        folder = pathlib.Path(package["manifest_path"]).parent
        if package["source"] is None:
            folder = pathlib.Path(".")
        files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
        if not files:
            without.append(label)
        for path in files:
            texts.setdefault(path.read_text(encoding="utf-8", errors="replace").strip(), []).append(label)
    parts = ["Licences of quiclab and of everything that is linked into its command and its agent.\n"]
    if without:
        parts.append("Without a text in their package; their licence is the SPDX expression:\n  " + "\n  ".join(without))
    for text, labels in sorted(texts.items(), key=lambda item: item[1]):
        parts.append("\n".join(sorted(set(labels))) + "\n\n" + text)
    return ("\n\n" + "=" * 80 + "\n\n").join(parts) + "\n"


def main():
    """Writes both files."""
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    version, sbom_path, licences_path = sys.argv[1:]
    packages = linked(metadata())
    pathlib.Path(sbom_path).write_text(json.dumps(sbom(packages, version), indent=2) + "\n", encoding="utf-8")
    pathlib.Path(licences_path).write_text(licences(packages), encoding="utf-8")


if __name__ == "__main__":
    main()
