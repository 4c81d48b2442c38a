# SPDX-License-Identifier: Apache-2.0
"""golden.py - files of answers that programs gave before, and how today's are compared with them.

A test run with --write as its last argument writes
its answers instead: of a build whose answers are known to be right.
"""

import difflib
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))

def path(*parts):
    return os.path.join(HERE, *parts)


def writes():
    return sys.argv[-1] == "--write"


class Golden:
    """One file of answers by name: compared, or written anew."""

    def __init__(self, file):
        self.file, self.answers, self.faults = path(file), {}, []
        if not writes():
            with open(self.file) as f:
                self.then = json.load(f)

    def check(self, name, answer):
        self.answers[name] = answer
        if writes():
            return
        then = json.dumps(self.then.get(name), indent=1, sort_keys=True)
        now = json.dumps(answer, indent=1, sort_keys=True)
        if then != now:
            lines = difflib.unified_diff(then.split("\n"), now.split("\n"), "then", "now", lineterm="", n=1)
            self.faults.append(f"{name}:\n  " + "\n  ".join(lines))

    def finish(self):
        if writes():
            lines = [f"{json.dumps(n)}: {json.dumps(a, sort_keys=True)}" for n, a in self.answers.items()]
            with open(self.file, "w") as f:
                f.write("{\n" + ",\n".join(lines) + "\n}\n")
            sys.exit(0)
        self.faults += [f"{name}: asked for no more" for name in self.then if name not in self.answers]
        for fault in self.faults:
            print(fault)
        print(f"{len(self.answers)} answers, {len(self.faults)} others than before")
        sys.exit(1 if self.faults else 0)
