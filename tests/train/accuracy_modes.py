#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""accuracy_modes.py BENCH_ACCURACY STORED - a small run of bench/accuracy, seeded, against a stored
result: the same rows, and accuracies within what another CPU's rounding may change"""

import json
import subprocess
import sys

from trainjob import DIGITS, check


def rows(result):
    return {(r["mode"], r["workers"], r["groups"], r["alike"], r["period"]): r for r in result["rows"]}


def seldom(row):
    """Sixteen that average seldom are behind so early, and spread more."""
    return row["mode"] == "async" and row["workers"] == 16 and row["period"] > 1


def main():
    command = [sys.argv[1], "--small", "--seeds", "3", "--epochs", "20", "--json", str(DIGITS)]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=900, check=True).stdout for _ in range(2)]
    check(done[0] == done[1], "two runs are the same")
    got = rows(json.loads(done[0]))
    with open(sys.argv[2]) as f:
        stored = rows(json.load(f))
    check(got.keys() == stored.keys(), f"rows {sorted(stored)}")
    for name, row in got.items():
        off = abs(row["accuracy"] - stored[name]["accuracy"])
        check(off < (0.03 if seldom(row) else 0.01), f"{name}: {row['accuracy']:.4f}, stored {stored[name]['accuracy']:.4f}")
    wired = subprocess.run([*command, "--wire", "bfloat16"], capture_output=True, text=True, timeout=900, check=True).stdout
    narrow = [r for r in json.loads(wired)["rows"] if r.get("wire") == "bfloat16"]
    check([r["workers"] for r in narrow] == [4, 16], f"rows of bfloat16: {narrow}")
    for row in narrow:
        check(abs(row["difference"]) < 0.01, f"bfloat16 on {row['workers']} hosts: {100 * row['difference']:.2f} points beside float32")
    one = got["one", 1, 1, False, 1]["accuracy"]
    for name, row in got.items():
        points = 5 if seldom(row) else 2
        check(row["accuracy"] > one - points / 100, f"{name}: within {points} points of one process at a third of the training")


main()
