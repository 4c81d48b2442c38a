# SPDX-License-Identifier: Apache-2.0
"""peers.py - shared by the Python programs of this folder: the project's build, the Python of the systems with which
eddis is compared, clusters that are slowed by a factor, and means."""

import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DISK_BYTES = 8 << 30
SKIPPED = 77
LINKS = {"200mbit": 200e6, "500mbit": 500e6, "1gbit": 1e9}  # bits a second
# Student's t of 95 % for 1 to 30 degrees of freedom; 2 is used beyond
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
           2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04)
STRETCH = """--stretch: all that is emulated, steps and links, takes so many times as long.  Hosts share this machine's
processors, which real ones do not; a factor gives each more of them for its own work, exchanges and optimizer, and leaves
all ratios of the cluster as they are.  Figures of its steps are told as if it were 1."""


def interval(values):
    """Return the mean of values and half the width of its 95 % interval, 0 for one value."""
    n, mean = len(values), statistics.mean(values)
    return mean, (STUDENT[n - 2] if n <= 31 else 2) * statistics.stdev(values) / n ** 0.5 if n > 1 else 0.0


def median_interval(values):
    """Return (median, low, high) of values: between low and high, two of them, is the median of what they are from,
    with 95 % at least.  Fewer than 6 values are too few for it: their range."""
    n, ordered, below = len(values), sorted(values), 0
    chance = 0.5 ** n  # that none is below the median
    while chance <= 0.025:
        below += 1
        chance += math.comb(n, below) * 0.5 ** n
    first = max(below - 1, 0)
    return statistics.median(ordered), ordered[first], ordered[n - 1 - first]


def build_folder():
    """Bring the build folder up to date ($EDDIS_BUILD, else the project's own) and return it."""
    folder = pathlib.Path(os.environ.get("EDDIS_BUILD", ROOT / "build")).resolve()
    subprocess.run([ROOT / "scripts/build", folder], check=True, stdout=sys.stderr, cwd=ROOT)
    return folder


def torch_folder(build):
    """Return the folder of the virtual environment with PyTorch: $EDDIS_BENCH_TORCH, else bench/torch in the build
    folder."""
    return pathlib.Path(os.environ.get("EDDIS_BENCH_TORCH", build / "bench/torch")).resolve()


def imports(python, module):
    """Check whether this Python exists and can import the module."""
    command = [python, "-c", f"import {module}"]
    return shutil.which(python) is not None and subprocess.run(command, capture_output=True).returncode == 0


def torch_python(build):
    """Return the Python of torch_folder's virtual environment.  PyTorch is installed there from PyPI if it is missing:
    5 GB. Exit if the disk is too full."""
    folder = torch_folder(build)
    python = folder / "bin/python"
    if imports(python, "torch"):
        return python
    if shutil.disk_usage(build).free < DISK_BYTES:
        sys.exit(f"PyTorch needs {DISK_BYTES >> 30} GB in {folder}; there is less")
    print("installing PyTorch into", folder, file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "torch", "numpy"]):
        subprocess.run(command, check=True, stdout=sys.stderr)
    return python


def found_torch_python(build):
    """Return that Python if PyTorch is installed there, else python3 of PATH if it has PyTorch; exit with 77 otherwise.
    """
    for python in (torch_folder(build) / "bin/python", "python3"):
        if imports(python, "torch"):
            return pathlib.Path(shutil.which(python))
    print("skipped: no PyTorch: name a virtual environment that has it in EDDIS_BENCH_TORCH, or install it for python3 "
          "(pip install torch numpy)", file=sys.stderr)
    sys.exit(SKIPPED)


def link(rate, stretch):
    """Return a link's rate for tc, divided by the factor `stretch`."""
    return f"{LINKS[rate] / stretch:.0f}bit"


def python_folders(python):
    """Return the folders in which this Python's files lie: those of its virtual environment and of its base
    installation."""
    words = "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"
    return subprocess.run([python, "-c", words], capture_output=True, text=True, check=True).stdout.split("\n")[:2]
