# SPDX-License-Identifier: Apache-2.0
"""format.py - every C file is as clang-format with the project's .clang-format would leave it."""

import shutil
import subprocess
import sys

from source import ROOT, c_files, finish, skip


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        skip("clang-format is not installed")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if "version 14." not in version:
        skip(f"versions of clang-format differ in taste; 14 is wanted, this is {version.strip()}")
    files = [str(p) for p in c_files()]
    run = subprocess.run([tool, "--dry-run", *files], cwd=ROOT, capture_output=True, text=True)
    places = sorted({line.split(": warning")[0].rsplit(":", 1)[0]
                     for line in run.stderr.splitlines() if ": warning" in line})
    if run.returncode and not places:
        sys.exit(f"clang-format ended with {run.returncode}: {run.stderr}")
    finish([f"{p}: run clang-format -i on it" for p in places], f"{len(files)} files are formatted")


main()
