# SPDX-License-Identifier: Apache-2.0
"""Common to the Python twins of the programs beside: report.dhp in Python."""

import sys
import time


def repeat(work):
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    for _ in sys.stdin:
        start = time.perf_counter()
        work(text)
        print("time_ns", round((time.perf_counter() - start) * 1e9), flush=True)
