# SPDX-License-Identifier: Apache-2.0
"""test_documents.py BUILD SOURCE - the example of several machines in docs/clusters.md does what is printed there.

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

HEADING = "## A cluster on one machine"


def commands():
    with open(os.path.join(SOURCE, "docs/clusters.md")) as f:
        section = f.read().split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    found = re.findall(r"^    \$ (.*)$", section, re.MULTILINE)
    assert len(found) >= 3, found
    return [re.sub(r"\s+#.*", "", c) for c in found]


def main():
    skip_unless_possible()
    env = dict(os.environ, EDDIS_LAB=f"documents-{os.getpid()}")
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
    # What the document prints of it: four nodes with batches as unequal as they are, a good end.
    batches = {node: int(b) for node, b in re.findall(r"^ +\d+ +(node\d) .*? (\d+) +0\.\d+\b", said, re.MULTILINE)}
    assert len(batches) == 4 and sum(batches.values()) == 480, (batches, said)
    assert batches["node1"] > 1.2 * batches["node4"], batches  # 6.7 times on a machine that is calm
    assert "done in" in said and float(re.search(r"done in.*accuracy ([\d.]+)", said).group(1)) > 0.9, said


main()
