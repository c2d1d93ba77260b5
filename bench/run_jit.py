#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures native code of serial programs against C++ written the same way, and what compiling them costs.

Programs are in bench/programs, their twins in bench/baselines/serial. Both do their repetitions in turns; what counts
is the median of the repetitions, without start-up and, after the first ones, without compiling. These are in the time
of the whole process, for one repetition with an empty code cache. Then: binary trees beside C++ and OpenJDK, the pauses
that compiling makes, start-up, and whether a second run compiles anything.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import (BENCH, PROGRAMS, Figure, Program, Report, VirtualMachine, baseline, fail, geometric_mean, progress,
                     real_time, start_up, take_turns)  # fmt: skip

# The argument of each program: 50 to 300 ms of C++; and one for quick checks.
SIZES = {
    "fib": (36, 15),
    "nbody": (1_000_000, 100),
    "spectral_norm": (1000, 20),
    "fannkuch": (10, 6),
    "mandelbrot": (1200, 30),
    "matmul": (400, 20),
    "sieve": (14_000_000, 1000),
    "string_building": (1_000_000, 500),
    "hash_map": (4_000_000, 20_000),
    "binary_trees": (15, 5),
    "scheduler": (3_000_000, 5000),
    "closures": (5000, 20),
    "linked": (150_000, 1000),
}
BAR_MEAN, BAR_WORST = 1.2, 2.0
BAR_PAUSE_MS = 2.0
BAR_START_MS, BAR_START_MIB = 3.0, 6.0
# Depth of the trees: the bar for MiB, and runs. The bar for time is OpenJDK's.
TREES = {18: (None, 5), 21: (400.0, 3)}
BAR_JAVA = 1.0
JAVA_HEAP = "-Xmx512m"
PAUSE_RUNS = 7
WARM_UP = 3


# ---- Programs -------------------------------------------------------------------------------------------------------


def compare(what, ours, theirs):
    # They may differ in the number of repetitions: what one repetition prints is compared.
    mine, other = set(ours.lines), set(theirs.lines)
    if not mine or mine != other:
        fail(f"{what} does not print the same: {sorted(mine ^ other)[:4]}")


def check(vm, binaries, name):
    """Runs the quick size everywhere, and compares what is printed."""
    size = SIZES[name][1]
    program = vm.compile(PROGRAMS / f"{name}.dhp")
    theirs = Program([baseline(binaries, "serial", name), size, 2]).finish()
    for jit in vm.executors():
        ours = Program([vm.tool, *vm.flags(jit, False), program, size, 2]).finish()
        compare(f"{name} {size} with --jit={jit} and in C++", ours, theirs)


def measure(vm, binaries, name, runs):
    """One row of the report."""
    size = SIZES[name][0]
    program = vm.compile(PROGRAMS / f"{name}.dhp")
    cpp = baseline(binaries, "serial", name)
    cache = vm.folder / f"cache-{name}"
    cold = Program([vm.tool, *vm.flags("on", cache), program, size, 1]).finish()
    cpp_cold = Program([cpp, size, 1]).finish()
    ours, theirs = take_turns(
        ([vm.tool, *vm.flags("on", cache), program, size, WARM_UP + runs], None, None),
        ([cpp, size, WARM_UP + runs], None, None), warm_up=WARM_UP, runs=runs,
    )  # fmt: skip
    again = Program([vm.tool, *vm.flags("on", cache), program, size, 1]).finish()
    interpreted = Program([vm.tool, *vm.flags("off"), program, size, 2]).finish()
    for result, what in (
        (ours, "in native code"),
        (interpreted, "interpreted"),
        (cold, "from an empty cache"),
        (again, "from the cache"),
    ):
        compare(f"{name} {size} {what} and in C++", result, theirs)
    mine, other = statistics.median(ours.times), statistics.median(theirs.times)
    return {
        "name": name, "size": size, "ours_s": mine, "cpp_s": other, "ratio": mine / other, "met": mine / other <= BAR_WORST,
        "interpreter_s": min(interpreted.times), "process_s": cold.seconds, "cpp_process_s": cpp_cold.seconds,
        "ours_all_s": ours.times, "cpp_all_s": theirs.times, "compiles": cold.statistic("compiles"),
        "compile_ms": cold.statistic("compile_ms_median"), "compiles_again": again.statistic("compiles"),
        "cache_hits_again": again.statistic("cache_hits"),
    }  # fmt: skip


def program_figures(rows):
    ratios = [row["ratio"] for row in rows]
    yield Figure.of("time against C++, geometric mean", geometric_mean(ratios), "times", BAR_MEAN, False)
    yield Figure.of("time against C++, worst", max(ratios), "times", BAR_WORST, False)
    compiled = [row["compile_ms"] for row in rows if row["compile_ms"] is not None and row["compiles"]]
    if compiled:
        yield Figure.of(
            "compile time of a function, median of the programs", statistics.median(compiled), "ms", None, False
        )
    again = [row["compiles_again"] for row in rows if row["compiles_again"] is not None]
    if again:
        yield Figure.of("compiled in a later run of the same program", sum(again), "", 0.0, False)


def add_programs(report, rows):
    """The losses come first. `process` is a whole process that does one repetition, with nothing compiled before."""

    def milliseconds(seconds):
        return f"{seconds * 1e3:.0f} ms"

    report.table(
        ["program", "size", "C++", "DHPVM", "times the C++", "interpreter", "process", "C++ process", "compiled", ""],
        [[row["name"], f"{row['size']:,}", milliseconds(row["cpp_s"]), milliseconds(row["ours_s"]), f"{row['ratio']:.2f}",
          milliseconds(row["interpreter_s"]), milliseconds(row["process_s"]), milliseconds(row["cpp_process_s"]),
          "" if row["compiles"] is None else f"{row['compiles']}", "" if row["met"] else "missed"] for row in sorted(rows, key=lambda row: -row["ratio"])],
    )  # fmt: skip


# ---- Binary trees ---------------------------------------------------------------------------------------------------


def compile_java(folder):
    """The command that runs the Java twin; none, and why, where there is no Java."""
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        return None, "there is no JDK (package openjdk-17-jdk-headless)"
    done = subprocess.run([javac, "-d", folder, BENCH / "baselines" / "serial" / "BinaryTrees.java"], stderr=subprocess.PIPE,
                          check=False, text=True)  # fmt: skip
    if done.returncode != 0:
        return None, f"javac failed: {done.stderr.strip()}"
    version = subprocess.run([java, "-version"], stderr=subprocess.PIPE, check=True, text=True).stderr.splitlines()[0]
    return [java, JAVA_HEAP, "-cp", folder, "BinaryTrees"], version


def measure_trees(vm, binaries):
    """Rows of (depth, what, seconds, MiB), whole processes in turns; and what is to be said about Java."""
    program = vm.compile(PROGRAMS / "binary_trees.dhp")
    commands = {
        "DHPVM": [vm.tool, *vm.flags("on", vm.folder / "cache-trees"), program],
        "C++": [baseline(binaries, "serial", "binary_trees")],
    }
    java, note = compile_java(vm.folder)
    if java:
        commands["OpenJDK"] = java
        note = f"OpenJDK is {note}, {JAVA_HEAP}"
    else:
        note = f"SKIP OpenJDK: {note}"
    rows = []
    for depth, (_, runs) in TREES.items():
        results = {what: [] for what in commands}
        for _ in range(runs):
            for what, command in commands.items():
                progress(f"binary trees of depth {depth}: {what}")
                results[what].append(Program([*command, depth]).finish())
        for what, done in results.items():
            compare(f"binary trees of depth {depth}: {what} and C++", done[0], results["C++"][0])
            rows.append(
                (depth, what, statistics.median(one.seconds for one in done), max(one.peak_mib for one in done))
            )
    return rows, note


def tree_figures(rows):
    for depth, what, seconds, mib in rows:
        if what == "DHPVM":
            bar_mib, _ = TREES[depth]
            yield Figure.of(f"binary trees of depth {depth}, peak memory", mib, "MiB", bar_mib, False)
            for other in rows:
                if other[:2] == (depth, "OpenJDK"):
                    yield Figure.of(
                        f"binary trees of depth {depth}, time against OpenJDK", seconds / other[2], "times", BAR_JAVA, False
                    )


# ---- Pauses and start-up --------------------------------------------------------------------------------------------


def pauses(vm, jit, priority):
    """Median milliseconds of the longest pause in functions and in parallel loops. The cache is off: everything is
    compiled."""
    program = vm.compile(PROGRAMS / "pause.dhp")
    longest = {"functions_longest_ns": [], "loops_longest_ns": []}
    for _ in range(PAUSE_RUNS):
        result = Program([*priority, vm.tool, *vm.flags(jit, False), program]).finish()
        for line in result.lines:
            key, _, value = line.partition(" ")
            if key in longest:
                longest[key].append(int(value) / 1e6)
    return {key: statistics.median(values) for key, values in longest.items()}


def pause_figures(vm):
    """With real-time priority where that is permitted: whatever else wants a core costs the program a whole turn of the
    scheduler, 4 ms long under Linux, whether or not anything is compiled. Locks and page faults cost what they cost."""
    progress("pauses")
    priority = real_time()
    interpreted = pauses(vm, "off", priority)
    native = pauses(vm, "on", priority) if vm.has_native_code else {}
    shared = pauses(vm, "on", []) if native and priority else {}
    for key, what in (("functions_longest_ns", "functions"), ("loops_longest_ns", "parallel loops")):
        if native:
            yield Figure.of(f"longest pause while {what} are compiled", native[key], "ms", BAR_PAUSE_MS, False)
        if shared:
            yield Figure.of("the same without real-time priority", shared[key], "ms", None, False)
        yield Figure.of(f"longest pause while {what} are interpreted", interpreted[key], "ms", None, False)


def start_figures(vm):
    progress("start-up")
    milliseconds, mib = start_up(vm, 50)
    yield Figure.of("hello world from .bc, whole process", milliseconds, "ms", BAR_START_MS, False)
    if vm.has_native_code:
        yield Figure.of("the same with --jit=off", start_up(vm, 50, vm.interpreter())[0], "ms", None, False)
    if mib is not None:
        yield Figure.of("hello world from .bc, peak memory", mib, "MiB", BAR_START_MIB, False)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the baselines")
    parser.add_argument("--runs", type=int, default=9, help="timed repetitions of each program (default 9)")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SIZES),
        metavar="PROGRAM",
        help="this program, and nothing else; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument(
        "--quick", action="store_true", help="measure nothing: run tiny sizes and compare what is printed"
    )
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be positive")

    names = options.only or list(SIZES)
    rows, trees, note, figures = [], [], "", []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm = VirtualMachine(options.bin, folder)
        if not options.quick and not vm.has_native_code:
            print(
                "This version has no native code (dhpvm-run has no --jit): the figures are the interpreter's.\n",
                file=sys.stderr,
            )
        for name in names:
            progress(name)
            check(vm, options.bin, name)
            if not options.quick:
                rows.append(measure(vm, options.bin, name, options.runs))
        if options.quick:
            progress("")
            print(
                f"{len(names)} programs: the same output in C++, {', '.join('--jit=' + jit for jit in vm.executors())}"
            )
            return 0
        figures += program_figures(rows)
        if not options.only:
            trees, note = measure_trees(vm, options.bin)
            figures += tree_figures(trees)
            figures += pause_figures(vm)
            figures += start_figures(vm)
        progress("")

    report = Report(f"Medians of {options.runs} repetitions in turns; times of one repetition. `process`: the whole process "
                    f"that does one, nothing compiled before. Trees: whole processes. {note}".rstrip())  # fmt: skip
    add_programs(report, rows)
    if trees:
        report.table(
            ["binary trees", "depth", "time", "peak memory"],
            [[what, str(depth), f"{seconds:.2f} s", f"{mib:.0f} MiB"] for depth, what, seconds, mib in trees],
        )
    report.figures += figures
    report.print()
    report.write(
        options.json, runs=options.runs, programs=rows,
        trees=[{"depth": depth, "what": what, "s": seconds, "mib": mib} for depth, what, seconds, mib in trees],
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
