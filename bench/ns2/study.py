#!/usr/bin/env python3
"""What the TCP pacing study simulates without pacing, in ns-2: runs dumbbell.tcl and prints a table of the means over seeds.

python3 bench/ns2/study.py [--jobs N] [--json FILE] [PART ...]

A part is `oracle` (one flow, for experiments/oracles/ns2.toml), or a figure of experiments/tcp-pacing: fig05 (figure 3 is one of its cells),
fig06-early, and fig06 with a quarter of a product. Figure 4 is `oracle` with a quarter of a product. Each runs with all SENDERS.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess

SCRIPT = pathlib.Path(__file__).parent / "dumbbell.tcl"

# Reno and NewReno of ns-2 2.35, where the standard leaves a choice with that of quiclab: no limited transmit, and a timer of at least a second.
MATCHED = {"singledup_": "0", "minrto_": "1"}

# What the change log and the comments of ns-default.tcl say of the time of the study. Until July 2003 each duplicate from the third on made room
# for a segment, also without a fast retransmit (`exitFastRetrans_`). The timer had ticks of 0.1 s, two of them at least.
BEFORE_2003 = {
    "exitFastRetrans_": "false",
    "singledup_": "0",
    "precisionReduce_": "false",
    "tcpTick_": "0.1",
    "minrto_": "0",
    "rtxcur_init_": "6",
    "rfc2988_": "false",
    "updated_rttvar_": "false",
    "timerfix_": "false",
    "maxrto_": "64",
}

# A fast retransmit is possible whatever was lost before. In ns of 1997 it is after another one, but not after a timeout. No variable
# of 2.35 does just that.
REPEATED = {"bugFix_": "false"}

SENDERS = {
    "Reno": ("Reno", MATCHED),
    "NewReno": ("Newreno", MATCHED),
    "Reno before 2003": ("Reno", BEFORE_2003),
    "Reno before 2003, repeated": ("Reno", BEFORE_2003 | REPEATED),
}

METRICS = ["goodput_bps", "first_loss_s", "first_loss_window_segments", "drops_packets", "queue_mean_packets"]
METRICS += ["fairness", "timeouts"]

RATE = 57e6
RTT = 0.1
PACKET_BITS = 628 * 8


def buffer(rate, products):
    """Packets in so many bandwidth-delay products."""
    return max(1, math.floor(rate * RTT / PACKET_BITS * products + 0.5))


def sawtooth(rate):
    """Seconds in which Reno's window grows by half of the product of a path whose buffer is as large as its pipe."""
    return RTT * RTT * rate / PACKET_BITS


def one_flow(rate, products, sawteeth, warm_up):
    """The path of figures 3 to 5."""
    duration = round(sawteeth * sawtooth(rate), 6)
    return {"rate": rate, "buffer": buffer(rate, products), "duration": duration, "warm_up": warm_up}


def many_flows(products, duration, warm_up):
    """That of figure 6."""
    return {
        "flows": 50,
        "begin_within": 0.1,
        "buffer": buffer(RATE, products),
        "duration": duration,
        "warm_up": warm_up,
    }


def parts():
    """By part: what it varies, the arguments, and the number of seeds."""
    grid = [(rate, products) for rate in (10e6, 57e6) for products in (0.25, 0.4, 0.6, 1)]
    return {
        "oracle": [(f"{products} BDP", one_flow(RATE, products, 6, 340), 1) for products in (0.25, 1)],
        "fig05": [
            (f"{rate / 1e6:g} Mbit/s, {products} BDP", one_flow(rate, products, 1, 0), 1) for rate, products in grid
        ],
        "fig06-early": [(f"{products} BDP", many_flows(products, 8, 0), 10) for products in (0.25, 1)],
        "fig06": [("0.25 BDP", many_flows(0.25, 80, 20), 5)],
    }


def run(arguments):
    """What dumbbell.tcl says, by name."""
    words = [str(word) for pair in arguments.items() for word in pair]
    done = subprocess.run(["ns", str(SCRIPT), *words], check=True, capture_output=True, text=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def mean(runs, name):
    """The mean over runs that have the value; none if there are none."""
    values = [each[name] for each in runs if name in each]
    return sum(values) / len(values) if values else None


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description="The TCP pacing study without pacing, in ns-2.")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    known = parts()
    if unknown := set(options.parts) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")

    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for part in options.parts or known:
            for label, path, seeds in known[part]:
                for sender, (agent, rules) in SENDERS.items():
                    variables = {f"tcp:{name}": value for name, value in rules.items()}
                    begun = [
                        pool.submit(run, path | {"agent": agent, "seed": seed} | variables)
                        for seed in range(1, seeds + 1)
                    ]
                    results.append((part, label, sender, begun))
        print("\t".join(["part", "path", "sender", *METRICS]))
        values = []
        for part, label, sender, begun in results:
            runs = [each.result() for each in begun]
            means = [mean(runs, name) for name in METRICS]
            words = ["-" if value is None else f"{value:.6g}" for value in means]
            print("\t".join([part, label, sender, *words]), flush=True)
            values.append({"part": part, "path": label, "sender": sender, "runs": runs})
    if options.json:
        options.json.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
