#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the sample host application, and compares what it prints. usage: embed_test.py PROGRAM"""

import subprocess
import sys

EXPECTED = """\
script says: scaled 10000 samples by 3.200
factor 3.200, sample 31 is now 0.800
range -0.800 to 0.800
a Meter measured a level of 0.177
index out of range
deadline exceeded
script says: scaled 1000 samples by 3.200
script says: scaled 1000 samples by 3.200
two threads found 3.200 and 3.200
"""


def main():
    done = subprocess.run(sys.argv[1:], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 0 and done.stdout == EXPECTED and not done.stderr:
        return 0
    print(f"exit code {done.returncode}\nexpected:\n{EXPECTED}\nprinted:\n{done.stdout}\nerrors:\n{done.stderr}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
