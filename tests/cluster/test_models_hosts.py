# SPDX-License-Identifier: Apache-2.0
"""test_models_hosts.py BUILD SOURCE [CASE ...] - async and hybrid mode on several hosts of tests/lab,
several workers on each: groups that are nodes, groups over nodes, a host that is lost."""

import json
import os
import shutil
import sys

from lab import LOGIN, Cluster
from node import wait_for

BUILD, SOURCE = (os.path.realpath(p) for p in sys.argv[1:3])
EMULATE = "[{rate: 1.0, a_ms: 4, c_ms: 0.2}, {rate: 0.5}]"
SAMPLES = 1797 - 360


def train(c, sync, *args, epochs=20, every=0):
    data = os.path.join(c.shared, "digits.csv")
    if not os.path.exists(data):
        shutil.copy(os.path.join(SOURCE, "examples/digits/digits.csv"), data)
    command = ["eddis-train", "--data", data, "--test", "360", "--model", "mlp", "--widths", "32",
               "--epochs", str(epochs)]
    path = os.path.join(c.shared, "train.yaml")
    with open(path, "w") as f:
        f.write(f"name: models\ncommand: {json.dumps(command)}\nbatch: {{global: 128}}\nsync: {sync}\n"
                f"nodes: [node1, node2]\nprofile: {{emulate: {EMULATE}}}\n"
                f"checkpoint: {{every: {every}, dir: {os.path.join(c.shared, 'checkpoints')}}}\n")
    return c.job([*args, path])


def check(j, generations=1):
    assert j.end(180) == 0, (j.code, j.err, j.out)
    s = j.summary()
    assert s["accuracy"] > 0.9 and s["generations"] == generations, s
    if generations == 1:
        assert s["samples"] == 20 * SAMPLES, s
    j.check_nothing_left(4)


def asynchronous(c):
    with train(c, "{mode: async, period: 4}") as j:
        check(j)


def groups_are_nodes(c):
    with train(c, "{mode: hybrid, period: 4}") as j:
        check(j)


def groups_over_nodes(c):
    with train(c, "{mode: hybrid, groups: [[0, 2], [1, 3]], period: 4}") as j:
        check(j)


def host_lost(c):
    """The servers of one host's part of the box go with it; the job goes on from the checkpoint."""
    with train(c, "{mode: hybrid, period: 4}", epochs=100, every=20) as j:
        folder = os.path.join(c.shared, "checkpoints")
        wait_for("a checkpoint", lambda: any(n.startswith("step-") and not n.endswith(".part")
                                             for _, d, _ in os.walk(folder) for n in d), 60)
        c.lab.crash("node2")
        assert j.end(180) == 0, (j.code, j.err, j.out)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.9, s


CASES = [asynchronous, groups_are_nodes, groups_over_nodes, host_lost]


def main():
    with Cluster(2, build=BUILD) as c:
        for case in CASES:
            if not sys.argv[3:] or case.__name__ in sys.argv[3:]:
                case(c)
                print(f"{case.__name__}: ok", flush=True)


main()
