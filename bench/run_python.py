#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the Python package beside Numba: kernels with prange, calls, first calls, the import.

Both sides run python/bench/measure.py in processes of their own, in turns. The least times count. Numba is given as
many threads as there are cores, as DHPVM has. Its results and ours have to agree.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

from harness import BENCH, Figure, Report, fail, geometric_mean, progress

ROOT = BENCH.parent
MEASURE = ROOT / "python" / "bench" / "measure.py"


def numba_python(given):
    """A Python that has Numba: the given one, or one of its own in build/numba, from PyPI."""
    python = Path(given) if given else ROOT / "build" / "numba" / "bin" / "python"
    if not python.exists() and not given:
        for command in (["python3", "-m", "venv", python.parents[1]],
                        [python, "-m", "pip", "install", "--quiet", "--timeout", "15", "numba"]):  # fmt: skip
            subprocess.run(command, check=False)
    if subprocess.run([python, "-c", "import numba"], capture_output=True, check=False).returncode != 0:
        return None
    return python


def side(name, python, environment, *words):
    # An installed package has its bytecode, whatever the environment says of writing it.
    own = {**os.environ, **environment, "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "bench" / "bytecode")}
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run([python, MEASURE, name, *words], capture_output=True, text=True, check=False, env=own)
    if done.returncode != 0:
        fail(f"{name} ended with exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def keep_least(best, found):
    for name, seconds in found.items():
        best[name] = min(seconds, best.get(name, math.inf))


def measure(sides, rounds):
    """Seconds by side and name."""
    best, results = {name: {} for name in sides}, {}
    for turn in range(rounds):
        for name, (python, environment) in sides.items():
            progress(f"round {turn + 1} of {rounds}: {name}")
            with tempfile.TemporaryDirectory() as cache:
                caches = {"XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": cache}
                for what in ("first call, nothing cached", "first call, cached"):
                    found, _ = side(name, python, {**environment, **caches}, "first")
                    keep_least(best[name], {what: found["first call of saxpy"], "import": found["import"]})
            found, results[name] = side(name, python, environment)
            del found["first call of saxpy"]
            keep_least(best[name], found)
    progress("")
    for kernel, number in results.get("numba", {}).items():
        if not math.isclose(number, results["dhpvm"][kernel], rel_tol=1e-4, abs_tol=1e-6):
            fail(f"{kernel} computes {results['dhpvm'][kernel]}, and with Numba {number}")
    return best, list(results["dhpvm"])


def figures(best, kernels):
    ours, numbas = best["dhpvm"], best.get("numba")
    made = [
        Figure.of("call with 3 arrays", ours["call with 3 arrays"] * 1e6, "us", 4, False),
        Figure.of(
            "each further array", (ours["call with 6 arrays"] - ours["call with 3 arrays"]) / 3 * 1e6, "us", 0.1, False
        ),
        Figure.of("an array of 1 GB passed", ours["call with 1 GB"] * 1e6, "us", 20, False),
        Figure.of("first call of saxpy, nothing cached", ours["first call, nothing cached"] * 1e3, "ms", 60, False),
        Figure.of("first call of saxpy, cached", ours["first call, cached"] * 1e3, "ms", 15, False),
        Figure.of("import, after NumPy's", ours["import"] * 1e3, "ms", 50, False),
    ]
    if numbas:
        ratios = {kernel: numbas[kernel] / ours[kernel] for kernel in kernels}
        worst = min(ratios, key=ratios.get)
        made += [
            Figure.of("kernels beside Numba, geometric mean", geometric_mean(ratios.values()), "times", 2, True),
            Figure.of(f"the worst kernel beside Numba, {worst}", ratios[worst], "times", 0.9, True),
        ]
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=Path, help="the folder of the programs that were built")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--numba", default="", metavar="PYTHON", help="a Python with Numba; unless set, build/numba gets it from PyPI"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    arguments = parser.parse_args()
    python = ROOT / "build" / "python" / "bin" / "python"
    package = arguments.bin.parent / "python"
    if not python.exists() or not any((package / "dhpvm").glob("_core*")):
        fail("the Python package is not built: ./dev packages test gets what it needs from PyPI")
    sides = {"dhpvm": (python, {"PYTHONPATH": str(package)})}
    numba = numba_python(arguments.numba)
    if numba:
        sides["numba"] = (numba, {})
    else:
        print("Numba cannot be had from PyPI: there is nothing to compare with.\n")
    best, kernels = measure(sides, arguments.rounds)
    report = Report(f"The least of {arguments.rounds} rounds in turns.")
    if numba:
        names = sorted(kernels, key=lambda name: best["numba"][name] / best["dhpvm"][name])
        names += ["call with 3 arrays", "call with 6 arrays", "call with 1 GB", "first call, nothing cached",
                  "first call, cached", "import"]  # fmt: skip
        report.table(["what, the losses first", "DHPVM, ms", "Numba, ms", "times as fast"], [
            [name, f"{best['dhpvm'][name] * 1e3:.4g}", f"{best['numba'][name] * 1e3:.4g}",
             f"{best['numba'][name] / best['dhpvm'][name]:.2f}"] for name in names])  # fmt: skip
    report.figures += figures(best, kernels)
    report.print()
    report.write(arguments.json, seconds=best)


if __name__ == "__main__":
    main()
