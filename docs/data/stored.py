"""Stored results: how they are read and written, and how a result folder or a picture becomes one. A part of generate.py."""

import datetime
import decimal
import hashlib
import json
import re
import sys

# Layout of report.json: SCHEMA in crates/report/src/json.rs.
SCHEMA = 1
# Of a value from report.json so many digits are stored: more than a table shows.
STORED_DIGITS = 7


class Fault(Exception):
    """What is wrong with a stored result, or with a reference to one."""


def read(path):
    """JSON whose numbers keep the digits that they are written with."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_float=decimal.Decimal)
    except ValueError as error:
        raise Fault(f"{path}: {error}, expected JSON") from error


def one_line(value):
    """JSON on one line."""
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {one_line(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(one_line, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def as_json(value, indent=""):
    """JSON with a line for each row, column, picture and plain value."""
    inner = indent + "  "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + one_line(each) for each in value) + f"\n{indent}]"
    wide = {key for key, each in value.items() if key in ("tables", "columns", "rows", "pictures") or isinstance(each, dict) and "columns" in each}
    parts = [f"{inner}{json.dumps(key)}: {as_json(each, inner) if key in wide and each else one_line(each)}" for key, each in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def name_of(column):
    """What references and views call a column."""
    return column.get("metric") or column.get("key") or column["title"]


def hash_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def day_of(paths):
    """The day on which the latest of these files was written."""
    return datetime.date.fromtimestamp(max(path.stat().st_mtime for path in paths)).isoformat()


def take(folder, path):
    """Reads report.json of a result folder, as `quiclab run` writes it, into the tables of a stored result that have metrics."""
    result, report = read(path), read(folder / "report.json")
    if report["schema"] != SCHEMA:
        raise Fault(f"{folder}/report.json: found schema {report['schema']}, expected {SCHEMA}; hint: quiclab report {folder} writes it anew")
    runs = [run for group in report["groups"] for run in group["runs"]]
    if not runs:
        raise Fault(f"{folder}/report.json: found no runs")
    for part, table in result["tables"].items():
        if "view" in table or not any("metric" in column for column in table["columns"]):
            continue
        before = {row[0]: row for row in table["rows"]}
        table["rows"] = [row for group in report["groups"] for row in rows_of(group, table["columns"], before)]
        for gone in before.keys() - {row[0] for row in table["rows"]}:
            print(f"warning: {path.stem}.{part}: {gone} is not in {folder}", file=sys.stderr)
    stacks = {group["server"]: group["runs"][0]["versions"].get("server.version") for group in report["groups"]}
    result["versions"] = short_versions(runs)
    result["versions"]["stacks"] = {stack: version for stack, version in stacks.items() if version}
    records = [record for record in (folder / run["record"] / "run.toml" for run in runs) if record.exists()]
    result.update(command=report["command"], date=day_of(records or [folder / "report.json"]), source=f"report.json of {report['experiment']}")
    result.pop("not_recorded", None)
    path.write_text(as_json(result) + "\n", encoding="utf-8")


def short_versions(runs):
    """What all runs were made with, in short."""
    same = {key: text for key, text in runs[0]["versions"].items() if all(run["versions"].get(key) == text for run in runs)} if runs else {}
    # QEMU gives a whole sentence. Hashes name what cannot be fetched again, so they say nothing here.
    short = {key: (re.search(r"version (\S+)", text) or [text, text])[1] for key, text in same.items() if "." not in key}
    # A package's name and its version; its name has the version, too. Of a machine's own kernel the release comes first.
    if kernel := short.get("kernel"):
        short["kernel"] = kernel.split(" ")[-1 if kernel.startswith("linux-image") else 0]
    return {key: text for key, text in short.items() if not re.fullmatch(r"[0-9a-f]{8,}", text)}


def rows_of(group, columns, before):
    """The row of a group, and that of what was published of it if the table has such rows. Texts stay those of the row before."""
    was = before.get(group["label"])

    def stored(value, column):
        if value is None:
            return None
        return decimal.Decimal(f"{float(value) * float(column.get('scale', 1)):.{STORED_DIGITS}g}")

    row = [group["label"]]
    for index, column in enumerate(columns[1:], 1):
        if "metric" not in column:
            row.append(len(group["runs"]) if name_of(column) == "runs" else was[index] if was else "")
            continue
        found = group["metrics"].get(column["metric"]) or {}
        both = [stored(found.get(each), column) for each in ("mean", "standard_deviation")]
        row.append(both[0] if None in both else both)
    if not group["published"] or "*published*" not in before:
        return [row]
    values = group["published"]["values"]
    return [row, ["*published*", *(stored(values.get(column.get("metric")), column) for column in columns[1:])]]


def note_picture(file, command, shows, path):
    """Writes what made a picture, and its hash, into pictures.json."""
    entry = {"command": command, "date": day_of([file]), "sha256": hash_of(file), "shows": shows}
    reasons = [f"{key}: not given" for key in ("command", "shows") if entry[key] is None]
    entries = read(path)["pictures"] if path.exists() else {}
    entries[file.name] = entry | ({"not_recorded": "; ".join(reasons)} if reasons else {})
    path.write_text(as_json({"pictures": dict(sorted(entries.items()))}) + "\n", encoding="utf-8")


def note_output(name, file, command, pattern, path):
    """Writes into outputs.json what a command printed: the lines that match, without spaces at their ends."""
    if command is None:
        raise Fault(f"{name}: found no --command, expected the one that printed {file}")
    lines = [line.rstrip() for line in file.read_text(encoding="utf-8").splitlines() if pattern is None or pattern.search(line)]
    if not lines or "```" in lines:
        raise Fault(f"{file}: found {'a fence' if lines else 'no line'}, expected lines for a block of code")
    entries = read(path)["outputs"] if path.exists() else {}
    entries[name] = {"command": command, "date": day_of([file]), "lines": pattern and pattern.pattern, "text": lines}
    path.write_text(as_json({"outputs": dict(sorted(entries.items()))}) + "\n", encoding="utf-8")
