#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs on every executor of the corpus and on two devices at once, and compares them with the
interpreter.

Seed N gives one program, whatever else is run: every second one uses all of the language (compiler/testing), the
others are nests of loops, loops over structs, loops by blocks, variables with values of several sources, and loops that
share arrays (random_nests.py and what it names, random_loops.py). Output, exit code and trap have to be the
interpreter's. Programs that take the interpreter too long are left out. An executor runs its programs one after the
other in one process (run_many). At the end there is a line for each executor: programs that ran, and that went wrong.

usage: random_everywhere.py --bin BIN_DIR [--runs N] [--seed N] [--jobs N] [--executor NAME]... [--keep DIR]

The programs that use all of the language come from BIN_DIR/random_source; without it there are only the others. A
program that goes wrong is printed with its seed and command, and kept in --keep.
"""

import argparse
import collections
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import random_blocks
import random_nests
import random_records
import random_values
import run_programs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools" / "lab"))
import random_loops

EXIT_TRAP = 3
# The way from the source to the program is a matter of the corpus.
LEFT_OUT = ("interpreter", "bytecode", "roundtrip", "gc-verify")
TWO_DEVICES = run_programs.Executor(
    "two-devices",
    "parallel loops on two simulated accelerators, one with little memory",
    ["{run}", "--jit-wait", "--device=sim?mem=400KB,sim?units=7", "--batch=1000", "{source}"],
    loops_only=True,
)
# The instructions that the interpreter may take for a program: collections at each allocation are slow.
INTERPRETER = ["{run}", "--jit=off", "--device=host"]
REFERENCE = run_programs.Executor("reference", "", [*INTERPRETER, "--fuel=3000000", "{source}"])
SHORT = run_programs.Executor("short", "", [*INTERPRETER, "--fuel=300000", "{source}"])
TIMEOUT = 300


def source(seed, tool):
    """The text of a program."""
    if seed % 2 == 0 and tool is not None:
        return subprocess.run([tool, str(seed)], capture_output=True, text=True, check=True).stdout
    kinds = (
        random_nests.Program,
        random_blocks.Program,
        random_values.Program,
        random_records.Program,
        random_loops.Program,
    )
    kind = kinds[seed // 2 % len(kinds)]
    made = kind(seed, patient=False) if kind is random_loops.Program else kind(seed)
    return made.source()


def judge(outcome, expected):
    """Why a run is wrong; None if it is right."""
    if outcome.exit_code != expected.exit_code:
        return f"exit code {outcome.exit_code}, not {expected.exit_code}"
    if outcome.stdout != expected.stdout:
        return "another output"
    if not outcome.stderr.endswith(expected.stderr):
        return "another trap"
    return None


class ManyRunner:
    """A process of run_many: an executor that runs one program after the other."""

    def __init__(self, executor, words, environment):
        options = [word.format(**words) for word in executor.run[1:-1]]
        self.name = " ".join(["dhpvm-run", *options])
        self.command = [words["many"], *options]
        self.environment = environment
        self.process = None

    def run(self, path):
        """The Outcome of a program; a process that ends is started anew for the next one."""
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            self.process = subprocess.Popen(self.command, env=self.environment, **pipes)
            self.errors = threading.Thread(target=self._keep_errors, args=(self.process,), daemon=True)
            self.last_words = collections.deque(maxlen=20)
            self.errors.start()
        command = [self.name, str(path)]
        self.process.stdin.write(f"{path}\n".encode())
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        line = self.process.stdout.readline() if ready else b""
        if line:
            answer = json.loads(line)
            return run_programs.Outcome(answer["exit_code"], answer["stdout"], answer["stderr"], command)
        self.process.kill()
        code = self.process.wait()
        self.errors.join()
        why = "".join(self.last_words) if ready else f"stopped after {TIMEOUT} s"
        self.process = None
        return run_programs.Outcome(code if ready else -1, "", why, command)

    def _keep_errors(self, process):
        for line in process.stderr:
            self.last_words.append(line.decode(errors="replace"))

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


class Judges:
    """Runs programs, and counts how they went."""

    def __init__(self, words, executors, keep, tool):
        self.words = words
        self.executors = executors
        self.keep = keep
        self.tool = tool
        self.counts = {executor.name: collections.Counter() for executor in executors}
        self.invalid = 0
        self.cache = tempfile.TemporaryDirectory(prefix="dhpvm-cache-")
        self.local = threading.local()
        self.runners = []

    def run(self, path, executor):
        """By the processes of this thread."""
        if not hasattr(self.local, "runners"):
            self.local.runners = {}
        if executor.name not in self.local.runners:
            # Other executors find in the cache the code that one has compiled.
            environment = {**os.environ, "XDG_CACHE_HOME": self.cache.name}
            self.local.runners[executor.name] = ManyRunner(executor, self.words, environment)
            self.runners.append(self.local.runners[executor.name])
        return self.local.runners[executor.name].run(path)

    def close(self):
        for runner in self.runners:
            runner.close()
        self.cache.cleanup()

    def check(self, seed):
        """Returns one text for each executor on which the program went wrong."""
        path = self.keep / f"random-{seed}.dhp"
        text = source(seed, self.tool)
        path.write_text(text, encoding="utf-8")
        expected = self.run(path, REFERENCE)
        if "fuel" in expected.stderr:
            path.unlink()
            return []
        if expected.exit_code not in (0, EXIT_TRAP):
            self.invalid += 1
            return [f"seed {seed} does not run in the interpreter:\n{expected.stderr}"]
        is_short = "fuel" not in self.run(path, SHORT).stderr
        problems = []
        for executor in self.executors:
            stresses = any(word.startswith("--gc-stress") for word in executor.run)
            applies = not executor.loops_only or "parallel for" in text
            if not applies or (stresses and not is_short):
                continue
            outcome = self.run(path, executor)
            problem = judge(outcome, expected)
            self.counts[executor.name]["wrong" if problem else "right"] += 1
            if problem:
                problems.append(
                    f"seed {seed} on {executor.name}: {problem}\n  {' '.join(outcome.command)}\n--- expected\n"
                    f"{expected.stdout}{expected.stderr}\n--- output\n{outcome.stdout}{outcome.stderr}"
                )
        if not problems:
            path.unlink()
        return problems


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    names = [executor.name for executor in [*run_programs.EXECUTORS, TWO_DEVICES] if executor.name not in LEFT_OUT]
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--executor", action="append", choices=names)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    executors = [e for e in [*run_programs.EXECUTORS, TWO_DEVICES] if e.name not in LEFT_OUT]
    if options.executor:
        executors = [e for e in executors if e.name in options.executor]
    executors = run_programs.with_devices(executors, options.bin)
    tool = options.bin / "random_source"
    if not tool.exists():
        print(f"{tool} is not there: no programs that use all of the language")
        tool = None
    begin = time.monotonic()
    # Starts the worker.
    runner = run_programs.Runner(options.bin.resolve(), timeout=TIMEOUT)
    runner.words["many"] = str(options.bin.resolve() / "run_many")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        with run_programs.worker_of(executors, runner):
            judges = Judges(runner.words, executors, keep, tool)
            try:
                problems = [
                    text
                    for texts in pool.map(judges.check, range(options.seed, options.seed + options.runs))
                    for text in texts
                ]
            finally:
                judges.close()
    for problem in problems[:5]:
        print(problem)
    for name, count in judges.counts.items():
        print(f"{name}: {count['right']} right, {count['wrong']} wrong")
    print(
        f"{options.runs} programs from seed {options.seed}, {judges.invalid} invalid, {len(problems)} problems, "
        f"{time.monotonic() - begin:.0f} s"
    )
    ran = sum(count.total() for count in judges.counts.values())
    return 1 if problems or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
