#!/usr/bin/env python3
"""Gathers the documentation as the source of a site that mdBook builds.

    packaging/site.py OUT

The pages are those of the repository, unchanged but for links: a link out of docs/ to a file that is no page leads to nothing on a site, so
only its words stay. Every page of docs/ is in the summary; the order is that of docs/README.md.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages outside of docs/ that are part of the site, and their names there.
OTHERS = {"README.md": "start.md", "CHANGELOG.md": "changelog.md", "LIMITATIONS.md": "limitations.md", "CONTRIBUTING.md": "contributing.md"}
# Pages below docs/ whose names on the site are others.
OTHER_NAMES = {"README.md": "overview.md", "data/README.md": "results/stored.md"}
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)", re.DOTALL)
# Words of code that a browser would break at a hyphen, and longer ones than a column of a table should be wide.
OPTION = re.compile(r"(?<![\w-])--?\w[\w-]*")
LONG_NAME = re.compile(r"\w*_\w*_\w*")
BOOK = """\
[book]
title = "quiclab"
description = "A laboratory for how QUIC behaves on the wire"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
# Commands are pasted: no dash of two hyphens, no curly quotes.
smart-punctuation = false
no-section-label = true
additional-css = ["site.css"]

[output.html.search]
limit-results = 30
use-boolean-and = true
"""


def places():
    """By the path of each page of the repository, its path on the site."""
    found = {ROOT / name: pathlib.PurePosixPath(to) for name, to in OTHERS.items()}
    docs = ROOT / "docs"
    for page in sorted(docs.rglob("*.md")):
        found[page] = pathlib.PurePosixPath(OTHER_NAMES.get(page.relative_to(docs).as_posix(), page.relative_to(docs).as_posix()))
    return found


def title(text):
    """The first heading of a page."""
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def relative(target, start):
    """The path from the folder of `start` to `target`, both on the site."""
    up = len(start.parent.parts)
    return "/".join([".."] * up + list(target.parts))


def moved(text, page, found, files):
    """The text with its links as they are on the site; notes the other files of docs/ that it shows or names."""

    def link(match):
        label, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match.group(0)
        there = (page.parent / path).resolve()
        end = f"#{anchor}" if anchor else ""
        if there in found:
            return f"{label}({relative(found[there], found[page])}{end})"
        if there.is_dir() and there / "README.md" in found:
            return f"{label}({relative(found[there / 'README.md'], found[page])}{end})"
        if there.is_file() and (ROOT / "docs") in there.parents:
            place = pathlib.PurePosixPath(there.relative_to(ROOT / "docs").as_posix())
            files[place] = there
            path = relative(place, found[page])
            # A picture leads to itself in its full size.
            return f"[{label}({path})]({path})" if label.startswith("!") else f"{label}({path})"
        # A file of the repository that is no page.
        words = label.lstrip("!")[1:-1]
        return words

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`(?!\])|^(?: {4}|\t)[^\n]*$)", text, flags=re.DOTALL | re.MULTILINE)
    joined, marks = "", []
    for number, part in enumerate(parts):
        if number % 2:
            marks.append(part)
            joined += f"\0{len(marks) - 1}\0"
        else:
            joined += part
    out = LINK.sub(link, joined)
    marks = [breakable(mark) if mark.startswith("`") and not mark.startswith("``") else mark for mark in marks]
    return re.sub("\0(\\d+)\0", lambda match: marks[int(match.group(1))], out)


def breakable(code):
    """Code within a sentence as HTML whose options stay on one line and whose long names break after underscores."""
    words = code.strip("`").replace("\\|", "|")
    if not OPTION.search(words) and not any(len(name) > 16 for name in LONG_NAME.findall(words)):
        return code

    # Markdown reads what is within HTML, so every sign is an entity.
    def escaped(text):
        return "".join(letter if letter.isalnum() or letter == " " else f"&#{ord(letter)};" for letter in text)

    out, end = "", 0
    for option in OPTION.finditer(words):
        out += escaped(words[end : option.start()]) + f'<span class="option">{escaped(option.group(0))}</span>'
        end = option.end()
    out += escaped(words[end:])
    return "<code>" + out.replace("&#95;", "&#95;<wbr>") + "</code>"


def summary(found, texts):
    """SUMMARY.md: guides, concepts, references, results; each page at its first place in that part of the index of the documentation."""
    lines = ["# Summary\n", f"[quiclab]({found[ROOT / 'README.md']})", f"[Documentation]({found[ROOT / 'docs/README.md']})\n"]
    listed = set()
    for section in texts[ROOT / "docs/README.md"].split("\n## ")[1:]:
        heading = section.split("\n")[0].split(":")[0]
        lines.append(f"# {heading}\n")
        folder = heading.lower()
        for _, target in LINK.findall(section):
            page = (ROOT / "docs" / target.split("#")[0]).resolve()
            # A guide that a reference also names stays a guide.
            if page not in found or page in listed or found[page].parent.name not in ("", folder):
                continue
            listed.add(page)
            lines.append(f"- [{title(texts[page])}]({found[page]})")
        lines.append("")
    missing = [str(page) for page in found if (ROOT / "docs") in page.parents and page.name != "README.md" and page not in listed]
    if missing:
        sys.exit("docs/README.md: found no link in the page's own part to " + ", ".join(missing))
    lines.append("---\n")
    lines += [f"[{title(texts[ROOT / name])}]({to})" for name, to in OTHERS.items() if name != "README.md"]
    return "\n".join(lines) + "\n"


def main():
    """Writes book.toml and src/."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    found, files = places(), {}
    texts = {page: page.read_text(encoding="utf-8") for page in found}
    for page, place in found.items():
        path = out / "src" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(moved(texts[page], page, found, files), encoding="utf-8")
    for place, path in files.items():
        (out / "src" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / "src" / place)
    (out / "src/SUMMARY.md").write_text(summary(found, texts), encoding="utf-8")
    (out / "book.toml").write_text(BOOK, encoding="utf-8")
    shutil.copyfile(ROOT / "packaging/site.css", out / "site.css")


if __name__ == "__main__":
    main()
