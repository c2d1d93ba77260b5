#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the virtual machine against its bars: ten programs beside Lua 5.4, start-up, and the C++ benchmarks.

Each program exists twice, written the same way, in bench/programs. Both run in turn, so that whatever else the machine
does meets both alike; what counts is the median of whole processes, and both must print the same.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import (
    PROGRAMS,
    Figure,
    Report,
    VirtualMachine,
    fail,
    geometric_mean,
    progress,
    run,
    start_up,
)

# The argument of each program: about a second of Lua.
SIZES = {
    "fib": 36,
    "nbody": 500_000,
    "spectral_norm": 900,
    "fannkuch": 10,
    "mandelbrot": 1200,
    "matmul": 400,
    "sieve": 14_000_000,
    "string_building": 1_000_000,
    "hash_map": 7_000_000,
    "binary_trees": 15,
}
BAR_MEAN, BAR_WORST = 1.5, 1.0
BAR_START_MS, BAR_START_MIB = 3.0, 6.0
CPP_BENCHES = ("gc_bench", "verify_bench", "embed_bench")


def compare_with_lua(vm, lua, runs, names):
    """(name, our seconds, Lua's seconds) for each program."""
    rows = []
    for name in names:
        progress(f"{name} {SIZES[name]}")
        argument = str(SIZES[name])
        ours = [vm.tool, *vm.interpreter(), vm.compile(PROGRAMS / f"{name}.dhp"), argument]
        theirs = [lua, PROGRAMS / f"{name}.lua", argument]
        times = {"ours": [], "lua": []}
        outputs = set()
        for i in range(runs + 1):
            for key, command in (("ours", ours), ("lua", theirs)):
                seconds, output = run(command)
                outputs.add(output)
                if i > 0:  # the first one warms the caches
                    times[key].append(seconds)
        if len(outputs) != 1:
            fail(f"{name} {argument} does not print the same in both languages, or not every time")
        rows.append((name, statistics.median(times["ours"]), statistics.median(times["lua"])))
    return rows


def cpp_figures(binaries, name):
    """The figures of a C++ benchmark: one JSON object per line. Bars are floors for rates, ceilings for everything
    else."""
    done = subprocess.run([binaries / name, "--json"], stdout=subprocess.PIPE, check=True, text=True)
    for line in done.stdout.splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        unit = row.get("unit", "")
        figure = Figure.of(row["name"], float(row["value"]), unit, row.get("bar") or None, unit.endswith("/s"))
        figure.met = figure.met and row.get("met", True)
        yield figure


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the C++ benchmarks"
    )
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each program (default 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument(
        "--only", action="append", choices=list(SIZES), metavar="PROGRAM", help="this program only; may be repeated"
    )
    options = parser.parse_args(arguments)
    binaries = options.bin.resolve()
    lua = shutil.which("lua5.4")
    if lua is None:
        fail("lua5.4 is missing (package lua5.4)")
    if options.runs < 1:
        fail("--runs must be at least 1")

    report = Report(f"Whole processes; medians of {options.runs} runs in turns.")
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as work:
        vm = VirtualMachine(binaries, work)
        rows = compare_with_lua(vm, lua, options.runs, options.only or list(SIZES))
        ratios = [theirs / ours for _, ours, theirs in rows]
        mean = geometric_mean(ratios)
        report.table(
            ["program", "size", "DHPVM interpreter", "Lua 5.4", "times as fast"],
            [[name, f"{SIZES[name]:,}", f"{ours * 1e3:.0f} ms", f"{theirs * 1e3:.0f} ms", f"{theirs / ours:.2f}"]
             for name, ours, theirs in sorted(rows, key=lambda row: row[2] / row[1])],
        )  # fmt: skip
        figures = report.figures
        figures.append(Figure.of("speed against Lua 5.4, geometric mean", mean, "times", BAR_MEAN, True))
        figures.append(Figure.of("speed against Lua 5.4, worst", min(ratios), "times", BAR_WORST, True))
        if not options.only:
            progress("start-up")
            milliseconds, mib = start_up(vm, 50)
            figures.append(Figure.of("hello world from .bc, whole process", milliseconds, "ms", BAR_START_MS, False))
            if mib is not None:
                figures.append(Figure.of("hello world from .bc, peak memory", mib, "MiB", BAR_START_MIB, False))
    absent = []
    for name in () if options.only else CPP_BENCHES:
        if (binaries / name).is_file():
            progress(name)
            figures += cpp_figures(binaries, name)
        else:
            absent.append(name)
    progress("")

    report.print()
    for name in absent:
        print(f"not built, so not measured: {name} (cmake -DDHPVM_BENCH=ON)")
    if options.json:
        programs = [{"name": name, "size": SIZES[name], "ours_s": ours, "lua_s": theirs} for name, ours, theirs in rows]
        report.write(options.json, runs=options.runs, programs=programs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
