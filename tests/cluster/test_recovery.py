# SPDX-License-Identifier: Apache-2.0
"""test_recovery.py BUILD SOURCE [CASE ...] - jobs that fail and go on, on one host.

The digits example as in test_training.py, with many small checkpoints; each case does something
to it, and checks where it went on from, how it ended and that nothing is left.
"""

import json
import os
import re
import shutil
import signal
import sys

from cases import run, table
from files import write
from job import Folders, Job

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
EMULATE = "[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 1.0}, {rate: 0.5}]"
HANG = "5s"
TRAIN = ["eddis-train", "--data", DATA, "--test", "360", "--model", "mlp", "--widths", "32", "--eval-every", "0"]


def training(*args, epochs=60, every=20, before="", restarts=3):
    """before: a shell's line that runs before the program, in each rank."""
    words = TRAIN + ["--epochs", str(epochs)]
    command = ["sh", "-c", before + "\nexec \"$@\"", "sh"] + words if before else words
    path = write(FOLDERS.path("work", "train.yaml"),
                 f"name: digits\ncommand: {json.dumps(command)}\nprofile: {{emulate: {EMULATE}}}\n"
                 f"checkpoint: {{every: {every}}}\nrestarts: {restarts}\n")
    return Job(BUILD, FOLDERS, [*args, path], ranks=None)


def newest_checkpoint(j):
    """Its step; 0: there is none."""
    return int(j.checkpoints()[-1][len("step-"):]) if j.checkpoints() else 0


def kill(j, rank=1, number=signal.SIGKILL, step=1, generation=1):
    """A rank, behind a checkpoint of this step or a later one."""
    pid = j.rank_pid(rank, generation)
    j.wait_checkpoint(step)
    os.kill(pid, number)


def check_went_on(j, restarts=1, lost=0, **options):
    """It ended well after so many restarts, so many of them after lost nodes, and trained what it was to."""
    j.check(0, "ok", *options.pop("sentences", ()), **options)
    s = j.summary()
    assert (s["restarts"], s["node_losses"], s["generations"]) == (restarts - lost, lost, restarts + 1), s
    assert s["steps_done"] == s["steps_total"] and s["steps_total"] > 0, s
    assert s["recovery_s"] is not None and s["recovery_s"] > 0, s
    assert s["first_failure"] is not None, s
    assert j.err.count("restarting from") == restarts, j.err
    for g in range(1, restarts + 2):
        assert os.path.exists(j.path(f"plan-{g}-1.json")), g
    assert len(j.events("recovered")) == restarts
    return s


def rank_killed():
    with training() as j:
        kill(j)
        s = check_went_on(j, failed_rank=1, sentences=(
            "died of signal 9 (Killed)", "; stopping 2 ranks",
            "on 1 node (start 2, restart 1 of at most 3)"))
        step = int(re.search(r"restarting from step (\d+) on", j.err).group(1))
        assert step >= 20 and step % 20 == 0, j.err
        # Of the second plan what is new stands there alone.
        assert j.out.count("plan      ") == 2 and j.out.count("modes, for a model of") == 1, j.out
        # What was trained behind the checkpoint was done twice and counts once.
        assert abs(s["samples"] - 60 * (1797 - 360)) <= 256, s
        ends = [e for e in j.events("rank_exit") if "signal 9" in e.get("text", "")]
        assert any("stopped by eddis" not in e["text"] for e in ends), ends
        print(f"  {s['recovery_s']:.2f} s from the kill to the next step")


def node_killed(program, *sentences):
    """On the driver's own machine, where the agent's end is seen at once; faults.table has it on another host."""
    with training() as j:
        j.wait_checkpoint()
        os.kill(j.pids(program)[0], signal.SIGKILL)
        check_went_on(j, lost=1, sentences=("restarting from step", *sentences))


def exit_1():
    """A failure after steps: exit at once when a mark appears, once only.  The worker stands still and is left behind:
    if it were killed, another rank that it leaves might end before the shell does."""
    mark = FOLDERS.path("work", "fail-once")
    before = (f"if [ $RANK = 2 ] && [ ! -e {mark} ]; then \"$@\" & pid=$!; "
              f"while [ ! -e {mark} ]; do sleep 0.05; done; kill -STOP $pid; exit 9; fi")
    with training(before=before) as j:
        j.wait_checkpoint()
        write(mark, "")
        check_went_on(j, failed_rank=2, sentences=("exited 9", "restarting from step"))
    os.unlink(mark)


def folders_removed():
    """What systemd empties at a user's last logout is made again, and so are the job's other folders."""
    with training(epochs=100) as j:
        pid = j.rank_pid(1)
        j.wait_checkpoint()
        run_dir, shm_dir = re.search(r"folders (\S+) and (\S+)", j.agent_log()).groups()
        for path in run_dir, shm_dir, j.path("logs"):
            shutil.rmtree(path)
        os.kill(pid, signal.SIGKILL)
        check_went_on(j, failed_rank=1, sentences=("both had been removed (now made again)",))
        assert os.listdir(j.path("logs")), "the second generation has logs"
        assert not os.path.exists(run_dir) and not os.path.exists(shm_dir)


def start_fails():
    """A start that fails by its surroundings is tried again until they are right, and costs no restart."""
    place = FOLDERS.path("work", "place")
    os.mkdir(place)
    with training("--set", f"workdir={place}", restarts=1) as j:
        pid = j.rank_pid(1)
        j.wait_checkpoint()
        os.rmdir(place)
        os.kill(pid, signal.SIGKILL)
        j.wait_event("failed", 2)
        os.mkdir(place)
        j.check(0, "ok", f"the working folder '{place}' does not exist", "starting again in 2 s",
                "(start 3, restart 1 of at most 1)", failed_rank=1)
        s = j.summary()
        assert s["restarts"] == 1 and s["generations"] >= 4 and s["steps_done"] == s["steps_total"], s


def no_checkpoint():
    """Then it is done again from the beginning, and said so."""
    with training(every=0) as j:
        pid = j.rank_pid(0)
        j.wait_steps()
        os.kill(pid, signal.SIGSEGV)
        s = check_went_on(j, failed_rank=0, sentences=("died of signal 11", "restarting from the beginning"))
        assert abs(s["samples"] - 60 * (1797 - 360)) <= 1, s


def no_restart():
    with training(restarts=0) as j:
        kill(j)
        j.check(137, "rank_signal", "died of signal 9", failed_rank=1)
        assert "not started again" not in j.err and j.summary()["restarts"] == 0, j.err


def used_up():
    with training(restarts=1, epochs=200) as j:
        step = 20
        for generation in (1, 2):
            kill(j, step=step, generation=generation)
            j.wait_event("stopped", generation)
            step = newest_checkpoint(j) + 60  # not the same step twice
        j.check(137, "rank_signal", "not started again: all restarts are used up", failed_rank=1)
        s = j.summary()
        assert s["restarts"] == 1 and s["generations"] == 2, s


def worker(*how, hang="10m"):
    """Three ranks that only count steps, one of which comes to grief."""
    return Job(BUILD, FOLDERS, ["--set", f"timeouts.hang={hang}", "--", os.path.join(BUILD, "tests/cluster/node-worker"),
                                *map(str, how)], ranks=3)


def same_step():
    """A program that dies at one step will do so for ever."""
    for how, code, reason in (("exit 7", 7, "rank_exit"), ("signal 11", 139, "rank_signal")):
        with worker(0, 1, 300, how) as j:
            j.check(code, reason, "at step 300", "restarting from the beginning",
                    "not started again: the same rank has failed at the same step before", failed_rank=1)
            s = j.summary()
            assert s["restarts"] == 1 and s["first_failure"]["step"] == 300, s


def same_fault():
    """Another rank each time, at the same step and with the same code: all would fail there, or whoever gets the sample."""
    program = os.path.join(BUILD, "tests/cluster/node-worker")
    with Job(BUILD, FOLDERS, ["--", "sh", "-c", f'exec {program} 0 $EDDIS_GENERATION 300 "exit 7"'], ranks=3) as j:
        j.check(7, "rank_exit", "rank 1 (", "restarting from the beginning",
                "not started again: a rank has failed in the same way at the same step before", failed_rank=2)
        assert j.summary()["restarts"] == 1, j.summary()


def never():
    """What a program says of itself is believed: exit 2 is usage, 127 a program that is not there."""
    for code in (2, 126, 127):
        with worker(0, 1, 300, f"exit {code}") as j:
            j.check(code, "rank_exit", f"exited {code}", failed_rank=1)
            assert j.summary()["restarts"] == 0, j.err


def blocked():
    """Twice at the same step, so that the second time is the end."""
    with worker(0, 2, 200, "block", hang=HANG) as j:
        j.check(124, "hang", "rank 2 (node", "has made no step for 0:", "; last step 199, ",
                "not started again: the same rank", failed_rank=2)
        assert j.summary()["restarts"] == 1


def interrupted():
    """Ctrl-C while the job starts again ends it, with nothing left."""
    with training(epochs=400) as j:
        kill(j)
        j.wait_event("stopped")
        j.interrupted("died of signal 9", failed_rank=1)


def preempted():
    """SIGTERM after a restart: a newer checkpoint, and the code that says so."""
    with training(epochs=400) as j:
        kill(j)
        j.wait_event("recovered")
        j.signal(signal.SIGTERM)
        j.check(75, "preempted", "restarting from step", failed_rank=1)


def hang():
    """A rank that blocks is named, with who waits for it, and the job goes on without it."""
    with training("--set", f"timeouts.hang={HANG}", "--set", "timeouts.lease=30s", epochs=60) as j:
        kill(j, number=signal.SIGSTOP)
        check_went_on(j, failed_rank=1, sentences=("has made no step for 0:", "; ranks 0, 2 wait for it"))


def out_of_time():
    """A job whose time is over saves first, like one that was stopped, and says from where it can go on."""
    for seconds in (4, 16, 64):  # until it has come to a step
        with training("--timeout", f"{seconds}s", "--set", "checkpoint.every=100000", epochs=40000) as j:
            j.check(124, "timeout", "has passed")
            if j.summary()["steps_done"] > 0 and newest_checkpoint(j):
                break
    m = j.summary()["message"]
    assert re.search(r"at step (\d+); newest checkpoint: step \1; continue with --resume ", m), m


def damaged():
    """The newest checkpoint is damaged: the one before is taken, and said so."""
    before = ("if [ $EDDIS_GENERATION = 2 ] && [ $RANK = 0 ]; then cd ${EDDIS_RESUME_FROM:?}; "
              "echo x >> $(ls -d step-*[0-9] | tail -n 1)/rank-0000.parameters; cd - > /dev/null; fi")
    with training(before=before) as j:
        kill(j, step=40)
        s = check_went_on(j, failed_rank=1)
        assert abs(s["samples"] - 60 * (1797 - 360)) <= 512, s  # whole batches are taken off, twice
        said = re.search(r"checkpoint '.*/step-(\d+)' is damaged: .*: resuming from an older checkpoint", j.log(0))
        assert said and int(said.group(1)) >= 40, j.log(0)


def resumed():
    """A job that began with another's checkpoint and has none of its own begins with that again."""
    with training(epochs=10) as first:
        first.check(0, "ok")
        begun = newest_checkpoint(first)
    with training("--resume", first.dir + "/", epochs=60, every=0, before='echo "from $EDDIS_RESUME_FROM"') as j:
        pid = j.rank_pid(1)
        j.wait_steps()
        os.kill(pid, signal.SIGKILL)
        s = check_went_on(j, failed_rank=1, sentences=(f"restarting from step {begun}, which the job began with, on 1 node",))
        # What was trained behind it was done twice and counts once, and no step is behind where it began.
        assert abs(s["samples"] - 50 * (1797 - 360)) <= 256, s
        steps = [r["steps_done"] for r in j.metrics() if r["generation"] == 2]
        assert steps and min(steps) >= begun, steps
        # A program that looks for itself is told the same in both generations.
        assert re.findall(r"from (\S+)", j.log(0)) == [f"{first.dir}/checkpoints/step-{begun:08d}"] * 2, j.log(0)


def behind_the_last_step():
    """A death in the teardown behind eddis_close is a warning; another failure there is the end, not a new beginning."""
    folder = FOLDERS.path("work", "accounts")
    os.mkdir(folder)
    for action, code in (("segv", 0), ("7", 7)):
        write(os.path.join(folder, "told"), f"shutdown 1 1 {action}\n")
        with Job(BUILD, FOLDERS, ["--set", "checkpoint.every=0", "--set", "batch.global=48", "--restarts", "3", "--",
                                  os.path.join(BUILD, "tests/cluster/fault-worker"), folder, "3"], ranks=3) as j:
            if code:
                j.check(7, "rank_exit", "exited 7", "not started again: it came after the last step", failed_rank=1)
            else:
                j.check(0, "ok", "rank 1 (node", "died of signal 11 (Segmentation fault) after it had finished its steps")
            s = j.summary()
            assert s["restarts"] == 0 and s["generations"] == 1 and s["steps_done"] == s["steps_total"] > 0, s


def box_killed():
    """A writer of the Soft Memory Box dies in the middle of an addition."""
    with Job(BUILD, FOLDERS, ["--", os.path.join(BUILD, "tests/mpi/test_mpi_scenarios"), "killed"], ranks=3) as j:
        j.check(137, "rank_signal", "rank 2 (node", "died of signal 9", failed_rank=2)


NODE_KILLED = {"agent_killed": ("eddis-agent", "its agent", "(start 2, node loss 1)"),
               "keeper_killed": ("eddis-keeper", "its supervisor was killed by signal 9")}
CASES = [rank_killed, table(node_killed, NODE_KILLED), exit_1, folders_removed, start_fails, no_checkpoint, no_restart,
         used_up, same_step, same_fault, never, blocked, interrupted, preempted, hang, out_of_time, damaged, resumed,
         behind_the_last_step, box_killed]


run(CASES, sys.argv[3:])
