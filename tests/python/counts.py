#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""counts.py REPORT.xml SKIPS - print how many tests of pytest's report passed and failed; write one line
"test case: why" for each skipped one to SKIPS."""

import sys
import xml.etree.ElementTree


def main():
    passed = failed = 0
    with open(sys.argv[2], "w") as skips:
        for case in xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase"):
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            elif skipped is None:
                passed += 1
            else:
                test = case.get("classname").rpartition(".")[2].removeprefix("test_")
                name = case.get("name").removeprefix("test_")
                print(f"python/{test} {name}: {skipped.get('message')}", file=skips)
    print(passed, failed)


main()
