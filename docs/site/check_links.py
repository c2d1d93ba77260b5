#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that links lead somewhere: usage: check_links.py ROOT

Links of the Markdown files that git knows, to files and to headings; those to other hosts are not followed. Prints the
dead ones; exit code 1 if there are any. make_site.py checks the pages of the site with it.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

FENCE = re.compile(r"^ *(```|~~~)")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
OUTSIDE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//")


def prose(text):
    """The lines outside of code blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor(heading):
    """The name of a heading in links: as code hosts and MkDocs make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text))


def anchors_of(text):
    return {anchor(found[1]) for _, line in prose(text) if (found := HEADING.match(line))}


def links_of(text):
    """Links, which may begin on one line and end on the next, with the number of the line they end on."""
    behind = ""
    for number, line in prose(text):
        behind = f"{behind} {CODE.sub('', line)}" if line.strip() else ""
        for found in list(LINK.finditer(behind)):
            yield number, found[1]
        behind = LINK.sub("", behind)


class Page(HTMLParser):
    """The anchors and links of a page of the site."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        for name in ("href", "src"):
            if given.get(name):
                self.links.add(given[name])


def dead_links(pages, anchors, links):
    """Complaints about links of these files: `anchors(path)` and `links(path)` read one."""
    known = {}

    def has_anchor(path, name):
        if path not in known:
            known[path] = anchors(path)
        return name in known[path]

    dead = set()
    for page in pages:
        for number, link in links(page):
            if OUTSIDE.match(link) or link in ("#", ""):
                continue
            place, _, name = unquote(link).partition("#")
            target = (page.parent / place.partition("?")[0]).resolve() if place else page.resolve()
            if target.is_dir() and (target / "index.html").exists():
                target /= "index.html"
            where = f"{page}:{number}" if number else str(page)
            if not target.exists():
                dead.add(f"{where}: there is no '{link}'")
            elif name and target.suffix in (".md", ".html") and not has_anchor(target, name):
                dead.add(f"{where}: '{place or page.name}' has no heading '{name}'")
    return sorted(dead)


def main():
    root = Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", root, "ls-files", "*.md"], capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [str(path.relative_to(root)) for path in root.glob("[!b]*/**/*.md")]
    pages = [root / name for name in names if (root / name).exists()]
    dead = dead_links(pages, lambda path: anchors_of(path.read_text(encoding="utf-8")),
                      lambda path: links_of(path.read_text(encoding="utf-8")))
    print("\n".join(dead) or f"the links of {len(pages)} pages lead somewhere")
    return 1 if dead or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
