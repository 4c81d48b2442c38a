# SPDX-License-Identifier: Apache-2.0
"""peers.py - what the measurements of this folder that are Python programs share: the project's build, the
Python of the systems that eddis is compared with, clusters that are slower by a factor, and means."""

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
# Of 95 % for 1 to 30 degrees of freedom, and beyond about 2
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
           2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04)
STRETCH = """--stretch: all that is emulated, steps and links, takes so many times as long.  Hosts share this machine's
processors, which real ones do not; a factor gives each more of them for its own work, exchanges and optimizer, and leaves
all ratios of the cluster as they are.  Figures of its steps are told as if it were 1."""


def interval(values):
    """Their mean, and half the width of its 95 % interval, 0 of one value."""
    n, mean = len(values), statistics.mean(values)
    return mean, (STUDENT[n - 2] if n <= 31 else 2) * statistics.stdev(values) / n ** 0.5 if n > 1 else 0.0


def build_folder():
    """$EDDIS_BUILD, else the project's own, made up to date."""
    folder = pathlib.Path(os.environ.get("EDDIS_BUILD", ROOT / "build")).resolve()
    subprocess.run([ROOT / "scripts/build", folder], check=True, stdout=sys.stderr, cwd=ROOT)
    return folder


def torch_folder(build):
    return pathlib.Path(os.environ.get("EDDIS_BENCH_TORCH", build / "bench/torch")).resolve()


def imports(python, module):
    command = [python, "-c", f"import {module}"]
    return shutil.which(python) is not None and subprocess.run(command, capture_output=True).returncode == 0


def torch_python(build):
    """The Python of a virtual environment that holds PyTorch: $EDDIS_BENCH_TORCH, else bench/torch in the
    build folder.  PyTorch is installed there, once, from PyPI: 5 GB."""
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
    """The same where it is there already, or else the python3 of PATH if it has PyTorch; ends with 77 if not."""
    for python in (torch_folder(build) / "bin/python", "python3"):
        if imports(python, "torch"):
            return pathlib.Path(shutil.which(python))
    print("skipped: no PyTorch: name a virtual environment that has it in EDDIS_BENCH_TORCH, or install it for python3 "
          "(pip install torch numpy)", file=sys.stderr)
    sys.exit(SKIPPED)


def link(rate, stretch):
    """A link's rate for tc."""
    return f"{LINKS[rate] / stretch:.0f}bit"


def python_folders(python):
    """Where the files of this Python lie, its virtual environment's and those that it stands on."""
    words = "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"
    return subprocess.run([python, "-c", words], capture_output=True, text=True, check=True).stdout.split("\n")[:2]
