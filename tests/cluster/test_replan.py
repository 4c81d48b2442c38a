# SPDX-License-Identifier: Apache-2.0
"""test_replan.py BUILD SOURCE [CASE ...] - plans of a running job that follow what is measured

Two ranks of one host compute at paces of which eddis is not told (bench/pace.c), so that the first
plan, near equal, is bad; each case looks at plans, events and what was trained, never at speeds.
"""

import glob
import json
import os
import re
import shutil
import signal
import socket
import struct
import sys

from cases import run
from files import write
from job import Folders, Job
from node import wait_for

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "bench"))

from pace import DEVICE  # noqa: E402

FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
SAMPLES = 1797 - 261  # six full steps of 256
PACES = FOLDERS.path("work", "paces")
WIDTHS = FOLDERS.path("work", "widths")
ENDLESS = 100000
# Of operations a second: 128 samples of the mlp below take 13 and 40 ms.
FAST, SLOW = 195e6, 65e6
SHELL = ('export LD_PRELOAD="$1" PACE_DIR="$2/$RANK" PACE_LAG_S=0; widths=$(cat "$3"); shift 3; '
         'exec "$@" --widths "$widths"')


def pace(rank, flops):
    folder = os.path.join(PACES, str(rank))
    os.makedirs(folder, exist_ok=True)
    core = sorted(os.sched_getaffinity(0))[rank % len(os.sched_getaffinity(0))]
    with open(os.path.join(folder, socket.gethostname()), "wb") as f:
        f.write(DEVICE.pack(flops, 0, core, 0, 0, 0.0))


def training(*args, epochs=ENDLESS, batch="", sync="{mode: sync}", every=0, save=None, cache=None):
    """A job of two ranks, the second a third as fast."""
    pace(0, FAST)
    pace(1, SLOW)
    if not os.path.exists(WIDTHS):
        widths(64)
    if not cache:
        shutil.rmtree(FOLDERS.path("cache", "eddis"), ignore_errors=True)
    command = ["sh", "-c", SHELL, "sh", BUILD + "/bench/bench-pace.so", PACES, WIDTHS, "eddis-train", "--data", DATA,
               "--test", str(1797 - SAMPLES), "--model", "mlp", "--threads", "1", "--eval-every", "0", "--epochs", str(epochs)]
    path = write(FOLDERS.path("work", "train.yaml"),
                 f"name: replan\ncommand: {json.dumps(command + (['--save', save] if save else []))}\n"
                 f"workers_per_node: 2\nbinding: none\nbatch: {{global: 256{batch}}}\nsync: {sync}\n"
                 f"checkpoint: {{every: {every}}}\n")
    return Job(BUILD, FOLDERS, [*args, path], ranks=None)


def widths(n):
    write(WIDTHS, str(n))


def batches(p):
    return [w["batch"] for w in p["workers"]]


def versions(j, kind):
    return [int(re.match(r"version (\d+)", e["text"]).group(1)) for e in j.events(kind)]


def wait_replan(j):
    """Until workers have agreed on a plan that follows what was measured; returns it."""
    def there():
        agreed = versions(j, "plan_agreed")
        found = [v for v in agreed if v > 1 and os.path.exists(j.path(f"plan-1-{v}.json"))]
        return [p for p in (j.plan(v) for v in found) if p.get("change")]
    wait_for("a plan of what was measured", there)
    return there()[0]


def check_plan(p):
    """It gives the slower rank clearly less, and says why."""
    assert sum(batches(p)) == 256 and batches(p)[0] > 1.5 * batches(p)[1], p
    assert [w["time"] for w in p["workers"]] == ["measured"] * 2, p
    assert p["gain"] >= 1 and p["change"].startswith("rank 1 takes"), p


def tensors(path):
    """{name: [values]} of a safetensors file."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    return {name: struct.unpack(f"<{(t['data_offsets'][1] - t['data_offsets'][0]) // 4}f",
                                data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]])
            for name, t in json.loads(data[8:8 + n]).items() if name != "__metadata__"}


def trained(rebalance):
    """Its parameters, and how often it was re-planned; each sample was taken once an epoch."""
    path = FOLDERS.path("work", f"model-{rebalance}")
    with training(epochs=25, batch=f", rebalance: {rebalance}", save=path) as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["samples"] == 25 * SAMPLES and s["steps_done"] == 25 * 6, s
        assert s["replans"] == len(j.events("replanned")), s
        if s["replans"]:
            check_plan(wait_replan(j))
        return tensors(path), s["replans"]


def exact():
    """Synchronous training gives the same parameters, up to rounding, and takes each sample once an epoch.  Where the
    machine's other work hid the paces for all of a job, that begins again."""
    equal, replans = trained("off")
    assert replans == 0, replans
    for _ in range(5):
        planned, replans = trained("auto")
        if replans:
            break
    assert replans > 0, "five jobs without a re-plan"
    found = equal, planned
    for name, values in found[0].items():
        most = max(map(abs, values))
        off = max(abs(a - b) for a, b in zip(values, found[1][name]))
        assert off <= 1e-3 * most, (name, off, most)


def killed():
    """What was measured goes into the plan of the restart, which begins at the newest checkpoint."""
    with training(epochs=60, every=20) as j:
        p = wait_replan(j)
        check_plan(p)
        j.wait_checkpoint()
        os.kill(j.rank_pid(1), signal.SIGKILL)
        j.check(0, "ok", "restarting from step", failed_rank=1)
        s = j.summary()
        assert s["generations"] == 2 and s["steps_done"] == s["steps_total"] == 60 * 6, s
        again = j.plan(1, 2)
        assert [w["time"] for w in again["workers"]] == ["measured"] * 2, again
        assert batches(again)[0] > 1.5 * batches(again)[1], (p, again)


def next_job():
    """The next job begins with what this one has learnt; one with another model says that it forgets."""
    with training() as j:
        wait_replan(j)
        newest = lambda: batches(j.plan(versions(j, "plan_agreed")[-1]))  # noqa: E731
        wait_for("a plan by the paces", lambda: newest()[0] > 1.5 * newest()[1])
        j.interrupted()
    with training(cache=True) as j:
        j.wait_steps(20)
        first = j.plan(1)
        assert [w["time"] for w in first["workers"]] == ["learnt"] * 2, first
        assert batches(first)[0] > 1.5 * batches(first)[1], first
        j.interrupted()
    widths(32)
    with training(cache=True) as j:
        wait_for("the size", lambda: any("what earlier jobs measured of its workers is not used" in e.get("text", "") for e in j.events()))
        j.interrupted()
    widths(64)


def stays():
    """A plan stays where that is asked for."""
    kept = FOLDERS.path("work", "plan.json")
    for words in ("--set", "batch.rebalance=off"), ("--plan", kept):
        with training(*words) as j:
            j.wait_steps(120)
            j.interrupted()
            assert not j.events("replanned") and j.summary()["replans"] == 0, (words, j.events())
            shutil.copy(j.path("plan-1-1.json"), kept)


def at_most_once_in():
    """batch.rebalance is the fewest steps between two plans, also when speeds change meanwhile."""
    with training("--set", "batch.rebalance=60") as j:
        wait_replan(j)
        j.wait_steps(j.steps_done() + 100)
        j.interrupted()
        since = {int(e["text"].split()[1]): int(e["text"].split()[4]) for e in j.events("plan_agreed")}
        since = [step for v, step in sorted(since.items()) if os.path.exists(j.path(f"plan-1-{v}.json"))]
        assert len(since) > 1 and all(b - a >= 60 for a, b in zip(since, since[1:])), since


def saves():
    """Saves by time are versions too, and the plan follows what is measured beside them."""
    with training("--measure-equal", "20", every="1s") as j:
        check_plan(wait_replan(j))
        published = len(j.events("plan_published"))
        wait_for("two more saves", lambda: len(j.events("plan_published")) >= published + 2)
        j.interrupted()
        v = versions(j, "plan_published")
        assert v == list(range(2, 2 + len(v))), v
        assert versions(j, "plan_agreed") == sorted(set(versions(j, "plan_agreed"))), j.events()


def several_models():
    """Workers that train models of their own agree on plans too, and no sample is lost."""
    for sync in "{mode: async, period: 4}", "{mode: hybrid, groups: [[0], [1]], period: 4}":
        for epochs in 50, 250:  # on a busy machine it takes longer to be sure of a speed
            with training(epochs=epochs, sync=sync) as j:
                j.check(0, "ok")
                s = j.summary()
                assert s["samples"] == epochs * SAMPLES and s["replans"] == len(j.events("replanned")), s
                if s["replans"]:
                    check_plan(wait_replan(j))
            if s["replans"]:
                break
        assert s["replans"], s


def times_file():
    found = glob.glob(FOLDERS.path("cache", "eddis", "**", "times-*.json"), recursive=True)
    assert len(found) == 1, found
    return found[0]


def damaged():
    """What was learnt and cannot be read is as if there were none."""
    with training() as j:
        wait_replan(j)
        j.interrupted()
    path = times_file()
    with open(path, "rb") as f:
        good = f.read()
    value = json.loads(good)
    rows = value["value"]["times"]

    def with_row(**changes):
        return json.dumps(dict(value, value=dict(value["value"], times=[dict(rows[0], **changes), *rows[1:]]))).encode()
    assert first_times() == {"learnt"}
    bad = {"empty": b"", "binary": bytes(range(256)) * 64, "huge": b"[" * (9 << 20), "half": good[:len(good) // 2],
           "deep": b"[" * 100000, "negative": with_row(sample_s=-1), "nothing": with_row(sample_s=0),
           "text": with_row(fixed_s="1"), "NaN": with_row(sample_s=float("nan")),
           "infinite": with_row(fixed_s=float("inf")), "largest": with_row(largest=-5),
           "list": json.dumps(dict(value, value=[])).encode(), "future": json.dumps(dict(value, measured_s=1 << 40)).encode(),
           "other key": json.dumps(dict(value, key="another")).encode()}
    for name, text in bad.items():
        with open(path, "wb") as f:
            f.write(text)
        assert first_times() == {"probe"}, name
    with open(path, "wb") as f:
        f.write(good)
    os.chmod(path, 0o666)
    assert first_times() == {"probe"}, "a file that others may write"
    os.unlink(path)
    os.mkfifo(path)
    assert first_times() == {"probe"}, "a pipe"
    os.unlink(path)


def first_times():
    """Where the times of the plan that a job would begin with are from."""
    with training("--dry-run", "--json", cache=True) as j:
        assert j.end() == 0, j.err
        return {w["time"] for w in json.loads(j.out)["plan"]["workers"]}


run([exact, killed, next_job, stays, at_most_once_in, saves, several_models, damaged], sys.argv[3:])
