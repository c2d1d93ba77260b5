#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Performs the scenarios of this folder, and a third of the random ones: another third in each turn of `./dev test`.

usage: run_lab.py --lab PROGRAM --random N [--jobs N]
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from turns import of_turn

SHARES = 3


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--lab", type=Path, required=True, help="dhpvm-lab")
    parser.add_argument("--random", type=int, required=True, help="the random scenarios of all turns together")
    parser.add_argument("--jobs", default="8")
    options = parser.parse_args(arguments)
    share = -(-options.random // SHARES)
    firsts = of_turn(range(1, options.random + 1, share), SHARES)
    folder = Path(__file__).resolve().parent
    status = 0
    for first in firsts:
        random = ["--random", str(min(share, options.random + 1 - first)), "--seed", str(first)]
        scenarios = [folder] if first == firsts[0] else []
        command = [sys.executable, options.lab, *scenarios, *random, "--jobs", options.jobs]
        status = status or subprocess.run(command, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
