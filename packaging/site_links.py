#!/usr/bin/env python3
"""Checks a built site: links to files and anchors that are not there are listed, and code with characters that a shell does not
take for those that were written. Then the exit status is 1.

    packaging/site_links.py SITE
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

# What becomes of quotes and hyphens where someone makes them prettier.
PRETTY = "\u2018\u2019\u201c\u201d\u2014"


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page, and its code."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.code = [], set(), []
        self.depth = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Notes what an element refers to, and its names."""
        attributes = dict(attrs)
        if tag == "code":
            self.depth += 1
            self.code.append("")
        for name in ("href", "src"):
            if attributes.get(name):
                self.links.append(attributes[name])
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])

    def handle_endtag(self, tag):
        """Notes where code ends."""
        if tag == "code":
            self.depth -= 1

    def handle_data(self, data):
        """Keeps the text of code."""
        if self.depth:
            self.code[-1] += data

    def pretty(self):
        """Code that cannot be pasted, as an option that begins with a dash."""
        return [code for code in self.code if any(sign in code for sign in PRETTY) or re.search(r"(^|\s)\u2013\w", code)]


def main():
    """Lists what is broken."""
    site = pathlib.Path(sys.argv[1]).resolve()
    paths = [path for path in site.rglob("*.html") if path.name not in ("404.html", "toc.html", "print.html")]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    broken, seen = [], 0
    for path, page in sorted(pages.items()):
        broken += [f"{path.relative_to(site)}: {code}: cannot be pasted" for code in page.pretty()]
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("//"):
                continue
            seen += 1
            there = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there = there / "index.html"
            if not there.is_file():
                broken.append(f"{path.relative_to(site)}: {link}: no such file")
            elif parts.fragment and there in pages and urllib.parse.unquote(parts.fragment) not in pages[there].anchors:
                broken.append(f"{path.relative_to(site)}: {link}: no such heading")
    print(f"{len(pages)} pages, {seen} links, {len(broken)} broken")
    if broken or seen < 100:
        sys.exit("\n".join(broken) or "fewer than 100 links: is the site complete?")


if __name__ == "__main__":
    main()
