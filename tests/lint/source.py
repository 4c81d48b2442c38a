# SPDX-License-Identifier: Apache-2.0
"""source.py - what the lint tests share: the C files of the tree, and how a test ends."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ["lib", "scheduler", "profiler", "agents", "cmd"]
FOLDERS = PRODUCT + ["bench", "tests", "examples"]
SKIP = 77


def c_files(folders=FOLDERS):
    """Paths from the root of every .c and .h file below these folders, sorted."""
    found = []
    for folder in folders:
        for path in (ROOT / folder).rglob("*.[ch]"):
            found.append(path.relative_to(ROOT))
    if not found:
        sys.exit(f"no C file below {' '.join(map(str, folders))}")
    return sorted(found)


def finish(faults, checked):
    """Print the faults, one a line, and exit 1, or say what was checked and exit 0."""
    for fault in faults:
        print(fault)
    if faults:
        print(f"{len(faults)} faults")
        sys.exit(1)
    print(checked)


def skip(why):
    print(f"SKIP all: {why}")
    sys.exit(SKIP)
