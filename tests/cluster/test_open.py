# SPDX-License-Identifier: Apache-2.0
"""test_open.py BUILD SOURCE [CASE ...] - the mode of a first run, which is chosen in eddis_commit, as
whole programs on one host: four emulated devices with equal batches, of which one is a tenth as
fast as the others, so that waiting for it costs more than async or hybrid mode loses."""

import contextlib
import json
import os
import signal
import sys

from cases import Skip, run
from files import write
from job import Folders, Job
from node import wait_for

BUILD, SOURCE = sys.argv[1:3]
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
SAMPLES = 1797 - 360
ERRATIC = "[{rate: 1.0, a_ms: 1, c_ms: 0.2}, {rate: 1.0}, {rate: 1.0}, {rate: 0.1}]"
ALIKE = "[{rate: 1.0, a_ms: 1, c_ms: 0.05}, {rate: 1.0}, {rate: 1.0}]"
NEAR = "[{rate: 1.0, a_ms: 1, c_ms: 0.05}, {rate: 0.8}, {rate: 1.0}]"
TRAIN = ["eddis-train", "--data", DATA, "--test", "360", "--model", "softmax", "--epochs", "10", "--quiet"]


@contextlib.contextmanager
def fresh():
    """Folders in which no job has run, so that nothing is known of any program."""
    folders = Folders()
    with folders.root:
        yield folders


def job(folders, *args, command=TRAIN, emulate=ERRATIC, every=0, **environ):
    batch = "{global: 64, min: 16, max: 16}" if emulate == ERRATIC else "{global: 63}"
    path = write(folders.path("work", "train.yaml"),
                 f"name: open\ncommand: {json.dumps(command)}\nbatch: {batch}\nprofile: {{emulate: {emulate}}}\n"
                 f"checkpoint: {{every: {every}}}\n")
    return Job(BUILD, folders, [*args, path], ranks=None, **environ)


def opener(folders, late=-1, parameters=1):
    return [os.path.join(BUILD, "tests/cluster/opener"), folders.path("work"), str(late), str(parameters)]


def stopped():
    """A program that has stopped by itself is not taken for one that came to its last step."""
    with fresh() as folders:
        for mode in "sync", "async":
            with job(folders, "--set", f"sync.mode={mode}", command=[*opener(folders), "3"]) as j:
                j.check(0, "ok")
                s, text = j.summary(), "stopped by the program after step "
                assert s["stopped_by_program"] and s["message"].startswith(text) and text in j.out, (s, j.out)
        with job(folders, command=opener(folders)) as j:
            j.check(0, "ok")
            assert not j.summary()["stopped_by_program"] and not j.summary()["message"], j.summary()


def kinds(j):
    return [e["type"] for e in j.events()]


def check_taken(p):
    """The winner makes the most progress, by more than sync gets for being exact."""
    progress = {c["mode"]: c["predicted_progress"] for c in p["candidates"]}
    assert p["mode"] == max(progress, key=progress.get) != "sync", p["candidates"]
    assert progress[p["mode"]] > 1.05 * progress["sync"], progress
    for c in p["candidates"]:
        assert abs(c["predicted_progress"] - c["predicted_samples_per_s"] * c["efficiency"]) < 1e-6 * c["predicted_progress"], c


def chosen():
    """The first run plans as the second one, which knows the size of the model."""
    with fresh() as folders:
        with job(folders) as j:
            j.check(0, "ok")
            first, said = j.plan(), j.out
            assert kinds(j).count("committed") == kinds(j).count("mode") == 1, kinds(j)
            assert "sync until the program has reported the size of its model" in said, said
            assert f"mode      {first['mode']}, " in said and f"  {first['reason']}\n" in said, said
            assert f"  * {first['mode']}" in said and "times the progress of" in said, said
            s = j.summary()
            assert s["samples"] == 10 * SAMPLES and s["mode"] == first["mode"] and s["replans"] == 0, s
            check_taken(first)
            path = j.path("plan-1-1.json")
        with job(folders) as j:
            j.check(0, "ok")
            known = j.plan()
            assert "mode" not in kinds(j) and "mode      " not in j.out, j.out
            first.pop("communication"), known.pop("communication")
            assert first == known, (first, known)
        with job(folders, "--plan", path) as j:
            j.check(0, "ok")
            assert "mode" not in kinds(j) and j.plan()["mode"] == first["mode"], j.plan()


def exact():
    """Devices alike: sync stays, and the sentence says why."""
    with fresh() as folders, job(folders, emulate=ALIKE) as j:
        j.check(0, "ok")
        p = j.plan()
        assert (p["mode"], p["model_bytes"]) == ("sync", 4 * (64 * 10 + 10)), p
        assert "mode      sync, allreduce\n" in j.out and "* sync" in j.out, j.out
        assert p["reason"].startswith("sync because it is exact, and no other mode"), p
        assert j.summary()["samples"] == 10 * SAMPLES, j.summary()


def equal_first():
    """The equal split is measured in the mode that was chosen."""
    with fresh() as folders, job(folders, "--measure-equal", "8", emulate=NEAR) as j:
        j.check(0, "ok")
        s = j.summary()
        assert s["equal_split_samples_per_s"]["measured"] > 0 and s["samples"] == 10 * SAMPLES, s
        assert j.plan(2)["model_bytes"] > 0, j.plan(2)


def not_open():
    """Where the job, or a plan, says it, nobody waits; a dry run says that it is open."""
    with fresh() as folders:
        with job(folders, "--set", "sync.mode=sync") as j:
            j.check(0, "ok")
            assert not {"committed", "mode"} & set(kinds(j)), kinds(j)
    with fresh() as folders, job(folders, "--dry-run") as j:
        assert j.end() == 0, j.err
        assert "sync until the program has reported the size of its model; then the mode is chosen" in j.out, j.out


def no_library():
    """A program that never tells is in sync mode, and has the batches of the first plan."""
    command = ["sh", "-c", "echo $EDDIS_SYNC_MODE $EDDIS_BATCH_SIZE"]
    with fresh() as folders, job(folders, command=command) as j:
        j.check(0, "ok")
        assert j.log(3) == "sync 16\n" and j.summary()["mode"] == "sync", (j.log(3), j.summary())
        assert j.plan()["model_bytes"] == 0, j.plan()


def never():
    """Nor does one that opens a worker and closes it."""
    with fresh() as folders, job(folders, command=opener(folders, parameters=-1)) as j:
        j.check(0, "ok")
        assert j.log(0) == "mode auto\n" and "mode" not in kinds(j), j.log(0)


def nothing_to_learn():
    """Without parameters there is nothing to weigh the modes by."""
    with fresh() as folders, job(folders, command=opener(folders, parameters=0)) as j:
        j.check(0, "ok")
        assert j.log(2) == "mode auto\nmode sync\n", j.log(2)
        assert j.plan()["model_bytes"] == 0 and kinds(j).count("mode") == 1, j.plan()


def late():
    """One rank comes to eddis_commit later than the others, which wait for it as ever."""
    with fresh() as folders, job(folders, command=opener(folders, late=1)) as j:
        j.wait_up("mode auto", 4)
        assert "committed" not in kinds(j), kinds(j)
        open(folders.path("work", "go"), "w").close()
        j.check(0, "ok")
        check_taken(j.plan())
        s = j.summary()
        assert (s["samples"], s["steps_done"], s["steps_total"]) == (64 * 20, 20, 20), s
        for rank in range(4):
            assert j.log(rank) == f"mode auto\nmode {j.plan()['mode']}\n", j.log(rank)


def killed_before():
    """A rank dies while the others wait for its eddis_commit: nothing is left."""
    with fresh() as folders, job(folders, command=opener(folders, late=1)) as j:
        j.wait_up("mode auto", 4)
        os.kill(j.rank_pid(1), signal.SIGKILL)
        j.check(128 + signal.SIGKILL, "rank_signal", failed_rank=1)


def unsettled():
    """The node's agent cannot tell its ranks the mode: that ends the job, with its words, and nobody waits for it."""
    shim = os.path.join(BUILD, "tests/cluster/no-memory.so")
    if not os.path.exists(shim):
        raise Skip("a sanitizer comes before what is preloaded")
    with fresh() as folders:
        refused = folders.path("work", "refused")
        with job(folders, command=opener(folders, late=0), LD_PRELOAD=shim, NO_MEMORY=refused) as j:
            j.wait_up("mode auto", 4)
            open(refused, "w").close()
            open(folders.path("work", "go"), "w").close()
            j.check(3, "start")
            assert "cannot give the job's mode to the ranks: no memory" in j.err, j.err
            assert "timeouts.launch" not in j.err and "has not answered" not in j.log(1), (j.err, j.log(1))


def preempted_before():
    """Told to stop while the mode is open: there is no step to save."""
    with fresh() as folders, job(folders, "--set", "timeouts.checkpoint=3s", command=opener(folders, late=1)) as j:
        j.wait_up("mode auto", 4)
        j.signal(signal.SIGTERM)
        j.check(143, "preempted")


def heard_of(j):
    """Whether the driver knows of a step; until then there is nothing that a stop would save."""
    return any(w["steps_done"] > 0 for w in j.workers())


def finished():
    """Told to stop when all is trained, and while the ranks finish: a job that has ended well, which nobody has to run
    again.  One that stopped by itself has not, unless that was behind its last step of 20."""
    for mode in "sync", "async", "hybrid":
        for stop in [[], ["finish"], ["3"]] + [["18"], ["18", "finish"]] * (mode == "sync"):
            with fresh() as folders:
                open(folders.path("work", "stay"), "w").close()
                if stop[-1:] == ["finish"]:
                    open(folders.path("work", stop.pop()), "w").close()
                with job(folders, "--set", f"sync.mode={mode}", command=[*opener(folders), *stop]) as j:
                    j.wait_up("no step is left", 4)
                    wait_for("the driver to hear of a step", lambda: heard_of(j))
                    j.signal(signal.SIGTERM)
                    assert any("asking for a checkpoint" in line for line in j.process.stderr)
                    open(folders.path("work", "go"), "w").close()
                    j.check(*(143, "preempted") if stop == ["3"] else (0, "ok"))


def finishing():
    """Told to stop when all is trained and one rank has something to do yet, as to save its model for good: it is waited
    for, but not by who asks twice."""
    script = '"$@" && { [ $RANK != 0 ] || { echo saves; until [ -e go ]; do sleep 0.05; done; }; }'
    for mode in "sync", "async":
        for twice in False, True:
            with fresh() as folders:
                with job(folders, "--set", f"sync.mode={mode}", command=["sh", "-c", script, "sh", *opener(folders)]) as j:
                    j.wait_log(0, "saves")
                    j.wait_event("rank_exit", 3)
                    for again in [False, True][:1 + twice]:
                        j.signal(signal.SIGINT if twice else signal.SIGTERM)
                        what = "killing all processes that are left" if again else "all steps are done: waiting for the workers to finish"
                        assert any(what in line for line in j.process.stderr), what
                    open(folders.path("work", "go"), "w").close()
                    j.check(*(130, "interrupted") if twice else (0, "ok"))


def restarted():
    """The next generation keeps the mode that was chosen."""
    with fresh() as folders, job(folders, command=[*TRAIN[:-2], "200", "--quiet"], every=20) as j:
        j.wait_event("mode")
        j.wait_checkpoint()
        os.kill(j.rank_pid(1), signal.SIGKILL)
        j.wait_event("rank_started", 8)
        j.wait_event("plan_agreed", 2)
        j.interrupt()
        first, second = j.plan(), j.plan(generation=2)
        check_taken(first)
        assert second["mode"] == first["mode"] and second["algorithm"] == first["algorithm"], second
        assert second["reason"] == f"{first['mode']} because the job has begun with it", second
        assert kinds(j).count("mode") == 1, kinds(j)


def external():
    """A program that now combines its gradients itself is in sync mode, although the same command was not before."""
    with fresh() as folders:
        with job(folders, command=opener(folders)) as j:
            j.check(0, "ok")
            check_taken(j.plan())
        write(folders.path("work", "external"), "")
        with job(folders, command=opener(folders)) as j:
            j.check(0, "ok")
            p = j.plan()
            assert (p["mode"], p["reason"]) == ("sync", "sync because the program's gradients are combined by torch"), p
            assert j.log(2) == "mode auto\nmode sync\n" and kinds(j).count("mode") == 1, j.log(2)


def unopened():
    """One that never comes to eddis_open, without which the others wait there for ever, is named."""
    with fresh() as folders:
        script = '[ "$RANK" = 1 ] && exec sleep 3600; exec "$0" "$@"'
        command = ["sh", "-c", script, *opener(folders)]
        with job(folders, "--set", "timeouts.first_step=15s", command=command) as j:
            j.check(124, "hang", "rank 1 (node", "has not reached its first step within 0:15 (timeouts.first_step)",
                    "the other ranks wait for it in eddis_open", "no worker had finished a step", failed_rank=1)


CASES = [chosen, stopped, exact, equal_first, not_open, no_library, never, nothing_to_learn, late, killed_before, preempted_before, finished,
         finishing, restarted, external, unopened, unsettled]

run(CASES, sys.argv[3:])
