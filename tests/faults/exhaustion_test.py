#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs while the system has no threads, or no descriptors, left: they compute the same, or end with an error.

usage: exhaustion_test.py --bin FOLDER --deny-threads LIBRARY

Threads and descriptors run out after each number of them that a run takes, on every device, with a worker, and in a
worker. A signal that ends the process, an internal error, a wrong result and a run that does not end are what this
looks for.
"""

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 120
# Threads and descriptors that a run takes at most, and a few more; beyond, nothing is refused.
MOST_THREADS = 7
MOST_THREADS_OF_SESSIONS = 9
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


def denied(library, threads):
    """The environment of a program that gets so many threads, and no more."""
    return {"LD_PRELOAD": str(library), "DENY_THREADS_AFTER": str(threads)}


def denies(library):
    """Whether it does what the test is about."""
    return run([sys.executable, "-c", "import threading; threading.Thread(target=print).start()"],
               denied(library, 0)).returncode != 0


class Worker:
    """A worker for the host's cores; `address` is None if it has ended instead of listening."""

    def __init__(self, tool, folder, environment=None):
        self.log = Path(folder) / "worker.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([tool, "--worker", "--listen=127.0.0.1:0", "--device=host"], stderr=log,
                                            stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        self.address = None
        deadline = time.monotonic() + PATIENCE
        while self.address is None and self.process.poll() is None and time.monotonic() < deadline:
            found = re.search(r"listening at (\S+)", self.log.read_text(errors="replace"))
            self.address = found and found.group(1)
            time.sleep(0.01)

    def end(self):
        """Its faults."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it did not end"
        log = self.log.read_text(errors="replace")
        if code != 0 and (self.address is not None or code not in (1, 2, 3) or not log):
            return f"it ended with code {code}: {log}"
        return log if re.search(r"\((crashed|killed)\)|terminate called", log) else None


def runs_with_workers(tool, folder, program, library, expected):
    """Yields the name, the problem if there is one, and whether there was a result, of programs and their workers."""

    def compute(name, worker, environment=None):
        outcome = run([tool, f"--device=remote/{worker.address}", "--jit-wait", str(program)], environment)
        return name, judge(outcome, expected), outcome is not None and outcome.returncode == 0

    worker = Worker(tool, folder)
    for threads in range(MOST_THREADS):
        yield compute(f"a worker's device with {threads} threads", worker, denied(library, threads))
    yield "the worker of programs without threads", worker.end(), False
    for threads in range(MOST_THREADS_OF_SESSIONS):
        worker = Worker(tool, folder, denied(library, threads))
        if worker.address is not None:
            yield compute(f"the device of a worker with {threads} threads", worker)
        yield f"a worker with {threads} threads", worker.end(), False


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
        if not denies(options.deny_threads):
            print(f"FAILED {options.deny_threads} denies nothing")
            return 1
        expected = reference.stdout
        for device in DEVICES:
            if device == "opencl" and "opencl:" not in listed:
                print("SKIP opencl: there is no such device")
                continue
            for more in ([], ["--deadline=100s"]):
                words = [tool, f"--device={device}", *more, str(program)]
                faults = [
                    (f"{n} threads", denied(options.deny_threads, n), None) for n in range(MOST_THREADS)
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
        for name, problem, has_computed in runs_with_workers(tool, folder, program, options.deny_threads, expected):
            runs += 1
            computed += has_computed
            if problem is not None:
                problems.append(f"FAILED {name}: {problem}")
                print(problems[-1], flush=True)
    print(f"{runs} runs, of which {computed} computed the result; {len(problems)} were not as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
