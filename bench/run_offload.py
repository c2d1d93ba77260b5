#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures parallel loops on devices against kernels that were written for them by hand.

Programs are in bench/programs/kernels, the hand-written OpenCL C and what launches it in bench/baselines/opencl. On one
device, our loops, those kernels, and our loops on the host's own cores do their repetitions in turns; what counts is
the median. Data stays where it is, and results must agree. Besides: what a launch and a chunk cost the host, where a
small loop runs, and what tracing costs.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import (BENCH, PROGRAMS, Figure, Program, Report, VirtualMachine, baseline, fail, geometric_mean, progress,
                     take_turns)  # fmt: skip
from run_batching import cost_of_tracing
from run_kernels import KERNELS, compare

BAR_DEVICE, BAR_HOST = 0.95, 1.5
WARM_UP = 3
SKIPPED = 77
SMALL = """fn main() {
    let n = 2000;
    let x = [f32](n);
    let y = [f32](n);
    for i in 0..n { x[i] = i as f32; }
    for round in 0..2000 {
        parallel for i in 0..n { y[i] += 0.5 * x[i]; }
    }
    print(y[n - 1]);
}
"""


def devices(vm):
    """The OpenCL devices that can be used."""
    listing = subprocess.run([vm.tool, "--list-devices"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [
        line.split()[0]
        for line in listing.splitlines()
        if line.lstrip().startswith("opencl:") and "cannot be used" not in line
    ]


LOOPS = [name for name, kernel in KERNELS.items() if kernel.on_devices]


class Bench:
    def __init__(self, vm, binaries, device):
        self.vm, self.binaries, self.device = vm, binaries, device

    def hand(self, name, size, repetitions):
        return (
            [
                baseline(self.binaries, "opencl", "loops"),
                BENCH / "baselines" / "opencl",
                self.device,
                name,
                size,
                repetitions,
            ],
            None,
            None,
        )

    def ours(self, name, device, size, repetitions):
        program = self.vm.compile(PROGRAMS / "kernels" / f"{name}.dhp")
        flags = ["--stats=json", "--jit-wait", f"--cache-dir={self.vm.folder / 'cache'}", f"--device={device}"]
        return [self.vm.tool, *flags, program, size, repetitions], None, None

    def compare(self, name, size, hand, ours, host):
        kernel = KERNELS[name]
        if ours.statistic("device_loops") != ours.statistic("parallel_loops"):
            fail(
                f"{name} {size}: of {ours.statistic('parallel_loops')} loops {ours.statistic('device_loops')} ran on {self.device}"
            )
        compare(f"{name} {size}: ours on {self.device}, and by hand", ours, hand, kernel.tolerance)
        compare(f"{name} {size}: ours on the host, and by hand", host, hand, kernel.tolerance)

    def check(self, name):
        """The quick size, with nothing measured."""
        size = KERNELS[name].quick
        commands = [self.hand(name, size, 2), self.ours(name, self.device, size, 2), self.ours(name, "host", size, 2)]
        self.compare(name, size, *(Program(*command).finish() for command in commands))

    def measure(self, name, size, runs):
        """One row of the report."""
        repetitions = WARM_UP + runs
        commands = [
            self.hand(name, size, repetitions),
            self.ours(name, self.device, size, repetitions),
            self.ours(name, "host", size, repetitions),
        ]
        results = take_turns(*commands, warm_up=WARM_UP, runs=runs)
        self.compare(name, size, *results)
        hand, ours, host = (statistics.median(result.times) for result in results)
        return {
            "name": name, "size": size, "hand_s": hand, "ours_s": ours, "host_s": host,
            "device_ratio": hand / ours, "host_ratio": hand / host, "all_s": [result.times for result in results],
        }  # fmt: skip


def figures_of(rows, device):
    for key, what, bar in (
        ("device_ratio", f"on {device}", BAR_DEVICE),
        ("host_ratio", "on the host's cores", BAR_HOST),
    ):
        ratios = [row[key] for row in rows]
        yield Figure.of(
            f"ours {what} against OpenCL by hand, geometric mean", geometric_mean(ratios), "times", bar, True
        )
        yield Figure.of(f"ours {what} against OpenCL by hand, worst", min(ratios), "times", None, True)


def small_loop(vm, device):
    """The place where small vectors are added, given the choice, and the reason."""
    program = vm.compile_text("small", SMALL)
    done = subprocess.run([vm.tool, "--jit-wait", f"--device=host,{device}", "--stats=json", "--explain-offload", program],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)  # fmt: skip
    counters = next(json.loads(line) for line in done.stderr.splitlines() if line.startswith("{"))
    story = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("{"))
    stayed = sum(int(n) for n in re.findall(r"stayed on the host (\d+) times?", story))
    return (
        Figure.of(f"small saxpy, free to choose: executions on {device}", counters["device_loops"], "", 0, False),
        stayed,
        story,
    )


def enqueue_figures(binaries):
    """The cost of a launch and a chunk, from the C++ benchmark."""
    tool = binaries.resolve() / "enqueue_bench"
    if not tool.is_file():
        fail(f"there is no {tool}: build with -DDHPVM_BENCH=ON, as `./dev build release` does")
    libraries = {**os.environ, "LD_LIBRARY_PATH": str(binaries.resolve().parent / "lib")}
    done = subprocess.run([tool, "--json"], stdout=subprocess.PIPE, text=True, check=True, env=libraries)
    entries = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [Figure.of(entry["name"], entry["value"], entry["unit"], entry["bar"], False) for entry in entries]


def report_of(rows, device, runs):
    report = Report(f"Medians of {runs} repetitions in turns; all data is on the device.")
    report.table(
        ["loop", "size", "OpenCL C by hand", f"ours on {device}", "times as fast", "ours on the host", "times as fast"],
        [[row["name"], f"{row['size']:,}", f"{row['hand_s'] * 1e3:.1f} ms", f"{row['ours_s'] * 1e3:.1f} ms", f"{row['device_ratio']:.2f}",
          f"{row['host_s'] * 1e3:.1f} ms", f"{row['host_ratio']:.2f}"] for row in sorted(rows, key=lambda row: row["device_ratio"])],
    )  # fmt: skip
    report.figures += figures_of(rows, device)
    return report


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the baselines")
    parser.add_argument("--device", metavar="NAME", help="an OpenCL device (default: the first there is)")
    parser.add_argument("--runs", type=int, default=9, help="timed repetitions of each program (default 9)")
    parser.add_argument("--size", type=float, default=1.0, metavar="FACTOR", help="multiplies every size (default 1)")
    parser.add_argument(
        "--only",
        action="append",
        choices=LOOPS,
        metavar="LOOP",
        help="this loop only, and loops alone; may be repeated",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument("--quick", action="store_true", help="measure nothing: run tiny sizes and compare the results")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.size <= 0:
        parser.error("--runs and --size must be positive")

    names, rows = options.only or LOOPS, []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm = VirtualMachine(options.bin, folder)
        found = devices(vm)
        device = options.device or (found[0] if found else None)
        if device is None or not vm.has_native_code:
            print(
                "SKIP: no OpenCL device (pocl-opencl-icd is one on the processor)"
                if vm.has_native_code
                else "SKIP: no native code in this build"
            )
            return SKIPPED
        if device not in found:
            fail(f"there is no OpenCL device {device}; dhpvm-run --list-devices shows those that there are")
        bench = Bench(vm, options.bin, device)
        for name in names:
            progress(name)
            if options.quick:
                bench.check(name)
            else:
                rows.append(
                    bench.measure(
                        name, max(round(KERNELS[name].size * options.size), KERNELS[name].quick), options.runs
                    )
                )
        progress("")
        if options.quick:
            print(f"{len(names)} loops: results agree between OpenCL C by hand, ours on {device}, and ours on the host")
            return 0
        report = report_of(rows, device, options.runs)
        story = None
        if not options.only:
            progress("launches, a small loop, tracing")
            report.figures += enqueue_figures(options.bin)
            figure, stayed, story = small_loop(vm, device)
            report.figures += [
                figure,
                Figure.of("small saxpy, free to choose: executions that stayed on the host", stayed, "", 1, True),
            ]
            report.figures += [cost_of_tracing(vm, name) for name in ("sim", device)]
            progress("")
            print(f"{story}\n")

    report.print()
    report.write(options.json, device=device, runs=options.runs, loops=rows, small_loop=story)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
