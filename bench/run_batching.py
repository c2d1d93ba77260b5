#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what batching does for loops on devices, with dhpvm-bench, and holds it against the bars.

On the simulated device the settings are those of the bars: stages that take equally long, in 16 chunks and more. Every
accelerator of the machine is measured as well, OpenCL on the processor included. Pages with plots go to --pages.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import PROGRAMS, Figure, Report, VirtualMachine, fail, progress, take_turns

BAR_EFFICIENCY, BAR_GAIN = 0.95, 2.5
BAR_CHOICE = 1.05
BAR_TRACE = 1.05
BAR_ALLOCATION_NS = 300.0
MODES = ("serial pageable", "serial pinned", "pipelined", "automatic")
BAR_GPU_GAIN, BAR_GPU_TRANSFERS = 2.5, 1.1
# A device whose upload, kernel and download of 4 bytes take equally long.
BALANCED = "sim?h2d=12GB/s&d2h=12GB/s&rate=3e9/s"
# The time that a launch takes there before its first iteration, and the share of a chunk that this may be.
LAUNCH_S, WORTH_LAUNCHING = 5e-6, 0.1


class Bench:
    """dhpvm-bench, and a folder for what it writes."""

    def __init__(self, binaries, folder):
        self.tool, self.folder = binaries.resolve() / "dhpvm-bench", Path(folder)
        if not self.tool.is_file():
            fail(f"there is no {self.tool} (./dev build release)")

    def batching(self, *options, show=False, page=None):
        """The report of a run; its table goes to standard output if `show`."""
        report = self.folder / "report.json"
        command = [self.tool, "batching", *options, f"--json={report}"] + ([f"--html={page}"] if page else [])
        done = subprocess.run(
            command, stdout=None if show else subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode not in (0, 1):  # below 0: ended by a signal
            fail(f"{' '.join(map(str, command))} ended with exit code {done.returncode}")
        return json.loads(report.read_text())

    def accelerators(self):
        """The devices that can be used, besides the host and the simulated one."""
        listing = subprocess.run([self.tool, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        lines = listing.partition("devices:\n")[2].splitlines()
        names = [line.split()[0] for line in lines if line.strip() and "cannot be used" not in line]
        return [name for name in names if re.match(r"(cuda|opencl)", name)]


def measurements(report, mode):
    for case in report["cases"]:
        for measurement in case["measurements"]:
            if measurement["mode"] == mode:
                yield case, measurement


def transfer_bytes(report):
    return sum(m["uploaded_bytes"] + m["downloaded_bytes"] for case in report["cases"] for m in case["measurements"])


def balanced_figures(report):
    """The worst of all sizes, and of all numbers of chunks from 16 up. The gain is that of chunks that are worth
    launching: where what a launch and the copies cost before they begin is more than a tenth of a chunk, it is told
    apart."""
    efficiencies, gains, small = [], [], []
    for case in report["cases"]:
        serial = next(m["seconds"] for m in case["measurements"] if m["mode"] == "serial pinned")
        for m in case["measurements"]:
            if m["mode"] in ("pipelined", "automatic") and m["chunks_per_loop"] >= 16:
                efficiencies.append(m["overlap_efficiency"])
                fixed = LAUNCH_S * m["chunks_per_loop"] / m["kernel_seconds"]
                (gains if fixed <= WORTH_LAUNCHING else small).append(serial / m["seconds"])
    if not gains:
        fail("no run of the balanced loop had 16 chunks or more that were worth launching")
    figures = [
        Figure.of("sim, balanced, 16+ chunks: overlap efficiency", min(efficiencies), "", BAR_EFFICIENCY, True),
        Figure.of("sim, balanced, 16+ chunks: against serial, same memory", min(gains), "x", BAR_GAIN, True),
    ]
    if small:
        figures.append(
            Figure.of(f"the same, a launch more than {WORTH_LAUNCHING:.0%} of a chunk", min(small), "x", None, True)
        )
    return figures


def suite_figures(report):
    summary, name = report["summary"], report["device"]["name"]
    figures = [
        Figure.of(f"{name}: results that differ from the host's", summary["wrong"], "", 0, False),
        Figure.of(f"{name}: automatic against best of sweep, worst", summary["automatic_against_best_worst"], "x", BAR_CHOICE, False),
        Figure.of(f"{name}: the same, geometric mean", summary["automatic_against_best_mean"], "x", None, False),
        Figure.of(f"{name}: registrations in steady state", summary["registrations_after_warm_up"], "", 0, False),
        Figure.of(f"{name}: overlapped against serial pageable, best", summary["best_gain_over_pageable"], "x",
                  BAR_GPU_GAIN if name.startswith("cuda") else None, True),
        Figure.of(f"{name}: the same, geometric mean", summary["mean_gain_over_pageable"], "x", None, True),
    ]  # fmt: skip
    if report["device"]["shares_host_memory"]:
        figures.append(Figure.of(f"{name}: bytes copied", transfer_bytes(report), "B", 0, False))
    if name.startswith("cuda"):
        ratios = []
        for _, m in measurements(report, "automatic"):
            transfers = max(m["upload_seconds"], m["download_seconds"])
            if transfers > m["kernel_seconds"]:
                ratios.append(m["seconds"] / transfers)
        if ratios:
            figures.append(
                Figure.of(
                    f"{name}: total against largest stage, transfer-bound, worst",
                    max(ratios),
                    "x",
                    BAR_GPU_TRANSFERS,
                    False,
                )
            )
    return figures


def add_table(report, suite):
    """The largest arrays of each kernel: the ways to do it one after the other, and what overlaps."""
    rows = []
    for name in dict.fromkeys(case["kernel"] for case in suite["cases"]):
        case = max((case for case in suite["cases"] if case["kernel"] == name), key=lambda case: case["bytes"])
        best = {}
        for m in case["measurements"]:
            if m["mode"] not in best or m["seconds"] < best[m["mode"]]["seconds"]:
                best[m["mode"]] = m
        automatic = best["automatic"]
        rows.append([
            name, f"{case['bytes'] / 1e6:.0f} MB",
            *(f"{best[mode]['seconds'] * 1e3:.3g} ms" if mode in best else "" for mode in MODES),
            f"{automatic['chunks_per_loop']:g}", f"{best['serial pageable']['seconds'] / automatic['seconds']:.2f}",
        ])  # fmt: skip
    report.table([f"loop on {suite['device']['name']}", "arrays", *MODES, "chunks", "against pageable, times as fast"], rows)


def copies_on_host(vm):
    """Bytes that travel when loops run on the host's cores as on a device."""
    program = vm.compile(PROGRAMS / "kernels" / "saxpy.dhp")
    total = 0
    for device in ("host", "host?inline"):
        done = subprocess.run([vm.tool, "--jit-wait", f"--device={device}", "--stats=json", program, "1000000"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)  # fmt: skip
        counters = json.loads(done.stderr.splitlines()[-1])
        total += counters["device_upload_bytes"] + counters["device_download_bytes"]
    return Figure.of("host: bytes copied", total, "B", 0, False)


def cost_of_tracing(vm, device, processes=9, runs=15):
    """Processor time with --trace against without, of all threads of a program that launches hundreds of chunks. Time
    on the wall says the same on a quiet machine, and on a busy one nothing."""
    program = vm.compile(PROGRAMS / "kernels" / "saxpy.dhp")
    command = [vm.tool, "--jit-wait", f"--device={device}", "--batch=65536"]
    warm_up = 3
    arguments = [program, "2000000", str(warm_up + runs)]
    ratios = []
    # Several pairs of processes: where the memory of one happens to lie is part of its time, and stays with it.
    for _ in range(processes):
        plain, traced = take_turns(
            ([*command, *arguments], None, None),
            ([*command, f"--trace={vm.folder / 'trace.json'}", *arguments], None, None),
            warm_up=warm_up, runs=runs,
        )  # fmt: skip
        ratios.append(statistics.median(traced.processor) / statistics.median(plain.processor))
    return Figure.of(
        f"{device}: processor time with --trace against without", statistics.median(ratios), "x", BAR_TRACE, False
    )


def buffer_figures(binaries):
    """The output of the C++ benchmark of the buffer pool, if it was built."""
    tool = binaries.resolve() / "pool_bench"
    if not tool.is_file():
        return []
    done = subprocess.run([tool, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    figures = []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            if "allocate" in entry["name"] and entry["unit"] == "ns":
                figures.append(Figure.of(f"buffers: {entry['name']}", entry["value"], "ns", entry.get("bar"), False))
    return figures


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-bench and dhpvm-run")
    parser.add_argument(
        "--quick", action="store_true", help="arrays of a few megabytes, for a machine with little time"
    )
    parser.add_argument(
        "--device", action="append", metavar="NAME", help="these accelerators, instead of all there are"
    )
    parser.add_argument("--budget", metavar="SIZE", help="memory that loops may use on a device")
    parser.add_argument("--runs", type=int, default=9, help="repetitions where the clock is a real one (default 9)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all reports to FILE")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="write a page for each device into FOLDER")
    options = parser.parse_args(arguments)
    if options.pages:
        options.pages.mkdir(parents=True, exist_ok=True)

    size = [f"--budget={options.budget or ('8M' if options.quick else '64M')}"]
    report, suites = Report("Figures and times of `sim` are by the clock of a simulated device; those of tracing are this "
                            "machine's."), []  # fmt: skip
    figures = report.figures
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm, bench = VirtualMachine(options.bin, folder), Bench(options.bin, folder)
        progress("balanced stages on sim")
        balanced = bench.batching(
            f"--device={BALANCED}", "--kernel=polynomial-1", "--sizes=0.5,2,8", "--chunks=16,32,64", "--budget=64M"
        )
        figures += balanced_figures(balanced)
        for device in dict.fromkeys(["sim", *(bench.accelerators() if options.device is None else options.device)]):
            progress("")
            # A real device has memory of its own size, and a clock that needs repetitions.
            chosen = size if device == "sim" or options.quick or options.budget else []
            page = (
                options.pages / f"batching-{re.sub('[^a-z0-9]', '-', device.lower())}.html" if options.pages else None
            )
            repeated = [] if device == "sim" else [f"--runs={options.runs}"]
            suites.append(bench.batching(f"--device={device}", *chosen, *repeated, show=True, page=page))
            print()
            add_table(report, suites[-1])
            figures += suite_figures(suites[-1])
            figures.append(cost_of_tracing(vm, device))
        figures.append(copies_on_host(vm))
        figures += buffer_figures(options.bin)
    progress("")
    report.print()
    report.write(options.json, balanced=balanced, suites=suites)
    return 1 if any(suite["summary"]["wrong"] for suite in suites) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
