# SPDX-License-Identifier: Apache-2.0
"""test_wire.py BUILD SOURCE [CASE ...] - gradients that travel as 16 bits between hosts of tests/lab, by whole programs.

Two workers on each of three hosts, whose parameters' bits and distances from the exact mean are looked at: what the plan
says, what a replay and a restart make of it, and what the cables carry.
"""

import json
import os
import sys

from cases import run
from lab import Cluster
from node import wait_for

BUILD = os.path.realpath(sys.argv[1])
EMULATE = "[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]"
RANKS, EPOCHS, STEPS = 6, 10, 50  # of 480 samples
DIES = 25  # in this step


def train(c, *args, dies=None, waits=False, epochs=EPOCHS):
    """A job, whose ranks, where it waits, begin when there is a file "go" in its folder."""
    folder = os.path.join(c.shared, f"job-{c.jobs}")
    os.mkdir(folder)
    wait = ["sh", "-c", f'until [ -e {folder}/go ]; do sleep 0.05; done; exec "$0" "$@"'] if waits else []
    return c.job(["-H", "node1,node2,node3", "--set", f"profile.emulate={EMULATE}", "--set", "batch.global=96",
                  "--set", "batch.rebalance=off", "--set", "sync.mode=sync",
                  "--set", f"checkpoint.dir={folder}/checkpoints", "--set", "checkpoint.every=10", *args,
                  "--", *wait, f"{BUILD}/tests/cluster/wire-worker", folder, str(epochs), *([str(dies)] if dies else [])])


def end(c, j, generation=1):
    """The latest job's end: what the ranks found, which is the same on all."""
    assert j.end() == 0, (j.code, j.err, j.out)
    found = []
    for rank in range(RANKS):
        found.append(json.loads(c.read(f"job-{c.jobs - 1}/{rank}")))
    assert all(f == found[0] for f in found), found
    assert found[0]["generation"] == generation, found[0]
    j.check_nothing_left()
    return found[0]


def bits_of(plan):
    """What decides on the bits of sums."""
    return plan["wire"], plan["communication"], [w["batch"] for w in plan["workers"]]


def is_narrow(found):
    """Rounded, and no more than that."""
    return 1e-4 < found["least"] <= found["most"] < 0.01


def first_job(_):
    """The first job of a program chooses its wire by the model that eddis_commit reports, also in a mode that the job names:
    over links this slow 16 bits are worth it.  A wire that the job names is kept to the bit."""
    with Cluster(3, build=BUILD, rate="20mbit") as c:
        with train(c, "--set", "communication.wire=float32", epochs=2) as j:
            found = end(c, j)
            assert found["most"] < 1e-6 and j.plan()["wire"] == "float32" and not j.events("mode"), (found, j.plan())
        with train(c, epochs=2) as j:
            found, plan = end(c, j), j.plan()
            assert plan["mode"] == "sync" and plan["wire"] == "bfloat16" and plan["model_bytes"] > 0, plan
            assert is_narrow(found) and len(j.events("mode")) == 1, found
            assert "gradients as bfloat16 between nodes" in plan["reason"], plan["reason"]
            assert "what it leaves open is chosen when the program has reported the size of its model" in j.out, j.out
        with train(c, "--set", "sync.mode=local", epochs=2) as j:
            assert j.end() == 0, (j.code, j.err, j.out)
            plan = j.plan()
            assert plan["mode"] == "local" and plan["wire"] == "bfloat16" and len(j.events("mode")) == 1, plan


def first(c):
    """A job of bfloat16, once: its folder on the login host, its plan, and what it found."""
    if not hasattr(c, "first"):
        with train(c, "--set", "communication.wire=bfloat16") as j:
            found, plan = end(c, j), j.plan()
            assert plan["wire"] == "bfloat16" and plan["communication"]["version"] > 0, plan
            assert "bfloat16 between nodes" in j.out, j.out
            assert found["steps"] == STEPS and is_narrow(found), found
            c.first = j.place, plan, found
    return c.first


def replay(c):
    """Two replays of a plan have the same bits, and the plan its wire, which another wish does not change."""
    place, plan, _ = first(c)
    values = []
    for _ in range(2):
        with train(c, "--plan", place) as j:
            found = end(c, j)
            assert "replayed" in j.out and bits_of(j.plan()) == bits_of(plan), j.plan()
            assert is_narrow(found), found
            values.append(found["value"])
    assert values[0] == values[1], values
    with train(c, "--plan", place, "--set", "communication.wire=float32") as j:
        assert j.end() == 2, (j.code, j.err)
        assert "the plan sends gradients between nodes as bfloat16, but communication.wire is float32" in j.err, j.err


def other_way(c):
    """Workers of a node that share memory for their sums where they did not, or no longer."""
    _, plan, _ = first(c)
    plan = dict(plan, communication=dict(plan["communication"], shared=not plan["communication"]["shared"]))
    with train(c, "--plan", c.write("plan.json", json.dumps(plan))) as j:
        assert is_narrow(end(c, j)) and bits_of(j.plan()) == bits_of(plan), j.plan()


def killed(c):
    """The generation after a kill goes on with the wire, from a checkpoint, to the bits that all ranks share."""
    with train(c, "--set", "communication.wire=bfloat16", dies=DIES) as j:
        found = end(c, j, generation=2)
        assert j.summary()["first_failure"]["rank"] == 1 and j.summary()["first_failure"]["signal"] == 9, j.summary()
        assert j.plan()["wire"] == j.plan(generation=2)["wire"] == "bfloat16", j.plan(generation=2)
        assert STEPS - DIES < found["steps"] < STEPS and is_narrow(found), found


def sent(c):
    """Bytes that the nodes have put on their cables so far."""
    total = 0
    for node in c.nodes:
        for row in c.run(node, ["cat", "/proc/net/dev"]).stdout.splitlines()[2:]:
            name, _, figures = row.partition(":")
            total += int(figures.split()[8]) if name.strip() != "lo" else 0
    return total


def carried_by(c, plan):
    """Bytes on all cables behind the start of the ranks, of a job with each wire: measuring the network takes as many again."""
    carried = {}
    for wire in "bfloat16", "float32":
        path = c.write("float32.json", json.dumps(dict(plan, wire=wire)))
        with train(c, "--plan", path, waits=True) as j:
            wait_for("all ranks", lambda: {e["rank"] for e in j.events("rank_started")} == {*range(RANKS)})
            before = sent(c)
            open(os.path.join(c.shared, f"job-{c.jobs - 1}", "go"), "w").close()
            found = end(c, j)
            assert is_narrow(found) if wire == "bfloat16" else found["most"] < 1e-6, found
        carried[wire] = sent(c) - before
    return carried


def bytes_on_cables(c):
    """About half as many as of float32, which is exact, by the same plan."""
    _, plan, _ = first(c)
    carried = carried_by(c, plan)
    assert 0.4 < carried["bfloat16"] / carried["float32"] < 0.65, carried


CASES = [first_job, replay, other_way, killed, bytes_on_cables]
with Cluster(3, build=BUILD) as c:
    run(CASES, sys.argv[3:], c)
