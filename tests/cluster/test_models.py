# SPDX-License-Identifier: Apache-2.0
"""test_models.py BUILD SOURCE [CASE ...] - async and hybrid mode as whole programs, on one host.

The digits on four emulated devices of unlike speed: they train, they go on after a worker was
killed, they end when told to, and nothing is left.
"""

import json
import os
import re
import signal
import struct
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
        j.check(0, "ok")
        s = j.summary()
        assert s["accuracy"] > 0.93 and s["samples"] == 40 * SAMPLES, s
        check_plan(j, mode, algorithm)
        assert "test accuracy" in j.log(0), j.log(0)


def async_trains():
    trains(ASYNC, "async", "easgd")


def hybrid_trains():
    trains(HYBRID, "hybrid", "hsgd")


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
        j.check(0, "ok", "died of signal 9", "restarting from step", failed_rank=1)
        s = j.summary()
        assert s["generations"] == 2 and s["accuracy"] > 0.93, s


def async_killed():
    killed(ASYNC)


def hybrid_killed():
    killed(HYBRID)


def samples_left(j):
    """What the newest checkpoint says that it has not done, of all epochs."""
    path = os.path.join(j.dir, "checkpoints", checkpoints(j)[-1], "rank-0000.eddis.samples")
    with open(path, "rb") as f:
        data = f.read()
    return sum(struct.unpack(f"={len(data) // 8}q", data)[2::2])


def by_time():
    """Checkpoints come by the clock, also where workers do not count steps together."""
    for sync in ASYNC, HYBRID:
        with training(sync, epochs=4000, every="1s") as j:
            wait_for("two checkpoints", lambda: len(checkpoints(j)) >= 2)
            j.signal(signal.SIGINT)
            j.check(130, "interrupted")
            done = 4000 * SAMPLES - samples_left(j)
            assert done == j.summary()["samples"], (done, j.summary())


def saved(number, code, reason):
    """Each writes its part of a checkpoint at its last step, and all leave: no sample is lost."""
    for sync in ASYNC, HYBRID:
        with training(sync, epochs=4000, every=100000) as j:
            wait_steps(j)
            j.signal(number)
            j.check(code, reason)
            assert len(checkpoints(j)) == 1, checkpoints(j)
            done = 4000 * SAMPLES - samples_left(j)
            assert done == j.summary()["samples"], (done, j.summary())


def interrupted():
    saved(signal.SIGINT, 130, "interrupted")


def preempted():
    saved(signal.SIGTERM, 75, "preempted")


def stopped_and_resumed(sync, then, *, kill=False):
    """How far the job is counts from the samples that the checkpoint has done, to the last step."""
    with training(sync, epochs=80, every=20) as j:
        wait_checkpoint(j)
        wait_steps(j)  # the driver knows of some, too: else there is nothing to save
        j.interrupt()
        stopped, newest = j.summary()["steps_done"], int(checkpoints(j)[-1][len("step-"):])
        assert stopped == newest == steps_of(80 * SAMPLES - samples_left(j)), (stopped, newest)
        assert f" at step {stopped}; newest checkpoint: step {newest};" in j.summary()["message"], j.summary()
        folder = os.path.join(j.dir, "checkpoints", checkpoints(j)[-1])
        with training(then, "--resume", folder, epochs=80, every=20) as k:
            pid = rank_pid(k, 1)
            if kill:
                wait_checkpoint(k)
                os.kill(pid, signal.SIGKILL)
            k.check(0, "ok", *(["restarting from step"] if kill else []), **({"failed_rank": 1} if kill else {}))
            s = k.summary()
            assert s["steps_done"] == s["steps_total"] and s["epoch"] == 80, s
            told = [json.loads(line)["steps_done"] for line in k.file("metrics.jsonl").splitlines()]
            assert any(told) and all(n == 0 or stopped <= n <= s["steps_total"] for n in told), (stopped, told)


def steps_of(samples):
    """Of 128 samples, and one of the rest in each epoch."""
    return samples // SAMPLES * -(-SAMPLES // 128) + samples % SAMPLES // 128


def async_resumed():
    stopped_and_resumed(ASYNC, ASYNC)


def async_resumed_killed():
    stopped_and_resumed(ASYNC, ASYNC, kill=True)


def hybrid_resumed_sync():
    stopped_and_resumed(HYBRID, "{mode: sync}")


def sync_after_async():
    """What is left of an asynchronous job, out of order, is done by a synchronous one, also when
    that is restarted."""
    with training(ASYNC, epochs=80, every=20) as j:
        wait_checkpoint(j)
        j.interrupt()
        folder = os.path.join(j.dir, "checkpoints", checkpoints(j)[-1])
        with training("{mode: sync}", "--resume", folder, epochs=80, every=20) as k:
            pid = rank_pid(k, 1)
            wait_checkpoint(k)
            os.kill(pid, signal.SIGKILL)
            k.check(0, "ok", "restarting from step", failed_rank=1)
            assert k.summary()["accuracy"] > 0.93 and k.summary()["samples"] < 80 * SAMPLES, k.summary()


CASES = [async_trains, hybrid_trains, rate_of_all, momentum, async_killed, hybrid_killed, by_time, interrupted, preempted,
         async_resumed, async_resumed_killed, hybrid_resumed_sync, sync_after_async]


run(CASES, sys.argv[3:])
