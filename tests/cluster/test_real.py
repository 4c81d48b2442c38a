# SPDX-License-Identifier: Apache-2.0
"""test_real.py BUILD SOURCE [CASE ...] - workers whose real steps take unlike times, of which eddis is not told

The short form of bench/real: it looks at batches, and reckons from them and the devices' laws how good
a plan is; so what else the machine does does not matter.
"""

import json
import os
import re
import signal
import sys
import time

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "bench"))

import pace  # noqa: E402
from cases import Skip, run, skip_part  # noqa: E402
from lab import HOME, LOGIN, Cluster  # noqa: E402
from node import wait_for  # noqa: E402

CNN = pace.SMALL


def command(c, steps):
    return pace.arguments(c, BUILD, CNN, steps)


def law(c):
    """A device makes just the products that the law of its step's time is reckoned from."""
    paces = [pace.Pace(10000, 0, CNN)] * 4
    devices = pace.Devices(c, paces, BUILD)
    p = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--json", *command(c, 60)], cwd=HOME)
    assert p.returncode == 0, p
    batches = [150, 65, 40, 1]
    path = os.path.join(c.shared, "plan.json")
    pace.write_plan(path, json.loads(p.stdout)["plan"], batches)
    with c.job(["--plan", path, *devices.variables(), *command(c, 60)]) as j:
        assert j.end() == 0, (j.code, j.err)
        assert pace.plans(j.dir) == [(0, 1, batches)], pace.plans(j.dir)
    for node, batch in zip(c.nodes, batches):
        counted = devices.counted(node)
        operations, calls = (first + 60 * step for first, step in zip(pace.WARM_UP, CNN.work(batch)))
        assert (counted["operations"], counted["calls"]) == (operations, calls), (node, batch, counted)


def shares(job, paces):
    """Of the plans in force so far, one after the other."""
    return [pace.share(paces, batches) for _, _, batches in pace.plans(job.dir)]


def tells(job):
    """Each re-plan once, and in the end what each plan gave."""
    s = job.summary()
    first, *others = s["plans"]
    assert s["replans"] == len(others) >= 1 and first["samples_per_s"] > 0, s
    for plan in s["plans"]:
        assert os.path.exists(os.path.join(job.dir, f"plan-1-{plan['version']}.json")), s
    for plan in others:
        assert plan["reason"] and plan["predicted_samples_per_s"] > 0, s
    in_force = [p for p in s["plans"] if p["since"] >= 0]  # the newest may never have been
    for plan, after in zip(in_force, in_force[1:]):
        assert plan["since"] + plan["steps"] <= after["since"], s
    assert job.err.count(f"re-planned from step {others[0]['since']}: {others[0]['reason']}") == 1, job.err
    assert f"{len(others)} re-plan" in job.out, job.out


def were_held(c, devices):
    """Whether each device was all the time what it is said to be."""
    return all(devices.counted(node)["late_s"] == 0 for node in c.nodes)


def wait(job, what, condition, seconds):
    """A job that has ended will not come to it."""
    def running():
        assert job.process.poll() is None, f"no {what}: the job ended, {job.process.communicate()}"
        return condition()
    wait_for(what, running, seconds)


def soon(c, devices, job, paces):
    """That plan came by few re-plans and steps; on a machine that was too busy for its devices it may have taken more."""
    held = were_held(c, devices)
    found = [step for step, _, _ in pace.plans(job.dir)]
    at = next(i for i, share in enumerate(shares(job, paces)) if share >= 0.9)
    print(f"     {at} re-plans, from step {found[at]} on", flush=True)
    if not held:
        skip_part("converges-soon", "this machine was too busy to be the devices")
        return
    assert at <= 3 and found[at] <= 50, pace.plans(job.dir)


def is_close(job, paces):
    """Whether a plan in force that is not the first is close to the best one."""
    return shares(job, paces)[1:] and shares(job, paces)[-1] >= 0.9


def converges(c):
    """A job finds the best plan from its own steps; the next one begins with it."""
    paces = [p.slower(2) for p in pace.proportional(CNN)]
    devices = pace.Devices(c, paces, BUILD)
    arguments = [*devices.variables(), *command(c, 6000)]
    with c.job(arguments) as j:
        late = time.monotonic() + 120
        wait(j, "a plan close to the best one", lambda: is_close(j, paces) or
             (time.monotonic() > late and not were_held(c, devices)), 300)
        if time.monotonic() > late and not were_held(c, devices):
            raise Skip("this machine was too busy to be the devices")
        soon(c, devices, j, paces)
        j.signal(signal.SIGINT)
        assert j.end(120) == 130, (j.code, j.err)
        tells(j)
    with c.job(arguments) as j:
        wait(j, "the first plan", lambda: shares(j, paces), 120)
        assert shares(j, paces)[0] >= 0.9, pace.plans(j.dir)
        j.signal(signal.SIGINT)
        assert j.end(120) == 130, (j.code, j.err)


def metrics(job):
    return pace.lines(os.path.join(job.dir, "metrics.jsonl"))


def events(job, kind):
    return [e for e in pace.lines(os.path.join(job.dir, "events.jsonl")) if e["type"] == kind]


def named(job, kind):
    """Ranks of which the job's events say so."""
    return [e["rank"] for e in events(job, kind)]


def named_wrongly(c, devices, job, kind):
    """Ranks but 1 that are named, though their devices were all the time what they are said to be."""
    held = [devices.counted(node)["late_s"] == 0 for node in c.nodes]
    return [rank for rank in named(job, kind) if rank != 1 and held[rank]]


def straggles(c):
    """A worker that becomes three times slower is named, and no other, until it is as fast as before."""
    paces = [p.slower(2) for p in pace.proportional(CNN)]
    devices = pace.Devices(c, paces, BUILD)
    with c.job([*devices.variables(), *command(c, 6000)]) as j:
        wait(j, "40 steps", lambda: any(line["steps_done"] >= 40 for line in metrics(j)), 300)
        assert 1 not in named(j, "straggler"), j.err
        devices.set(c.nodes[1], paces[1].slower(3))
        wait(j, "a straggler", lambda: 1 in named(j, "straggler"), 300)
        told = next(e["text"] for e in events(j, "straggler") if e["rank"] == 1)
        if were_held(c, devices):
            assert re.search(r"; the others wait [\d.e+]+ ms a step for it\)", told), told
        else:
            skip_part("straggles-waits", "this machine was too busy to be the devices")
        wait(j, "its row", lambda: any(w["straggler"] for line in metrics(j) for w in line["workers"]), 60)
        devices.set(c.nodes[1], paces[1])
        wait(j, "its end", lambda: 1 in named(j, "straggler_over"), 300)
        j.signal(signal.SIGINT)
        assert j.end(120) == 130, (j.code, j.err)
        assert named(j, "straggler").count(1) == named(j, "straggler_over").count(1) == 1, j.err
        assert not named_wrongly(c, devices, j, "straggler"), j.err
        assert j.summary()["stragglers"] == len(named(j, "straggler")), j.summary()


with Cluster(4, build=BUILD) as cluster:
    pace.write_images(CNN, os.path.join(SOURCE, "examples/digits/digits.csv"), cluster.shared)
    run([law, converges, straggles], sys.argv[3:], cluster)
