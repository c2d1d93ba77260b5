#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs of parallel loops on devices that work, and on devices that are lost at random moments.

Each program shares a few arrays between loops, and between loops and the host, which reads, writes and closes them in
between. It runs in the interpreter first. A device must then give the same output; one that is lost may also end the program
with a trap that names the loss, after output that is right so far. A wrong result with exit code 0 is the failure that this
test looks for.

usage: loops_on_devices.py --bin BIN_DIR [--executors NAME,...] [--runs N] [--seed N] [--jobs N] [--keep DIR]

--runs counts programs of each executor, from seed --seed on. A failing program is printed with its seed and command, and
kept in --keep.
"""

import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from finished_run import PATIENCE, Run

EXIT_TRAP = 3
LOSS = re.compile(r"device (lost|failed)")


class Program:
    """A random program; the same one for the same seed. A patient one repeats its loops for longer."""

    TYPES = ("i64", "i64", "i32", "f64")

    def __init__(self, seed, patient):
        self.random = random.Random(seed)
        self.most_turns = 100 if patient else 6
        self.lines = []
        self.arrays = {}  # name to (type, length), without those that are closed
        self.made = 0
        self.body()

    def source(self):
        return "\n".join(["import atomic;", "", *self.digests(), "fn main() {", *self.lines, "}", ""])

    @staticmethod
    def digests():
        for name in ("i64", "i32", "f64"):
            yield (f"fn digest_{name}(a: [{name}]) -> i64 {{\n    var h = 7;\n"
                   "    for i in 0..a.len { h = h * 31 + (a[i] as i64); }\n    return h;\n}\n")

    def emit(self, text):
        self.lines.append("    " + text)

    def body(self):
        for _ in range(self.random.randint(2, 4)):
            self.new_array()
        steps = [self.loop] * 8 + [self.rounds] * (2 if self.most_turns < 10 else 6) + [self.read] * 2 + [self.write] * 2 + \
                [self.reduce, self.digest, self.count, self.close]
        for _ in range(self.random.randint(4, 14)):
            self.random.choice(steps)()
        for name in list(self.arrays):
            self.digest(name)

    def new_array(self):
        name = f"a{self.made}"
        self.made += 1
        kind = self.random.choice(self.TYPES)
        # Below 64 KiB an array lies in the heap; a few are large enough to go through small devices in slices.
        length = self.random.choice((300, 9000, 20_000, 20_000, 20_000, 60_000))
        self.arrays[name] = (kind, length)
        self.emit(f"let {name} = [{kind}]({length});")
        if self.random.random() < 0.5:
            self.emit(f"for i in 0..{length} {{ {name}[i] = ((i * 37 + {self.made}) % 1009) as {kind}; }}")

    def pick(self):
        return self.random.choice(list(self.arrays))

    def element(self, name, low, high, wanted):
        """An element for iteration i of low..high: it must be in range, and of type `wanted`."""
        kind, length = self.arrays[name]
        forms = [f"(i * {self.random.randint(1, 13)} + {self.random.randint(0, 99)}) % {length}"]
        if high <= length:
            forms += ["i"] * 3
            shift = self.random.randint(1, 3)
            if low >= shift:
                forms.append(f"i - {shift}")
            if high + shift <= length:
                forms.append(f"i + {shift}")
        text = f"{name}[{self.random.choice(forms)}]"
        return text if kind == wanted else f"({text} as {wanted})"

    def value(self, kind, low, high, sources):
        terms = [self.element(name, low, high, kind) for name in sources] + [f"(i as {kind})"]
        constants = [f"{self.random.randint(1, 9)}{'.0' if kind == 'f64' else ''}" for _ in terms]
        if kind == "f64":
            # Exact, so that digests of the values are.
            return " + ".join(f"{term} * 0.5" for term in terms)
        return " + ".join(f"{term} * {constant}" for term, constant in zip(terms, constants))

    def loop(self, indent=""):
        target = self.pick()
        kind, length = self.arrays[target]
        others = [name for name in self.arrays if name != target]
        sources = self.random.sample(others, min(len(others), self.random.randint(0, 2)))
        low, high = 0, length
        if self.random.random() < 0.3:
            low = self.random.randint(0, length // 2)
            high = self.random.randint(low, length)
        value = self.value(kind, low, high, sources)
        if self.random.random() < 0.5:
            value = f"{target}[i]{' * 0.25' if kind == 'f64' else ' * 3'} + {value}"
        store = f"{target}[i] = {value};"
        if self.random.random() < 0.2:
            store = f"if i % 3 != 1 {{ {store} }}"
        hint = self.random.choice(("", "", f"@batch({self.random.randint(500, 9000)}) "))
        self.emit(f"{indent}{hint}parallel for i in {low}..{high} {{ {store} }}")

    def rounds(self):
        self.emit(f"for turn in 0..{self.random.randint(2, self.most_turns)} {{")
        for _ in range(self.random.randint(1, 3)):
            self.loop("    ")
        if self.random.random() < 0.3:
            name = self.pick()
            self.emit(f"    print({name}[{self.random.randrange(self.arrays[name][1])}]);")
        self.emit("}")

    def reduce(self):
        name = self.pick()
        kind, length = self.arrays[name]
        zero = "0.0" if kind == "f64" else f"0{kind}"
        variable = f"s{len(self.lines)}"
        self.emit(f"var {variable} = {zero};")
        self.emit(f"parallel for i in 0..{length} reduce(+: {variable}) {{ {variable} += {name}[i]; }}")
        self.emit(f"print({variable});")

    def count(self):
        """Atomic updates: chunks write the same elements."""
        name = self.pick()
        if self.arrays[name][0] == "f64":
            return
        target = f"c{len(self.lines)}"
        self.emit(f"let {target} = [i64](16);")
        self.emit(f"parallel for i in 0..{self.arrays[name][1]} "
                  f"{{ atomic.add({target}[(({name}[i] as i64) & 15)], 1); }}")
        self.emit(f"print({target}[3], digest_i64({target}));")

    def read(self):
        name = self.pick()
        self.emit(f"print({name}[{self.random.randrange(self.arrays[name][1])}]);")

    def write(self):
        name = self.pick()
        kind, length = self.arrays[name]
        value = f"{self.random.randint(0, 999)}{'.0' if kind == 'f64' else ''}"
        if self.random.random() < 0.7:
            self.emit(f"{name}[{self.random.randrange(length)}] = {value};")
        else:
            low = self.random.randint(0, length // 2)
            self.emit(f"for i in {low}..{self.random.randint(low, length)} {{ {name}[i] = {value}; }}")

    def digest(self, name=None):
        name = name or self.pick()
        self.emit(f"print(digest_{self.arrays[name][0]}({name}));")

    def close(self):
        if len(self.arrays) < 2:
            return
        name = self.pick()
        del self.arrays[name]
        self.emit(f"{name}.close();")
        if self.random.random() < 0.5:
            self.new_array()


class Sim:
    """Simulated devices, in options that a seed picks."""

    def __init__(self, devices, lost):
        self.devices = devices
        self.lost = lost

    def run(self, tool, chooser, source):
        names = []
        for _ in range(self.devices):
            options = [chooser.choice(("mem=1GB", "mem=1GB", "mem=400KB", "mem=1MB"))]
            if self.lost:
                options.append(f"lost={chooser.choice((chooser.randint(1, 12), chooser.randint(1, 200)))}")
                options.append(f"lazy={chooser.randint(0, 1)}")
            options.append(f"units={chooser.randint(1, 64)}")
            names.append("sim?" + "&".join(options))
        batch = chooser.choice(([], ["--batch=1000"], ["--batch=5000"]))
        return Run([*tool, "--jit-wait", *batch, f"--device={','.join(names)}", source])


class Device:
    """A device by its name; none where the platform has none."""

    def __init__(self, name):
        self.name = name
        self.lost = False

    def run(self, tool, chooser, source):
        batch = chooser.choice(([], ["--batch=1000"], ["--batch=5000"]))
        return Run([*tool, "--jit-wait", *batch, f"--device={self.name}", source])


class KilledWorker:
    """A worker that is killed at a random moment, mostly after it has got its first kernel."""

    lost = True

    def run(self, tool, chooser, source):
        with tempfile.TemporaryFile("w+") as log:
            worker = subprocess.Popen([*tool, "--worker", "--device=host", "--listen=127.0.0.1:0"], stdout=log, stderr=log)
            try:
                address = self.wait_for(worker, log, r"listening at (\S+)").group(1)
                mode = chooser.choice(("eager", "lazy"))
                killer = threading.Thread(target=self.kill, args=(
                    worker, log, "" if chooser.random() < 0.1 else r"kernel .* ready", chooser.random() ** 2 * 0.5))
                killer.start()
                done = Run([*tool, "--jit-wait", f"--device=remote/{address}", f"--write-back={mode}", source])
                return done
            finally:
                worker.kill()
                worker.wait()
                killer.join()

    def kill(self, worker, log, sign, delay):
        self.wait_for(worker, log, sign)
        time.sleep(delay)
        worker.kill()

    @staticmethod
    def wait_for(worker, log, sign):
        """What the worker has logged, as a match; None when it ends before."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = re.search(sign, os.pread(log.fileno(), 1 << 16, 0).decode())
            if found or worker.poll() is not None:
                return found
            time.sleep(0.002)
        raise AssertionError(f"the worker does not log '{sign}'")


EXECUTORS = {
    "sim": Sim(1, lost=False),
    "two-sims": Sim(2, lost=False),
    "lost-sim": Sim(1, lost=True),
    "two-lost-sims": Sim(2, lost=True),
    "opencl": Device("opencl:0"),
    # With DHPVM_CUDA_DRIVER=interpreter these need no GPU, and check how kernels access memory as well.
    "cuda": Device("cuda:0"),
    "two-cudas": Device("cuda:0,cuda:1"),
    "killed-worker": KilledWorker(),
}


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
    program = Program(seed, isinstance(executor, KilledWorker)).source()
    path = Path(keep) / f"{name}-{seed}.dhp"
    path.write_text(program, encoding="utf-8")
    tool = [str(bin_dir / "dhpvm-run")]
    expected = Run([*tool, "--jit=off", "--device=host", str(path)])
    if expected.code != 0:
        return f"seed {seed} does not run in the interpreter:\n{expected.errors}\n{program}", False
    done = executor.run(tool, random.Random(f"{name} {seed}"), str(path))
    problem = judge(done, expected, executor.lost)
    if problem is None:
        path.unlink()
        return None, done.code == EXIT_TRAP
    return (f"{name}, seed {seed}: {problem}\n  {' '.join(map(str, done.words))}\n--- expected\n{expected.out}--- output\n"
            f"{done.out}--- errors\n{done.errors}--- program\n{program}"), False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--executors", default="sim,two-sims,lost-sim,two-lost-sims")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        keep = options.keep or folder
        Path(keep).mkdir(parents=True, exist_ok=True)
        for name in options.executors.split(","):
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
