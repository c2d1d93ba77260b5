#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every sample with small sizes, and checks what it prints and writes; then its answers to wrong arguments."""

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
DATA = SAMPLES / "data"


@dataclass
class Run:
    """A sample, its arguments, and what is expected: a pattern for all of its output, checks on the numbers that the
    pattern captures, and for each file it writes a check on the bytes."""

    name: str
    args: list
    output: str
    check: object = lambda *numbers: True
    files: dict = field(default_factory=dict)


def picture(kind, width, height):
    """A check that a file is a binary picture of this size that is not all of one value."""

    def check(data):
        head = f"{kind}\n{width} {height}\n255\n".encode()
        pixels = data[len(head) :]
        samples = width * height * (3 if kind == "P6" else 1)
        return data.startswith(head) and len(pixels) == samples and len(set(pixels)) > 10

    return check


def prices(data):
    """Call and put of each contract satisfy put-call parity, as far as the four decimals go."""
    lines = data.decode().splitlines()
    if lines[0] != "spot,strike,rate,volatility,years,call,put":
        return False
    for line in lines[1:]:
        spot, strike, rate, _, years, call, put = map(float, line.split(","))
        if abs(call - put - spot + strike * 2.718281828459045 ** (-rate * years)) > 2e-4 or call < 0 or put < 0:
            return False
    return len(lines) == 1001


def falling(*losses):
    return all(float(b) < float(a) for a, b in zip(losses, losses[1:]))


NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
RUNS = [
    Run("edge_detection", [DATA / "china.ppm", "edges.pgm"], rf"640 x 427 pixels, {NUMBER} % on an edge\nwrote edges.pgm\n",
        lambda share: 10 < float(share) < 40, {"edges.pgm": picture("P5", 640, 427)}),
    Run("edge_detection", [DATA / "flower.ppm", "e.pgm", 1500], r"320 x 214 pixels, 0.0 % on an edge\nwrote e.pgm\n"),
    Run("blur", [DATA / "flower.ppm", "b.ppm", 2], r"320 x 214 pixels, radius 2\nwrote b.ppm\n", files={"b.ppm": picture("P6", 320, 214)}),
    Run("kmeans", [DATA / "digits.csv", 10, 6, "c.pgm"],
        rf"round +\d+: sum of squared distances {NUMBER}\n" * 6 + rf"{NUMBER} of 1797 pictures \({NUMBER} %\) are with the most frequent digit of their cluster\nwrote c.pgm\n",
        lambda *n: falling(*n[:6]) and float(n[7]) > 65, {"c.pgm": picture("P5", 720, 72)}),
    Run("neural_network", [DATA / "digits.csv", 3, 16],
        r"1438 pictures to learn from, 359 to test with\n" + rf"epoch +\d+: loss {NUMBER}\n" * 3 + rf"read correctly: \d+ of 359 \({NUMBER} %\)\n",
        lambda *n: falling(*n[:3]) and float(n[3]) > 80),
    Run("nbody", [40, 20], rf"40 stars, 20 steps\nenergy before -{NUMBER}, after -{NUMBER}: {NUMBER} % apart\n",
        lambda before, after, apart: float(apart) < 0.1),
    Run("make_options", [1000, "o.csv"], r"wrote 1000 contracts to o.csv\n",
        files={"o.csv": lambda data: data == (DATA / "options.csv").read_bytes()}),
    Run("black_scholes", [DATA / "options.csv", "p.csv"],
        rf"1000 contracts: calls {NUMBER}, puts {NUMBER}\nput-call parity holds to {NUMBER}\nwrote p.csv\n",
        lambda calls, puts, worst: float(worst) < 1e-12, {"p.csv": prices}),
    Run("mandelbrot", [90, 50, "m.pgm"], rf"90 x 60 pixels, {NUMBER} % in the set\nwrote m.pgm\n",
        lambda share: 20 < float(share) < 30, {"m.pgm": picture("P5", 90, 60)}),
    Run("jacobi", [33, 200, "h.pgm"], rf"step +\d+: change {NUMBER}, middle {NUMBER}\n" * 5 + r"wrote h.pgm\n",
        lambda *n: falling(*n[0::2]) and not falling(*n[1::2]) and float(n[-1]) < 25, {"h.pgm": picture("P5", 33, 33)}),
    Run("sgemm", [40, 30, 50], rf"40 x 50 times 50 x 30: largest error {NUMBER}\n{NUMBER} GFLOP/s\n", lambda error, rate: float(error) < 1e-5),
    Run("monte_carlo", [20000], rf"pi is about {NUMBER}\nthe option costs {NUMBER}, with a standard error of {NUMBER}\n",
        lambda pi, price, error: 3.1 < float(pi) < 3.18 and abs(float(price) - 10.4506) < 4 * float(error)),
    Run("word_count", [DATA / "cc0.txt", 3], r"(\d+) words, (\d+) different\n +(\d+) the\n +(\d+) (?:\w+)\n +(\d+) (?:\w+)\n",
        lambda words, different, *most: int(words) > int(different) > 300 and sorted(map(int, most), reverse=True) == list(map(int, most))),
    Run("binary_trees", [8],
        r" +256 trees of depth  4: 7936 nodes\n +64 trees of depth  6: 8128 nodes\n +16 trees of depth  8: 8176 nodes\n"
        r" +the tree of depth 8 that was kept: 511 nodes\n(\d+) bytes for each node of it, all else of the heap included\n"),
]  # fmt: skip

# Wrong command lines: exit code 2, or 3 where the program itself traps, and an error that says what is wrong.
WRONG = [
    ("edge_detection", ["no-such.ppm"], 2, "there is no file no-such.ppm"),
    ("edge_detection", [DATA / "digits.csv", "x.pgm"], 3, "not a PNG, JPEG, PGM or PPM picture"),
    ("edge_detection", [DATA / "flower.ppm", "no/such/folder.pgm"], 3, "no/such/folder.pgm"),
    ("blur", [DATA / "flower.ppm", "x.ppm", "many"], 2, "RADIUS must be a whole number from 0 to 100, not 'many'"),
    ("kmeans", [DATA / "digits.csv", "0"], 2, "CLUSTERS must be a whole number from 1 to 1000"),
    ("kmeans", [DATA / "options.csv"], 3, "is not a number"),
    ("black_scholes", [DATA / "digits.csv"], 3, "no column"),
    ("mandelbrot", ["1", "2", "3", "4"], 2, "too many arguments: 4"),
    ("nbody", ["1"], 2, "STARS must be a whole number from 2 to 100000, not '1'\nusage: nbody [STARS [STEPS]]"),
]


def start(binary, name, args, folder):
    command = [str(binary), str(SAMPLES / f"{name}.dhp"), *map(str, args)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def problems_of(run, binary):
    with tempfile.TemporaryDirectory(prefix="dhpvm-sample-") as folder:
        done = start(binary, run.name, run.args, folder)
        if done.returncode != 0:
            yield f"exit code {done.returncode}:\n{done.stdout}{done.stderr}"
            return
        match = re.fullmatch(run.output, done.stdout)
        if not match:
            yield f"the output is not as expected:\n{done.stdout}"
        elif not run.check(*match.groups()):
            yield f"the figures are not as expected:\n{done.stdout}"
        for name, good in run.files.items():
            path = Path(folder) / name
            if not path.is_file():
                yield f"{name} was not written"
            elif not good(path.read_bytes()):
                yield f"{name} is not as expected"


def problems_of_wrong(name, args, exit_code, text, binary):
    with tempfile.TemporaryDirectory(prefix="dhpvm-sample-") as folder:
        done = start(binary, name, args, folder)
        if done.returncode != exit_code:
            yield f"exit code {done.returncode} instead of {exit_code}:\n{done.stdout}{done.stderr}"
        if text not in done.stderr:
            yield f"the error output lacks '{text}':\n{done.stderr}"
        if any(Path(folder).iterdir()):
            yield "files were left behind"


def untested():
    """Samples that no run covers; arguments.dhp is their common module."""
    return {path.stem for path in SAMPLES.glob("*.dhp")} - {run.name for run in RUNS} - {"arguments"}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run")
    parser.add_argument("names", nargs="*", help="samples (default: all)")
    options = parser.parse_args(arguments)
    binary = options.bin.resolve() / "dhpvm-run"
    failed = 0
    for run in RUNS:
        if options.names and run.name not in options.names:
            continue
        for problem in problems_of(run, binary):
            failed += 1
            print(f"FAILED {run.name} {' '.join(map(str, run.args))}: {problem}")
    for name, args, exit_code, text in WRONG:
        if options.names and name not in options.names:
            continue
        for problem in problems_of_wrong(name, args, exit_code, text, binary):
            failed += 1
            print(f"FAILED {name} {' '.join(map(str, args))}: {problem}")
    for name in sorted(untested()):
        failed += 1
        print(f"FAILED {name}: no run of this sample in {Path(__file__).name}")
    print(f"{len(RUNS) + len(WRONG)} runs, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
