"""What the results come to, as a Markdown table."""

import statistics

GOAL = 0.97


def good_pairs(result):
    return [pair for pair in result["pairs"] if "bits_per_second" in pair["own"] and "bits_per_second" in pair["quiclab"]]


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def ratios(result):
    return [pair["quiclab"]["bits_per_second"] / pair["own"]["bits_per_second"] for pair in good_pairs(result)]


def summary(result):
    """Medians and ranges of one tool, in bits per second; None without a pair that went well."""
    pairs = good_pairs(result)
    if not pairs:
        return None
    numbers = {"own": [pair["own"]["bits_per_second"] for pair in pairs],
               "quiclab": [pair["quiclab"]["bits_per_second"] for pair in pairs], "ratio": ratios(result)}
    of = {name: {"median": statistics.median(values), "min": min(values), "max": max(values)} for name, values in numbers.items()}
    return {**of, "pairs": len(pairs), "reached": of["ratio"]["median"] >= GOAL}


def cpu(result, side):
    """Medians of CPU time, in nanoseconds for each byte, of the server and the client."""
    pairs = good_pairs(result)
    values = [[pair[side][f"{end}_cpu_ns_per_byte"] for pair in pairs] for end in ("server", "client")]
    return " + ".join(f"{statistics.median(of):.2f}" if of and None not in of else "?" for of in values)


def failures(result):
    """Each reason once, with how often."""
    reasons = {}
    for pair in result["pairs"]:
        for side in ("own", "quiclab"):
            if "failed" in pair[side]:
                reason = f"{'own tool' if side == 'own' else 'quiclab'}: {pair[side]['failed']}"
                reasons[reason] = reasons.get(reason, 0) + 1
    return [f"{count} of {len(result['pairs'])} pairs: {reason}" for reason, count in reasons.items()]


def row(tool, result):
    start = [tool.stack, tool.what, f"`{' '.join(tool.quiclab)}`"]
    if result is None:
        return [*start, "", "", "", "", "not measured"]
    if "missing" in result:
        return [*start, "", "", "", "", f"not measured: {result['missing']}"]
    pairs = good_pairs(result)
    if not pairs:
        return [*start, "", "", "", "", "no pair went well"]
    gbit = [spread([pair[side]["bits_per_second"] / 1e9 for pair in pairs], 2 if result["bytes"] > 1e8 else 3)
            for side in ("own", "quiclab")]
    verdict = "yes" if statistics.median(ratios(result)) >= GOAL else "no"
    if len(pairs) < len(result["pairs"]):
        verdict += f", by {len(pairs)} of {len(result['pairs'])} pairs"
    return [*start, *gbit, f"{cpu(result, 'own')} / {cpu(result, 'quiclab')}", spread(ratios(result)), verdict]


def markdown(tools, results, without):
    """The table, then what is to be known of each row, then the stacks without one."""
    heads = ["stack", "own tool", "`quiclab perf -R` with", "own, Gbit/s", "quiclab, Gbit/s",
             "CPU ns per byte, server + client: own / quiclab", "ratio of pairs", f">= {GOAL}"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    notes = []
    for tool in tools:
        result = results.get(tool.name)
        lines.append("| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in row(tool, result)) + " |")
        failed = failures(result) if result and "pairs" in result else []
        size = f" {result['bytes'] / 1e6:.0f} MB." if result and "bytes" in result else ""
        notes.append(f"- {tool.stack}, {tool.what}:{size} {tool.notes} {'; '.join(failed)}".rstrip())
    return "\n".join([*lines, "", *notes, "", *(f"- {name}: {why}" for name, why in without.items())])
