# SPDX-License-Identifier: Apache-2.0
"""csv_groups.dhp in Python."""

from collections import defaultdict

from report import repeat


def csv_groups(text):
    counts, quantities, sums = defaultdict(int), defaultdict(int), defaultdict(float)
    for line in text.splitlines():
        cells = line.split(",")
        city = cells[1]
        quantity = int(cells[3])
        counts[city] += 1
        quantities[city] += quantity
        sums[city] += quantity * float(cells[4])
    for city, count in counts.items():
        print(f"{city} {count} {quantities[city]} {sums[city]:.2f}")


repeat(csv_groups)
