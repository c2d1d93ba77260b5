#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a sample host application, and compares what it prints. usage: embed_test.py LANGUAGE COMMAND.."""

import subprocess
import sys

EXPECTED = {
    "cpp": """\
script says: scaled 10000 samples by 3.200
factor 3.200, sample 31 is now 0.800
range -0.800 to 0.800
mixed to 0.600
a Meter measured a level of 0.177
and 44000 samples
intro; theme; finale; Tones has 3 titles
mastered by a gain of 3, falling for 2.0 s
the limiter turns 0.25 into 0.25, 0 changed so far
the limiter turns 2.00 into 0.50, 1 changed so far
index out of range
deadline exceeded
script says: scaled 1000 samples by 3.200
script says: scaled 1000 samples by 3.200
two threads found 3.200 and 3.200
""",
    "c": """\
rules say: clipped 0 of 1000 values
rules say: clipped 10 of 1000 values
10 values were clipped so far
index 1000 is out of range for length 1000, in reads_too_far
deadline exceeded
""",
    "r": """\
3 3 5.333333 4.333333 6.333333 5.5 \n\
     [,1] [,2]
[1,]    1    2
[2,]    3    4
[3,]    5    6
-1 7 \n\
hello, R, 3 times \n\
error: index out of range: index 0 is out of range for length 0 \n\
error: argument 1 does not fit: the function is (str, i64) -> str \n\
error: compile error: program.dhp:1:11: error: expected `,` or `)` after the parameter, found the end of the file \n\
""",
    "python": """\
hello, ctypes
[125.0, 25.0, 5.0] (5.0, 125.0)
trap: in host function 'host.rate'
  because: trap: no rate for XYZ
  at convert (program.dhp:9)
index out of range: index 3 is out of range for length 3
  at at (program.dhp:19)
""",
}


def main():
    expected = EXPECTED[sys.argv[1]]
    done = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 0 and done.stdout == expected and not done.stderr:
        return 0
    print(f"exit code {done.returncode}\nexpected:\n{expected}\nprinted:\n{done.stdout}\nerrors:\n{done.stderr}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
