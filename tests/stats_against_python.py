#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random numbers, also such that lose digits easily: the module `stats` computes what Python's `statistics` and exact
fractions do.

usage: stats_against_python.py --bin BIN_DIR [--runs N] [--seed N] [--options OPTION...]

--runs counts pairs of arrays. --options are for dhpvm-run. A figure that differs by more than rounding is printed.
"""

import argparse
import bisect
import math
import random
import statistics
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

PARTS = [0.0, 0.1, 0.25, 0.5, 0.9, 1.0]
BINS = 7

# For every two lines of the file, which are arrays, one line of figures.
PROGRAM = """
import io;
import json;
import stats;

fn main(args: [str]) -> void! {
    let lines = (try io.read_text(args[0])).lines();
    for i in 0..lines.len step 2 {
        let x = try json.parse_floats(lines[i]);
        let y = try json.parse_floats(lines[i + 1]);
        let line = stats.fit_line(x, y);
        let bins = stats.histogram(x, BINS);
        let first = Running();
        let second = Running();
        for j, value in x { if j < x.len / 3 { first.add(value); } else { second.add(value); } }
        first.merge(second);
        print([stats.mean(x), stats.variance(x), stats.variance(x, sample: false), first.mean(), first.variance(), stats.covariance(x, y),
               stats.correlation(x, y), line.slope, line.value(x[0])],
              stats.quantiles(x, PARTS), bins.counts, [bins.edge(0), bins.edge(1), bins.edge(BINS - 1), bins.edge(BINS)]);
    }
}
""".replace("PARTS", str(PARTS)).replace("BINS", str(BINS))


def random_array(rng, n):
    base, width = rng.choice([0.0, 1.0, -1e6, 1e9]), rng.choice([1.0, 1e-3, 1e4])
    draw = rng.choice(
        [
            lambda: rng.uniform(-1, 1),
            lambda: rng.gauss(0, 1),
            lambda: float(rng.randrange(-3, 4)),
            lambda: rng.expovariate(1) ** 3,
        ]
    )
    numbers = [base + width * draw() for _ in range(n)]
    if rng.random() < 0.2:
        numbers.sort(reverse=rng.random() < 0.5)
    # Something has to differ, or there is no correlation.
    return numbers if len(set(numbers)) > 1 else [base + i for i in range(n)]


def exact(x, y):
    """Means and sums of squares and products, as fractions, and the figures that follow from them."""
    n = len(x)
    xs, ys = [Fraction(v) for v in x], [Fraction(v) for v in y]
    mean_x, mean_y = sum(xs) / n, sum(ys) / n
    xx, yy = sum((v - mean_x) ** 2 for v in xs), sum((v - mean_y) ** 2 for v in ys)
    xy = sum((v - mean_x) * (w - mean_y) for v, w in zip(xs, ys))
    slope = xy / xx
    figures = [
        mean_x,
        xx / (n - 1),
        xx / n,
        mean_x,
        xx / (n - 1),
        xy / (n - 1),
        None,
        slope,
        mean_y + slope * (xs[0] - mean_x),
    ]
    figures = [None if f is None else float(f) for f in figures]
    figures[6] = float(xy) / math.sqrt(float(xx)) / math.sqrt(float(yy))
    # By how much rounding the numbers themselves can move each figure.
    size_x, size_y = max(map(abs, x)), max(map(abs, y))
    spread = math.sqrt(float(xx) * float(yy)) / (n - 1)
    slope_scale = math.sqrt(float(yy) / float(xx))
    scales = [
        size_x,
        figures[1],
        figures[1],
        size_x,
        figures[1],
        spread,
        1.0,
        slope_scale,
        size_y + slope_scale * size_x,
    ]
    return figures, scales


def problems(x, y, found):
    figures, quantiles, counts, edges = found
    wanted, scales = exact(x, y)
    for i, (have, want, scale) in enumerate(zip(figures, wanted, scales)):
        if not abs(have - want) <= 1e-12 * scale:
            yield f"figure {i}: {have}, exactly {want}"
    ordered = sorted(x)
    for part, have in zip(PARTS, quantiles):
        place = Fraction(part) * (len(x) - 1)
        below = math.floor(place)
        above = ordered[min(below + 1, len(x) - 1)]
        want = ordered[below] + (above - ordered[below]) * float(place - below)
        if not math.isclose(have, want, rel_tol=1e-13, abs_tol=1e-15):
            yield f"quantile {part}: {have}, exactly {want}"
    if not math.isclose(quantiles[3], statistics.median(x), rel_tol=1e-13, abs_tol=1e-15):
        yield f"median: {quantiles[3]}, Python has {statistics.median(x)}"
    if sum(counts) != len(x) or edges[0] != ordered[0] or edges[3] != ordered[-1]:
        yield f"histogram: {counts} between {edges}"
    if counts[0] != bisect.bisect_left(ordered, edges[1]) or counts[-1] != len(x) - bisect.bisect_left(
        ordered, edges[2]
    ):
        yield f"histogram: {counts} with edges {edges} of {ordered}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs="*", default=[])
    args = parser.parse_args()
    rng = random.Random(args.seed)
    # The last is long enough for several threads.
    sizes = [rng.choice([2, 3, rng.randrange(2, 100), rng.randrange(2, 1000)]) for _ in range(args.runs)] + [70_000]
    pairs = [(random_array(rng, n), random_array(rng, n)) for n in sizes]
    with tempfile.TemporaryDirectory() as folder:
        program, file = Path(folder, "figures.dhp"), Path(folder, "arrays")
        program.write_text(PROGRAM)
        file.write_text("".join(f"{x}\n{y}\n" for x, y in pairs))
        command = [args.bin / "dhpvm-run", *args.options, program, file]
        run = subprocess.run(command, capture_output=True, timeout=500, check=False)
    if run.returncode != 0:
        sys.exit(f"exit code {run.returncode}\n{run.stderr.decode(errors='replace')}")
    printed = run.stdout.decode().splitlines()
    if len(printed) != len(pairs):
        sys.exit(f"{len(printed)} results of {len(pairs)} pairs")
    wrong = 0
    for (x, y), line in zip(pairs, printed):
        found = [[float(word) for word in part.strip("[] ").split(", ")] for part in line.split("] [")]
        for problem in problems(x, y, found):
            wrong += 1
            print(f"{len(x)} numbers: {problem}")
    print(f"{len(pairs)} pairs of arrays: {wrong} figures differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
