#!/usr/bin/env python3
"""Writes the measured values of the documentation from the stored results beside this script.

    generate.py                        writes all tables and values into the pages (make docs)
    generate.py --check                changes nothing; exits with 1 where a page, a picture or a stored result is wrong
    generate.py --take FOLDER NAME     first reads report.json of a result folder into NAME.json
    generate.py --claims FOLDER ...    first reads every report.json below result folders into claims.json
    generate.py --compare FOLDER ...   only says which claims hold in claims.json and fail in these folders, or the other way round; exits with 1
                                       if there are any
    generate.py --picture FILE --command COMMAND [--shows NAME]
                                       first notes what made a picture of docs/images, and which stored result it shows
    generate.py --output NAME FILE --command COMMAND [--lines PATTERN]
                                       first stores what a command printed into FILE, or its lines that match, as outputs.json has it

Needs only the standard library of Python 3.11. docs/data/README.md describes the files.
"""

import argparse
import collections
import decimal
import itertools
import pathlib
import re
import sys
import tomllib

from claims import STUDIES, faults_of_claims, reversed_verdicts, seeds, summary, take_claims, verdicts
from stored import Fault, hash_of, name_of, note_output, note_picture, one_line, read, take

NOTHING, MINUS = "\u2013", "\u2212"
BLOCK = re.compile(r"^<!-- data: (\S+) -->\n(.*?)^<!-- end of data -->$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"^<!-- output: (\S+) -->\n(.*?)^<!-- end of output -->$", re.DOTALL | re.MULTILINE)
VALUE = re.compile(r"(<!--\s+value:\s+(.+?)\s+-->)(.*?)(<!--\s+/value\s+-->)", re.DOTALL)
PLACEHOLDER = re.compile(r"\{(\+?)(\d*)\}")
# A value of the same row within a text, with a format of Python: {drops_packets:.0f}.
WITHIN_TEXT = re.compile(r"\{(\w+):([^}]+)\}")
# Words of verdicts, which are only of what an expectation in a file judges.
VERDICT = re.compile(r"\b(?:holds?|fails?|differs?|undecided)\b", re.IGNORECASE)
STUDY_PAGES = [f"docs/results/{study}.md" for study in STUDIES]
# Counts that follow from the tree, where a page has them in digits.
COUNTED = re.compile(r"\b\d+\s+(?:stacks|servers|clients|test\s+cases)\b")
# Where at least this share of the cells beside the first column has a number, a table shows measured values.
MEASURED_SHARE = 0.25


def number(value, column, digits=None, signed=False):
    """A number as it is shown; without `digits` it has those that are stored."""
    text = format(decimal.Decimal(value), "f" if digits is None else f".{digits}f")
    whole, point, rest = text.removeprefix("-").partition(".")
    if "thousands" in column:
        whole = f"{int(whole):,}".replace(",", column["thousands"])
    sign = column.get("minus", MINUS) if text.startswith("-") else "+" if signed and value > 0 else ""
    return sign + whole + point + rest


def cell(value, column, as_stored=False, italic=False):
    """A stored cell as Markdown: null, a text, a number, or a list of numbers, which may begin with a form of its own."""
    if value is None or isinstance(value, str):
        return NOTHING if value is None else value
    values = value if isinstance(value, list) else [value]
    form = column.get("form", "{}")
    if isinstance(values[0], str):
        form, *values = values
    elif len(values) == 1 and len(PLACEHOLDER.findall(form)) > 1:
        form = "{}"
    if "{0}" not in form and len(PLACEHOLDER.findall(form)) != len(values):
        raise Fault(f"column {name_of(column)!r}: found {one_line(value)}, expected as many numbers as in {form!r}")
    digits, position = None if as_stored else column.get("digits"), itertools.count()

    def fill(match):
        index = int(match.group(2) or next(position))
        return number(values[index], column, digits[index] if isinstance(digits, list) else digits, bool(match.group(1)))

    text = PLACEHOLDER.sub(fill, form)
    return f"*{text}*" if italic else text


def index_of(columns, name, reference):
    """Where the column of this name is."""
    found = [index for index, column in enumerate(columns) if name_of(column) == name]
    if len(found) != 1:
        raise Fault(f"{reference}: found {len(found)} columns {name!r}, expected one")
    return found[0]


def with_values(row, columns, reference):
    """The row with values of its own within its texts: thousands are separated by a space, and per cent stands apart."""
    if len(row) != len(columns):
        raise Fault(f"{reference}: found {len(row)} cells in {one_line(row)}, expected {len(columns)}")

    def value(match):
        found = row[index_of(columns, match.group(1), reference)]
        return format(found[0] if isinstance(found, list) else found, match.group(2)).replace(",", " ").replace("%", " %")

    return [WITHIN_TEXT.sub(value, each) if isinstance(each, str) else each for each in row]


def tables(text):
    """Tables outside of code: number of the first line, its offset in the text, and the cells of each row."""
    fenced, offset, rows, first = False, 0, [], (0, 0)
    for line, content in enumerate([*text.split("\n"), ""], 1):
        fenced ^= content.lstrip().startswith("```")
        if content.startswith("|") and not fenced:
            first = first if rows else (line, offset)
            rows.append([part.strip() for part in re.split(r"(?<!\\)\|", content.rstrip())[1:-1]])
        elif rows:
            yield *first, rows
            rows = []
        offset += len(content) + 1


def counts(root):
    """How many there are of what pages count."""
    manifests = [tomllib.loads(path.read_text(encoding="utf-8")) for path in root.glob("stacks/*/stack.toml")]
    cases = [path.read_text(encoding="utf-8") for path in root.glob("crates/interop/src/cases/*.rs")]
    quic = [manifest["roles"] for manifest in manifests if manifest["transport"] == "quic"]
    return {
        "stacks": len(manifests),
        "quic_servers": sum("server" in roles for roles in quic),
        "quic_clients": sum("client" in roles for roles in quic),
        # Of those that `quiclab interop` runs without --case.
        "interop_cases": sum("const CASE" in case and "is_measurement: true" not in case for case in cases),
    }


class Documentation:
    """The pages, the stored results, and what is wrong with them."""

    def __init__(self, root):
        self.root, self.faults, self.warnings = root, [], []
        self.results = {path.stem: read(path) for path in sorted(root.glob("docs/data/*.json"))}
        self.pictures = self.results.pop("pictures", {"pictures": {}})["pictures"]
        self.outputs = self.results.pop("outputs", {"outputs": {}})["outputs"]
        self.unconverted = self.results.pop("unconverted", {"tables": []})["tables"]
        if "claims" in self.results:
            tables = self.results["claims"]["tables"]
            tables["summary"]["rows"] = summary(tables)
            tables["seeds"]["rows"] = seeds(root, tables)
        self.counts = counts(root)
        pages = [page for page in (*root.glob("*.md"), *root.glob("docs/**/*.md")) if page.parent.name != "data"]
        self.texts = {page.relative_to(root).as_posix(): page.read_text(encoding="utf-8") for page in sorted(pages)}

    def table(self, reference):
        """Columns and rows of NAME.TABLE, or of NAME if that has one table, and whether what was published is in italics."""
        name, _, part = reference.partition(".")
        found = self.results.get(name, {}).get("tables", {})
        part = part or (next(iter(found)) if len(found) == 1 else part)
        if part not in found:
            known = ", ".join(f"{name}.{each}" for each in found) or "NAME.TABLE"
            raise Fault(f"{reference}: found no such table, expected one in docs/data: {known}")
        if "view" not in found[part]:
            columns = found[part]["columns"]
            return columns, [with_values(row, columns, reference) for row in found[part]["rows"]], found[part].get("italics", False)
        columns, rows, italics = self.table(f"{name}.{found[part]['view']}")
        places = [index_of(columns, name_of(column), reference) for column in found[part]["columns"]]
        merged = [columns[place] | column for place, column in zip(places, found[part]["columns"])]
        return merged, [[row[place] for place in places] for row in rows], italics

    def markdown(self, reference):
        """The table as Markdown."""
        columns, rows, italics = self.table(reference)
        align = ("---" if column.get("align", "right" if index else "left") == "left" else "--:" for index, column in enumerate(columns))
        lines = [" | ".join(column["title"] for column in columns), "|".join(align)]
        for row in rows:
            # Published values have the digits that they were published with.
            published = str(row[0]).startswith("*")
            slanted = [italics and (published or column["title"].startswith("*")) for column in columns]
            cells = [cell(value, column, published, italic) for value, column, italic in zip(row, columns, slanted)]
            lines.append(" | ".join(cells))
        return [f"|{line}|" if line == lines[1] else re.sub(r"\|  (?=\|)", "| ", f"| {line} |") for line in lines]

    def output(self, name):
        """The lines that a command printed."""
        if name not in self.outputs:
            raise Fault(f"{name}: found no such output in docs/data/outputs.json")
        return self.outputs[name]["text"]

    def value(self, reference):
        """NAME.date, NAME.versions.qemu, NAME.TABLE.rows, .sum[COLUMN], .count[COLUMN][TEXT], .verdicts[FILE, ...], or NAME.TABLE[ROW][COLUMN]."""
        path, *inside = re.findall(r"[^\[\]]+", reference)
        found = {"counts": self.counts, **self.results}
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if isinstance(found, (str, int, decimal.Decimal)):
            return str(found)
        name, part, what, *_ = path.split(".") + ["", ""]
        columns, rows, _ = self.table(f"{name}.{part}")
        if what == "rows":
            return str(len(rows))
        if len(inside) != {"sum": 1, "count": 2, "verdicts": 1, "": 2}.get(what):
            raise Fault(f"{reference}: found no such value")
        if what == "verdicts":
            of_files = [[row[index_of(columns, name, reference)] for name in ("file", "verdict")] for row in rows]
            return verdicts(of_files, inside[0].split(", "), reference)
        at = index_of(columns, inside[0 if what else 1], reference)
        if what:
            cells = [row[at] for row in rows]
            if what == "count":
                return str(sum(str(each).strip("*`") == inside[1] for each in cells))
            return number(sum(each for each in cells if isinstance(each, (int, decimal.Decimal))), columns[at])
        row = next((row for row in rows if row[0] == inside[0]), None)
        if row is None:
            raise Fault(f"{reference}: found no row {inside[0]!r}")
        return cell(row[at], columns[at] | {"form": "{0}"})

    def fault(self, page, offset, message, text=None):
        self.faults.append(f"{page}:{(text or self.texts[page]).count(chr(10), 0, offset) + 1}: {message}")

    def generated(self, page):
        """The text of a page with its tables and values as they are stored; notes what differs."""
        text = self.texts[page]

        def block(match, kind, lines_of):
            try:
                lines = lines_of(match.group(1))
            except Fault as error:
                self.fault(page, match.start(), str(error), match.string)
                return match.group(0)
            offset = match.start(2)
            for found, expected in itertools.zip_longest(match.group(2).split("\n"), lines):
                if found != expected:
                    self.fault(page, offset, differs(found, expected), match.string)
                    break
                offset += len(found) + 1
            return f"<!-- {kind}: {match.group(1)} -->\n" + "\n".join(lines) + f"<!-- end of {kind} -->"

        def table(match):
            return block(match, "data", lambda name: ["", *self.markdown(name), "", ""])

        def output(match):
            return block(match, "output", lambda name: ["", "```text", *self.output(name), "```", "", ""])

        def value(match):
            try:
                expected = self.value(" ".join(match.group(2).split()))
            except Fault as error:
                expected = match.group(3)
                self.fault(page, match.start(), str(error), match.string)
            if match.group(3) != expected:
                self.fault(page, match.start(), differs(match.group(3), expected), match.string)
            return match.group(1) + expected + match.group(4)

        for match in re.finditer(r"^<!--\s+/?value\b", text, re.MULTILINE):
            self.fault(page, match.start(), "found a comment at the start of a line, where it ends the paragraph; expected text before it")
        for start, pattern in (("<!-- data:", BLOCK), ("<!-- output:", OUTPUT), ("<!-- value:", VALUE)):
            if text.count(start) != len(pattern.findall(text)):
                self.fault(page, text.find(start), f"found {start} {text.count(start)} times, expected as many ends")
        return OUTPUT.sub(output, BLOCK.sub(table, VALUE.sub(value, text)))

    def check_counts(self, page):
        """Counts that are typed by hand. Pages of results count what was there on their day."""
        text = VALUE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), self.texts[page])
        for match in COUNTED.finditer("" if page.startswith("docs/results/") or page == "CHANGELOG.md" else text):
            self.fault(page, match.start(), f"found {match.group(0)!r} typed by hand, expected a value of counts or no number")

    def check_tables(self, page):
        """Rows with another number of cells than their head; tables of numbers that no stored result makes."""
        text, by_hand = self.texts[page], []
        listed = collections.Counter(entry["head"] for entry in self.unconverted if entry["page"] == page)
        blocks = [match.span() for match in BLOCK.finditer(text)]
        for line, offset, (head, *rows) in tables(text):
            wrong = [(line + at, len(row)) for at, row in enumerate(rows, 1) if len(row) != len(head)]
            self.faults += [f"{page}:{at}: found {cells} cells, expected {len(head)} as in the head" for at, cells in wrong]
            by_word = VERDICT.search(VALUE.sub("", "\n".join(" | ".join(row) for row in rows)))
            if by_word and page in STUDY_PAGES and not any(start <= offset < end for start, end in blocks):
                self.faults.append(f"{page}:{line}: found the verdict {by_word.group(0)!r} typed into a table, expected a value of claims.STUDY.verdicts[FILE]")
            cells = [re.search(r"(?<![\w.])\d", content) for row in rows[1:] for content in row[1:]]
            if any(start <= offset < end for start, end in blocks) or sum(map(bool, cells)) < max(1, MEASURED_SHARE * len(cells)):
                continue
            if page in ("README.md", "docs/performance.md") or page.startswith("docs/results/"):
                by_hand.append(" | ".join(head))
                if by_hand[-1] not in listed:
                    self.faults.append(f"{page}:{line}: found a table of numbers that no stored result makes: {by_hand[-1]}")
        for head in (listed - collections.Counter(by_hand)).elements():
            self.faults.append(f"docs/data/unconverted.json: found no table {head!r} in {page}; remove the entry")

    def check_pictures(self):
        """Every picture has an entry with its hash, and a page that shows it."""
        folder = self.root / "docs/images"
        files = {path.name for path in folder.glob("*")}
        for name in sorted(files | self.pictures.keys()):
            place, entry = f"docs/data/pictures.json: {name}", self.pictures.get(name)
            if entry is None or name not in files:
                self.faults.append(f"{place}: found no {'entry' if name in files else 'such file in docs/images'}")
                continue
            if entry["sha256"] != (found := hash_of(folder / name)):
                self.faults.append(f"{place}: found another picture, with the hash {found}; hint: --picture {name} notes what made it")
            if not any(f"images/{name})" in text for text in self.texts.values()):
                self.faults.append(f"{place}: found no page that shows it")
            if entry["shows"] is not None and entry["shows"] not in self.results:
                self.faults.append(f"{place}: found no stored result {entry['shows']!r}")
            self.check_recorded(place, entry, (entry["command"], entry["date"], entry["shows"]))

    def check_outputs(self):
        """Every stored output stands on a page."""
        shown = {name for text in self.texts.values() for name, _ in OUTPUT.findall(text)}
        self.faults += [f"docs/data/outputs.json: {name}: found no page that shows it" for name in sorted(self.outputs.keys() - shown)]

    def check_recorded(self, place, entry, values):
        if None in values and not entry.get("not_recorded"):
            self.faults.append(f"{place}: found null, expected the reason in not_recorded")

    def check_results(self):
        """What stored results must say of themselves. Warns of what has changed in the tree since."""
        metrics = re.findall(r"^\| `(\w+)` \|", self.texts.get("docs/reference/metrics.md", ""), re.MULTILINE)
        manifests = {path.parent.name: tomllib.loads(path.read_text(encoding="utf-8")) for path in self.root.glob("stacks/*/stack.toml")}
        releases = {stack: manifest.get("version") for stack, manifest in manifests.items()}
        known = {
            "stacks": set(manifests),
            "cases": set(re.findall(r"^\| `([\w-]+)` \|", self.texts.get("docs/reference/interop.md", ""), re.MULTILINE)),
        }
        used = {reference.partition(".")[0] for text in self.texts.values() for reference, _ in BLOCK.findall(text)}
        for name, result in self.results.items():
            place = f"docs/data/{name}.json"
            missing = [key for key in ("command", "date", "versions", "source", "tables") if key not in result]
            if missing or name not in used:
                self.faults.append(f"{place}: found no {(missing or ['page that shows it'])[0]}")
                continue
            self.check_recorded(place, result, (result["command"], result["date"], *result["versions"].values()))
            for stack, version in (result["versions"].get("stacks") or {}).items():
                if releases.get(stack) not in (None, version):
                    self.warnings.append(f"{place}: made with {stack} {version}, and this tree has {releases[stack]}; hint: run its command again, then --take")
            for part, table in result["tables"].items():
                self.check_recorded(f"{place}: {part}", table, (table.get("command", ""), table.get("date", "")))
                for index, column in enumerate(table["columns"]):
                    if "metric" in column and column["metric"] not in metrics:
                        self.warnings.append(f"{place}: {part}: docs/reference/metrics.md has no metric {column['metric']!r} any more")
                    names = {str(row[index]).strip("`") for row in table.get("rows", []) if "names" in column}
                    for gone in sorted(each for each in names - known.get(column.get("names"), set()) if not each.startswith("*")):
                        self.warnings.append(f"{place}: {part}: there are no {column['names']} named {gone!r} any more")

    def check(self):
        """Notes everything that is wrong."""
        for page in self.texts:
            self.generated(page)
            self.check_counts(page)
            self.check_tables(page)
        self.check_pictures()
        self.check_outputs()
        self.check_results()
        if "claims" in self.results:
            self.faults += faults_of_claims(self.root, self.results["claims"])


def differs(found, expected):
    return f"\n    expected: {expected}\n    found:    {found}"


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", nargs=2, metavar=("FOLDER", "NAME"))
    parser.add_argument("--claims", nargs="*", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--compare", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--output", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument("--lines", type=re.compile, metavar="PATTERN")
    parser.add_argument("--command")
    parser.add_argument("--shows", metavar="NAME")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2], help="the repository")
    arguments = parser.parse_args(words)
    if arguments.compare:
        lines = list(reversed_verdicts(arguments.root, arguments.compare))
        print("\n".join(lines), end="\n" if lines else "", file=sys.stderr)
        return 1 if lines else 0
    data = arguments.root / "docs/data"
    if arguments.take:
        take(pathlib.Path(arguments.take[0]), data / f"{arguments.take[1]}.json")
    if arguments.claims is not None:
        take_claims(arguments.root, arguments.claims)
    if arguments.picture:
        note_picture(arguments.root / "docs/images" / arguments.picture, arguments.command, arguments.shows, data / "pictures.json")
    if arguments.output:
        name, file = arguments.output
        note_output(name, pathlib.Path(file), arguments.command, arguments.lines, data / "outputs.json")
    if not arguments.check:
        documentation = Documentation(arguments.root)
        for page, text in documentation.texts.items():
            if (new := documentation.generated(page)) != text:
                (arguments.root / page).write_text(new, encoding="utf-8")
                print(f"{page}: written")
    documentation = Documentation(arguments.root)
    documentation.check()
    for line in (*(f"warning: {each}" for each in documentation.warnings), *documentation.faults):
        print(line, file=sys.stderr)
    if documentation.faults and arguments.check:
        print("hint: `make docs` writes tables and values into the pages; docs/data/README.md says how to change them", file=sys.stderr)
    return 1 if documentation.faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Fault, OSError) as error:
        sys.exit(str(error))
