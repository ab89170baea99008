#!/usr/bin/env python3
"""Compares `quiclab perf` with the own tool of each stack, in interleaved pairs on the same CPUs, and prints a Markdown table.

    bench/own_tools/run.py QUICLAB [--tools quinn,tquic] [--pairs 7] [--seconds 5] [--json] [more arguments of quiclab perf]

Builds what is missing first. Each pair is one transfer by the own tool and one of as many bytes by `quiclab perf -R`; which comes
first alternates. A round goes through all tools, so that a slow minute of the machine hits all of them. Results are written after
each pair, and the same command continues after an interruption. README.md says more.
"""

import argparse
import json
import os
import platform
import shutil
import sys
from pathlib import Path

import measure
import table
import tools
from measure import Failed
from recipes import Builds, Missing

HERE = Path(__file__).resolve().parent
# The first transfer of those that say how many bytes a test gets; there are more of them as long as they should have been much longer.
TRIAL_BYTES = 20_000_000
MOST_TRIALS = 5
MUCH_LONGER = 1.5
QUIET_LOAD = 3.0
FEWEST_BYTES = 2_000_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("quiclab", help="the program quiclab")
    parser.add_argument("--tools", help=f"which ones, with commas: {', '.join(tools.ALL)} (default: all)")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of tests for each tool (default: 7)")
    parser.add_argument("--seconds", type=float, default=5, help="how long a transfer of the own tool should take (default: 5)")
    parser.add_argument("--cpus", default="0,1", help="CPU of servers and CPU of clients (default: 0,1)")
    parser.add_argument("--folder", default=str(HERE.parent.parent / "target" / "own_tools"), help="where tools are built")
    parser.add_argument("--results", help="file that results are written to and continued from (default: results.json in --folder)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--build", action="store_true", help="only fetch and build the tools")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    return parser.parse_known_args()


def chosen(names):
    if not names:
        return list(tools.ALL)
    unknown = [name for name in names.split(",") if name not in tools.ALL]
    if unknown:
        sys.exit(f"error: --tools: {', '.join(unknown)}: found none of that name\nhint: there are {', '.join(tools.ALL)}")
    return names.split(",")


def prepared(names, builds):
    """The tools that could be built, and why the others could not."""
    ready, missing = [], {}
    for name in names:
        for make in tools.ALL[name]:
            try:
                ready += make(builds)
            except Missing as error:
                missing[f"{name} ({make.__name__})"] = str(error)
                print(f"error: {name}: {error}", file=sys.stderr)
    return ready, missing


class Results:
    """What was measured so far, in a file."""

    def __init__(self, path, settings, fresh):
        self.path = Path(path)
        self.all = {"schema": 1, "settings": settings, "tools": {}}
        if not fresh and self.path.exists():
            self.all = json.loads(self.path.read_text())
            if self.all["settings"] != settings:
                sys.exit(f"error: {path}: measured with other settings: {self.all['settings']}, now {settings}\n"
                         "hint: --fresh forgets them, --results names another file")

    def of(self, tool):
        return self.all["tools"].setdefault(tool.name, {"stack": tool.stack, "what": tool.what, "quiclab": tool.quiclab, "pairs": []})

    def save(self):
        aside = self.path.with_suffix(".new")
        aside.write_text(json.dumps(self.all, indent=1) + "\n")
        os.replace(aside, self.path)


def size_for(tool, cpus, seconds):
    """Bytes that the own tool carries in about so many seconds."""
    size = min(TRIAL_BYTES, tool.most_bytes)
    for _ in range(MOST_TRIALS):
        trial = measure.own(tool, size, cpus, seconds)
        wanted = int(trial["bits_per_second"] / 8 * seconds)
        step = 10 ** (len(str(wanted)) - 2)
        wanted = max(min(wanted // step * step, tool.most_bytes), FEWEST_BYTES)
        # Short transfers are slower than long ones, so a longer one says more.
        if wanted < size * MUCH_LONGER:
            return wanted
        size = wanted
    return size


def size_patiently(tool, cpus, seconds):
    """The same, of a tool that fails now and then."""
    for _ in range(MOST_TRIALS - 1):
        try:
            return size_for(tool, cpus, seconds)
        except Failed as error:
            print(f"  {tool.name}: a trial failed: {error}", file=sys.stderr)
    return size_for(tool, cpus, seconds)


def tried(test):
    try:
        return test()
    except (Failed, Missing) as error:
        print(f"  failed: {error}", file=sys.stderr)
        return {"failed": str(error)}


def pair(tool, result, number, options, cpus, more):
    size = result["bytes"]
    tests = {"own": lambda: measure.own(tool, size, cpus, options.seconds),
             "quiclab": lambda: measure.quiclab(options.quiclab, tool, size, cpus, more, options.seconds)}
    order = ["own", "quiclab"] if number % 2 == 0 else ["quiclab", "own"]
    # That of the last minute includes the tests before.
    done = {"first": order[0], "load_average": os.getloadavg()[0], **{side: tried(tests[side]) for side in order}}
    said = {side: f"{done[side]['bits_per_second'] / 1e9:.3f}" if "failed" not in done[side] else "failed" for side in order}
    print(f"pair {number + 1} of {options.pairs}, {tool.name}: own {said['own']}, quiclab {said['quiclab']} Gbit/s", file=sys.stderr)
    return done


def measure_all(ready, results, options, cpus, more):
    for number in range(options.pairs):
        for tool in ready:
            result = results.of(tool)
            if len(result["pairs"]) > number or result.get("missing"):
                continue
            if "bytes" not in result:
                try:
                    result["bytes"] = size_patiently(tool, cpus, options.seconds)
                except Failed as error:
                    result["missing"] = str(error)
                    print(f"error: {tool.name}: {error}", file=sys.stderr)
                    results.save()
                    continue
            result["pairs"].append(pair(tool, result, number, options, cpus, more))
            results.save()


def main():
    options, more = arguments()
    more = [word for word in more if word != "--"]
    cpus = options.cpus.split(",")
    try:
        version = measure.version_of(options.quiclab)
        options.quiclab = shutil.which(options.quiclab)
        ready, missing = prepared(chosen(options.tools), Builds(options.folder))
        if options.build:
            sys.exit(1 if missing else 0)
        settings = {"seconds": options.seconds, "cpus": options.cpus, "quiclab": version, "more": more, "host": host()}
        results = Results(options.results or Path(options.folder) / "results.json", settings, options.fresh)
        # What could not be measured before is tried again.
        for result in results.all["tools"].values():
            result.pop("missing", None)
        measure_all(ready, results, options, cpus, more)
    except Missing as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    show(ready, missing, results, options)


def busy(results):
    """A sentence where the machine had other work."""
    loads = [pair["load_average"] for result in results.all["tools"].values() for pair in result["pairs"]]
    most = max(loads, default=0)
    # A test keeps two CPUs busy, and this program a little of one.
    return f" **The load average reached {most:.1f}: the machine was not quiet.**" if most > QUIET_LOAD else ""


def host():
    """The machine, in a line."""
    models = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{platform.system()} {platform.release()}, {os.cpu_count()} CPUs, {models[0] if models else platform.machine()}"


def show(ready, missing, results, options):
    without = {**({} if options.tools else tools.WITHOUT), **{name: f"not built: {why}" for name, why in missing.items()}}
    if options.json:
        of = {name: {**result, "summary": table.summary(result)} for name, result in results.all["tools"].items()}
        print(json.dumps({**results.all, "tools": of, "without": without}, indent=1))
    else:
        print(table.markdown(ready, results.all["tools"], without))
        print(f"\n{results.all['settings']['host']}; {results.all['settings']['quiclab']}.{busy(results)}")
    if missing or not all(table.summary(results.of(tool)) for tool in ready):
        sys.exit(1)


main()
