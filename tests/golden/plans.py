# SPDX-License-Identifier: Apache-2.0
"""plans.py PROGRAM [--write] - what --dry-run prints of stored jobs on stored profiles, as before.

PROGRAM is plans.c.  A row: the job, the nodes, and what earlier runs and the network have told.
"""

import json
import os
import subprocess
import sys

from golden import Golden, path

MODEL = ["4000000", "0.0002", "125000000"]   # bytes; a wire of 1 Gbit/s
LARGE = ["85000000", "0.0005", "25000000"]   # one of 200 Mbit/s
CASES = [
    ("plain", "cpu", []), ("plain", "two-numa", []), ("workers", "two-numa", []), ("plain", "mix", []),
    ("batch-512", "mix", []), ("batch-512", "mix", MODEL), ("batch-512", "mix", LARGE), ("grain", "mix", MODEL),
    ("sync", "mix", LARGE), ("async", "mix", MODEL), ("async-options", "mix", LARGE), ("hybrid", "mix", MODEL),
    ("hybrid-groups", "mix", LARGE), ("hybrid-named", "mix", MODEL), ("workers", "mix", []),
    ("plain", "gpus", []), ("batch-512", "gpus", MODEL), ("batch-512", "gpus", LARGE), ("devices", "gpus", LARGE),
    ("async-options", "gpus", LARGE), ("hybrid-groups", "gpus", LARGE),
    ("batch-512", "sixteen", []), ("batch-512", "sixteen", MODEL), ("batch-512", "sixteen", LARGE),
    ("async", "sixteen", LARGE), ("hybrid", "sixteen", LARGE), ("sync", "sixteen", LARGE),
    ("batch-512", "four-by-four", LARGE), ("hybrid", "four-by-four", LARGE), ("hybrid-groups", "four-by-four", MODEL),
    ("async", "four-by-four", []), ("batch-512", "many", LARGE), ("many-options", "mix", MODEL),
    ("local", "mix", MODEL), ("local", "sixteen", LARGE), ("local", "four-by-four", LARGE), ("local", "four-by-four", []),
    ("diloco", "mix", MODEL), ("diloco", "sixteen", LARGE),
    ("no-device", "gpus", []), ("small-batch", "mix", []), ("bad-groups", "mix", []), ("bad-algorithm", "mix", []),
    ("bad-outer", "mix", []), ("local-momentum", "mix", []),
]


def name(job, nodes, known):
    return " ".join([job, nodes] + known)


def answer(program, job, nodes, known):
    p = subprocess.run([program, f"{job}.yaml", f"{nodes}.nodes.json"] + known, cwd=path("plans"), text=True,
                       capture_output=True, timeout=180)
    text, _, document = p.stdout.replace(path("plans"), "@").partition("----\n")
    document = json.loads(document) if document else None
    if document:
        del document["profile"]  # as it was read
    return {"exit": p.returncode, "text": text.split("\n"), "document": document, "error": p.stderr}


def main():
    golden = Golden("plans.json")
    for case in CASES:
        golden.check(name(*case), answer(os.path.realpath(sys.argv[1]), *case))
    golden.finish()


main()
