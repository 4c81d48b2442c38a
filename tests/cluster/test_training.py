# SPDX-License-Identifier: Apache-2.0
"""test_training.py BUILD SOURCE [CASE ...] - eddis-run with eddis-train: the whole product."""

import datetime
import json
import os
import random
import re
import signal
import sys
import zlib

from cases import run
from files import read, write
from job import Folders, Job, tool
from limits import disk
from node import LEASE, marked, wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
EMULATE = "[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 1.0}, {rate: 0.5}, {rate: 0.25}]"
SLOW = "[{rate: 1.0, a_ms: 10, c_ms: 0.5}, {rate: 1.0}, {rate: 0.5}, {rate: 0.25}]"


def training(epochs, *args, checkpoint_every=0, checkpoint_dir="auto", emulate=EMULATE):
    """The digits example, shortened."""
    path = write(FOLDERS.path("work", "train.yaml"),
                 f"name: digits\n"
                 f"command: [eddis-train, --data, {DATA}, --test, '360', --model, mlp, --widths, '64',"
                 f" --epochs, '{epochs}', --eval-every, '5']\n"
                 f"profile: {{emulate: {emulate}}}\n"
                 f"checkpoint: {{every: {checkpoint_every}, dir: {checkpoint_dir}}}\n")
    return Job(BUILD, FOLDERS, [*args, path], ranks=None)


def number(text, pattern):
    """The first group of pattern in text, "20 453" as 20453."""
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return float(found.group(1).replace(" ", ""))


def near(a, b, part):
    assert abs(a - b) <= part * abs(b), (a, b)


def figures():
    """Every figure of the summary comes from one place, and the plan is worth its name: on devices that are slow beside
    what a busy machine adds to a step."""
    with training(15, "--measure-equal", "20", emulate=SLOW) as j:
        j.check(0, "ok")
        s = j.summary()
        assert {"exit_code", "accuracy", "loss", "samples", "samples_per_s", "ideal_samples_per_s",
                "equal_split_samples_per_s", "reason", "predicted_samples_per_s", "wall_s",
                "generations", "replans", "first_failure", "emulated"} <= set(s), s
        assert s["accuracy"] > 0.9 and s["loss"] < 0.5 and s["emulated"] is True
        assert s["generations"] == 1 and s["first_failure"] is None
        assert s["samples"] == 15 * (1797 - 360) and s["steps_done"] == s["steps_total"] == 15 * 6
        equal = s["equal_split_samples_per_s"]
        # A busy machine may slow both, but not turn them round; what it is predicted to add it may add no more later.
        bound = 256 / (0.010 + 0.0005 * 64 / 0.25)  # what the slowest device allows
        assert s["samples_per_s"] > 1.2 * equal["measured"], s
        assert s["samples_per_s"] < 1.02 * s["ideal_samples_per_s"], s
        assert equal["measured"] < 1.02 * bound and equal["predicted"] < 1.02 * bound, s
        # The printed summary, and eddis-status.
        near(number(j.out, r"(\d+(?: \d{3})*) samples/s = "), s["samples_per_s"], 0.001)
        share = 100 * s["samples_per_s"] / s["ideal_samples_per_s"]
        assert abs(number(j.out, r"samples/s = (\d+) % of ideal") - share) < 0.51, (j.out, share)
        near(number(j.out, r"ideal, ([\d.]+)x an equal split"),
             s["samples_per_s"] / equal["measured"], 0.05)
        near(number(j.out, r"\(measured ([\d ]+)\)"), equal["measured"], 0.001)
        near(number(j.out, r"done in .*accuracy ([\d.]+)"), s["accuracy"], 0.001)
        told = shown(j)
        assert {k: told[k] for k in s} == s, (told, s)
        plans = [j.plan(v) for v in (1, 2)]
        assert [w["batch"] for w in plans[0]["workers"]] == [64] * 4
        assert plans[1]["workers"][0]["batch"] > 80
        assert plans[1]["communication"]["buckets"], plans[1]
        assert j.events("plan_published")
        agreed = [e["text"] for e in j.events("plan_agreed")]
        assert agreed[0] == "version 1 from step 0" and len(agreed) == 2, agreed
        # As told, or later when the machine is busy.
        assert 20 <= number(agreed[1], r"version 2 from step (\d+)") < 80, agreed


def jitter():
    """Steps vary as the job wants, and that is no reason for another plan."""
    mix = "[{rate: 1.0, a_ms: 10, c_ms: 0.5, jitter: 0.05}, {rate: 1.0}, {rate: 0.5}, {rate: 0.25}]"
    with training(40, emulate=mix) as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["steps_done"] == 40 * 6 and s["replans"] == 0, s
        last = [row["workers"] for row in j.metrics() if len(row["workers"]) == 4][-1]  # the end has none
        for w in last:
            low, high = w["figures"]["compute_low_s"], w["figures"]["compute_high_s"]
            assert high > 1.02 * low, w  # quartiles


def too_short():
    """The job is over before the equal split is: its figures are those of that, and it says so; no
    buckets are laid out by its steps, since those of the plan would be others."""
    with training(3, "--measure-equal", "100") as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["samples_per_s"] == s["equal_split_samples_per_s"]["measured"] > 0, s
        assert s["samples_per_s"] < 1.05 * s["ideal_samples_per_s"], s
        assert "equal split" in s["message"] and s["message"] in j.out, (s, j.out)
        assert not j.plan(2)["communication"]["buckets"]
        near(number(j.out, r"(\d+(?: \d{3})*) samples/s = "), s["samples_per_s"], 0.001)


def preempted():
    """SIGTERM: a checkpoint is written and 75 says that it is there; then the job goes on from it."""
    with training(100) as j:
        j.wait_steps(12)
        j.signal(signal.SIGTERM)
        j.signal(signal.SIGTERM)  # by way of a wrapper
        j.check(75, "preempted", "asking for a checkpoint")
        step = j.summary()["steps_done"]
        assert sorted(os.listdir(j.path("checkpoints"))) == [".generation", "step-%08d" % step]
        first = j.dir
    assert 0 < step < 600
    epochs = step // 6 + 3
    checkpoint = os.path.join(first, "checkpoints", "step-%08d" % step)
    with training(step // 6 + 1, "--resume", checkpoint) as j:
        j.check(0, "ok")
        assert j.summary()["samples"] <= 1437, j.summary()
    with training(epochs, "--resume", first + "/") as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["steps_done"] == epochs * 6, s
        assert s["samples"] < epochs * 1437 - (step // 6 - 1) * 1437, s
        assert s["accuracy"] > 0.8, s


def shown(j):
    """The job's state, {} before it has one."""
    p = tool(BUILD, "eddis-status", "--json", "--once", j.dir + "/")
    return json.loads(p.stdout) if p.returncode == 0 else {}


def preempted_async():
    """Workers that go at their own paces count steps of their own, by which no checkpoint is numbered."""
    data = write(FOLDERS.path("work", "small.csv"), "0,1,2\n1,2,1\n" * 200)
    with Job(BUILD, FOLDERS, ["--set", "sync.mode=async", "--set", "batch.global=80", "--set", "checkpoint.every=5",
                              "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.05}, {rate: 1}]", "--", "eddis-train",
                              "--data", data, "--test", "10", "--epochs", "1000000", "--quiet"]) as j:
        def ahead():
            s = shown(j)
            return min((w["steps_done"] for w in s.get("workers", [])), default=0) - (s.get("steps_done") or 0)

        wait_for("workers that are ahead of the job", lambda: j.process.poll() is not None or ahead() > 50)
        j.signal(signal.SIGTERM)
        j.check(75, "preempted", "asking for a checkpoint")
        s = j.summary()
        assert re.search(rf"at step {s['steps_done']}; newest checkpoint: step {s['steps_done']};", s["message"]), s


def steps(j):
    """All checkpoints, also parts of such."""
    folder = j.path("checkpoints")
    return sorted(n for n in os.listdir(folder) if n.startswith("step-")) if os.path.exists(folder) else []


def ctrl_c(j):
    """As a terminal does: to all that it started there."""
    os.killpg(j.process.pid, signal.SIGINT)


def ask_stop(j):
    done = tool(BUILD, "eddis-run", "--stop", j.dir + "/")
    assert done.returncode == 0 and "exit code 130" in done.stdout, done


def interrupted():
    """Ctrl-C and --stop, at any step: what was trained is in a checkpoint, and nothing is done twice."""
    for stop, by in (ctrl_c, "Ctrl-C"), (ask_stop, "eddis-run --stop"):
        with training(100) as j:
            at = random.randrange(1, 100)
            j.wait_steps(at - 1)
            stop(j)
            j.check(130, "interrupted", "asking for a checkpoint, then stopping (4 ranks)")
            s = j.summary()
            done = s["steps_done"]
            assert steps(j) == ["step-%08d" % done], (s, os.listdir(j.dir))
            assert s["message"].startswith(f"stopped by {by} at step {done}; newest checkpoint: step {done}; "
                                           "continue with --resume "), s
            assert f"step {done}" in j.out and at <= done < 600, (at, j.out)
    with training(done // 6 + 1, "--resume", j.dir + "/") as k:
        k.check(0, "ok")
        left = (done // 6 + 1) * 1437 - (done // 6 * 1437 + min(done % 6 * 256, 1437))
        assert k.summary()["samples"] == left, (done, k.summary())
        assert f"  continues from step {done} ({j.dir}/checkpoints/step-%08d)" % done in k.out, k.out


def stopped_unsaved():
    """A job that resumed and was stopped before its first checkpoint goes on from the one that it began with."""
    with training(100) as j:
        j.wait_steps(3)
        ctrl_c(j)
        j.check(130, "interrupted")
        done = j.summary()["steps_done"]
    with training(4000, "--resume", j.dir + "/") as k:
        k.wait_steps(done)
        k.signal(signal.SIGQUIT)  # which saves nothing
        k.check(131, "interrupted")
        said = (rf"stopped by SIGQUIT at step \d+; it wrote no checkpoint and began with the one of step {done}; "
                r"continue from that with --resume \S+")
        assert re.fullmatch(said, k.summary()["message"]), k.summary()
    with training(done // 6 + 1, "--resume", k.dir + "/") as goes_on:
        goes_on.check(0, "ok")
        assert f"  continues from step {done} ({j.dir}/checkpoints/step-%08d)" % done in goes_on.out, goes_on.out


def interrupted_hanging():
    """No checkpoint comes of a rank that hangs: a limit is kept, and a second Ctrl-C waits for none."""
    for limit, twice in ("2s", False), ("10m", True):
        # A stopped process is ended by its agent, too, after leases.
        with training(4000, "--set", "timeouts.lease=60s", "--set", "timeouts.grace=1s",
                      "--set", f"timeouts.checkpoint={limit}") as j:
            pid = j.rank_pid(1)
            j.wait_steps(3)
            os.kill(pid, signal.SIGSTOP)
            ctrl_c(j)
            j.wait_event("plan_published")
            if twice:
                ctrl_c(j)
            j.check(130, "interrupted", "asking for a checkpoint",
                    "killing all processes that are left, without waiting for the checkpoint" if twice
                    else "no checkpoint within 2 s (timeouts.checkpoint)")
            assert j.summary()["message"].startswith("stopped by Ctrl-C at step "), j.summary()
            assert not steps(j), steps(j)


def by_time():
    """`checkpoint.every: 2s`: no sooner than that, at a step that all agree on, and the job goes on meanwhile."""
    with training(4000, "--set", "checkpoint.keep=100", checkpoint_every="2s") as j:
        wait_for("three checkpoints", lambda: len(j.checkpoints()) >= 3)
        ctrl_c(j)
        j.check(130, "interrupted")
        asked = j.events("plan_published")
        assert len(asked) >= 4 and asked[-1]["text"].endswith(": write a checkpoint and stop"), asked
        assert all(e["text"].endswith(": write a checkpoint") for e in asked[:-1]), asked
        at = [datetime.datetime.fromisoformat(e["time"]).timestamp() for e in asked[:-1]]
        assert all(b - a > 1.99 for a, b in zip(at, at[1:])), at
        agreed = [int(e["text"].split()[-1]) for e in j.events() if e["type"] == "plan_agreed"][1:]
        there = steps(j)  # two wishes may have met at one step, and one report tells of the newest only
        assert {"step-%08d" % (step + 1) for step in agreed} <= set(there), (agreed, there)
        assert len(asked) - 1 <= len(there) <= len(asked), (asked, there)
        assert there[-1] == "step-%08d" % j.summary()["steps_done"], (there, j.summary())
        assert j.summary()["replans"] == 0, j.summary()


def shared_folder():
    """Two jobs, one checkpoint.dir: each has its own checkpoints, of the same steps, and the second
    begins afresh unless told to go on from the first."""
    shared = FOLDERS.path("work", "shared")
    jobs = []
    for _ in range(2):
        with training(3, checkpoint_every=6, checkpoint_dir=shared) as j:
            j.check(0, "ok")
            assert j.summary()["samples"] == 3 * 1437, j.summary()
            assert steps(j) == ["step-%08d" % n for n in (6, 12, 18)]
            jobs.append(j.dir)
    ids = [os.path.basename(os.readlink(os.path.join(d, "checkpoints"))) for d in jobs]
    assert sorted(os.listdir(shared)) == sorted(ids) and ids[0] != ids[1], (ids, os.listdir(shared))
    for word in (jobs[0] + "/", os.path.join(shared, ids[0])):
        with training(4, "--resume", word, checkpoint_dir=shared) as j:
            j.check(0, "ok")
            assert j.summary()["samples"] == 1437, j.summary()
    # The newest is damaged: libeddis takes the one before of a folder that it is told.
    with open(os.path.join(shared, ids[0], "step-00000018", "rank-0000.parameters"), "r+b") as f:
        f.write(b"damage")
    with training(4, "--set", "checkpoint.resume=" + os.path.join(shared, ids[0])) as j:
        j.check(0, "ok")
        assert j.summary()["samples"] == 2 * 1437, j.summary()
        assert "step-00000018' is damaged" in j.log(0) and "older checkpoint" in j.log(0), j.log(0)


def eddis_run(*args):
    return tool(BUILD, "eddis-run", *args, env=FOLDERS.environ())


def resumed_running():
    """A job is not started a second time beside itself; where its driver has died, its workers' end is waited for."""
    with training(4000, "--set", "checkpoint.keep=100", checkpoint_every=6) as j:
        folder = j.path("checkpoints")
        j.wait_checkpoint()
        for words in ([j.dir + "/"], [folder], [j.dir + "/", j.path("job.yaml")]):
            p = eddis_run("--resume", *words)
            assert p.returncode == 2 and p.stderr.count("\n") == 1, p
            assert f"the job is running (pid {j.process.pid})" in p.stderr and f"--stop {words[0]} to end it" in p.stderr, p
        assert eddis_run("--cleanup", j.dir).returncode == 2
        j.process.kill()
        j.process.wait()
        p = tool(BUILD, "eddis-status", j.dir + "/")
        assert p.returncode == 0 and f"  eddis-run --cleanup {j.dir}/ ends processes that may be left, --resume continues" in p.stdout, p
        assert f"its workers end within the rest of its lease (timeouts.lease, {LEASE:g} s)" in p.stdout, p
        with training(1, "--resume", j.dir + "/") as k:
            k.end()  # all was trained before
            assert f"has exited (pid {j.process.pid}); waiting " in k.err, k.err
            wait_for("the old workers to go", lambda: not marked(j.mark))


def resumed_damaged():
    """The newest checkpoint is damaged: --resume JOB takes the one before and says so, one that is named is refused."""
    with training(3, checkpoint_every=6) as j:
        j.check(0, "ok")
    folder = j.path("checkpoints")
    with training(3, "--resume", j.dir + "/") as k:
        k.check(0, "ok")
        assert "nothing was left to train" in k.out and "nothing was left" in k.summary()["message"], k.out
    torn = os.path.join(folder, "step-00000018")
    with open(os.path.join(torn, "rank-0000.parameters"), "ab") as f:
        f.write(b"xx")
    for word in (j.dir + "/", folder):
        with training(4, "--resume", word) as k:
            k.check(0, "ok")
            assert k.summary()["samples"] == 2 * 1437, k.summary()
            assert f"continues from step 12 ({folder}/step-00000012)" in k.out, k.out
            assert f"checkpoint '{torn}' is damaged" in k.err and "using an older checkpoint" in k.err, k.err
    with training(4, "--resume", torn) as k:
        assert k.end() == 2 and "is damaged" in k.err and "; the checkpoint of step 12 beside it is complete" in k.err, k.err
    with open(os.path.join(folder, "step-00000012", "rank-0000.parameters"), "r+b") as f:
        f.write(b"damage")  # only the sum tells
    torn = os.path.join(folder, "step-00000012")
    with training(4, "--resume", torn) as k:
        assert k.end() == 2 and f"checkpoint '{torn}' is damaged: " in k.err, k.err
        assert "; the checkpoint of step 6 beside it is complete" in k.err, k.err
        assert k.err.count("\n") == 1 and not os.path.exists(k.path("logs")), k.err
    with training(4, "--resume", j.dir + "/") as k:
        k.check(0, "ok")
        assert k.summary()["samples"] == 3 * 1437, k.summary()


def resumed_samples():
    """How many samples there are the program alone can tell: its workers refuse a checkpoint of others before the first
    step, and are not started again."""
    for sync in "sync", "async":
        mode = ["--set", f"sync.mode={sync}"]
        with training(2, *mode, checkpoint_every=3) as j:
            j.check(0, "ok")
        other = [*mode, "--resume", j.dir + "/", "--set", "command=[eddis-train, --data, "
                 f"{DATA}, --test, '300', --widths, '64', --epochs, '3']"]
        with training(3, *other) as k:
            k.check(2, "rank_exit", "the checkpoint was made with 1437 samples an epoch and this job has 1497",
                    "not started again", failed_rank=(0, 1, 2, 3))
            assert k.summary()["restarts"] == k.summary()["samples"] == 0, k.summary()


def resumed_big():
    """A checkpoint that takes its time to read is told of before, with its size."""
    with training(1, checkpoint_every=6) as j:
        j.check(0, "ok")
    folder = j.path("checkpoints", "step-00000006")
    with open(os.path.join(folder, "rank-0000.zzz"), "wb") as f:
        f.truncate(1 << 30)  # no room is taken
    manifest = os.path.join(folder, "MANIFEST")
    lines = read(manifest).splitlines()[:-1]
    at = next(i for i, line in enumerate(lines) if line.startswith("files "))
    lines[at] = f"files {len(lines) - at}"
    names = lines[at + 1:] + [f"00000000 {1 << 30} rank-0000.zzz"]
    text = "\n".join(lines[:at + 1] + sorted(names, key=lambda line: line.split(" ")[2])) + "\n"
    write(manifest, text + "end %08x\n" % zlib.crc32(text.encode()))
    with training(2, "--resume", folder) as k:
        assert k.end() == 2, k.err
        first, second = k.err.splitlines()
        assert first.endswith(f"verifying the checksums of checkpoint '{folder}', 1.1 GB"), k.err
        assert f"checkpoint '{folder}' is damaged: " in second, k.err


def unwritable():
    """A checkpoint for which there is no room is told once, and training goes on; one that was asked
    for is a failure.  A folder that cannot be made is found before the start."""
    with training(2, checkpoint_every=6, checkpoint_dir="/dev/null/x") as j:
        assert j.end() == 2 and "checkpoint.dir" in j.err, j.err
    small = FOLDERS.path("work", "disk")
    os.mkdir(small)
    with disk(small, "size=32k"):  # room for no checkpoint
        with training(4, checkpoint_every=6, checkpoint_dir=small) as j:
            j.check(0, "ok")
            told = [line for line in j.log(0).splitlines() if "training continues" in line]
            assert len(told) == 1 and "step 6" in told[0] and "No space left" in told[0], j.log(0)
            assert os.listdir(j.path("checkpoints")) == [".generation"]
        with training(300, checkpoint_dir=small) as j:
            j.wait_steps(12)
            j.signal(signal.SIGTERM)
            assert j.end() == 143, (j.code, j.err)
            assert "was not written" in j.log(0) and "No space left" in j.log(0), j.log(0)
            assert not steps(j), steps(j)
            failed = j.summary()["first_failure"]
            assert failed and failed["code"] == 1, failed
            assert f"first failure: rank {failed['rank']}, " in j.out, j.out


run([figures, jitter, too_short, preempted, preempted_async, interrupted, stopped_unsaved, interrupted_hanging, by_time, shared_folder,
     resumed_running, resumed_damaged, resumed_samples, resumed_big, unwritable], sys.argv[3:])
