# SPDX-License-Identifier: Apache-2.0
"""heads.py - every C file says who may use it on its first line and what it is for on its second."""

from source import ROOT, c_files, finish

LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */"


def main():
    faults, count = [], 0
    for path in c_files():
        lines = (ROOT / path).read_text().split("\n", 2)
        count += 1
        if lines[0] != LICENCE:
            faults.append(f"{path}:1: not {LICENCE}")
        if not lines[1].startswith(f"/* {path.name} - ") or not lines[1].split(" - ", 1)[1].strip():
            faults.append(f"{path}:2: does not say what the file is for: /* {path.name} - ...")
    finish(faults, f"{count} files")


main()
