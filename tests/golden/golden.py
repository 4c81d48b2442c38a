# SPDX-License-Identifier: Apache-2.0
"""golden.py - files of answers that programs gave before, and how today's are compared with them.

What may differ stands here and nowhere else.  A test run with --write as its last argument writes
its answers instead: of a build whose answers are known to be right.
"""

import difflib
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))

# A sentence then, the same sentence now.
SENTENCES = {
    "a device that a CPU imitates": "a device that a CPU emulates",
    "workers imitate devices of these speeds": "workers emulate devices of these speeds",
}


def sentence_now(text):
    for then, now in SENTENCES.items():
        text = text.replace(then, now)
    return text


def plan_then(plan):
    """A plan of today's schema with the members that one of schema 1 has."""
    for candidate in plan.pop("candidates", []):
        plan[candidate["mode"] + "_samples_per_s"] = candidate["predicted_samples_per_s"]
    del plan["change"], plan["gain"], plan["takes_pieces"], plan["wire"]
    del plan["gradient_bytes"], plan["float32_bytes"], plan["centre_bytes"], plan["min_count"]
    del plan["largest_bytes"], plan["largest_behind"]
    for worker in plan["workers"]:
        del worker["largest"], worker["max"], worker["piece"], worker["time"]
    plan["schema_version"] = 1
    return plan


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
        then = sentence_now(json.dumps(self.then.get(name), indent=1, sort_keys=True))
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
