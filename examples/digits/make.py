#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py - make digits.csv from scikit-learn's copy of the UCI digits

usage: make.py digits.csv.gz > digits.csv

The rows of the original are ordered by writer, so its last rows are hands that the first rows do
not show.  They are shuffled once, by a permutation that this file fixes for ever (splitmix64,
Fisher and Yates); the values stay as they are.
"""
import gzip
import sys

MASK = (1 << 64) - 1


def stream(state):
    """splitmix64 (Steele, Lea, Flood, OOPSLA 2014)"""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt") as f:
        rows = [[int(float(v)) for v in line.split(",")] for line in f]
    numbers = stream(1797)
    for i in range(len(rows) - 1, 0, -1):
        j = next(numbers) % (i + 1)
        rows[i], rows[j] = rows[j], rows[i]
    for row in rows:
        print(",".join(map(str, row)))


main()
