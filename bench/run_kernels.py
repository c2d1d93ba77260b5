#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures parallel loops against C++ with OpenMP: the same loops, the same data, the same number of threads.

Programs are in bench/programs/kernels, their twins in bench/baselines/kernels. Both do their repetitions in turns, and
what counts is the median of the repetitions. Results must agree: to the bit where the arithmetic is exact, within a
tolerance where it rests on elementary functions or on the order of a sum; at a small size also with the interpreter.
"""

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import (PROGRAMS, Figure, Program, Report, VirtualMachine, baseline, fail, geometric_mean, progress, real_time,
                     take_turns)  # fmt: skip

BAR_MEAN, BAR_WORST = 2.2, 0.95
BAR_COMPILE_MS = 10.0
WARM_UP = 3


@dataclass(frozen=True)
class Kernel:
    """A loop: the size that takes 20 to 200 ms on two cores and what --size does to it, a size for quick checks, and
    how results compare: the tolerance against C++, and against our own interpreter, both relative to the mean magnitude
    (0: all bits). `vectorised` is what clang 19 does with the innermost loop of the C++ that does the work, as
    -Rpass=loop-vectorize reports it and the machine code confirms; `why` says why not. `on_devices`: it is written in
    OpenCL C by hand, too, for run_offload.py."""

    size: int
    quick: int
    vectorised: bool
    why: str = ""
    tolerance: float = 0.0
    own_tolerance: float = 0.0
    on_devices: bool = True


STRICT_SUM = "the order of a sum of floats is fixed"
EARLY_EXIT = "the loop ends when the point escapes"
KERNELS = {
    "saxpy": Kernel(8_000_000, 1000, True),
    "add_image": Kernel(2000, 20, True),
    "stencil3d": Kernel(250, 12, True),
    "convolution2d": Kernel(2000, 20, True),
    "black_scholes": Kernel(
        2_000_000, 500, True, "only the arithmetic: logf and expf are called one lane at a time", 1e-5, 1e-5
    ),
    "monte_carlo": Kernel(8_000_000, 20_000, True),
    "blur": Kernel(2000, 40, False, STRICT_SUM, 1e-6),
    "euler": Kernel(12, 1, False, "a store under a condition"),
    "nbody": Kernel(4000, 40, False, STRICT_SUM),
    "sgemm": Kernel(480, 24, False, STRICT_SUM),
    "dgemm": Kernel(480, 24, False, STRICT_SUM),
    "mandelbrot": Kernel(700, 24, False, EARLY_EXIT),
    "dft": Kernel(2000, 50, False, "sin and cos are calls, and " + STRICT_SUM, 1e-9, 1e-9),
    "julia": Kernel(900, 24, False, EARLY_EXIT),
    "dot": Kernel(8_000_000, 10_000, True, "by `simd reduction`", 1e-3),
    "dot_f64": Kernel(4_000_000, 10_000, True, "by `simd reduction`", 1e-12),
    "kmeans": Kernel(400_000, 300, False, STRICT_SUM),
    "jacobi": Kernel(1000, 20, True),
    "spmv": Kernel(50_000, 200, False, STRICT_SUM),
    "row_sums": Kernel(2048, 45, False, STRICT_SUM, on_devices=False),
    "gemv": Kernel(2048, 45, False, STRICT_SUM, on_devices=False),
    "matmul_nt": Kernel(512, 45, False, STRICT_SUM, on_devices=False),
    "matmul_tn": Kernel(512, 45, False, STRICT_SUM, on_devices=False),
    "softmax": Kernel(
        2048, 45, False, "expf is called one element at a time, and " + STRICT_SUM, 1e-5, 1e-5, on_devices=False
    ),
    "layer_norm": Kernel(2048, 45, False, STRICT_SUM, on_devices=False),
    "transpose": Kernel(2048, 45, False, "its stores are far apart", on_devices=False),
    "md": Kernel(100_000, 300, False, STRICT_SUM, on_devices=False),
    "xsbench": Kernel(200_000, 300, False, STRICT_SUM, on_devices=False),
    "needleman_wunsch": Kernel(3000, 45, False, "its elements are far apart", on_devices=False),
    "forest": Kernel(20_000, 100, False, "it walks through trees", on_devices=False),
    "bisect": Kernel(200_000, 300, False, "each turn goes one of two ways", on_devices=False),
    "histogram": Kernel(8_000_000, 20_000, False, "its stores meet", on_devices=False),
    "particles": Kernel(1_000_000, 300, False, "fields of several widths under conditions", on_devices=False),
}


# ---- Results --------------------------------------------------------------------------------------------------------


def digests(lines):
    """The digests that a program printed: for each a dictionary with lists of texts by keyword."""
    found, current = [], {}
    for line in lines:
        key, _, value = line.partition(" ")
        current.setdefault(key, []).append(value)
        if key == "magnitude":  # its last line
            found.append(current)
            current = {}
    return found


def difference(ours, theirs, tolerance):
    """The difference between the results of two programs, or none."""
    left, right = digests(ours), digests(theirs)
    if not left or len(left) != len(right):
        return f"{len(left)} results against {len(right)}"
    for a, b in zip(left, right):
        if a["count"] != b["count"]:
            return f"{a['count'][0]} numbers against {b['count'][0]}"
        if tolerance == 0.0:
            if a["bits"] != b["bits"]:
                return f"the bits differ: sum {a['sum'][0]} against {b['sum'][0]}"
            continue
        magnitude = max(float(a["magnitude"][0]), float(b["magnitude"][0]))
        pairs = [
            (float(x), float(y), magnitude / int(a["count"][0])) for x, y in zip(a["sample"], b["sample"], strict=True)
        ]
        for x, y, scale in [*pairs, (float(a["sum"][0]), float(b["sum"][0]), magnitude)]:
            # Written so that NaN differs from everything.
            if not abs(x - y) <= tolerance * max(abs(x), abs(y), scale):
                return f"{x} against {y}, which is more than a tolerance of {tolerance:g}"
    return None


def compare(what, ours, theirs, tolerance):
    problem = difference(ours.lines, theirs.lines, tolerance)
    if problem:
        fail(f"{what}: {problem}")


# ---- Measuring ------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, vm, binaries, threads):
        self.vm, self.binaries, self.threads = vm, binaries, threads
        available = sorted(os.sched_getaffinity(0))
        if threads > len(available):
            fail(f"--threads {threads}: this process may use {len(available)} processors")
        self.cpus = available[:threads] if threads < len(available) else None
        # Threads of OpenMP that wait for work would take a processor from the other program when it is its turn. A
        # millisecond is long enough to stay awake between the loops of one repetition.
        self.environment = {"OMP_NUM_THREADS": str(threads), "KMP_BLOCKTIME": "1"}

    def theirs(self, name, size, repetitions):
        return [baseline(self.binaries, "kernels", name), size, repetitions], self.environment, self.cpus

    def ours(self, name, size, repetitions, jit, cache=None):
        program = self.vm.compile(PROGRAMS / "kernels" / f"{name}.dhp")
        return [self.vm.tool, *self.vm.flags(jit, cache, self.threads), program, size, repetitions], None, self.cpus

    def check(self, name):
        """Runs the quick size everywhere, and compares: C++ with the interpreter, and this with our other executors."""
        kernel = KERNELS[name]
        theirs = Program(*self.theirs(name, kernel.quick, 2)).finish()
        results = {jit: Program(*self.ours(name, kernel.quick, 2, jit, False)).finish() for jit in self.vm.executors()}
        compare(f"{name} {kernel.quick}: interpreter and C++", results["off"], theirs, kernel.tolerance)
        for jit, result in results.items():
            what = f"{name} {kernel.quick}: native code (--jit={jit}) and interpreter"
            compare(what, result, results["off"], kernel.own_tolerance)

    def measure(self, name, size, runs):
        """One row of the report."""
        kernel = KERNELS[name]
        cache = self.vm.folder / f"cache-{name}"
        # With real-time priority, no other program's use of the core counts as time of compiling.
        command, environment, cpus = self.ours(name, size, 1, "on", cache)
        cold = Program([*real_time(), *command], environment, cpus).finish()
        ours, theirs = take_turns(
            self.ours(name, size, WARM_UP + runs, "on", cache),
            self.theirs(name, size, WARM_UP + runs),
            warm_up=WARM_UP,
            runs=runs,
        )
        if theirs.threads is None:
            fail(
                "the baselines were built without OpenMP: install libomp-19-dev (for GCC: nothing more), then build again"
            )
        if theirs.threads != self.threads:
            fail(f"{name}: OpenMP uses {theirs.threads} threads, not {self.threads}")
        compare(f"{name} {size}", ours, theirs, kernel.tolerance)
        again = Program(*self.ours(name, size, 1, "on", cache)).finish()
        mine, other = statistics.median(ours.times), statistics.median(theirs.times)
        return {
            "name": name, "size": size, "ours_s": mine, "cpp_s": other, "ratio": other / mine,
            "met": other / mine >= BAR_WORST, "vectorised": kernel.vectorised, "why": kernel.why,
            "ours_all_s": ours.times, "cpp_all_s": theirs.times,
            "compiles": cold.statistic("compiles"), "compile_ms": cold.statistic("loop_compile_ms_median"),
            "compiles_again": again.statistic("compiles"),
        }  # fmt: skip


def figures_of(rows):
    ratios = [row["ratio"] for row in rows]
    yield Figure.of("throughput against OpenMP, geometric mean", geometric_mean(ratios), "times", BAR_MEAN, True)
    yield Figure.of("throughput against OpenMP, worst", min(ratios), "times", BAR_WORST, True)
    compiled = [row["compile_ms"] for row in rows if row["compile_ms"]]
    if compiled:
        yield Figure.of(
            "compile time of a loop, median of the programs", statistics.median(compiled), "ms", BAR_COMPILE_MS, False
        )
    again = [row["compiles_again"] for row in rows if row["compiles_again"] is not None]
    if again:
        yield Figure.of("compiled in a later run of the same program", sum(again), "", 0.0, False)


def report_of(rows, threads, runs):
    """The losses come first."""
    rows = sorted(rows, key=lambda row: row["ratio"])
    report = Report(f"{threads} threads on both sides; medians of {runs} repetitions in turns; times of one repetition. "
                    "The last column says why clang does not vectorise the C++, or not all of it.")  # fmt: skip
    report.table(
        ["loop", "size", "OpenMP C++", "DHPVM", "times as fast", "", "in C++"],
        [[row["name"], f"{row['size']:,}", f"{row['cpp_s'] * 1e3:.1f} ms", f"{row['ours_s'] * 1e3:.1f} ms", f"{row['ratio']:.2f}",
          "" if row["met"] else "missed", row["why"]] for row in rows],
    )  # fmt: skip
    report.figures += figures_of(rows)
    return report


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the baselines")
    parser.add_argument("--runs", type=int, default=9, help="timed repetitions of each program (default 9)")
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both sides (default: all processors)"
    )
    parser.add_argument("--size", type=float, default=1.0, metavar="FACTOR", help="multiplies every size (default 1)")
    parser.add_argument(
        "--only", action="append", choices=list(KERNELS), metavar="LOOP", help="this loop only; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument("--quick", action="store_true", help="measure nothing: run tiny sizes and compare the results")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.threads < 1 or options.size <= 0:
        parser.error("--runs, --threads and --size must be positive")

    names = options.only or list(KERNELS)
    rows = []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm = VirtualMachine(options.bin, folder)
        bench = Bench(vm, options.bin, options.threads)
        if not options.quick and not vm.has_native_code:
            print(
                "This version has no native code (dhpvm-run has no --jit): the figures are the interpreter's.\n",
                file=sys.stderr,
            )
        for name in names:
            progress(name)
            bench.check(name)
            if not options.quick:
                rows.append(
                    bench.measure(
                        name, max(round(KERNELS[name].size * options.size), KERNELS[name].quick), options.runs
                    )
                )
        progress("")
        if options.quick:
            print(
                f"{len(names)} loops: results agree between C++, {', '.join('--jit=' + jit for jit in vm.executors())}"
            )
            return 0

    report = report_of(rows, options.threads, options.runs)
    report.print()
    report.write(options.json, threads=options.threads, runs=options.runs, loops=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
