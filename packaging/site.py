#!/usr/bin/env python3
"""Gathers the documentation as the source of a site that mdBook builds.

    packaging/site.py OUT

The pages are those of the repository, unchanged but for links: a link out of docs/ to a file that is no page leads to nothing on a site, so
it becomes plain code. Every page of docs/ is in the summary; the order is that of docs/README.md.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Pages outside of docs/ that are part of the site, and their names there.
OTHERS = {"README.md": "start.md", "CHANGELOG.md": "changelog.md", "LIMITATIONS.md": "limitations.md", "CONTRIBUTING.md": "contributing.md"}
PARTS = {"guides": "Guides", "concepts": "Concepts", "reference": "Reference", "results": "Results"}
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)", re.DOTALL)
BOOK = """\
[book]
title = "quiclab"
description = "A laboratory for how QUIC behaves on the wire"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true

[output.html.search]
limit-results = 30
use-boolean-and = true
"""


def places():
    """By the path of each page of the repository, its path on the site."""
    found = {ROOT / name: pathlib.PurePosixPath(to) for name, to in OTHERS.items()}
    docs = ROOT / "docs"
    for page in sorted(docs.rglob("*.md")):
        found[page] = pathlib.PurePosixPath("overview.md" if page == docs / "README.md" else page.relative_to(docs).as_posix())
    return found


def title(text):
    """The first heading of a page."""
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def relative(target, start):
    """The path from the folder of `start` to `target`, both on the site."""
    up = len(start.parent.parts)
    return "/".join([".."] * up + list(target.parts))


def moved(text, page, found, images):
    """The text with its links as they are on the site; notes the images that it shows."""

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
        if there.is_file() and (ROOT / "docs/images") in there.parents:
            place = pathlib.PurePosixPath("images") / there.name
            images[place] = there
            return f"{label}({relative(place, found[page])})"
        # A file of the repository that is no page.
        words = label.lstrip("!")[1:-1]
        return words

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`(?!\])|^(?: {4}|\t).*$)", text, flags=re.DOTALL | re.MULTILINE)
    code = set()
    joined, marks = "", []
    for number, part in enumerate(parts):
        if number % 2:
            marks.append(part)
            joined += f"\0{len(marks) - 1}\0"
        else:
            joined += part
    del code
    out = LINK.sub(link, joined)
    return re.sub("\0(\\d+)\0", lambda match: marks[int(match.group(1))], out)


def summary(found, texts):
    """SUMMARY.md: guides, concepts, references, results, in the order of the index of the documentation."""
    index = texts[ROOT / "docs/README.md"]
    order = [(ROOT / "docs" / target.split("#")[0]).resolve() for _, target in LINK.findall(index)]
    rank = {page: number for number, page in reversed(list(enumerate(order)))}
    lines = ["# Summary\n", f"[quiclab]({found[ROOT / 'README.md']})", f"[Documentation]({found[ROOT / 'docs/README.md']})\n"]
    docs = [page for page in found if (ROOT / "docs") in page.parents and page.name != "README.md"]
    for part, heading in PARTS.items():
        lines.append(f"# {heading}\n")
        pages = [page for page in docs if found[page].parts[0] == part]
        if part == "reference":
            pages += [page for page in docs if len(found[page].parts) == 1]
        for page in sorted(pages, key=lambda page: (rank.get(page, len(order)), str(page))):
            lines.append(f"- [{title(texts[page])}]({found[page]})")
        lines.append("")
    lines.append("---\n")
    lines += [f"[{title(texts[ROOT / name])}]({to})" for name, to in OTHERS.items() if name != "README.md"]
    return "\n".join(lines) + "\n"


def main():
    """Writes book.toml and src/."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    found, images = places(), {}
    texts = {page: page.read_text(encoding="utf-8") for page in found}
    for page, place in found.items():
        path = out / "src" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(moved(texts[page], page, found, images), encoding="utf-8")
    for place, path in images.items():
        (out / "src" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / "src" / place)
    (out / "src/SUMMARY.md").write_text(summary(found, texts), encoding="utf-8")
    (out / "book.toml").write_text(BOOK, encoding="utf-8")


if __name__ == "__main__":
    main()
