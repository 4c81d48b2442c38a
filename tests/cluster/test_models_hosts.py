# SPDX-License-Identifier: Apache-2.0
"""test_models_hosts.py BUILD SOURCE [CASE ...] - async and hybrid mode on several hosts of tests/lab,
several workers on each: groups that are nodes, groups over nodes, a host that is lost, a worker that
dies while its node's workers reduce in the memory that they share."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import time

from cases import run, table
from lab import HOME, LEASE, LOGIN, Cluster

BUILD, SOURCE = (os.path.realpath(p) for p in sys.argv[1:3])
EMULATE = "[{rate: 1.0, a_ms: 4, c_ms: 0.2}, {rate: 0.5}]"
SAMPLES = 1797 - 360


def train(c, sync, *args, epochs=20, every=0, widths=32, lease=LEASE):
    data = os.path.join(c.shared, "digits.csv")
    if not os.path.exists(data):
        shutil.copy(os.path.join(SOURCE, "examples/digits/digits.csv"), data)
    command = ["eddis-train", "--data", data, "--test", "360", "--model", "mlp", "--widths", str(widths),
               "--epochs", str(epochs)]
    path = c.write("train.yaml", f"name: models\ncommand: {json.dumps(command)}\nbatch: {{global: 128}}\nsync: {sync}\n"
                   f"nodes: [node1, node2]\nprofile: {{emulate: {EMULATE}}}\n"
                   f"checkpoint: {{every: {every}, dir: {os.path.join(c.shared, 'checkpoints')}}}\n")
    return c.job([*args, path], lease=lease)


def check(j, generations=1):
    assert j.end() == 0, (j.code, j.err, j.out)
    s = j.summary()
    assert s["accuracy"] > 0.9 and s["generations"] == generations, s
    if generations == 1:
        assert s["samples"] == 20 * SAMPLES, s
    j.check_nothing_left()


def trains(c, sync):
    with train(c, sync) as j:
        check(j)


def mode_open(c):
    """The first run of a program: rank 0's host tells the size of the model, and both get the mode."""
    with train(c, "{mode: auto}", widths=40) as j:
        check(j)
        plan = j.plan()
        assert plan["model_bytes"] == 4 * (64 * 40 + 40 + 40 * 10 + 10), plan
        progress = {m["mode"]: m["predicted_progress"] for m in plan["candidates"]}
        best = max(progress, key=progress.get)
        # On a busy machine the network may be measured again while the job runs: then the predictions are newer.
        is_corrected = any(m["lost"] == "the job has begun with another" for m in plan["candidates"])
        chosen = best if progress[best] > 1.05 * progress["sync"] else "sync"
        assert is_corrected or plan["mode"] == chosen, plan["candidates"]
        said = [e["text"] for e in j.events("mode")]
        assert said == [plan["reason"]], said


def remembers(c):
    """How many gradients the next plan may count on being cut apart, beside the model's size."""
    with train(c, "{mode: sync}", widths=48) as j:
        check(j)
        plan = j.plan()
        folder = c.path(LOGIN, HOME + "/.cache/eddis")
        kept = [json.loads(path.read_text())["value"] for path in pathlib.Path(folder).glob("model-*.json")]
        assert sum(plan["communication"]["buckets"]) == 4, plan["communication"]
        n_bytes = 4 * (64 * 48 + 48 + 48 * 10 + 10)
        assert {"bytes": n_bytes, "centre_bytes": n_bytes, "gradient_bytes": n_bytes, "float32_bytes": n_bytes,
                "gradients": "", "n_gradients": 4, "min_count": 0, "largest_bytes": 4 * 64 * 48, "largest_behind": 0,
                "precision": "auto", "samples": j.summary()["steps_total"] * plan["global_batch"],
                "samples_in_epoch": SAMPLES} in kept, kept


def groups_unlike(c):
    """One group over two hosts, another on one: they measure the network together, and all take the same of it."""
    text = f"name: unlike\ncommand: [{BUILD}/tests/cluster/opener, {c.shared}, \"-1\", \"1\"]\n" \
           "batch: {global: 48}\nsync: {mode: hybrid, groups: [[0, 1], [2]], period: 4}\nnodes: [node1, node2, node3]\n" \
           "profile: {emulate: [{rate: 1.0, a_ms: 4, c_ms: 0.2}]}\n"
    with c.job([c.write("unlike.yaml", text)]) as j:
        assert j.end() == 0, (j.code, j.err, j.out)
        j.check_nothing_left()


def lose(c, host, sync):
    """A host crashes behind a checkpoint, and the job goes on from that.  Returns its last plan."""
    with train(c, sync, epochs=100, every=20) as j:
        j.wait_checkpoint()
        c.lab.crash(host)
        assert j.end() == 0, (j.code, j.err, j.out)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.9, s
        c.lab.revive(host)
        return j.plan(generation=2)


def host_lost(c):
    """The servers of one host's part of the box go with it."""
    lose(c, "node2", "{mode: hybrid, period: 4}")


def given_groups_lost(c):
    """Lists of ranks lose those that are gone, a group without members vanishes, and the others are
    numbered without a gap: of node1's ranks 0 and 1 the first was a group alone."""
    plan = lose(c, "node1", "{mode: hybrid, groups: [[0], [2], [1, 3]], period: 4}")
    assert plan["mode"] == "hybrid" and plan["nodes"] == ["node2"], plan
    assert [w["group"] for w in plan["workers"]] == [0, 1], plan
    assert "without the 2 lost workers: 2 groups of 3" in plan["reason"], plan


def rank_pids(j):
    """Of the first generation, in order of ranks."""
    started = {e["rank"]: e["text"] for e in j.events("rank_started")}
    return [int(re.search(r"pid (\d+)", started[rank]).group(1)) for rank in sorted(started)]


def memory_of(pid):
    """(inode, name) of libeddis's memory, which has no file; of a process that dies: some."""
    try:
        with open(f"/proc/{pid}/maps") as f:
            yield from re.findall(r" (\d+) +/memfd:(eddis\S*)", f.read())
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            with contextlib.suppress(FileNotFoundError):  # others come and go
                name = re.match(r"/memfd:(eddis\S*)", os.readlink(path))
                if name:
                    yield str(os.stat(path).st_ino), name.group(1)
    except OSError:
        return


def shared_memory(pids):
    """{(inode, name): pids} of what these processes have."""
    found = {}
    for pid in pids:
        for memory in memory_of(pid):
            found.setdefault(memory, set()).add(pid)
    return found


def held(memory):
    everyone = shared_memory(int(name) for name in os.listdir("/proc") if name.isdigit())
    return {m: everyone[m] for m in memory if m in everyone}


def hold_up(c, j, pids):
    """Stop rank 0 where rank 1 waits for it in the middle of a step's reduction, and not for samples, say."""
    status = [os.path.join(BUILD, "cmd/eddis-status"), j.place + "/", "--json"]

    for _ in range(50):
        os.kill(pids[0], signal.SIGSTOP)
        time.sleep(3)
        w = json.loads(c.run(LOGIN, status).stdout)["workers"][1]
        if w["state"] == "wait" and (w["last_step_age_s"] or 0) > 1:
            return
        os.kill(pids[0], signal.SIGCONT)
        time.sleep(0.1)
    raise AssertionError(f"rank 1 never waits in a reduction: {w}")


def sharing_plan(c, sync):
    """Path of a plan by which a node's workers share memory, whatever measures best today."""
    with train(c, sync, epochs=1, widths=256) as j:
        assert j.end() == 0, (j.code, j.err, j.out)
        plan = j.plan()
    plan["communication"]["shared"] = True
    return c.write("plan.json", json.dumps(plan))


def killed_sharing(c, sync):
    """Rank 0 is stopped, for less than a lease, so rank 1 of its node is in the reduction for sure when it is
    killed; then rank 0 must be killed as well."""
    with train(c, sync, "--plan", sharing_plan(c, sync), epochs=40, every=20, widths=256, lease=1000) as j:
        j.wait_checkpoint()
        pids = rank_pids(j)
        memory = shared_memory(pids)
        assert any(name == "eddis" and {pids[0], pids[1]} <= users
                   for (_, name), users in memory.items()), (pids, memory)
        hold_up(c, j, pids)
        os.kill(pids[1], signal.SIGKILL)
        assert j.end() == 0, (j.code, j.err, j.out)
        j.check_nothing_left()
        assert not held(memory), (held(memory), pids)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.9, s
        assert s["first_failure"]["rank"] == 1 and s["first_failure"]["signal"] == 9, s


TRAIN = {"asynchronous": ("{mode: async, period: 4}",), "groups_are_nodes": ("{mode: hybrid, period: 4}",),
         "groups_over_nodes": ("{mode: hybrid, groups: [[0, 2], [1, 3]], period: 4}",)}
DIE = {"killed_in_sync": ("{mode: sync}",), "killed_in_hybrid": ("{mode: hybrid, period: 4}",)}
CASES = [table(trains, TRAIN), mode_open, remembers, groups_unlike, host_lost, given_groups_lost,
         table(killed_sharing, DIE)]


with Cluster(3, build=BUILD) as c:
    run(CASES, sys.argv[3:], c)
