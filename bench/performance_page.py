# SPDX-License-Identifier: Apache-2.0
"""Makes docs/performance.md from docs/performance.json: for each report of run_all.py its tables, its figures with
their bars, and the text of performance_notes.md. Figures that miss their bars come first."""

import json
import textwrap

from harness import BENCH, markdown

ROOT = BENCH.parent
RUN, PAGE, NOTES = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md", BENCH / "performance_notes.md"
TITLES = {
    "kernels": "Parallel loops, compared with OpenMP",
    "jit": "Serial programs, compared with C++",
    "vm": "The interpreter and the heap",
    "text": "Text, compared with Python and C++",
    "regex": "Regular expressions, compared with Python",
    "python": "Python functions, compared with Numba",
    "offload": "Loops on devices, compared with OpenCL C by hand",
    "batching": "Batches on a device",
    "remote": "Workers, compared with libfabric by hand",
    "lab": "Workers under stress",
    "memory": "Memory after a peak",
    "gpu": "Loops on an NVIDIA GPU, compared with CUDA by hand and cuBLAS",
}
INTRODUCTION = """# Performance

`./dev bench all` writes this page, from the results that it keeps in [performance.json](performance.json);
`./dev bench NAME` prints one of its sections. Programs that are compared run in turns and must print the same results.
A bar is what this project wants to reach.
"""


def load():
    return json.loads(RUN.read_text(encoding="utf-8")) if RUN.exists() else {}


def store(results):
    ordered = {name: results[name] for name in TITLES if name in results}
    RUN.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def notes():
    """The text for each report: sections of performance_notes.md, named by the reports, with the links of a page that
    stands in docs/."""
    sections = NOTES.read_text(encoding="utf-8").replace("](../docs/", "](").split("\n## ")[1:]
    return {name: text.strip() for name, _, text in (section.partition("\n") for section in sections)}


def amount(value, unit):
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def bar_text(figure):
    if figure["bar"] is None:
        return ""
    return f"{'at least' if figure['at_least'] else 'at most'} {amount(figure['bar'], figure['unit'])}"


def factor(figure):
    """The distance to the bar: 1 is at the bar, 2 twice as far from the better side."""
    value, bar = figure["value"], figure["bar"]
    if figure["at_least"]:
        value, bar = bar, value
    return value / bar if bar else float("inf")


def anchor(title):
    return "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def losses(results):
    missed = [(factor(figure), name, figure) for name, report in results.items() for figure in report["figures"]
              if not figure["met"]]  # fmt: skip
    rows = []
    for distance, name, figure in sorted(missed, key=lambda row: -row[0]):
        section = f"[{name}](#{anchor(TITLES[name])})"
        rows.append([figure["name"].strip(), amount(figure["value"], figure["unit"]), bar_text(figure),
                     "" if distance == float("inf") else f"{distance:.2f}", section])  # fmt: skip
    yield "## What misses its bar\n"
    yield from markdown(["what", "measured", "bar", "times the bar", "section"], rows)


def section(name, report, note):
    yield f"\n## {TITLES[name]}\n"
    yield f"```sh\n./dev bench {name}\n```\n"
    origin = f"{report['machine']}; load average {report['load']:g}; commit {report['commit']}, {report['date']}."
    yield textwrap.fill(f"{origin} {report['about']}", width=120) + "\n"
    for table in report["tables"]:
        yield from markdown(**table)
        yield ""
    if report["figures"]:
        yield from markdown(
            ["what", "measured", "bar", ""],
            [[figure["name"].strip(), amount(figure["value"], figure["unit"]), bar_text(figure),
              "" if figure["met"] else "missed"] for figure in report["figures"]],
        )  # fmt: skip
    if note:
        yield f"\n{note}"


def page(results):
    """The text of docs/performance.md."""
    results, about = {name: results[name] for name in TITLES if name in results}, notes()
    lines = [INTRODUCTION, *losses(results)]
    for name, report in results.items():
        lines += section(name, report, about.get(name))
    return "\n".join(lines) + "\n"
