# SPDX-License-Identifier: Apache-2.0
"""example.py BUILD - run-example builds every program that is installed, and no test or bench."""

import json
import os
import re
import subprocess
import sys

BUILD = os.path.realpath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def targets():
    with open(os.path.join(SOURCE, "run-example")) as f:
        return re.search(r"^scripts/build build(.*)$", f.read(), re.MULTILINE).group(1).split()


def inputs(names):
    """What ninja links and reads for these targets; for everything where there are none."""
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", *(names or ["all"])], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def programs():
    """Paths in BUILD of the programs that are installed."""
    with open(os.path.join(BUILD, "meson-info/intro-targets.json")) as f:
        found = [t for t in json.load(f) if t["type"] == "executable" and t["installed"]]
    return {os.path.relpath(t["filename"][0], BUILD) for t in found}


built = inputs(targets())
faults = [f"run-example builds {name}" for name in sorted(built) if re.match(r"(tests|bench)/", name)][:5]
faults += [f"run-example does not build {name}" for name in sorted(programs()) if not any(i.startswith(name + ".p/") for i in built)]
print(*faults, f"{len(faults)} faults", sep="\n")
sys.exit(bool(faults))
