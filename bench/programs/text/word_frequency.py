# SPDX-License-Identifier: Apache-2.0
"""word_frequency.dhp in Python."""

from collections import defaultdict

from report import repeat


def word_frequency(text):
    counts = defaultdict(int)
    for line in text.splitlines():
        for word in line.split(" "):
            counts[word] += 1
    total = most = 0
    best = ""
    for word, count in counts.items():
        total += count
        if count > most or (count == most and word < best):
            most, best = count, word
    print(len(counts), total, best, most)


repeat(word_frequency)
