"""Claims of the four studies: every expectation of their experiment files with what came of it. A part of generate.py."""

import decimal
import hashlib
import json
import re
import tomllib

from stored import SCHEMA, Fault, as_json, day_of, name_of, read, short_versions

STUDIES = ("quic-steps", "reacked", "tcp-pacing", "throughput")
# A model beside that of the files, by study: what its columns begin with, and the setting with which the files were run.
BESIDE = {"tcp-pacing": ("reno ", "flows.recovery=reno")}
# Studies whose files run in virtual time or in the simulator, where runs differ by their seeds alone.
SEEDED = ("quic-steps", "reacked", "tcp-pacing")
# How the name of a metric ends, what its values are multiplied by, and the unit that they then have; the first that fits.
UNITS = (
    ("_share_of_packets", "1", ""),
    ("_ns", "1e-6", "ms"),
    ("_bps", "1e-6", "Mbit/s"),
    ("_packets", "1", "packets"),
    ("_bytes", "1", "bytes"),
    ("_s_per_gb", "1", "s/GB"),
    ("_s", "1e3", "ms"),
)
DIGITS = 4
NOT_RUN = "not run"
# Where an expectation is not a statement of the study, its source says so.
OURS = "beyond the study"
# What became of a statement that no expectation judges: settings of the study here, and what was not or cannot be measured.
STATES = ("same", "other", "not measured", "not possible here")


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


def expected_of(bound, number, compared_as, others, scale):
    """The bound as a cell: a number, another mean or the range of several, a multiple of it, or a difference from it."""
    bound, ends = bound.replace("_", " "), sorted({min(others), max(others)}) if others else []
    form = " to ".join("{}" for _ in ends)
    if not others:
        return [bound + " {}", shown(number, scale)]
    if compared_as == "difference":
        return [f"{bound} {form} + {{}}", *ends, shown(number, scale)]
    return [f"{bound} {form}", *ends] if number == 1 else [f"{bound} {{}} × {form}", shown(number, "1"), *ends]


def values_of(findings):
    """What a row shows of the findings on one claim; of several groups of runs, the range of their means."""
    first = findings[0]
    scale, unit = next(((scale, unit) for suffix, scale, unit in UNITS if first["metric"].endswith(suffix)), ("1", ""))
    of = [shown(each["of"]["mean"], scale) for each in findings if each["of"]]
    others = [shown(each["with"]["mean"], scale) for each in findings if each["with"]]
    row = {"verdict": outcome_of(findings), "unit": unit, "measured": None, "expected": None, "interval": None, "runs": None}
    if not of:
        return row
    runs = min(each["of"]["count"] for each in findings if each["of"])
    row["measured"] = of[0] if min(of) == max(of) else ["{} to {}", min(of), max(of)]
    row["expected"] = expected_of(first["bound"], first["number"], first.get("compared_as"), others, scale)
    if len(findings) > 1:
        return row | {"interval": "several", "runs": [f"{len(findings)} × {{}}", runs]}
    interval = first["interval"] and [shown(first["interval"][end], scale) for end in ("low", "high")]
    return row | {"interval": interval or first["judged_by"].replace("_", " "), "runs": runs}


class Judged:
    """What a report says of the expectations of one experiment."""

    def __init__(self, path):
        report = read(path)
        if report["schema"] != SCHEMA:
            raise Fault(f"{path}: found schema {report['schema']}, expected {SCHEMA}; hint: quiclab report {path.parent} writes it anew")
        self.study, _, self.file = report["experiment"].partition("/")
        self.command = report["command"]
        profile = re.search(r"--profile (\S+)", self.command)
        self.profile = profile[1] if profile else "full"
        prefix, setting = BESIDE.get(self.study, ("", ""))
        self.prefix = prefix if setting in self.command.split() else ""
        self.runs = [run for group in report["groups"] for run in group["runs"]]
        records = [path.parent / run["record"] for run in self.runs]
        self.date = day_of([record for record in records if record.exists()] or [path])
        self.findings = {}
        for finding in report.get("expectations", []):
            self.findings.setdefault(finding["claim"], []).append(finding)

    def of(self, claim, expectation):
        """The findings on a claim. One on an older expectation must not become a verdict on today's."""
        findings = self.findings.get(claim, [])
        bound = next((key for key in ("at_least", "at_most", "above", "below") if key in expectation), None)
        if findings and bound:
            current = (bound, float(expectation[bound]), expectation.get("metric", findings[0]["metric"]))
            judged = (findings[0]["bound"], float(findings[0]["number"]), findings[0]["metric"])
            if current != judged:
                raise Fault(f"{self.study}/{self.file}: {claim!r} was judged as {judged}, expected {current}; hint: run the file again")
        return findings


def judged_below(folders):
    """What every report.json below these folders says, by study, file and the beginning of its columns."""
    found = {}
    for folder in folders:
        paths = sorted(folder.rglob("report.json"))
        if not paths:
            raise Fault(f"{folder}: found no report.json")
        for each in map(Judged, paths):
            other = found.setdefault((each.study, each.file, each.prefix), each)
            if other is not each:
                raise Fault(f"{each.study}/{each.file}: found two reports, of {other.command!r} and {each.command!r}; expected one")
    return found


def rows_of(table):
    """The rows of a table by the names of its columns."""
    names = [name_of(column) for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def row_of(study, file, claim, expectation, before, found):
    """The row of a claim: what stood there, with what the reports say."""
    prefix, _ = BESIDE.get(study, ("", ""))
    row = {"place": expectation["source"], "claim": claim, "file": f"`{file}`", "state": digest(expectation)}
    if before and before["state"] == row["state"]:
        row = before | row
    else:
        # What the study does not state is not judged with the other model.
        row |= {f"{prefix}verdict": None if is_ours(expectation) else NOT_RUN, "verdict": NOT_RUN, "unit": ""}
    for kind in {"", prefix}:
        judged = found.get((study, file, kind))
        if judged and (findings := judged.of(claim, expectation)):
            row |= {kind + key: value for key, value in values_of(findings).items()}
            row |= {} if kind else {"profile": judged.profile, "date": judged.date}
    return row


def take_claims(root, folders):
    """Writes what came of every expectation of the studies' files into claims.json: from report.json below the folders, or as it was."""
    path = root / "docs/data/claims.json"
    result, found = read(path), judged_below(folders)
    for study in STUDIES:
        table = result["tables"][study]
        names = [name_of(column) for column in table["columns"]]
        before = {(row["file"].strip("`"), row["claim"]): row for row in rows_of(table)}
        known = expectations(root, study).items()
        rows = [row_of(study, *key, expectation, before.get(key), found) for key, expectation in known]
        table["rows"] = [[row.get(name) for name in names] for row in rows]
    for judged in found.values():
        # Flows of models have none.
        versions = short_versions([run for run in judged.runs if "versions" in run])
        if versions:
            result["versions"][versions["testbed"]] = result["versions"].get(versions["testbed"], {}) | versions
    dates = [row["date"] for study in STUDIES for row in rows_of(result["tables"][study]) if row["date"]]
    result["date"] = max(dates, default=None)
    path.write_text(as_json(result) + "\n", encoding="utf-8")


def reversed_verdicts(root, folders):
    """Claims that hold by claims.json and fail in a report of the same profile, or the other way round, a line each."""
    result = read(root / "docs/data/claims.json")
    for (study, file, prefix), judged in judged_below(folders).items():
        for row in rows_of(result["tables"][study]) if study in STUDIES else []:
            findings = judged.findings.get(row["claim"], [])
            if row["file"] != f"`{file}`" or row["profile"] != judged.profile or not findings:
                continue
            verdicts = [word_of(verdict) for verdict in (row[f"{prefix}verdict"], outcome_of(findings))]
            if sorted(verdicts) == ["fails", "holds"]:
                yield f"{study}/{file}: {row['claim']!r}: found {verdicts[1]!r}, expected {verdicts[0]!r} as in docs/results/claims.md"


def word_of(verdict):
    """The verdict without emphasis and without the number of groups that decided."""
    return (verdict or "").replace("*", "").split(" (")[0]


def verdicts(rows, files, reference):
    """How many claims of these experiment files have which verdict, in words. Rows are pairs of file and verdict."""
    for file in files:
        if all(each.strip("`") != file for each, _ in rows):
            raise Fault(f"{reference}: found no claim of {file!r}")
    found = [word_of(verdict) for file, verdict in rows if file.strip("`") in files]
    many = {"holds": "hold", "fails": "fail"}
    counted = [(found.count(word), word) for word in ("holds", "fails", "undecided", "not measured", NOT_RUN) if word in found]
    return ", ".join(f"{count} {many.get(word, word) if count > 1 else word}" for count, word in counted)


def summary(tables):
    """A row for each study: its claims by verdict, and what no expectation judges, by what became of it."""
    rows = []
    for study in STUDIES:
        claims = rows_of(tables[study])
        verdicts = [word_of(row["verdict"]) for row in claims]
        states = [row["here"] for row in rows_of(tables[f"{study}-unjudged"])]
        without = verdicts.count("not measured") + verdicts.count(NOT_RUN)
        counted = [*map(verdicts.count, ("holds", "fails", "undecided")), without, *map(states.count, STATES)]
        rows.append([study, len(claims), sum(row["place"].startswith(OURS) for row in claims), *counted])
    return rows


def two_sided_t(degrees):
    """The factor of a 95 % interval of Student's distribution: exact to three digits up to four degrees of freedom, then by its expansion."""
    if degrees <= 4:
        return (12.706, 4.303, 3.182, 2.776)[degrees - 1]
    return 1.960 + 2.372 / degrees + 2.82 / degrees**2


def seeds_needed(row, expectation, most=100):
    """How many runs of a claim would have decided it by the spread of those that there are; more than `most` counts as `most` + 1.

    None where nothing is known of the spread. Two sides are taken to have as many runs each, as in the files."""
    runs = row["runs"]
    if not isinstance(runs, int) or runs < 2 or not isinstance(row["interval"], list):
        return None
    low, high = map(float, row["interval"])
    if low == high:
        return 2
    bound = next(float(expectation[key]) for key in ("at_least", "at_most", "above", "below") if key in expectation)
    scale = next((float(scale) for suffix, scale, _ in UNITS if expectation["metric"].endswith(suffix)), 1.0)
    is_compared = "compared_with" in expectation
    is_ratio = is_compared and expectation.get("as") != "difference"
    margin = abs((low + high) / 2 - (0.0 if is_ratio else bound * scale))

    def half_width(count):
        return two_sided_t(2 * count - 2 if is_compared else count - 1) / count**0.5

    deviation = (high - low) / 2 / half_width(runs)
    return next((count for count in range(2, most + 1) if half_width(count) * deviation < margin), most + 1)


def seeds(root, tables, most=100):
    """A row for each file: its claims with an interval, the runs of each, how many would have decided all, and claims that `most` would not decide."""
    rows = []
    for study in SEEDED:
        known = expectations(root, study)
        of_files = {}
        for row in rows_of(tables[study]):
            key = (row["file"].strip("`"), row["claim"])
            if key in known and (needed := seeds_needed(row, known[key], most)):
                of_files.setdefault(row["file"], []).append((row["runs"], needed))
        for file, found in of_files.items():
            runs, within = [run for run, _ in found], [needed for _, needed in found if needed <= most]
            span = min(runs) if min(runs) == max(runs) else ["{} to {}", min(runs), max(runs)]
            rows.append([study, file, len(found), span, max(within, default=None), len(found) - len(within)])
    return rows


def faults_of_claims(root, result):
    """What is wrong with claims.json beside the experiment files."""
    for study in STUDIES:
        rows = {(row["file"].strip("`"), row["claim"]): row for row in rows_of(result["tables"][study])}
        known = expectations(root, study)
        for key, expectation in known.items():
            place = f"experiments/{study}/{key[0]}.toml: {key[1]!r}"
            if key not in rows:
                yield f"docs/data/claims.json: found no row of {place}; hint: --claims adds it"
            elif (rows[key]["state"], rows[key]["place"]) != (digest(expectation), expectation["source"]):
                yield f"docs/data/claims.json: found the row of another state of {place}; hint: run the file again, then --claims"
        for file, claim in rows.keys() - known.keys():
            yield f"docs/data/claims.json: found a verdict without an expectation: {claim!r} of {file}; hint: --claims removes it"
        for row in rows_of(result["tables"][f"{study}-unjudged"]):
            if row["here"] not in STATES:
                yield f"docs/data/claims.json: {study}-unjudged: found {row['here']!r}, expected one of {', '.join(STATES)}"
