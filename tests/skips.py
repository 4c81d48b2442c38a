#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""skips.py TESTLOG.json [MAY-SKIP] - name what the tests of a run of meson have skipped.

A program says `SKIP case: why` for each case that cannot be tried here; one that meson counts as
skipped and that says nothing is named too.  One line each, "test case: why"; with a list of names
"test case" as MAY-SKIP, only those that are not in it.
"""

import json
import re
import sys


def skips(path):
    with open(path) as f:
        for test in map(json.loads, f):
            name = test["name"].rsplit(" / ", 1)[-1]
            said = re.findall(r"^SKIP ([\w-]+): (.*)$", test.get("stdout", ""), re.M)
            if test["result"] == "SKIP" and not said:
                said = [("all", "it does not say why")]
            yield from ((f"{name} {case}", why) for case, why in said)


def main():
    may = set()
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as f:
            may = {line.strip() for line in f if line.strip() and not line.startswith("#")}
    for name, why in skips(sys.argv[1]):
        if name not in may:
            print(f"{name}: {why}")


main()
