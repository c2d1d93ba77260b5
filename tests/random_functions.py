#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs about objects (random_objects.py) and about lists and arrays (random_lists.py) compiled, and
compares them with the interpreter.

Every program runs with all functions compiled before their first call, the same with a collection at each allocation,
and compiled where it is hot. The output and the exit code have to be the interpreter's. A way of running does its
programs one after the other in one process (run_many).

usage: random_functions.py --bin BIN_DIR [--runs N] [--seed N] [--jobs N] [--keep DIR]

--runs counts seeds, from --seed on; each gives a program of either kind. A program that goes wrong is named with its
seed, and kept in --keep.
"""

import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import random_lists
import random_objects

KINDS = {"objects": random_objects.program, "lists": random_lists.program}
INTERPRETER = ("--jit=off",)
WAYS = (("--jit=eager",), ("--jit=eager", "--gc-stress"), ("--jit-wait",))
TIMEOUT = 600  # seconds for a share of the programs
SHARE = 25  # programs


def run(many, options, programs):
    """How each of the programs ended: exit code, output and error."""
    finished = subprocess.run([many, "--no-cache", *options], input="".join(f"{path}\n" for path in programs),
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)  # fmt: skip
    ends = [json.loads(line) for line in finished.stdout.splitlines()]
    # The one that ended the process, and those behind it.
    crash = {"exit_code": finished.returncode, "stdout": "", "stderr": finished.stderr or "no answer"}
    ends += [crash] * (len(programs) - len(ends))
    return [(end["exit_code"], end["stdout"], end["stderr"]) for end in ends]


def wrong_ones(many, programs):
    """The programs of a share that do not end as they do in the interpreter, or not well there."""
    expected = run(many, INTERPRETER, programs)
    wrong = [(path, INTERPRETER, end[2]) for path, end in zip(programs, expected) if end[0] != 0]
    for way in WAYS:
        ends = run(many, way, programs)
        wrong += [(path, way, end[2]) for path, end, best in zip(programs, ends, expected) if end != best]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    many = options.bin / "run_many"
    with tempfile.TemporaryDirectory(prefix="dhpvm-functions-") as folder:
        folder = options.keep or Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        programs = []
        for seed in range(options.seed, options.seed + options.runs):
            for kind, program in KINDS.items():
                programs.append(folder / f"{kind}-{seed}.dhp")
                programs[-1].write_text(program(seed))
        shares = [programs[begin : begin + SHARE] for begin in range(0, len(programs), SHARE)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            wrong = [one for some in pool.map(lambda share: wrong_ones(many, share), shares) for one in some]
        for path, way, error in wrong:
            print(f"{path.name} with {' '.join(way)} is not as in the interpreter {error.strip()}")
        if options.keep:
            for path in set(programs) - {path for path, _, _ in wrong}:
                path.unlink()
    print(f"{len(programs)} programs, {len({path for path, _, _ in wrong})} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
