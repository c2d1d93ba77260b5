#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the loops of programs in gpu/ cost on a GPU with gpu/costs.txt, a line for each launch.

The interpreter of PTX counts them, so that no GPU is needed. With --bless the file is written anew, for a change that
was meant.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "gpu"
# In the order of the file, with their exit codes.
PROGRAMS = (("costs.dhp", 0), ("traps.dhp", 3))


def costs_of(run, program, code):
    """A line for each launch; None, with the problem printed, if the program ends otherwise than expected."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        # Nobody knows which toolkit is installed: without its library the counts are the same everywhere.
        environment = {**os.environ, "DHPVM_CUDA_DRIVER": "interpreter", "DHPVM_CUDA_REPORT": str(report),
                       "DHPVM_LIBDEVICE": "/nowhere/libdevice.10.bc"}
        command = [run, "--jit-wait", "--no-cache", "--device=cuda:0", "--batch=100000", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
        if done.returncode == code:
            return report.read_text(encoding="utf-8")
        print(f"{program} ended with exit code {done.returncode}:\n{done.stderr}")
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--bless", action="store_true")
    options = parser.parse_args()
    parts = [costs_of(str(options.bin / "dhpvm-run"), str(FOLDER / name), code) for name, code in PROGRAMS]
    if None in parts:
        return 1
    costs = "".join(parts)
    table = FOLDER / "costs.txt"
    if options.bless:
        table.write_text(costs, encoding="utf-8")
        return 0
    expected = table.read_text(encoding="utf-8")
    if costs == expected:
        return 0
    print(f"the loops cost:\n{costs}and not, as {table} says:\n{expected}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
