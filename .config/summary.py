#!/usr/bin/env python3
"""Prints what a run of the tests cost and what it left out, from the JUnit file of cargo-nextest.

usage: summary.py JUNIT [--slowest N]

A test that cannot run on this machine prints `skipped: REASON` to stderr and passes.
"""

import argparse
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

SKIPPED = re.compile(r"^skipped: (.+)$", re.MULTILINE)
WIDTH = 80


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("junit", type=Path)
    parser.add_argument("--slowest", type=int, default=20, metavar="N", help="how many of the slowest tests to list (20)")
    arguments = parser.parse_args()
    slowest: list[tuple[float, str]] = []
    skipped: dict[str, list[str]] = defaultdict(list)
    for case in ElementTree.parse(arguments.junit).getroot().iter("testcase"):
        name = f"{case.get('classname', '').removeprefix('quiclab-')} {case.get('name', '')}"
        slowest.append((float(case.get("time", 0)), name))
        for reason in SKIPPED.findall("\n".join(case.itertext())):
            skipped[reason].append(name)
    slowest.sort(reverse=True)
    print(f"\nThe slowest of {len(slowest)} tests, which took {sum(time for time, _ in slowest):.0f} s one by one:")
    for time, name in slowest[: arguments.slowest]:
        print(f"{time:8.1f} s  {name}"[:WIDTH])
    if skipped:
        print("\nSkipped on this machine:")
        for reason, names in sorted(skipped.items()):
            print(f"  {reason}")
            for name in names:
                print(f"      {name}"[:WIDTH])
    else:
        print("\nNothing was skipped on this machine.")


if __name__ == "__main__":
    main()
