# SPDX-License-Identifier: Apache-2.0
"""test_readme.py BUILD SOURCE - the README's example of several machines does what is printed there.

The commands of its block are run as they stand, in the project's folder, with BUILD in the place of
build/ and a lab of another name.
"""

import os
import re
import subprocess
import sys

BUILD, SOURCE = (os.path.realpath(p) for p in sys.argv[1:3])
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from lab import skip_unless_possible  # noqa: E402

HEADING = "## Several machines"


def commands():
    with open(os.path.join(SOURCE, "README.md")) as f:
        section = f.read().split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^    \$ (.*)$", section, re.MULTILINE)
    assert len(found) >= 3, found
    return [re.sub(r"\s+#.*", "", c) for c in found]


def main():
    skip_unless_possible()
    env = dict(os.environ, EDDIS_LAB=f"readme-{os.getpid()}")
    said, wrong = "", None
    for command in commands():
        line = re.sub(r"(?<![\w/])build/", BUILD + "/", command)
        if "/up " in line:
            line += f" --keep {BUILD} --while {os.getpid()}"
        print("$", line, flush=True)
        done = subprocess.run(line, shell=True, cwd=SOURCE, env=env, capture_output=True, text=True, timeout=240)
        print(done.stdout + done.stderr, flush=True)
        said += done.stdout
        if done.returncode and not wrong:
            wrong = f"{line}: ended with {done.returncode}"
    assert not wrong, wrong
    # What the README prints of it: four nodes, unequal batches, a good end.
    batches = [int(b) for b in re.findall(r"^ +\d+ +node\d +\S+ .*?(\d+) +0\.\d{3} ", said, re.MULTILINE)]
    assert len(batches) == 4 and batches[0] > 2 * batches[3], (batches, said)
    assert "done in" in said and float(re.search(r"accuracy ([\d.]+)", said).group(1)) > 0.9, said


main()
