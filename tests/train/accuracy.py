#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accuracy.py EDDIS_TRAIN - the CNN reaches 0.97 on the digits with 1, 2, 3 and 4 workers, for
each of five seeds"""

import sys

from trainjob import accuracy, check, digits, mpirun, run


def main():
    options = digits("--model", "cnn", "--epochs", 15, "--eval-every", 0, "--batch", 64,
                     "--optimizer", "adam", "--lr", 0.003)
    for n in 1, 2, 3, 4:
        got = [accuracy(run([*mpirun(n), sys.argv[1], *options, "--seed", seed])[0])
               for seed in range(5)]
        check(min(got) >= 0.97, f"{n} workers, five seeds: {got}")


main()
