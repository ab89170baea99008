#!/usr/bin/env python3
"""Runs `quiclab perf` with every stack in turns, and prints a Markdown table of medians and ranges.

Rounds go through all stacks, so that a slow minute of the machine hits all of them. The roofline is that of the last test of each
stack; the table has the median over all.

    bench/perf.py QUICLAB [--rounds 5] [--seconds 3 | --bytes 8G] [--stacks a,b] [more arguments of quiclab perf]
"""

import argparse
import json
import statistics
import subprocess
import sys


def claiming(quiclab):
    """Names of the stacks that claim perf in both roles."""
    listed = json.loads(subprocess.run([quiclab, "stacks", "list", "--json"], check=True, capture_output=True).stdout)
    roles = ("server", "client")
    return [one["name"] for one in listed if all("perf" in one["test_cases"][role] for role in roles)]


def test(quiclab, stack, length, more):
    command = [quiclab, "perf", "--stack", stack, *length, "-J", "--roofline", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{stack}: {done.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(done.stdout)["end"]


def spread(values, digits=2):
    if not values:
        return "-"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


# Parts of the CPU time in the order of the table, by how they were found.
PARTS = {
    "samples": ("cryptography", "kernel_send", "kernel_receive", "kernel_other", "stack", "unnamed"),
    "times": ("cryptography", "kernel", "stack"),
}


def percents(split):
    sizes = [split[f"{part}_ns_per_byte"] for part in PARTS[split["by"]]]
    return [100 * size / sum(sizes) for size in sizes]


def row(stack, ends):
    gbit = [end["sum_received"]["bits_per_second"] / 1e9 for end in ends]
    shares = [100 * end["quiclab_roofline"]["share"] for end in ends if end["quiclab_roofline"]["share"]]
    cells = [stack, spread(gbit), spread(shares, 0)]
    for side in ("sender", "receiver"):
        costs = [end["quiclab"][side]["cpu_ns_per_byte"] for end in ends if end["quiclab"][side]["cpu_ns_per_byte"]]
        cells.append(spread(costs))
        cells.append(spread([end["quiclab"][side]["peak_memory_bytes"] / 2**20 for end in ends], 0))
    splits = [end["quiclab_roofline"]["cpu_split"]["client"] for end in ends]
    splits = [split for split in splits if split]
    medians = [statistics.median(part) for part in zip(*map(percents, splits))]
    cells.append(" / ".join(f"{value:.0f}" for value in medians) or "-")
    return statistics.median(gbit), "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quiclab")
    parser.add_argument("--rounds", type=int, default=5)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=3)
    length.add_argument("--bytes", help="such as 8G: each test carries so many instead of lasting so long")
    parser.add_argument("--stacks")
    arguments, more = parser.parse_known_args()
    stacks = arguments.stacks.split(",") if arguments.stacks else claiming(arguments.quiclab)
    length = ["-n", arguments.bytes] if arguments.bytes else ["-t", str(arguments.seconds)]
    ends = {stack: [] for stack in stacks}
    for number in range(arguments.rounds):
        for stack in stacks:
            end = test(arguments.quiclab, stack, length, more)
            if end is not None:
                ends[stack].append(end)
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    split = "client: cipher / kernel sends / receives / other / stack / unnamed (not sampled: cipher / kernel / stack), %"
    print(f"| stack | Gbit/s | % of best QUIC | sender, ns per byte | sender, MiB | receiver, ns per byte | receiver, MiB | {split} |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [row(stack, tests) for stack, tests in ends.items() if tests]
    for _, line in sorted(rows, reverse=True):
        print(line)
    best = [end["quiclab_roofline"]["best_quic_bits_per_second"] / 1e9 for tests in ends.values() for end in tests]
    parts = {}
    for tests in ends.values():
        for end in tests:
            for name, cost in end["quiclab_roofline"]["parts"].items():
                if isinstance(cost, dict) and "send_ns_per_byte" in cost:
                    parts.setdefault(name, []).append((cost["send_ns_per_byte"], cost["receive_ns_per_byte"]))
    print(f"\nbest QUIC, Gbit/s: {spread(best)}\n\n| part | send, ns per byte | receive, ns per byte |\n|---|---|---|")
    for name, costs in parts.items():
        print(f"| {name} | {spread([cost[0] for cost in costs], 3)} | {spread([cost[1] for cost in costs], 3)} |")


main()
