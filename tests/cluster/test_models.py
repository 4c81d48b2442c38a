# SPDX-License-Identifier: Apache-2.0
"""test_models.py BUILD SOURCE [CASE ...] - async, hybrid and local mode as whole programs, on one host.

The digits on four emulated devices of unlike speed: they train, they go on after a worker was
killed, they end when told to, and nothing is left.
"""

import json
import os
import re
import signal
import struct
import sys

from cases import run, table
from files import write
from job import Folders, Job
from node import wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
EMULATE = "[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 1.0}, {rate: 0.5}, {rate: 0.5}]"
SAMPLES = 1797 - 360
ASYNC = "{mode: async, period: 4}"
HYBRID = "{mode: hybrid, groups: [[0, 1], [2, 3]], period: 4}"
LOCAL = "{mode: local, groups: [[0, 1], [2, 3]], period: 4}"
DILOCO = "{mode: local, algorithm: diloco, period: 2, outer_momentum: 0.5}"
OVERLAP = "{mode: local, groups: [[0, 1], [2, 3]], period: 4, overlap: 3}"
OVERLAP_DILOCO = "{mode: local, algorithm: diloco, period: 3, overlap: 1, outer_momentum: 0.5}"


def training(sync, *args, epochs=40, every=0, emulate=EMULATE):
    command = ["eddis-train", "--data", DATA, "--test", "360", "--model", "mlp", "--widths", "32",
               "--epochs", str(epochs)]
    path = write(FOLDERS.path("work", "train.yaml"),
                 f"name: models\ncommand: {json.dumps(command)}\nbatch: {{global: 128}}\nsync: {sync}\n"
                 f"profile: {{emulate: {emulate}}}\ncheckpoint: {{every: {every}}}\n")
    return Job(BUILD, FOLDERS, [*args, path], ranks=None)


def trains(sync, mode, algorithm):
    with training(sync) as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["accuracy"] > 0.93 and s["samples"] == 40 * SAMPLES, s
        assert (j.plan()["mode"], j.plan()["algorithm"]) == (mode, algorithm), j.plan()
        assert "test accuracy" in j.log(0), j.log(0)


def rate_of_all():
    """The trainer's last line tells the job's speed, not rank 0's third of it."""
    slow = "[{rate: 1.0, a_ms: 20, c_ms: 1}, {rate: 1.0}, {rate: 0.5}, {rate: 0.5}]"
    for sync in ASYNC, HYBRID:
        with training(sync, epochs=1, emulate=slow) as j:
            j.check(0, "ok")
            rate = float(re.findall(r"([0-9]+) samples/s", j.log(0))[-1])
            assert 0.5 < rate / j.summary()["samples_per_s"] < 2, (rate, j.summary()["samples_per_s"])


def momentum():
    """Nesterov's in the local step; not with Adam."""
    with training("{mode: async, period: 4, momentum: 0.9}") as j:
        j.check(0, "ok")
        assert j.summary()["accuracy"] > 0.93, j.summary()


def killed(sync):
    """The counter, the centre and the ranges that were not done come from the checkpoint."""
    with training(sync, epochs=80, every=20) as j:
        pid = j.rank_pid(1)
        j.wait_checkpoint()
        files = os.listdir(newest(j))
        assert "rank-0000.eddis.samples" in files, files
        own = "eddis.outer" if "diloco" in sync else "eddis.local"
        assert f"rank-0000.{own}" in files or sync in (LOCAL, OVERLAP), files
        os.kill(pid, signal.SIGKILL)
        j.check(0, "ok", "died of signal 9", "restarting from step", failed_rank=1)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.93, s


def newest(j):
    """The folder of the newest checkpoint."""
    return j.path("checkpoints", j.checkpoints()[-1])


def samples_left(j):
    """What the newest checkpoint says that it has not done, of all epochs."""
    with open(os.path.join(newest(j), "rank-0000.eddis.samples"), "rb") as f:
        data = f.read()
    return sum(struct.unpack(f"={len(data) // 8}q", data)[2::2])


def by_time():
    """Checkpoints come by the clock, also where workers do not count steps together."""
    for sync in ASYNC, HYBRID, LOCAL:
        with training(sync, epochs=4000, every="1s") as j:
            wait_for("two checkpoints", lambda: len(j.checkpoints()) >= 2)
            j.interrupted()
            done = 4000 * SAMPLES - samples_left(j)
            assert done == j.summary()["samples"], (done, j.summary())


def saved(number, code, reason):
    """Each writes its part of a checkpoint at its last step, and all leave: no sample is lost."""
    for sync in ASYNC, HYBRID, LOCAL, DILOCO, OVERLAP:
        with training(sync, epochs=4000, every=100000) as j:
            j.wait_steps()
            j.signal(number)
            j.check(code, reason)
            assert len(j.checkpoints()) == 1, j.checkpoints()
            done = 4000 * SAMPLES - samples_left(j)
            assert done == j.summary()["samples"], (done, j.summary())


def stopped_and_resumed(sync, then, kill):
    """How far the job is counts from the samples that the checkpoint has done, to the last step."""
    with training(sync, epochs=80, every=20) as j:
        j.wait_checkpoint()
        j.wait_steps()  # the driver knows of some, too: else there is nothing to save
        j.interrupt()
        stopped, saved_at = j.summary()["steps_done"], int(j.checkpoints()[-1][len("step-"):])
        assert stopped == saved_at == steps_of(80 * SAMPLES - samples_left(j)), (stopped, saved_at)
        assert f" at step {stopped}; newest checkpoint: step {saved_at};" in j.summary()["message"], j.summary()
        with training(then, "--resume", newest(j), epochs=80, every=20) as k:
            pid = k.rank_pid(1)
            if kill:
                k.wait_checkpoint()
                os.kill(pid, signal.SIGKILL)
            k.check(0, "ok", *(["restarting from step"] if kill else []), **({"failed_rank": 1} if kill else {}))
            s = k.summary()
            assert s["steps_done"] == s["steps_total"] and s["epoch"] == 80, s
            told = [row["steps_done"] for row in k.metrics()]
            assert any(told) and all(n == 0 or stopped <= n <= s["steps_total"] for n in told), (stopped, told)


def steps_of(samples):
    """Of 128 samples, and one of the rest in each epoch."""
    return samples // SAMPLES * -(-SAMPLES // 128) + samples % SAMPLES // 128


def sync_after_async():
    """What is left of an asynchronous job, out of order, is done by a synchronous one, also when
    that is restarted."""
    with training(ASYNC, epochs=80, every=20) as j:
        j.wait_checkpoint()
        j.interrupt()
        with training("{mode: sync}", "--resume", newest(j), epochs=80, every=20) as k:
            pid = k.rank_pid(1)
            k.wait_checkpoint()
            os.kill(pid, signal.SIGKILL)
            k.check(0, "ok", "restarting from step", failed_rank=1)
            assert k.summary()["accuracy"] > 0.93 and k.summary()["samples"] < 80 * SAMPLES, k.summary()


CASES = [table(trains, {"async_trains": (ASYNC, "async", "easgd"), "hybrid_trains": (HYBRID, "hybrid", "hsgd"),
                        "local_trains": (LOCAL, "local", "local"), "diloco_trains": (DILOCO, "local", "diloco"),
                        "overlap_trains": (OVERLAP, "local", "local")}),
         rate_of_all, momentum, table(killed, {"async_killed": (ASYNC,), "hybrid_killed": (HYBRID,),
                                               "local_killed": (LOCAL,), "diloco_killed": (DILOCO,),
                                               "overlap_killed": (OVERLAP,)}), by_time,
         table(saved, {"interrupted": (signal.SIGINT, 130, "interrupted"),
                       "preempted": (signal.SIGTERM, 75, "preempted")}),
         table(stopped_and_resumed, {"async_resumed": (ASYNC, ASYNC, False),
                                     "async_resumed_killed": (ASYNC, ASYNC, True),
                                     "hybrid_resumed_sync": (HYBRID, "{mode: sync}", False),
                                     "local_resumed_killed": (LOCAL, DILOCO, True),
                                     "local_resumed_sync": (DILOCO, "{mode: sync}", False),
                                     "overlap_resumed_killed": (OVERLAP, OVERLAP_DILOCO, True),
                                     "async_resumed_local": (ASYNC, LOCAL, False)}), sync_after_async]


run(CASES, sys.argv[3:])
