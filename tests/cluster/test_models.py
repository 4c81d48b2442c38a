# SPDX-License-Identifier: Apache-2.0
"""test_models.py BUILD SOURCE [CASE ...] - async and hybrid mode as whole programs, on one host.

The digits on four emulated devices of unlike speed: they train, they go on after a worker was
killed, they end when told to, and nothing is left.
"""

import json
import os
import re
import signal
import sys

from cases import run
from job import Folders, Job
from node import wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
EMULATE = "[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 1.0}, {rate: 0.5}, {rate: 0.5}]"
SAMPLES = 1797 - 360
ASYNC = "{mode: async, period: 4}"
HYBRID = "{mode: hybrid, groups: [[0, 1], [2, 3]], period: 4}"


def training(sync, *args, epochs=40, every=0, emulate=EMULATE):
    path = FOLDERS.path("work", "train.yaml")
    command = ["eddis-train", "--data", DATA, "--test", "360", "--model", "mlp", "--widths", "32",
               "--epochs", str(epochs)]
    with open(path, "w") as f:
        f.write(f"name: models\ncommand: {json.dumps(command)}\nbatch: {{global: 128}}\nsync: {sync}\n"
                f"profile: {{emulate: {emulate}}}\ncheckpoint: {{every: {every}}}\n")
    return Job(BUILD, FOLDERS, [*args, path], ranks=None)


def checkpoints(j):
    try:
        names = os.listdir(os.path.join(j.dir, "checkpoints"))
    except FileNotFoundError:
        return []
    return sorted(n for n in names if re.fullmatch(r"step-\d+", n))


def wait_checkpoint(j):
    wait_for("a checkpoint", lambda: checkpoints(j))


def wait_steps(j):
    def there():
        try:
            return any(json.loads(line)["steps_done"] > 0 for line in j.file("metrics.jsonl").splitlines())
        except FileNotFoundError:
            return False
    wait_for("some steps", there)


def check_plan(j, mode, algorithm):
    with open(os.path.join(j.dir, "plan-1-1.json")) as f:
        plan = json.load(f)
    assert (plan["mode"], plan["algorithm"]) == (mode, algorithm), plan


def trains(sync, mode, algorithm):
    with training(sync) as j:
        j.check(0, "ok", seconds=120)
        s = j.summary()
        assert s["accuracy"] > 0.93 and s["samples"] == 40 * SAMPLES, s
        check_plan(j, mode, algorithm)
        assert "test accuracy" in j.log(0), j.log(0)


def async_trains():
    trains(ASYNC, "async", "easgd")


def hybrid_trains():
    trains(HYBRID, "hybrid", "hsgd")


def momentum():
    """Nesterov's in the local step; not with Adam."""
    with training("{mode: async, period: 4, momentum: 0.9}") as j:
        j.check(0, "ok", seconds=120)
        assert j.summary()["accuracy"] > 0.93, j.summary()


def rank_pid(j, rank):
    def there():
        return [e for e in j.events() if e["type"] == "rank_started" and e["rank"] == rank]
    wait_for(f"rank {rank} to start", there)
    return int(re.search(r"pid (\d+)", there()[0]["text"]).group(1))


def killed(sync):
    """The counter, the centre and the ranges that were not done come from the checkpoint."""
    with training(sync, epochs=80, every=20) as j:
        pid = rank_pid(j, 1)
        wait_checkpoint(j)
        files = os.listdir(os.path.join(j.dir, "checkpoints", checkpoints(j)[-1]))
        assert "rank-0000.eddis.samples" in files and "rank-0000.eddis.local" in files, files
        os.kill(pid, signal.SIGKILL)
        j.check(0, "ok", "died of signal 9", "restarting from step", seconds=120, failed_rank=1)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.93, s


def async_killed():
    killed(ASYNC)


def hybrid_killed():
    killed(HYBRID)


def interrupted():
    with training(ASYNC, epochs=4000) as j:
        wait_steps(j)
        j.signal(signal.SIGINT)
        j.check(130, "interrupted")


def preempted():
    """SIGTERM: each writes its part of a checkpoint at a step of its own, and all leave."""
    for sync in ASYNC, HYBRID:
        with training(sync, epochs=4000, every=100000) as j:
            wait_steps(j)
            j.signal(signal.SIGTERM)
            j.check(75, "preempted", seconds=60)
            assert len(checkpoints(j)) == 1, checkpoints(j)


def sync_after_async():
    """What is left of an asynchronous job, out of order, is done by a synchronous one, also when
    that is restarted."""
    with training(ASYNC, epochs=80, every=20) as j:
        wait_checkpoint(j)
        j.signal(signal.SIGINT)
        j.end(60)
        folder = os.path.join(j.dir, "checkpoints", checkpoints(j)[-1])
        with training("{mode: sync}", "--resume", folder, epochs=80, every=20) as k:
            pid = rank_pid(k, 1)
            wait_checkpoint(k)
            os.kill(pid, signal.SIGKILL)
            k.check(0, "ok", "restarting from step", seconds=90, failed_rank=1)
            assert k.summary()["accuracy"] > 0.93 and k.summary()["samples"] < 80 * SAMPLES, k.summary()


CASES = [async_trains, hybrid_trains, momentum, async_killed, hybrid_killed, interrupted, preempted,
         sync_after_async]


run(CASES, sys.argv[3:])
