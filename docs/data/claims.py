"""Claims of the four studies: every expectation of their experiment files with what came of it. A part of generate.py."""

import collections
import decimal
import hashlib
import json
import re
import tomllib

from stored import SCHEMA, Fault, as_json, day_of, read, short_versions

STUDIES = ("quic-steps", "reacked", "tcp-pacing", "throughput")
# A model beside that of the files: its verdicts stand in columns of their own. The key is in the command that made the result.
BESIDE = {"tcp-pacing": ("Reno", "flows.recovery=reno")}
UNITS = (("_ns", "1e-6", "ms"), ("_bps", "1e-6", "Mbit/s"), ("_packets", "1", "packets"), ("_bytes", "1", "bytes"), ("_s_per_gb", "1", "s/GB"), ("_s", "1e3", "ms"))
DIGITS = 4
NOT_RUN = "not run"
# Where an expectation is not a statement of the study, its source says so.
OURS = "beyond the study"
# What became of a statement that no expectation judges: settings of the study here, and what was not or cannot be measured.
STATES = ("same", "other", "not measured", "not possible here")
# What the page shows of a claim. `state` is a digest of the expectation, so that a verdict of an older one is found.
PLACES = [
    {"title": "place", "align": "left"},
    {"title": "claim", "align": "left"},
    {"title": "verdict", "align": "left"},
]
VALUES = [
    {"title": "measured", "minus": "-"},
    {"title": "expected", "minus": "-"},
    {"title": "unit", "align": "left"},
    {"title": "interval", "form": "{} to {}", "minus": "-"},
    {"title": "runs"},
]
MADE = [
    {"title": "file", "align": "left"},
    {"title": "profile", "align": "left"},
    {"title": "date", "align": "left"},
]


def order_of(path):
    """Figures by their numbers, and what is beyond a study behind it."""
    parts = re.split(r"(\d+)", path.stem)
    return path.stem.startswith("beyond"), [int(part) if part.isdigit() else part for part in parts]


def expectations(root, study):
    """Every expectation of a study's files, in their order: by file and claim."""
    found = {}
    for path in sorted((root / "experiments" / study).glob("*.toml"), key=order_of):
        for expectation in tomllib.loads(path.read_text(encoding="utf-8")).get("expect", []):
            key = (path.stem, expectation["claim"])
            if key in found:
                raise Fault(f"{path.relative_to(root)}: found the claim {key[1]!r} twice, expected texts that differ")
            if "source" not in expectation:
                raise Fault(f"{path.relative_to(root)}: found no source of {key[1]!r}, expected the study's section or figure, or {OURS!r}")
            found[key] = expectation
    return found


def digest(expectation):
    """Changes when what is judged does. The words around it do not count."""
    judged = {key: value for key, value in expectation.items() if key not in ("claim", "source")}
    return hashlib.sha256(json.dumps(judged, sort_keys=True).encode()).hexdigest()[:8]


def is_ours(expectation):
    return expectation["source"].startswith(OURS)


def shown(value, scale):
    """A value of report.json in the unit of the page."""
    rounded = decimal.Decimal(f"{value:.{DIGITS}g}") * decimal.Decimal(scale)
    return decimal.Decimal(format(rounded.normalize(), "f"))


def outcome_of(findings):
    """The verdict on a claim about one or several groups of runs."""
    words = ["not measured" if isinstance(each["outcome"], dict) else each["outcome"] for each in findings]
    for word in ("fails", "not measured", "undecided"):
        if word in words:
            share = f" ({words.count(word)} of {len(words)})" if len(words) > 1 else ""
            return f"**{word}**{share}" if word != "undecided" else word + share
    return "holds"


def values_of(findings):
    """Measured, expected, unit, interval and runs of the findings on one claim; of several groups, the range of their means."""
    first = findings[0]
    scale, unit = next(((scale, unit) for suffix, scale, unit in UNITS if first["metric"].endswith(suffix)), ("1", ""))
    of = [shown(each["of"]["mean"], scale) for each in findings if each["of"]]
    others = [shown(each["with"]["mean"], scale) for each in findings if each["with"]]
    if not of:
        return [None, None, unit, None, None]
    bound, number = first["bound"].replace("_", " "), first["number"]
    ends = sorted({min(others), max(others)}) if others else []
    form = " to ".join("{}" for _ in ends)
    if not others:
        expected = [bound + " {}", shown(number, scale)]
    elif first.get("compared_as") == "difference":
        expected = [f"{bound} {form} + {{}}", *ends, shown(number, scale)]
    elif number == 1:
        expected = [f"{bound} {form}", *ends]
    else:
        expected = [f"{bound} {{}} × {form}", shown(number, "1"), *ends]
    intervals = [each["interval"] for each in findings]
    if len(findings) > 1:
        interval = "several"
    elif intervals[0]:
        interval = [shown(intervals[0][end], scale) for end in ("low", "high")]
    else:
        interval = "every pair" if first["judged_by"] == "every_pair" else "one run"
    runs = sorted({each["of"]["count"] for each in findings if each["of"]})
    measured = of[0] if min(of) == max(of) else ["{} to {}", min(of), max(of)]
    return [measured, expected, unit, interval, runs[0] if len(findings) == 1 else [f"{len(findings)} × {{}}", runs[0]]]


def reports(folders):
    """Every report.json below these folders, with what it says of its command."""
    for folder in folders:
        found = sorted(folder.rglob("report.json"))
        if not found:
            raise Fault(f"{folder}: found no report.json")
        for path in found:
            report = read(path)
            if report["schema"] != SCHEMA:
                raise Fault(f"{path}: found schema {report['schema']}, expected {SCHEMA}; hint: quiclab report {path.parent} writes it anew")
            study, _, file = report["experiment"].partition("/")
            if study in STUDIES and report.get("expectations"):
                runs = [path.parent / run["record"] for group in report["groups"] for run in group["runs"]]
                yield study, file, report, day_of([run for run in runs if run.exists()] or [path])


def take_claims(root, folders):
    """Writes what came of every expectation of the studies' files into claims.json: from report.json below the folders, or as it was."""
    path = root / "docs/data/claims.json"
    result = read(path)
    found, versions = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    for study, file, report, date in reports(folders):
        beside = BESIDE.get(study)
        kind = "beside" if beside and beside[1] + " " in report["command"] + " " else "own"
        profile = re.search(r"--profile (\S+)", report["command"])
        made = [profile[1] if profile else "full", date]
        for finding in report["expectations"]:
            findings = found[study, file, finding["claim"]]
            if findings[kind] and findings[kind][0][1] != report["command"]:
                raise Fault(f"{study}/{file}: found two reports, of {findings[kind][0][1]!r} and {report['command']!r}; expected one")
            findings[kind].append((finding, report["command"], made))
        runs = [run for group in report["groups"] for run in group["runs"] if "versions" in run]
        versions |= short_versions(runs)
    for study in STUDIES:
        width = 1 + len(VALUES) - 1 if study in BESIDE else 0
        before = {(row[-4], row[1]): row for row in result["tables"][study]["rows"]}
        rows = []
        for (file, claim), expectation in expectations(root, study).items():
            was = before.get((f"`{file}`", claim))
            if was is None or was[-1] != digest(expectation):
                other = [None if is_ours(expectation) else NOT_RUN, None, None, None, None] if width else []
                was = [None, None, NOT_RUN, None, None, "", None, None, *other, None, None, None, None]
            verdict, made, other = [was[2], *was[3:8]], was[-3:-1], was[8 : 8 + width]
            kinds = found.get((study, file, claim), {})
            for kind, taken in kinds.items():
                findings = [finding for finding, _, _ in taken]
                check_current(study, file, expectation, findings[0])
                values = values_of(findings)
                if kind == "own":
                    verdict, made = [outcome_of(findings), *values], taken[0][2]
                else:
                    other = [outcome_of(findings), *values[:2], *values[3:]]
            rows.append([expectation["source"], claim, *verdict, *other, f"`{file}`", *made, digest(expectation)])
        result["tables"][study]["rows"] = rows
    result["versions"] |= versions
    dates = [row[-2] for study in STUDIES for row in result["tables"][study]["rows"] if row[-2]]
    result["date"] = max(dates, default=None)
    result["tables"]["summary"]["rows"] = summary(result["tables"])
    path.write_text(as_json(result) + "\n", encoding="utf-8")


def check_current(study, file, expectation, finding):
    """A report of an older expectation must not become a verdict on today's."""
    bound = next((key for key in ("at_least", "at_most", "above", "below") if key in expectation), None)
    current = (bound, expectation.get(bound), expectation.get("metric"))
    judged = (finding["bound"], finding["number"], finding["metric"])
    if bound and (current[0], float(current[1]), current[2]) != (judged[0], float(judged[1]), judged[2]):
        raise Fault(f"{study}/{file}: {expectation['claim']!r} was judged as {judged}, expected {current}; hint: run the file again")


def summary(tables):
    """A row for each study: its claims by verdict, and what no expectation judges, by what became of it."""
    rows = []
    for study in STUDIES:
        verdicts = [row[2].strip("*").split(" (")[0].replace("*", "") for row in tables[study]["rows"]]
        ours = sum(row[0].startswith(OURS) for row in tables[study]["rows"])
        unjudged = [row[3] for row in tables[f"{study}-unjudged"]["rows"]]
        counted = [sum(each == word for each in verdicts) for word in ("holds", "fails", "undecided", "not measured", NOT_RUN)]
        states = [sum(each == state for each in unjudged) for state in STATES]
        rows.append([study, len(verdicts), ours, *counted[:3], counted[3] + counted[4], *states])
    return rows


def faults_of_claims(root, result):
    """What is wrong with claims.json beside the experiment files."""
    for study in STUDIES:
        rows = {(row[-4].strip("`"), row[1]): row for row in result["tables"][study]["rows"]}
        known = expectations(root, study)
        for key, expectation in known.items():
            place = f"experiments/{study}/{key[0]}.toml: {key[1]!r}"
            if key not in rows:
                yield f"docs/data/claims.json: found no row of {place}; hint: --claims adds it"
            elif rows[key][-1] != digest(expectation) or rows[key][0] != expectation["source"]:
                yield f"docs/data/claims.json: found the row of another state of {place}; hint: run the file again, then --claims"
        for file, claim in rows.keys() - known.keys():
            yield f"docs/data/claims.json: found a verdict without an expectation: {claim!r} of {file}"
        for row in result["tables"][f"{study}-unjudged"]["rows"]:
            if row[3] not in STATES:
                yield f"docs/data/claims.json: {study}-unjudged: found {row[3]!r}, expected one of {', '.join(STATES)}"
    if result["tables"]["summary"]["rows"] != summary(result["tables"]):
        yield "docs/data/claims.json: found a summary of other rows; hint: --claims counts them"
