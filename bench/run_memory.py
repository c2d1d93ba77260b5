#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what stays resident after a program has dropped most of what it had: arrays outside the heap, large objects,
small ones.

The program keeps one part in 64, and waits, asleep or for input. The memory left is read from /proc two seconds later.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import PROGRAMS, Figure, Report, VirtualMachine, fail, progress

KINDS = {"arrays": "arrays outside the heap", "large": "large objects", "small": "small objects"}
PART = 64
MIB = 1 << 20
# For --quick, which waits until the memory has gone back: machines that run tests are busy.
PATIENCE = 60


def resident_mib(process):
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * 4096 / MIB


def bar(peak):
    return 1.3 * peak / PART + 32


def until(process, line):
    for text in process.stdout:
        if text.strip() == line:
            return
    fail(f"the program ended with exit code {process.wait()} before it said '{line}'")


def measure(vm, kind, peak, wait, seconds, patience):
    """MiB at the peak and `seconds` after it; up to `patience` more seconds for what is above the bar."""
    limits = [f"--heap={2 * peak}M", f"--off-heap={2 * peak}M"]
    command = [vm.tool, *vm.interpreter(), *limits, vm.compile(PROGRAMS / "peak.dhp"), kind, str(peak), wait]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            until(process, "peak")
            before = resident_mib(process)
            until(process, "dropped")
            end = time.monotonic() + seconds + patience
            time.sleep(seconds)
            while resident_mib(process) > bar(peak) and time.monotonic() < end:
                time.sleep(0.1)
            return before, resident_mib(process)
        finally:
            process.kill()


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run and dhpvmc")
    parser.add_argument("--peak", type=int, default=4096, metavar="MIB", help="what is made (default 4096)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    parser.add_argument(
        "--quick", action="store_true", help="a small peak, and as long as it takes; fails if memory stays"
    )
    options = parser.parse_args(arguments)
    peak = 256 if options.quick else options.peak
    report = Report(f"2 s after a peak of {peak} MiB, of which {peak // PART} MiB are kept.")
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        vm = VirtualMachine(options.bin, folder)
        for kind, name in KINDS.items():
            for wait in ("sleep", "input"):
                progress(f"{name}, {wait}")
                before, after = measure(vm, kind, peak, wait, 2, PATIENCE if options.quick else 0)
                if before < peak:
                    fail(f"{name}: {before:.0f} MiB resident at a peak of {peak}")
                what = f"resident, {name}, asleep" if wait == "sleep" else "  waiting for input"
                report.figures.append(Figure.of(what, after, "MiB", bar(peak), False))
        progress("")
    report.print()
    report.write(options.json, peak_mib=peak)
    return 1 if options.quick and not all(figure.met for figure in report.figures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
