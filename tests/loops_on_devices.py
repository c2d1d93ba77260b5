#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs of parallel loops on devices that work, and on devices that are lost at random moments.

Each program shares a few arrays between loops, and between loops and the host, which reads, writes and closes them in
between. It runs in the interpreter first. A device must then give the same output; one that is lost may also end the
program with a trap that names the loss, after output that is right so far. A wrong result with exit code 0 is the
failure that this test looks for.

usage: loops_on_devices.py --bin BIN_DIR [--executors NAME,...] [--runs N] [--seed N] [--jobs N] [--keep DIR]

--runs counts programs of each executor, from seed --seed on. A failing program is printed with its seed and command,
and kept in --keep.
"""

import argparse
import concurrent.futures
import contextlib
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import run_programs
from finished_run import PATIENCE, Run

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools" / "lab"))
from random_loops import Program

EXIT_TRAP = 3
LOSS = re.compile(r"device (lost|failed)")


class Sim:
    """Simulated devices, in options that a seed picks."""

    def __init__(self, devices, lost):
        self.devices = devices
        self.lost = lost

    def options(self, chooser):
        names = []
        for _ in range(self.devices):
            options = [chooser.choice(("mem=1GB", "mem=1GB", "mem=400KB", "mem=1MB"))]
            if self.lost:
                options.append(f"lost={chooser.choice((chooser.randint(1, 12), chooser.randint(1, 200)))}")
            options += [f"lazy={chooser.randint(0, 1)}", f"units={chooser.randint(1, 64)}"]
            names.append("sim?" + "&".join(options))
        return [f"--device={','.join(names)}"]


class Device:
    """Devices by their names; none where the platform has none. {worker} is a worker's address."""

    def __init__(self, *names):
        self.names = names
        self.lost = False

    def options(self, chooser):
        name = chooser.choice(self.names).format(worker=WORKER.get("worker"))
        lazy = ["--write-back=lazy"] if "remote/" in name and chooser.random() < 0.5 else []
        return [*lazy, f"--device={name}"]


WORKER = {}  # its address, once it runs
REMOTE = "remote/{worker}/host"
EXECUTORS = {
    "sim": Sim(1, lost=False),
    "two-sims": Sim(2, lost=False),
    "lost-sim": Sim(1, lost=True),
    "two-lost-sims": Sim(2, lost=True),
    "opencl": Device("opencl:0"),
    # With DHPVM_CUDA_DRIVER=interpreter these need no GPU, and check how kernels access memory as well.
    "cuda": Device("cuda:0"),
    "two-cudas": Device("cuda:0,cuda:1"),
    "worker": Device(REMOTE, f"{REMOTE},sim?lazy=1", f"{REMOTE},{REMOTE}"),
}
BATCHES = ([], [], ["--batch=1000"], ["--batch=5000"], ["--batch=100"])


def judge(done, expected, may_be_lost):
    """Why the run is wrong; None if it is right."""
    if done.code is None:
        return done.errors
    if done.code == expected.code:
        if done.out != expected.out:
            return "another output, with the exit code of a run that went well"
        return None
    if not may_be_lost:
        return f"exit code {done.code}, not {expected.code}"
    if done.code == EXIT_TRAP and LOSS.search(done.errors):
        return None if expected.out.startswith(done.out) else "wrong output before the device was lost"
    # The first device is gone before the program has begun.
    return f"exit code {done.code}, which no loss explains"


def check(bin_dir, keep, name, seed):
    executor = EXECUTORS[name]
    program = Program(seed, patient=False).source()
    path = Path(keep) / f"{name}-{seed}.dhp"
    path.write_text(program, encoding="utf-8")
    tool = [str(bin_dir / "dhpvm-run")]
    expected = Run([*tool, "--jit=off", "--device=host", str(path)])
    if expected.code != 0:
        return f"seed {seed} does not run in the interpreter:\n{expected.errors}\n{program}", False
    chooser = random.Random(f"{name} {seed}")
    done = Run([*tool, "--jit-wait", *chooser.choice(BATCHES), *executor.options(chooser), str(path)])
    problem = judge(done, expected, executor.lost)
    if problem is None:
        path.unlink()
        return None, done.code == EXIT_TRAP
    return (
        f"{name}, seed {seed}: {problem}\n  {' '.join(map(str, done.words))}\n--- expected\n{expected.out}--- output\n"
        f"{done.out}--- errors\n{done.errors}--- program\n{program}"
    ), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--executors", default="sim,two-sims,lost-sim,two-lost-sims")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    names = options.executors.split(",")
    wrong = 0
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(options.jobs))
        if "worker" in names:
            runner = run_programs.Runner(options.bin.resolve(), timeout=PATIENCE)
            needed = [executor for executor in run_programs.EXECUTORS if executor.worker is not None]
            stack.enter_context(run_programs.worker_of(needed, runner))
            WORKER.update(runner.words)
        keep = options.keep or folder
        Path(keep).mkdir(parents=True, exist_ok=True)
        for name in names:
            begin = time.monotonic()
            seeds = range(options.seed, options.seed + options.runs)
            results = list(pool.map(lambda seed, name=name: check(options.bin, keep, name, seed), seeds))
            problems = [problem for problem, _ in results if problem]
            for problem in problems[:3]:
                print(problem)
            wrong += len(problems)
            lost = sum(trapped for _, trapped in results)
            print(f"{name}: {len(seeds)} programs, {lost} ended by the loss of a device, {len(problems)} wrong, "
                  f"{time.monotonic() - begin:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
