# SPDX-License-Identifier: Apache-2.0
"""options.py COMPLETION PROGRAM MANUAL ... - each option that a program's --help names is in its
manual page and in the bash completion, and neither of these names another one."""

import re
import subprocess
import sys

from source import ROOT, finish

LONG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")


def completed(text, program):
    """Options in the completion's line `[eddis-run]="--help ..."`."""
    match = re.search(rf'^\s*\[{program}\]="([^"]*)"', text, re.M)
    return set(LONG.findall(match.group(1))) if match else set()


def manual_options(path):
    """Options in `.It Fl -name` lines of a mdoc page; `.It Fl n , Fl -np Ar N` counts."""
    found = set()
    for line in path.read_text().splitlines():
        if line.startswith(".It Fl"):
            found |= set(re.findall(r"Fl -([a-z][a-z0-9-]+)", line))
    return found


def main():
    completion = (ROOT / sys.argv[1]).read_text()
    faults, count = [], 0
    for program, manual in zip(sys.argv[2::2], sys.argv[3::2]):
        name = program.rsplit("/", 1)[-1]
        run = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=180)
        if run.returncode != 0 or not run.stdout:
            faults.append(f"{name} --help exits {run.returncode}")
            continue
        helped = set(re.findall(r"^\s+(?:-\w, )?--([a-z][a-z0-9-]+)", run.stdout, re.M))
        manned = manual_options(ROOT / manual)
        done = completed(completion, name)
        count += len(helped)
        for where, have in ((manual, manned), (sys.argv[1], done)):
            faults += [f"{where}: --{o} of {name} is missing" for o in sorted(helped - have)]
            faults += [f"{where}: {name} has no --{o}" for o in sorted(have - helped)]
    finish(faults, f"{count} options")


main()
