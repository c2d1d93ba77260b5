#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the site of all documents: usage: make_site.py ROOT FOLDER

Gathers the pages beneath FOLDER/pages, lets MkDocs make the site in FOLDER/html, and Doxygen the reference of the
headers in it. Fails if one of them warns, or a link leads nowhere.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check_links
import python_reference

# Chapters of the site, with the names of their pages.
CHAPTERS = {
    "Start": ["index", "language", "stdlib", "command-line", "editors"],
    "Python": ["python-ten-minutes", "python", "python-reference"],
    "C and C++": ["embedding", "embedding-c"],
    "Devices and workers": ["offload", "deploying", "adding-a-device", "laboratory", "ptx"],
    "Reference": ["performance", "troubleshooting", "stability", "bytecode", "protocol"],
    "Project": ["changes", "contributing", "security"],
}
ROOT_PAGES = {"index": "README.md", "changes": "CHANGELOG.md", "contributing": "CONTRIBUTING.md",
              "security": "SECURITY.md"}
FENCE = re.compile(r"^( *```\w+) .+$", re.M)  # options of code blocks are for tests/run_docs.py
UPWARDS = re.compile(r"\[([^\[\]]*)\]\(\.\./[^)]*\)")  # to files that are no pages
MENU = "- [C and C++ headers](api/index.html)\n"


def translated(text, folder):
    """A page of the root with its links as they are in the site; what is no page is named without a link."""
    names = {f"docs/{path.name}": path.name for path in folder.glob("*.md")}
    names |= {path: f"{name}.md" for name, path in ROOT_PAGES.items()}

    def link(match):
        place, _, anchor = match[2].partition("#")
        if check_links.OUTSIDE.match(match[2]) or match[2].startswith("#"):
            return match[0]
        if place in names or place.startswith(("docs/images/", "docs/decisions/")):
            found = names.get(place, place.removeprefix("docs/"))
            return f"[{match[1]}]({found}{'#' * bool(anchor)}{anchor})"
        return match[1]

    return re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)]*)\)", link, text)


def gather(root, pages):
    """Writes all pages; returns the table of contents."""
    docs = root / "docs"
    shutil.copytree(docs, pages, ignore=shutil.ignore_patterns("site", "__pycache__"))
    for name, path in ROOT_PAGES.items():
        text = translated((root / path).read_text(encoding="utf-8"), docs)
        (pages / f"{name}.md").write_text(text, encoding="utf-8")
    (pages / "python-reference.md").write_text(python_reference.page(root / "python/dhpvm"), encoding="utf-8")
    decisions = pages / "decisions" / "README.md"
    decisions.rename(decisions.with_name("index.md"))
    for path in pages.rglob("*.md"):
        text = path.read_text(encoding="utf-8").replace("](decisions/README.md", "](decisions/index.md")
        if path.parent == pages and path.stem not in ROOT_PAGES:
            text = UPWARDS.sub(r"\1", text)
        path.write_text(FENCE.sub(r"\1", text), encoding="utf-8")
    contents = [{chapter: [f"{name}.md" for name in names]} for chapter, names in CHAPTERS.items()]
    chosen = sorted(path.name for path in (pages / "decisions").glob("[0-9]*.md"))
    contents.append({"Decisions": ["decisions/index.md", *(f"decisions/{name}" for name in chosen)]})
    named = {f"{name}.md" for names in CHAPTERS.values() for name in names}
    missing = {path.name for path in pages.glob("*.md")} - named
    if missing:
        sys.exit(f"make_site.py names no chapter for {', '.join(sorted(missing))}")
    return contents


def run(command, folder):
    """Runs a tool that must not warn."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def make_reference(root, folder, html):
    """The reference of the headers, by Doxygen."""
    options = {
        "PROJECT_NAME": '"DHPVM: C and C++"',
        "INPUT": f"{root}/include/dhpvm {folder}/mainpage.md",
        "USE_MDFILE_AS_MAINPAGE": folder / "mainpage.md",
        "RECURSIVE": "YES",
        "EXCLUDE": f"{root}/include/dhpvm/detail",
        "FILE_PATTERNS": "*.h *.md",
        "STRIP_FROM_PATH": f"{root}/include {folder}",
        "STRIP_FROM_INC_PATH": f"{root}/include",
        "OUTPUT_DIRECTORY": folder / "doxygen",
        "HTML_OUTPUT": html / "api",
        "GENERATE_LATEX": "NO",
        "EXTRACT_ALL": "YES",
        "QUIET": "YES",
        "WARN_IF_UNDOCUMENTED": "NO",
        "WARN_AS_ERROR": "NO",
        "WARNINGS": "NO",
        "JAVADOC_AUTOBRIEF": "YES",
        "MULTILINE_CPP_IS_BRIEF": "NO",
        "PREDEFINED": "DHPVM_API= DHPVM_C_API= __cplusplus",
        "MACRO_EXPANSION": "YES",
        "EXPAND_ONLY_PREDEF": "YES",
        "SHOW_USED_FILES": "NO",
        "SORT_MEMBER_DOCS": "NO",
        "DISABLE_INDEX": "NO",
        "GENERATE_TREEVIEW": "YES",
        "HAVE_DOT": "NO",
        "TIMESTAMP": "NO",
        "HTML_TIMESTAMP": "NO",
        "INPUT_FILTER": f'"sed -E {COMMENTS}"',
    }
    (folder / "mainpage.md").write_text(MAIN_PAGE, encoding="utf-8")
    (folder / "Doxyfile").write_text("".join(f"{name} = {value}\n" for name, value in options.items()))
    (folder / "doxygen").mkdir()
    run(["doxygen", "Doxyfile"], folder)


MAIN_PAGE = """# The headers

`dhpvm/c.h` is the C interface, the one that stays as it is; `dhpvm/dhpvm.h` includes the C++ API. All of them are under
*Files*. [Embedding in C](../embedding-c.html) and [embedding in C++](../embedding.html) explain them by examples.
"""
# Doxygen reads comments that begin with /** or ///; ours begin with /* or //. Licences and titles of parts say nothing
# about what follows them.
# The inline namespace is of interest to the linker alone.
COMMENTS = ("'s,::inline DHPVM_CPP_NAMESPACE,,; "
            "/SPDX-License|----/! { s,^( *)//( |$),\\1/// ,; s,^( *)/\\*( |$),\\1/** , }'")


def check(html):
    """The complaints about links of the pages."""
    pages = {path.resolve(): check_links.Page(path.read_text(encoding="utf-8")) for path in html.rglob("*.html")
             if "api" not in path.relative_to(html).parts and path.name != "404.html"}
    return len(pages), check_links.dead_links(pages, lambda path: pages[path].anchors if path in pages else
                                              check_links.Page(path.read_text(encoding="utf-8")).anchors,
                                              lambda path: ((0, link) for link in pages[path].links))


def main():
    root, folder = (Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    pages, html = folder / "pages", folder / "html"
    folder.mkdir(parents=True)
    contents = gather(root, pages)
    index = pages / "embedding-c.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n## All declarations\n\n" + MENU, encoding="utf-8")
    (folder / "mkdocs.yml").write_text(json.dumps({  # which is YAML
        "site_name": "DHPVM", "docs_dir": str(pages), "site_dir": str(html),
        "theme": {"name": "material", "font": False, "features": ["navigation.tabs", "content.code.copy"]},
        "use_directory_urls": False, "nav": contents, "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code", "sane_lists", {"toc": {"permalink": True}}]}))
    run(["mkdocs", "build", "--quiet"], folder)
    make_reference(root, folder, html)
    count, dead = check(html)
    if dead:
        sys.exit("\n".join(dead))
    print(f"{count} pages, whose links lead somewhere: {html}/index.html")


if __name__ == "__main__":
    main()
