#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs while the system has no threads, or no descriptors, left: they compute the same, or end with an error.

usage: exhaustion_test.py --bin FOLDER --deny-threads LIBRARY

Threads and descriptors run out after each number of them that a run takes, on every device. A signal that ends the
process, an internal error, a wrong result and a run that does not end are what this looks for.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE = 120
# Threads and descriptors that a run takes at most, and a few more; beyond, nothing is refused.
MOST_THREADS = 7
DESCRIPTORS = [4, 6, 8, 12]

PROGRAM = """
import io;
import time;
fn hot(n: i64) -> i64 {
    var s = 0;
    for i in 0..n { s = (s * 31 + i) % 1000003; }
    return s;
}
fn main() {
    let n = 200000;
    let x = [f64](n);
    for turn in 0..3 {
        parallel for i in 0..n { x[i] = x[i] * 0.5 + (i % 17) as f64; }
    }
    var sum: f64 = 0.0;
    parallel for i in 0..n reduce(+: sum) { sum += x[i]; }
    time.sleep(0.01);
    print(f"{sum} {hot(3000000)}");
}
"""
DEVICES = ["host", "host?inline", "sim", "opencl", "host,sim"]


def run(words, environment=None, descriptors=None):
    def limit():
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
                              env={**os.environ, **(environment or {})}, preexec_fn=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None


def judge(outcome, expected):
    """The problem, if there is one."""
    # PoCL ends the process that it is loaded into.
    if outcome is not None and "pthread_scheduler_init" in outcome.stderr:
        return None
    if outcome is None:
        return f"it did not end within {PATIENCE} s"
    if outcome.returncode < 0:
        return f"signal {-outcome.returncode} ended it: {outcome.stderr}"
    if outcome.returncode == 0:
        return None if outcome.stdout == expected else f"it computed {outcome.stdout!r} instead of {expected!r}"
    # A library that cannot be loaded is the loader's to report.
    if outcome.returncode == 127 and "shared libraries" in outcome.stderr:
        return None
    if outcome.returncode not in (1, 2, 3) or not outcome.stderr:
        return f"exit code {outcome.returncode}: {outcome.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--deny-threads", required=True, type=Path)
    options = parser.parse_args()
    tool = str((options.bin / "dhpvm-run").resolve())
    listed = subprocess.run([tool, "--list-devices"], capture_output=True, text=True, check=False).stdout
    problems = []
    runs = 0
    computed = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.dhp"
        program.write_text(PROGRAM)
        reference = run([tool, "--jit=off", "--device=host", str(program)])
        if reference is None or reference.returncode != 0 or not reference.stdout:
            print(f"FAILED without any fault: {reference}")
            return 1
        expected = reference.stdout
        for device in DEVICES:
            if device == "opencl" and "opencl:" not in listed:
                print("SKIP opencl: there is no such device")
                continue
            for more in ([], ["--deadline=100s"]):
                words = [tool, f"--device={device}", *more, str(program)]
                faults = [
                    (f"{n} threads", {"LD_PRELOAD": str(options.deny_threads), "DENY_THREADS_AFTER": str(n)}, None)
                    for n in range(MOST_THREADS)
                ]
                if not more:
                    faults += [(f"{n} descriptors", None, n) for n in DESCRIPTORS]
                for name, environment, descriptors in faults:
                    outcome = run(words, environment, descriptors)
                    runs += 1
                    computed += outcome is not None and outcome.returncode == 0
                    problem = judge(outcome, expected)
                    if problem is not None:
                        problems.append(f"FAILED {' '.join(words[1:-1])} with {name}: {problem}")
                        print(problems[-1], flush=True)
    print(f"{runs} runs, of which {computed} computed the result; {len(problems)} were not as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
