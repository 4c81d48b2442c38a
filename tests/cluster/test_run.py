# SPDX-License-Identifier: Apache-2.0
"""test_run.py BUILD SOURCE [CASE ...] - whole jobs of eddis-run and every way in which they end.

Each case checks the exit code, the reason in summary.json, the sentence that people read, and that
neither a process nor a file is left.  What users may say to eddis-run is in test_options.py.
"""

import os
import re
import signal
import sys
import time

from cases import run, table
from files import write
from job import MEET, Folders, Job, tool
from limits import disk, little_memory
from node import wait_for

BUILD = sys.argv[1]
FOLDERS = Folders()
PROGRAMS = os.path.join(BUILD, "tests/mpi")
WORKER, SCENARIOS, ENDINGS, VALUES = (os.path.join(PROGRAMS, "test_mpi_" + name)
                                      for name in ("eddis", "scenarios", "endings", "values"))
SLEEP = ["--", "sh", "-c", "echo up; sleep 1000"]
MODELS = ("async", "hybrid", "local")  # modes with several models
MODES = ("sync", *MODELS)


def job(*args, **options):
    return Job(BUILD, FOLDERS, list(args), **options)


def script(text, *args, **options):
    return job(*args, "--", "sh", "-c", text, **options)


def in_mode(mode, *keys, period=None):
    """Options of a job in this mode, and of KEY=VALUE; period: of exchanges, where there are several models."""
    keys = [f"sync.mode={mode}", *keys, *(["sync.groups=2"] if mode == "hybrid" else []),
            *([f"sync.period={period}"] if period and mode in MODELS else [])]
    return [word for key in keys for word in ("--set", key)]


def goes_well(*args, says="", **options):
    """A job that ends well, of which rank 0 says this.  Returns it."""
    with job(*args, **options) as j:
        j.check(0, "ok")
        assert says in j.log(0), j.log(0)
    return j


# ---- ends by themselves ----

def true():
    with job("--", "true") as j:
        j.check(0, "ok")
        head = j.out.split("\n\n")[0].split("\n")
        assert [line.split(" ")[0] for line in head if line[0] != " "] == ["eddis", "nodes", "workers"], j.out
        assert head[-1].endswith("; no plan, unless the program uses eddis (-v shows one)") and "done in" in j.out, j.out
        assert "plan      " not in j.out and "rank  node" not in j.out, j.out
        assert "\033" not in j.out, "escape codes into a pipe"
        assert j.summary()["first_failure"] is None
        assert f"output in {j.dir}/logs/rank-0000.log" in j.out, j.out
        for name in ("job.yaml", "profile.json", "plan-1-1.json", "metrics.jsonl"):
            assert os.path.exists(j.path(name)), name
        assert os.stat(j.dir).st_mode & 0o77 == 0


def joined():
    """The rest of the head is printed when the program uses eddis, or at once where somebody wants it."""
    with job("--", WORKER, "again") as j:
        j.check(0, "ok")
        assert re.search(r"\nworkers   2   on CPU cores; .*\n\n(.*\n)*profile   .*\n"
                         r"plan      sync, allreduce, global batch 256\n\n  rank", j.out), j.out
        assert j.out.count("plan      ") == j.out.count("profile   ") == 1, j.out
    for more in ["-v"], ["--set", "batch.global=20"]:
        with job(*more, "--", "true") as j:
            j.check(0, "ok")
            assert ", for a program that uses eddis\n" in j.out and "workers   " not in j.out, j.out


def false():
    with job("--", "false", ranks=1) as j:
        j.check(1, "rank_exit", "exited 1", failed_rank=0)


def exit_7():
    with script(MEET + "[ $RANK = 2 ] && { echo bad luck; exit 7; }; sleep 1000", ranks=4) as j:
        j.check(7, "rank_exit", "; stopping 3 ranks", "rank 2: bad luck", failed_rank=2)
        assert (j.out + j.err).count("exited 7") == 1, j.out + j.err
        assert "logs/rank-0002.log" in j.out and "rank_exit" not in j.out, j.out
        assert re.search(r"eddis-run: rank 2 \(node \S+, pid \d+\) exited 7, [\d.]+ m?s after the "
                         r"start; stopping 3 ranks", j.err), j.err
        ends = {e["rank"]: e.get("text", "") for e in j.events("rank_exit")}
        assert "code 7" in ends[2] and len(ends) == 4, ends


def segv():
    with script("[ $RANK = 1 ] && kill -SEGV $$; sleep 1000") as j:
        j.check(139, "rank_signal", "died of signal 11 (Segmentation fault)", failed_rank=1)
        assert j.summary()["first_failure"]["signal"] == 11


def left_first():
    """A rank that fails since a killed one has left is not the first failure, though it is heard of first."""
    big = "import time; b = bytearray(1 << 29); b[::4096] = b'1' * (1 << 17); open(name, 'w').close(); time.sleep(1000)"
    text = (f'name="big-$EDDIS_JOB_ID"; if [ $RANK = 1 ]; then echo $$ > "$name.pid"; '
            f'exec python3 -c "name = \'$name\'; {big}"; fi; '
            'until [ -e "$name" ]; do sleep 0.05; done; pid=$(cat "$name.pid"); kill -9 "$pid"; '
            'until read -r a < "/proc/$pid/stat" && a=${a##*)} && set -- $a && [ $(($7 & 4)) = 4 ] || ! [ -e "/proc/$pid" ]; '
            'do :; done 2> /dev/null; exit 1')
    with script(text) as j:
        j.check(137, "rank_signal", "died of signal 9", failed_rank=1)


# ---- programs that use libeddis ----

def last_words():
    """What a rank that ends the job has in stdio's buffers is in its log, and shown."""
    with job("--", WORKER, "exit") as j:
        j.check(1, "rank_exit", "rank 0: last words", failed_rank=0)
        assert "exits without eddis_close, so the job ends" in j.log(0) + j.out + j.err, j.log(0)


def example():
    """What the head of examples/smb says."""
    with job("-n", "4", "--", os.path.join(PROGRAMS, "example_smb_pi")) as j:
        j.check(0, "ok")
        assert "pi is 3.1415926536" in j.out, j.out


def opened_again():
    """One worker after the other in a process, whose page's file is gone by then; none in its child."""
    for what in ("again", "fork"):
        goes_well("--", WORKER, what)


def scopes():
    """Collectives of groups and of the node, and entries of all ranks in a checkpoint, in every mode."""
    for mode, n in (("sync", 1), ("async", 4), ("hybrid", 2), ("local", 4)):
        goes_well(*in_mode(mode), "--", WORKER, "scopes", FOLDERS.path("work", mode), says=f"{mode}: {n} groups",
                  ranks=4)


def left():
    """A training that is left in the middle, by all at once or by one for all, or before its first step, in every mode;
    its processes exit without eddis_close."""
    for mode, what in [("sync", "alone"), ("sync", "unbegun")] + [
            (mode, what) for mode in MODELS for what in ("break", "alone", "first", "unbegun", "group")]:
        goes_well(*in_mode(mode, "batch.global=12"), "--", ENDINGS, what, FOLDERS.path("work", f"left-{mode}-{what}"),
                  says=f"{mode}: trained", ranks=4)
    with job("--set", "batch.global=12", "--", ENDINGS, "amidst", ranks=3) as j:
        j.check(1, "rank_exit", "before its last step", failed_rank=1)


def scripts():
    """Programs that end behind epochs of their own, of which the job was told nothing, with checkpoints on the way: each
    at another moment, with the centre."""
    for mode, what in (("sync", "in-step"), ("async", "between"), ("async", "in-step"), ("hybrid", "between"), ("hybrid", "requested"),
                       ("local", "in-step"), ("local", "requested")):
        j = goes_well(*in_mode(mode, "batch.global=12", "checkpoint.every=4"), "--", ENDINGS, what, ranks=4)
        models = {re.search("^model .*", j.log(rank), re.M).group() for rank in range(4)}
        assert len(models) == 1 and j.summary()["generation"] == 1, (mode, what, models, j.summary())


def threads():
    """What any thread may call, by several of each worker beside its steps, in every mode."""
    for mode in MODES:
        goes_well(*in_mode(mode, "batch.global=24", "restarts=0", period=2), "--", SCENARIOS, "threads",
                  says=f"threads in {mode} mode: passed", ranks=3)


def several_models():
    """Sets of parameters, many gradients by one call, unlike shapes, values elsewhere and 16 bits: what single
    mpiruns do in sync mode."""
    for mode in MODELS:
        for program in ([WORKER, "sets"], [VALUES]):
            j = goes_well(*in_mode(mode, "batch.global=43", "restarts=0", period=2), "--", *program, ranks=4)
            assert j.summary()["generation"] == 1, (mode, program, j.summary())


def samples():
    """The samples of workers and of others, with a split that is not equal, and new plans, in every mode."""
    unlike = "profile.emulate=[{rate: 1, a_ms: 0.1, c_ms: 0.01}, {rate: 0.6}, {rate: 0.3}, {rate: 0.1}]"
    for mode in MODES:
        for extra, what in (unlike, "samples"), ("checkpoint.every=1s", "plan"):
            goes_well(*in_mode(mode, "batch.global=40", "restarts=0", extra, period=2), "--", SCENARIOS, what,
                      says=f"{what} in {mode} mode: passed", ranks=4)


def mean():
    """Models of 16 bits that no gradient moves come to their mean: the centre and the library's copies are float32.
    In local mode all begin with the model of rank 0."""
    for mode in "async", "hybrid":
        goes_well(*in_mode(mode, "batch.global=32", "restarts=0", period=2), "--", VALUES, "mean",
                  FOLDERS.path("work", f"pace-{mode}"), ranks=4)


def gone():
    """A second worker of one page is refused; who has closed its last one and left by _exit has ended
    well, and mpirun ends nobody for it."""
    with job("--", WORKER, "gone", ranks=3) as j:
        j.check(0, "ok")
        assert "rank 0 has gone on" in j.out and "mpirun" not in j.err, j.out + j.err
        assert j.summary()["first_failure"] is None


# ---- what stays, and time ----

def grandchildren():
    """A daemon that a rank leaves behind ends with the job."""
    with script("setsid sleep 300 & exit 0") as j:
        j.check(0, "ok")


def stubborn():
    """Ranks that ignore TERM get no grace after the failure of another."""
    with script(f"[ $RANK = 0 ] || trap '' TERM; {MEET} [ $RANK = 0 ] && exit 5; while :; do sleep 1; done",
                "--set", "timeouts.grace=10m") as j:
        j.check(5, "rank_exit", "stopping 1 rank; not started again", failed_rank=0)


def timeout():
    with job("--timeout", "2s", *SLEEP) as j:
        j.check(124, "timeout", "time limit of 2 s has passed")


# ---- signals ----

def interrupt():
    with script("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done") as j:
        j.wait_up()
        j.interrupted("stopping (2 ranks)")
        assert "bye" in j.log(0) and "bye" in j.log(1)
        assert "failed" not in j.out and "stopped by Ctrl-C" in j.out, j.out
        assert j.summary()["first_failure"] is None


def interrupt_twice():
    with script("trap '' TERM; echo up; while :; do sleep 0.1; done", "--set",
                "timeouts.grace=10m") as j:
        j.wait_log(0, "up")
        j.signal(signal.SIGINT)
        time.sleep(1)
        assert j.process.poll() is None
        j.interrupted("again", "killing")


def interrupt_early():
    """Before there is anything to stop."""
    with job(*SLEEP) as j:
        j.driver()
        j.interrupted()


def quit_at_once():
    with script("trap '' TERM QUIT; echo up; while :; do sleep 0.1; done") as j:
        j.wait_log(0, "up")
        j.signal(signal.SIGQUIT)
        j.check(131, "interrupted", "killing")


def terminate():
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        with job(*SLEEP) as j:
            j.wait_log(0, "up")
            j.signal(number)
            j.check(143, "preempted", "stopping")


def user_2():
    with script("trap 'echo told; exit 0' USR2; echo up; while :; do sleep 0.1; done") as j:
        j.wait_event("rank_started", 2)
        j.wait_up()
        j.signal(signal.SIGUSR2)
        j.check(0, "ok")
        assert "told" in j.log(0) and "told" in j.log(1)


def ignored():
    """What nohup, or a script's `&`, has ignored stays ignored."""
    with script("echo up; sleep 3", ignore=[signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]) as j:
        j.wait_log(0, "up")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            j.signal(number)
        j.check(0, "ok")


# ---- somebody is killed ----

def rank_killed():
    with script("echo $$ up; sleep 1000") as j:
        j.wait_log(1, "up")
        os.kill(int(j.log(1).split()[-2]), signal.SIGKILL)
        j.check(137, "rank_signal", "died of signal 9 (Killed)", failed_rank=1)


def out_of_memory():
    """The kernel's own kill is not taken for somebody's."""
    eat = "import time\na = []\nwhile True: a.append(bytearray(1 << 20))"
    with little_memory(300 << 20) as inside, \
            script(f"[ $RANK = 0 ] && sleep 1000; exec {sys.executable} -c '{eat}'", before=inside) as j:
        j.check(137, "oom", "was killed: out of memory (it held ", "the limit is 315 MB)", "lower batch.global",
                failed_rank=1)


def kill_program(name, number, code, reason, sentence):
    with job(*SLEEP) as j:
        j.wait_up()
        j.wait_event("rank_started", 2)
        shared = j.shared_memory()
        assert shared, "the job has no folder in /dev/shm?"
        os.kill(j.pids(name)[0], number)
        j.check(code, reason, sentence)
        assert not any(map(os.path.exists, shared)), shared
        if reason == "node_lost":  # what became of them nobody told
            assert [w["state"] for w in j.summary()["workers"]] == ["lost", "lost"], j.summary()["workers"]


KILLED = {"agent_killed": ("eddis-agent", signal.SIGKILL, 1, "node_lost", "its agent"),
          "keeper_killed": ("eddis-keeper", signal.SIGKILL, 1, "node_lost", "its supervisor was killed"),
          "agent_stopped": ("eddis-agent", signal.SIGSTOP, 1, "node_lost", "its agent"),
          "mpirun_killed": ("mpirun", signal.SIGKILL, 1, "internal", "mpirun died of signal 9")}


def keeper_and_agent_killed():
    """At once, and while the job is only beginning."""
    for early in (False, True):
        with script("setsid sleep 300 & echo up; sleep 1000") as j:
            if early:
                wait_for("the agent's folders", lambda: "folders" in j.agent_log())
            else:
                j.wait_log(0, "up")
            keeper, agent = j.pids("eddis-keeper")[0], j.pids("eddis-agent")[0]
            os.kill(keeper, signal.SIGSTOP)
            os.kill(agent, signal.SIGKILL)
            os.kill(keeper, signal.SIGKILL)
            if early:  # whether the agent had registered decides the code
                assert j.end() in (1, 3), (j.code, j.err)
                j.check_nothing_left()
            else:
                j.check(1, "node_lost", "its supervisor was killed by signal 9")


def driver_killed():
    with script("trap '' TERM; setsid sleep 300 & echo up; sleep 1000") as j:
        j.wait_log(0, "up")
        shared = j.shared_memory()
        j.process.kill()
        j.end()
        j.check_nothing_left()
        assert not any(map(os.path.exists, shared)), shared
        write(os.path.join(j.dir, "status.json.12.part"), "{")  # as a kill between two calls leaves it
        p = tool(BUILD, "eddis-run", "--cleanup", j.dir, timeout=300)
        assert p.returncode == 0, p
        assert not {"driver.json", "reserve", "status.json.12.part"} & set(os.listdir(j.dir)), os.listdir(j.dir)
        assert not [name for name in os.listdir(os.path.join(j.dir, "logs")) if name[0] == "."], os.listdir(os.path.join(j.dir, "logs"))


def driver_stopped():
    """A stopped driver is a lost one; when it goes on it says so."""
    with job(*SLEEP) as j:
        wait_for("ranks to be asleep", lambda: len(j.pids("sleep")) == 2)
        j.signal(signal.SIGSTOP)
        wait_for("ranks to go", lambda: not j.pids("sleep"))
        j.signal(signal.SIGCONT)
        j.check(1, "node_lost", "eddis-run itself was suspended for")


# ---- little room ----

def full_disk():
    """The job's own result stands, and what its folder lacks is said."""
    small = FOLDERS.path("small")
    os.mkdir(small)
    for size in ("300k", "60k"):  # the latter has no room to keep for the summary
        with disk(small, f"size={size},mode=700"):
            full_folder(small, size)


def full_folder(small, size):
    full = r"No space left on device"
    with Job(BUILD, FOLDERS, ["--job-dir", small, "--", "sh", "-c", "seq 100000"]) as j:
        j.dir = small
        assert j.end() == 0, (j.code, j.err)
        j.check_nothing_left()
        assert re.search(rf"bytes of its log could not be written in '{small}/logs' \({full}\).*free space there",
                         j.err), j.err
        assert j.events(), "each line of it is whole"
        if size == "300k":
            assert "summary.json" not in j.err and j.summary()["reason"] == "ok", j.err
            status = tool(BUILD, "eddis-status", "--once", small)
            assert "done in" in status.stdout and status.returncode == 0, status
        else:
            assert re.search(rf"missing or incomplete in '{small}': .*summary.json; the job's result is not affected",
                             j.err), j.err
            assert not [f for f in os.listdir(small) if f.startswith("summary")], os.listdir(small)
        assert not {"reserve", "driver.json"} & set(os.listdir(small)), os.listdir(small)
        ends = [j.log(r)[-200:] for r in (0, 1)]
        assert any(re.search(rf"\n\[eddis: \d+ bytes could not be written here: {full}\]\n$", e) for e in ends), ends


def few_files():
    """Where mpirun cannot open its pipes, which it would wait for, the limit is named."""
    with job("--", "true", ranks=1, before=["sh", "-c", 'ulimit -n 24; exec "$@"', "sh"]) as j:
        j.check(3, "start")
        assert re.search(r"Too many open files|only 24 files may be open at a time here", j.err), j.err


def broken_pipe():
    """eddis-run | head -1: the job goes on and ends with its own code."""
    with script("sleep 1; exit 6", ranks=1) as j:
        j.process.stdout.close()
        j.process.stdout = open(os.devnull)
        j.check(6, "rank_exit", failed_rank=0)


CASES = [true, joined, false, exit_7, segv, left_first, last_words, example, opened_again, scopes, left, scripts,
         threads, several_models, samples, mean, gone, grandchildren, stubborn, timeout, interrupt, interrupt_twice,
         interrupt_early, quit_at_once, terminate, user_2, ignored, rank_killed, out_of_memory,
         table(kill_program, KILLED), keeper_and_agent_killed, driver_killed, driver_stopped, full_disk, few_files,
         broken_pipe]


signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored, and the jobs would too
run(CASES, sys.argv[3:])
