# SPDX-License-Identifier: Apache-2.0
"""log_analysis.dhp in Python."""

from collections import defaultdict

from report import repeat


def log_analysis(text):
    levels, hours, requests, times = defaultdict(int), defaultdict(int), defaultdict(int), defaultdict(int)
    slow = 0
    for line in text.splitlines():
        parts = line.split(" ")
        levels[parts[1]] += 1
        if parts[1] == "ERROR":
            hours[parts[0][11:13]] += 1
        path = parts[5]
        try:
            micros = int(parts[8])
        except ValueError:
            continue
        requests[path] += 1
        times[path] += micros
        if "slow query" in line:
            slow += 1
    for level, count in levels.items():
        print(level, count)
    for hour, count in hours.items():
        print(hour, count)
    for path, count in requests.items():
        print(path, count, times[path] // count)
    print(slow)


repeat(log_analysis)
