#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs many random kernels on the interpreter, the host's cores, PoCL, the interpreter of PTX and a GPU, and compares
the bits of their results with the interpreter's.

A program would take longer to start than its kernels to run. So the random programs of random_nests.py,
random_blocks.py, random_records.py, random_places.py and random_values.py, brief ones, are modules of a program that
calls one after the other (--pack): it prints what each prints, and how it traps. A module that goes wrong, or that a
pack has died of, is run by itself, so that what is reported is one small program. An executor runs its packs in one
process (run_many). At the end there is a line for each executor: kernels that ran, programs that went wrong, and
kernels for each second of processor time. eager is the host with all functions compiled before they run.

Seed N gives one program, whatever else is run. --every NAME=N gives an executor every Nth pack. opencl has every 50th
unless it is set: PoCL links a library for each kernel and size of groups, which takes it half a second. cuda, a GPU of
this machine, runs only if it is named.

usage: random_kernels.py --bin BIN_DIR [--kernels N] [--seed N] [--pack N] [--executor NAME]... [--every NAME=N]...
                         [--seconds N] [--keep DIR]
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import random_blocks
import random_everywhere
import random_nests
import random_places
import random_records
import random_values
import run_programs
from random_everywhere import EXIT_TRAP, INTERPRETER, ManyRunner

EXECUTORS = {
    "interpreter": [*INTERPRETER, "{source}"],
    "host": ["{run}", "--jit-wait", "--device=host?inline", "{source}"],
    "eager": ["{run}", "--jit=eager", "--device=host?inline", "{source}"],
    "baseline": ["{run}", "--jit=baseline", "--jit-wait", "--device=host", "{source}"],
    "opencl": ["{run}", "--jit-wait", "--device=opencl:0", "{source}"],
    "ptx": ["{run}", "--jit-wait", "--device=cuda:0", "{source}"],
    "cuda": ["{run}", "--jit-wait", "--device=cuda:0", "{source}"],
}
NEEDS_GPU = ("cuda",)
REFERENCE = "interpreter"
MARK = "#"
KINDS = (
    (random_nests.Program,) * 3
    + (random_places.Program, random_values.Program) * 2
    + (random_blocks.Program, random_records.Program)
)


def program_of(seed):
    return KINDS[seed % len(KINDS)](seed, brief=True).source()


class Pack:
    """Programs from seed `first` on, and one that runs them all."""

    def __init__(self, folder, first, count):
        self.folder = folder
        self.seeds = range(first, first + count)
        self.kernels = {}
        lines = []
        for seed in self.seeds:
            text = program_of(seed)
            self.kernels[seed] = text.count("parallel for")
            self.path_of(seed).write_text(text, encoding="utf-8")
            lines.append(f'    print("{MARK}", {seed});')
            lines.append(f"    try {{ k{seed}.main(); }} catch err {{ print(err.kind.name(), err.message); }}")
        imports = [f"import k{seed};" for seed in self.seeds]
        self.path = folder / f"pack{first}.dhp"
        self.path.write_text("\n".join([*imports, "fn main() {", *lines, "}", ""]), encoding="utf-8")

    def path_of(self, seed):
        return self.folder / f"k{seed}.dhp"

    def results(self, outcome):
        """The output of each program that was reached, by seed, without that of the one that the process died of."""
        parts = {}
        for line in outcome.stdout.splitlines():
            if line.startswith(f"{MARK} "):
                parts[int(line.split()[1])] = []
            elif parts:
                parts[next(reversed(parts))].append(line)
        if outcome.exit_code != 0 and parts:
            parts.popitem()
        return parts

    def clear(self):
        for path in (self.path, *map(self.path_of, self.seeds)):
            path.unlink(missing_ok=True)


class Runner(ManyRunner):
    """A process of run_many that is asked for the processor time that it has taken."""

    def __init__(self, command, words, environment):
        super().__init__(run_programs.Executor("", "", command), words, environment)
        self.seconds = 0.0
        self.seen = (None, 0.0)

    def run(self, path):
        outcome = super().run(path)
        pid, before = self.seen
        if self.process is None:
            return outcome
        if pid != self.process.pid:
            before = 0.0
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", maxsplit=1)[1].split()
        # The process counts, with those that it has waited for, such as linkers.
        taken = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        self.seconds += taken - before
        self.seen = (self.process.pid, taken)
        return outcome


class Tally:
    def __init__(self, command, every, words, environment):
        self.runner = Runner(command, words, environment)
        self.every = every
        self.kernels = 0
        self.wrong = 0


def problem_of(pack, seed, name, tallies):
    """Runs a program of the pack by itself; what is wrong with it, or None."""
    expected = tallies[REFERENCE].runner.run(pack.path_of(seed))
    if expected.exit_code not in (0, EXIT_TRAP):
        return f"seed {seed} does not run in the interpreter:\n{expected.stderr}"
    outcome = tallies[name].runner.run(pack.path_of(seed))
    problem = random_everywhere.judge(outcome, expected)
    if problem is None:
        return None
    return (
        f"seed {seed} on {name}: {problem}\n  {' '.join(outcome.command)}\n--- expected\n{expected.stdout}"
        f"{expected.stderr}\n--- output\n{outcome.stdout}{outcome.stderr}"
    )


def check(pack, number, tallies):
    """Texts of what went wrong."""
    expected = pack.results(tallies[REFERENCE].runner.run(pack.path))
    problems = []
    for name, tally in tallies.items():
        if name != REFERENCE and number % tally.every != 0:
            continue
        ended = "in the interpreter"
        found = expected
        if name != REFERENCE:
            outcome = tally.runner.run(pack.path)
            ended = f"with exit code {outcome.exit_code}, {outcome.stderr.strip()}"
            found = pack.results(outcome)
        wrong = [seed for seed in pack.seeds if seed not in found or found[seed] != expected.get(seed)]
        tally.kernels += sum(pack.kernels[seed] for seed in pack.seeds if seed in found)
        tally.wrong += len(wrong)
        alone = [text for text in (problem_of(pack, seed, name, tallies) for seed in wrong) if text]
        if wrong and not alone:
            alone = [f"{pack.path} on {name}: seeds {wrong} go wrong, none of them by itself; the pack ended {ended}"]
        problems += alone
    return problems


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--kernels", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pack", type=int, default=20, help="programs in one; each has two or three kernels")
    parser.add_argument("--executor", action="append", choices=sorted(set(EXECUTORS) - {REFERENCE}))
    parser.add_argument("--every", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--seconds", type=float, help="stop after so much processor time")
    parser.add_argument("--keep", type=Path)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    every = {"opencl": 50, **dict(entry.split("=") for entry in options.every)}
    words = {"many": str(options.bin.resolve() / "run_many"), "run": str(options.bin.resolve() / "dhpvm-run")}
    wanted = options.executor or [name for name in EXECUTORS if name not in NEEDS_GPU]
    names = [REFERENCE, *(name for name in EXECUTORS if name in wanted and name != REFERENCE)]
    begin = time.monotonic()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        without_gpu = {**environment, "DHPVM_CUDA_DRIVER": "interpreter"}
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        tallies = {
            name: Tally(
                EXECUTORS[name],
                int(every.get(name, 1)),
                {**words, "source": ""},
                environment if name in NEEDS_GPU else without_gpu,
            )
            for name in names
        }
        spent = 0.0
        first = options.seed
        while tallies[REFERENCE].kernels < options.kernels and (not options.seconds or spent < options.seconds):
            pack = Pack(keep, first, options.pack)
            found = check(pack, (first - options.seed) // options.pack, tallies)
            problems += found
            if not found:
                pack.clear()
            first += options.pack
            spent = sum(tally.runner.seconds for tally in tallies.values())
        for tally in tallies.values():
            tally.runner.close()
    for problem in problems[:5]:
        print(problem)
    for name, tally in tallies.items():
        seconds = tally.runner.seconds
        print(
            f"{name}: {tally.kernels} kernels, {tally.wrong} programs wrong, {seconds:.1f} s of processor time, "
            f"{tally.kernels / max(seconds, 0.01):.1f} kernels a second"
        )
    print(
        f"{first - options.seed} programs from seed {options.seed}, {len(problems)} problems, "
        f"{spent:.0f} s of processor time, {time.monotonic() - begin:.0f} s"
    )
    return 1 if problems or tallies[REFERENCE].kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
