#!/usr/bin/env python3
"""A command that plans and performs nothing: it writes tiny records, so that tests of campaigns measure campaigns.

The experiment file is JSON: ``runs``: how many; ``testbed``; ``qemu``; ``seconds`` of each run; ``hang``: numbers of runs that hang once a file
named ``hang-N`` beside the experiment is missing; ``fail``: numbers of runs that always fail; ``fail_on``: by machine, of those that
fail there.
"""

import ctypes
import hashlib
import json
import os
import sys
import time
from pathlib import Path

VERSION = os.environ.get("FAKE_VERSION", "0.1.0")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def plan(file: Path) -> None:
    spec = json.loads(file.read_text())
    me = Path(__file__).resolve()
    cache = Path(os.environ["QUICLAB_CACHE"])
    things = {name: {"sums_sha256": sha256((cache / name / "sums").read_bytes())} for name in spec.get("things", [])}
    group = {"stacks": ["fake"] if spec.get("stacks") else [], "needs": sorted(things)}
    program = {"path": str(me), "sha256": sha256(me.read_bytes())}
    header = {
        "schema": 1,
        "quiclab": VERSION,
        "testbed": spec.get("testbed", "sim"),
        "cache": str(cache),
        "stacks": spec.get("stacks", ""),
        "programs": {"quiclab": program},
        "qemu": spec.get("qemu"),
        "things": things,
        "groups": [group],
    }
    print(json.dumps(header))
    for number in range(spec["runs"]):
        identity = sha256(f"run {number}".encode())[:16]
        run = {"kind": "transfer", "seed": number, "spec": str(file.resolve())}
        print(json.dumps({"id": identity, "name": f"fake-{number:06}-{identity}", "group": 0, "run": run}))


def perform(folder: Path) -> int:
    status = 0
    for line in sys.stdin.read().splitlines():
        row = json.loads(line)
        file = Path(row["run"]["spec"])
        spec, number = json.loads(file.read_text()), row["run"]["seed"]
        for thing in spec.get("things", []):
            place = Path(os.environ["QUICLAB_CACHE"]) / thing
            expected, name = (place / "sums").read_text().split()
            if sha256((place / name).read_bytes()) != expected:
                print(
                    f"quiclab: {place} is damaged: {name} has another hash\nhint: quiclab cache remove {thing}; then",
                    file=sys.stderr,
                )
                return 125
        time.sleep(spec.get("seconds", 0))
        mark = file.parent / f"hang-{number}"
        if number in spec.get("hang", []) and not mark.exists():
            mark.write_text(str(os.getpid()))
            time.sleep(3600)
        if number in spec.get("fail", []) or number in spec.get("fail_on", {}).get(
            os.environ.get("QUICLAB_CAMPAIGN_MACHINE"), []
        ):
            status = 1
            print(
                json.dumps(
                    {"id": row["id"], "name": row["name"], "record": None, "failure": "the client failed", "kept": None}
                )
            )
            continue
        record = folder / row["name"]
        record.mkdir(parents=True)
        lie = os.environ.get("FAKE_LIE", "") if os.environ.get("FAKE_LIE") else ""
        (record / "run.toml").write_text(f'id = "{row["id"]}"\nrun = {number}\n')
        (record / "metrics.json").write_text(json.dumps({"number": number, "lie": lie}))
        cost = {"elapsed_seconds": spec.get("seconds", 0)}
        print(
            json.dumps({"id": row["id"], "name": row["name"], "record": str(record), "performed": True, "cost": cost})
        )
    return status


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"quiclab {VERSION}")
        return 0
    if words[:2] == ["tools", "perform"]:
        # PR_SET_PDEATHSIG with SIGKILL.
        ctypes.CDLL(None).prctl(1, 9)
        if os.getppid() != int(words[words.index("--with-parent") + 1]):
            return 125
        return perform(Path(words[words.index("--records") + 1]))
    if "--needs" in words:
        plan(Path(words[1]))
        return 0
    out = Path(words[words.index("--out") + 1])
    records = sorted(path.name for path in out.iterdir() if (path / "run.toml").is_file())
    (out / "experiment.json").write_text(json.dumps(records))
    return 0


sys.exit(main(sys.argv[1:]))
