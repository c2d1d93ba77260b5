#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the virtual machine against its bars: ten programs beside Lua 5.4, start-up, and the C++ benchmarks.

Each program exists twice, written the same way, in bench/programs. Both run in turn, so that whatever else the machine does
meets both alike; what counts is the median of whole processes, and both must print the same.
"""

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
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
BAR_START_MS, BAR_START_MIB = 5.0, 16.0
CPP_BENCHES = ("gc_bench", "verify_bench", "embed_bench")


@dataclass
class Figure:
    """One measured value, and the bar it must reach: `at_least`, or else at most."""

    name: str
    value: float
    unit: str
    bar: float | None
    at_least: bool
    met: bool

    @staticmethod
    def of(name, value, unit, bar, at_least):
        met = bar is None or (value >= bar if at_least else value <= bar)
        return Figure(name, value, unit, bar, at_least, met)


def run(command):
    """Seconds and output of one process."""
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        done = subprocess.run(command, stdout=output, stdin=subprocess.DEVNULL, check=False)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(f"run_vm: {' '.join(map(str, command))} ended with exit code {done.returncode}")
        output.seek(0)
        return seconds, output.read()


def compile_program(binaries, name, folder):
    target = folder / f"{name}.bc"
    subprocess.run([binaries / "dhpvmc", PROGRAMS / f"{name}.dhp", "-o", target], check=True)
    return target


def compare_with_lua(binaries, lua, folder, runs, names, progress):
    """(name, our seconds, Lua's seconds) for each program."""
    rows = []
    for name in names:
        progress(f"{name} {SIZES[name]}")
        argument = str(SIZES[name])
        ours = [binaries / "dhpvm-run", compile_program(binaries, name, folder), argument]
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
            sys.exit(f"run_vm: {name} {argument} does not print the same in both languages, or not every time")
        rows.append((name, statistics.median(times["ours"]), statistics.median(times["lua"])))
    return rows


def compile_text(binaries, folder, name, text):
    source, target = folder / f"{name}.dhp", folder / f"{name}.bc"
    source.write_text(text)
    subprocess.run([binaries / "dhpvmc", source, "-o", target], check=True)
    return target


def start_up(binaries, folder, runs):
    """Median milliseconds of printing one line, from bytecode."""
    target = compile_text(binaries, folder, "hello", 'fn main() { print("hello, world"); }\n')
    samples = [run([binaries / "dhpvm-run", target]) for _ in range(runs + 3)][3:]
    if any(output != b"hello, world\n" for _, output in samples):
        sys.exit("run_vm: hello world printed something else")
    return statistics.median(seconds for seconds, _ in samples) * 1e3


# The process asks itself: what wait4 says of a child includes what the parent had in memory when it forked.
HELLO_PEAK = """import io;
fn main() {
    print("hello, world");
    print(io.read_text("/proc/self/status"));
}
"""


def peak_memory(binaries, folder):
    """Resident MiB of the same program at its peak; none where the system does not tell."""
    if not Path("/proc/self/status").is_file():
        return None
    _, output = run([binaries / "dhpvm-run", compile_text(binaries, folder, "hello_peak", HELLO_PEAK)])
    for line in output.decode().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return None


def cpp_figures(binaries, name):
    """The figures of a C++ benchmark: one JSON object per line. Bars are floors for rates, ceilings for everything else."""
    done = subprocess.run([binaries / name, "--json"], stdout=subprocess.PIPE, check=True, text=True)
    for line in done.stdout.splitlines():
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        unit = row.get("unit", "")
        figure = Figure.of(row["name"], float(row["value"]), unit, row.get("bar") or None, unit.endswith("/s"))
        figure.met = figure.met and row.get("met", True)
        yield figure


def print_comparison(rows):
    print(f"{'program':<18}{'size':>12}{'ours':>10}{'Lua 5.4':>10}{'ratio':>8}")
    for name, ours, lua in rows:
        print(f"{name:<18}{SIZES[name]:>12,}{ours * 1e3:>7.0f} ms{lua * 1e3:>7.0f} ms{lua / ours:>8.2f}")
    print()


def print_figures(figures):
    width = max(len(figure.name) for figure in figures) + 2
    print(f"{'what':<{width}}{'measured':>12} {'unit':<8}{'bar':>12}")
    for figure in figures:
        bar = "" if figure.bar is None else f"{'>=' if figure.at_least else '<='} {figure.bar:g}"
        verdict = "" if figure.bar is None else ("pass" if figure.met else "MISSED")
        print(f"{figure.name:<{width}}{figure.value:>12.4g} {figure.unit:<8}{bar:>12}  {verdict}".rstrip())
    print()


def machine():
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the C++ benchmarks")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each program (default 7)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument("--only", action="append", choices=list(SIZES), metavar="PROGRAM", help="this program only; may be repeated")
    options = parser.parse_args(arguments)
    binaries = options.bin.resolve()
    lua = shutil.which("lua5.4")
    if lua is None:
        sys.exit("run_vm: lua5.4 is missing (package lua5.4)")
    if options.runs < 1:
        sys.exit("run_vm: --runs must be at least 1")

    def progress(text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    figures = []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as work:
        folder = Path(work)
        rows = compare_with_lua(binaries, lua, folder, options.runs, options.only or list(SIZES), progress)
        ratios = [theirs / ours for _, ours, theirs in rows]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        figures.append(Figure.of("speed against Lua 5.4, geometric mean", mean, "times", BAR_MEAN, True))
        figures.append(Figure.of("speed against Lua 5.4, worst", min(ratios), "times", BAR_WORST, True))
        if not options.only:
            progress("start-up")
            milliseconds = start_up(binaries, folder, 50)
            figures.append(Figure.of("hello world from .bc, whole process", milliseconds, "ms", BAR_START_MS, False))
            mib = peak_memory(binaries, folder)
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

    print(f"{machine()}; median of {options.runs} runs\n")
    print_comparison(rows)
    print_figures(figures)
    for name in absent:
        print(f"not built, so not measured: {name} (cmake -DDHPVM_BENCH=ON)")
    if options.json:
        programs = [{"name": name, "size": SIZES[name], "ours_s": ours, "lua_s": theirs} for name, ours, theirs in rows]
        report = {"machine": machine(), "runs": options.runs, "programs": programs, "figures": [asdict(f) for f in figures]}
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
