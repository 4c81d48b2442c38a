# SPDX-License-Identifier: Apache-2.0
"""test_run.py BUILD SOURCE [CASE ...] - whole jobs of eddis-run and every way in which they end.

Each case checks the exit code, the reason in summary.json, the sentence that people read, and that
neither a process nor a file is left.
"""

import ctypes
import glob
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lab"))

import cgroup  # noqa: E402
import known  # noqa: E402
from cases import Skip, run, skip_part  # noqa: E402
from job import MEET, Folders, Job, request  # noqa: E402
from node import PATIENCE, marked, wait_for  # noqa: E402

BUILD = sys.argv[1]
FOLDERS = Folders()
WORKER = os.path.join(BUILD, "tests/mpi/test_mpi_eddis")
SCENARIOS = os.path.join(BUILD, "tests/mpi/test_mpi_scenarios")
SLEEP = ["--", "sh", "-c", "echo up; sleep 1000"]


def job(*args, **options):
    return Job(BUILD, FOLDERS, list(args), **options)


def script(text, *args, **options):
    return job(*args, "--", "sh", "-c", text, **options)


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
            assert os.path.exists(os.path.join(j.dir, name)), name
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
        ends = {e["rank"]: e.get("text", "") for e in j.events() if e["type"] == "rank_exit"}
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


def missing_program():
    """A misspelt program is found before anything starts, by name; a plan is shown all the same."""
    state = FOLDERS.path("no-state")
    work = FOLDERS.path("work")
    for name in ("train.py", "run.sh"):
        with open(os.path.join(work, name), "w") as f:
            f.write("#!/bin/sh\n")

    def run(*words):
        p = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), *words], capture_output=True, text=True, cwd=work,
                           env=dict(os.environ, XDG_STATE_HOME=state), timeout=PATIENCE)
        assert p.returncode == 2 and p.stderr.count("\n") == 1, p
        return p

    for words, sentence in ((["./no-such-program"], "/no-such-program'; build it first, or correct the command"),
                            (["no-such-program"], "no program 'no-such-program' in PATH; install it"),
                            (["eddis-trian", "--x"], "no program 'eddis-trian' in PATH; did you mean \"eddis-train\"?"),
                            (["./tain.py"], "/tain.py'; did you mean \"./train.py\"?"),
                            (["python3", "-u", "tain.py", "run.sh"], f"no script 'tain.py' for python3 in {work}; did you mean \"train.py\"?"),
                            (["sh", "./rum.sh"], "did you mean \"./run.sh\"?")):
        for more in [], ["-n", "2"], ["-H", "localhost"], ["--detach"]:
            p = run(*more, "--", *words)
            assert sentence in p.stderr and not p.stdout, (sentence, p)
    with open(os.path.join(work, "wrong.yaml"), "w") as f:
        f.write("name: x\ncommand: python3 tain.py\n")
    assert run("wrong.yaml").stderr.startswith("eddis-run: wrong.yaml:2:1: no script 'tain.py' for python3 in "), run("wrong.yaml")
    assert not os.path.exists(state), "a folder of a job that never was"
    p = run("--dry-run", "--", "./tain.py")
    assert "plan  " in p.stdout and "did you mean" in p.stderr, p


def last_words():
    """What a rank that ends the job has in stdio's buffers is in its log, and shown."""
    with job("--", WORKER, "exit") as j:
        j.check(1, "rank_exit", "rank 0: last words", failed_rank=0)
        assert "exits without eddis_close, so the job ends" in j.log(0) + j.out + j.err, j.log(0)


def example():
    """What the head of examples/smb says."""
    with job("-n", "4", "--", os.path.join(BUILD, "tests/mpi/example_smb_pi")) as j:
        j.check(0, "ok")
        assert "pi is 3.1415926536" in j.out, j.out


def opened_again():
    """One worker after the other in a process, whose page's file is gone by then; none in its child."""
    for what in ("again", "fork"):
        with job("--", WORKER, what) as j:
            j.check(0, "ok")


def scopes():
    """Collectives of groups and of the node, and entries of all ranks in a checkpoint, in every mode."""
    for mode, n in (("sync", 1), ("async", 4), ("hybrid", 2)):
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        with job("--set", f"sync.mode={mode}", *groups, "--", WORKER, "scopes", FOLDERS.path("work", mode), ranks=4) as j:
            j.check(0, "ok")
            assert f"{mode}: {n} groups" in j.log(0), j.log(0)


def left():
    """A training that is left in the middle, by all at once or by one for all, or before its first step, in every mode;
    its processes exit without eddis_close."""
    endings = os.path.join(BUILD, "tests/mpi/test_mpi_endings")
    for mode, what in [("sync", "alone"), ("sync", "unbegun")] + [
            (mode, what) for mode in ("async", "hybrid") for what in ("break", "alone", "first", "unbegun", "group")]:
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        with job("--set", f"sync.mode={mode}", "--set", "batch.global=12", *groups, "--", endings, what,
                 FOLDERS.path("work", f"left-{mode}-{what}"), ranks=4) as j:
            j.check(0, "ok")
            assert f"{mode}: trained" in j.log(0), j.log(0)
    with job("--set", "batch.global=12", "--", endings, "amidst", ranks=3) as j:
        j.check(1, "rank_exit", "before its last step", failed_rank=1)


def scripts():
    """Programs that end behind epochs of their own, of which the job was told nothing, with checkpoints on the way: each
    at another moment, with the centre."""
    endings = os.path.join(BUILD, "tests/mpi/test_mpi_endings")
    for mode, what in (("sync", "in-step"), ("async", "between"), ("async", "in-step"), ("hybrid", "between"), ("hybrid", "requested")):
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        with job("--set", f"sync.mode={mode}", "--set", "batch.global=12", "--set", "checkpoint.every=4", *groups,
                 "--", endings, what, ranks=4) as j:
            j.check(0, "ok")
            models = {re.search("^model .*", j.log(rank), re.M).group() for rank in range(4)}
            assert len(models) == 1, models
            assert j.summary()["generation"] == 1


def threads():
    """What any thread may call, by several of each worker beside its steps, in every mode."""
    for mode in "sync", "async", "hybrid":
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        groups += ["--set", "sync.period=2"] if mode != "sync" else []
        with job("--set", f"sync.mode={mode}", "--set", "batch.global=24", "--set", "restarts=0", *groups, "--", SCENARIOS,
                 "threads", ranks=3) as j:
            j.check(0, "ok")
            assert f"threads in {mode} mode: passed" in j.log(0), j.log(0)


def several_models():
    """Sets of parameters, many gradients by one call, unlike shapes, values elsewhere and 16 bits: what single
    mpiruns do in sync mode."""
    values = os.path.join(BUILD, "tests/mpi/test_mpi_values")
    for mode in "async", "hybrid":
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        for program in ([WORKER, "sets"], [values]):
            with job("--set", f"sync.mode={mode}", "--set", "sync.period=2", "--set", "batch.global=43", "--set", "restarts=0",
                     *groups, "--", *program, ranks=4) as j:
                j.check(0, "ok")
                assert j.summary()["generation"] == 1


def samples():
    """The samples of workers and of others, with a split that is not equal, and new plans, in every mode."""
    unlike = "profile.emulate=[{rate: 1, a_ms: 0.1, c_ms: 0.01}, {rate: 0.6}, {rate: 0.3}, {rate: 0.1}]"
    for mode in "sync", "async", "hybrid":
        options = ["--set", f"sync.mode={mode}", "--set", "batch.global=40", "--set", "restarts=0"]
        options += ["--set", "sync.period=2"] if mode != "sync" else []
        options += ["--set", "sync.groups=2"] if mode == "hybrid" else []
        for extra, what in (["--set", unlike], "samples"), (["--set", "checkpoint.every=1s"], "plan"):
            with job(*options, *extra, "--", SCENARIOS, what, ranks=4) as j:
                j.check(0, "ok")
                assert f"{what} in {mode} mode: passed" in j.log(0), j.log(0)


def mean():
    """Models of 16 bits that no gradient moves come to their mean: the centre and the library's copies are float32."""
    values = os.path.join(BUILD, "tests/mpi/test_mpi_values")
    for mode in "async", "hybrid":
        groups = ["--set", "sync.groups=2"] if mode == "hybrid" else []
        with job("--set", f"sync.mode={mode}", "--set", "sync.period=2", "--set", "batch.global=32", "--set", "restarts=0",
                 *groups, "--", values, "mean", FOLDERS.path("work", f"pace-{mode}"), ranks=4) as j:
            j.check(0, "ok")


def gone():
    """A second worker of one page is refused; who has closed its last one and left by _exit has ended
    well, and mpirun ends nobody for it."""
    with job("--", WORKER, "gone", ranks=3) as j:
        j.check(0, "ok")
        assert "rank 0 has gone on" in j.out and "mpirun" not in j.err, j.out + j.err
        assert j.summary()["first_failure"] is None


def preflight():
    """What the job names on this machine is looked for before anything starts."""
    run = os.path.join(BUILD, "cmd/eddis-run")
    path = FOLDERS.path("work", "preflight.yaml")
    for text, sentence in (
            ("workdir: /nope", ":2:1: workdir '/nope' is not a folder"),
            ("checkpoint: {resume: /nope}", ":2:14: checkpoint.resume '/nope' is not a folder"),
            ("logs: {dir: /dev/null/logs}", ":2:8: logs.dir '/dev/null/logs' is not a writable folder"),
            ("ssh: {identity: /nope}", ":2:7: ssh.identity '/nope' cannot be read on this machine"),
            ("nodes: [{host: no-such.invalid, ssh: {identity: /nope}}]", ":2:1: ssh.identity '/nope' cannot be read"),
            ("checkpoint: {dir: /dev/null}", ":2:14: checkpoint.dir '/dev/null'")):
        with open(path, "w") as f:
            f.write(f"command: [\"true\"]\n{text}\n")
        for more in ([], ["--dry-run"]):
            p = subprocess.run([run, path] + more, capture_output=True, text=True, timeout=PATIENCE,
                               env=dict(os.environ, XDG_STATE_HOME=FOLDERS.path("no-state")))
            assert p.returncode == 2 and not p.stdout and p.stderr.count("\n") == 1, p
            assert sentence in p.stderr, (sentence, p.stderr)
    assert not os.path.exists(FOLDERS.path("no-state")), "a folder of a job that never was"
    p = subprocess.run([run, "--set", "workdir=/nope", "--", "true"], capture_output=True, text=True, timeout=PATIENCE)
    assert p.returncode == 2 and p.stderr.startswith("eddis-run: --set: workdir '/nope' is not a folder"), p


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
        j.wait_log(0, "up")
        j.wait_log(1, "up")
        j.signal(signal.SIGINT)
        j.check(130, "interrupted", "stopping (2 ranks)")
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
        j.signal(signal.SIGINT)
        j.check(130, "interrupted", "again", "killing")


def interrupt_early():
    """Before there is anything to stop."""
    with job(*SLEEP) as j:
        wait_for("the job's folder", lambda: os.path.exists(os.path.join(j.dir, "driver.json")))
        j.signal(signal.SIGINT)
        j.check(130, "interrupted")


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
        j.wait_log(0, "up")
        j.wait_log(1, "up")
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
    group = cgroup.little_memory(300 << 20)
    if not group:
        raise Skip("needs a control group of memory that may be made here")
    eat = "import time\na = []\nwhile True: a.append(bytearray(1 << 20))"
    try:
        with script(f"[ $RANK = 0 ] && sleep 1000; exec {sys.executable} -c '{eat}'",
                    before=cgroup.inside(group)) as j:
            j.check(137, "oom", "was killed: out of memory (it held ", "the limit is 315 MB)", "lower batch.global", failed_rank=1)
    finally:
        cgroup.remove(group)


def kill_program(name, number, code, reason, sentence):
    with job(*SLEEP) as j:
        j.wait_log(0, "up")
        j.wait_log(1, "up")
        j.wait_event("rank_started", 2)
        shared = j.shared_memory()
        assert shared, "the job has no folder in /dev/shm?"
        os.kill(j.pids(name)[0], number)
        j.check(code, reason, sentence)
        assert not any(map(os.path.exists, shared)), shared
        if reason == "node_lost":  # what became of them nobody told
            assert [w["state"] for w in j.summary()["workers"]] == ["lost", "lost"], j.summary()["workers"]


def agent_killed():
    kill_program("eddis-agent", signal.SIGKILL, 1, "node_lost", "its agent")


def keeper_killed():
    kill_program("eddis-keeper", signal.SIGKILL, 1, "node_lost", "its supervisor was killed")


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


def agent_stopped():
    kill_program("eddis-agent", signal.SIGSTOP, 1, "node_lost", "its agent")


def mpirun_killed():
    kill_program("mpirun", signal.SIGKILL, 1, "internal", "mpirun died of signal 9")


def driver_killed():
    with script("trap '' TERM; setsid sleep 300 & echo up; sleep 1000") as j:
        j.wait_log(0, "up")
        shared = j.shared_memory()
        j.process.kill()
        j.end()
        j.check_nothing_left()
        assert not any(map(os.path.exists, shared)), shared
        p = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--cleanup", j.dir], capture_output=True, text=True, timeout=300)
        assert p.returncode == 0, p
        assert not {"driver.json", "reserve"} & set(os.listdir(j.dir)), os.listdir(j.dir)


def driver_stopped():
    """A stopped driver is a lost one; when it goes on it says so."""
    with job(*SLEEP) as j:
        wait_for("ranks to be asleep", lambda: len(j.pids("sleep")) == 2)
        j.signal(signal.SIGSTOP)
        wait_for("ranks to go", lambda: not j.pids("sleep"))
        j.signal(signal.SIGCONT)
        j.check(1, "node_lost", "eddis-run itself was suspended for")


# ---- usage ----

def own_mounts():
    """What this process mounts from here on goes with it; False: that cannot be."""
    new_namespace = 0x20000
    return ctypes.CDLL(None).unshare(new_namespace) == 0 and \
        subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode == 0


def full_disk():
    """The job's own result stands, and what its folder lacks is said."""
    small = FOLDERS.path("small")
    os.mkdir(small)
    if not own_mounts():
        raise Skip("needs root and a mount namespace")
    for size in ("300k", "60k"):  # the latter has no room to keep for the summary
        full_folder(small, size)


def full_folder(small, size):
    full = r"No space left on device"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", small], capture_output=True).returncode:
        raise Skip("needs root and a mount namespace")
    try:
        with Job(BUILD, FOLDERS, ["--job-dir", small, "--", "sh", "-c", "seq 100000"]) as j:
            j.dir = small
            assert j.end() == 0, (j.code, j.err)
            j.check_nothing_left()
            assert re.search(rf"bytes of its log could not be written in '{small}/logs' \({full}\).*"
                             "free space there", j.err), j.err
            assert j.events(), "each line of it is whole"
            if size == "300k":
                assert "summary.json" not in j.err and j.summary()["reason"] == "ok", j.err
                status = subprocess.run([os.path.join(BUILD, "cmd/eddis-status"), "--once", small], capture_output=True, text=True)
                assert "done in" in status.stdout and status.returncode == 0, status
            else:
                assert re.search(rf"missing or incomplete in '{small}': .*summary.json; the job's result is not affected",
                                 j.err), j.err
                assert not [f for f in os.listdir(small) if f.startswith("summary")], os.listdir(small)
            assert not {"reserve", "driver.json"} & set(os.listdir(small)), os.listdir(small)
            ends = [j.log(r)[-200:] for r in (0, 1)]
            assert any(re.search(rf"\n\[eddis: \d+ bytes could not be written here: {full}\]\n$", e)
                       for e in ends), ends
    finally:
        subprocess.run(["umount", small], check=True)


def few_files():
    """Where mpirun cannot open its pipes, which it would wait for, the limit is named."""
    with job("--", "true", ranks=1, before=["sh", "-c", 'ulimit -n 24; exec "$@"', "sh"]) as j:
        j.check(3, "start")
        assert re.search(r"Too many open files|only 24 files may be open at a time here", j.err), j.err


def usage():
    run = os.path.join(BUILD, "cmd/eddis-run")
    for args, sentence in (
            ([], "no job is named"), (["--nope"], 'unknown option "--nope"'),
            (["--dryrun"], 'did you mean "--dry-run"'),
            (["no-such.yaml"], "no-such.yaml"), (["a.yaml", "b.yaml"], "one job at a time"),
            (["a.yaml", "--", "true"], "not both"), (["-x", "NO_SUCH_VARIABLE", "--", "true"], "-x"),
            (["-x", "1A=2", "--", "true"], "1A"), (["-x", "RANK=3", "--", "true"], "set by eddis itself"),
            (["--set", "batch.global=0", "--", "true"], "batch.global"),
            (["--set", "batch.globl=4", "--", "true"], 'did you mean "global"'),
            (["--set", "foo=1", "--", "true"], 'unknown key "foo"'),
            (["--set", "batch=3", "--", "true"], "group of keys"),
            (["--set", "x", "--", "true"], "as --set batch.global=512"),
            (["-n", "cnn.yaml"], "-n needs the number"), (["true"], "eddis-run -- true"),
            (["--plan", "no-such", "--", "true"], "--plan no-such"),
            (["--set", "restarts=2000", "--", "true"], "restarts"),
            (["--set", "batch.min=64", "--set", "batch.max=8", "--", "true"], "batch.max"),
            (["--measure-equal", "x", "--", "true"], "--measure-equal"),
            (["--resume", "zzz", "--", "true"], "--resume zzz: there is no such file"),
            (["--seed", "-1", "--", "true"], "seed"), (["-n", "0.5", "--", "true"], "")):
        p = subprocess.run([run] + args, capture_output=True, text=True, timeout=PATIENCE,
                           env=dict(os.environ, XDG_STATE_HOME=FOLDERS.path("state")))
        assert p.returncode == 2 and not p.stdout, (args, p)
        assert p.stderr.count("\n") == 1 and p.stderr.startswith("eddis-run: "), p.stderr
        assert sentence in p.stderr, (sentence, p.stderr)
    bad = FOLDERS.path("work", "bad.yaml")
    for keys, lines in (["comand: a", "seed: -1", "sync: {mod: async}"], 3), ([f"k{i}: 1" for i in range(20)], 11):
        with open(bad, "w", encoding="utf-8") as f:
            f.write("\n".join(keys))
        p = subprocess.run([run, bad], capture_output=True, text=True, timeout=PATIENCE)
        assert p.returncode == 2 and not p.stdout, p
        told = p.stderr.splitlines()
        assert len(told) == lines and told[0].startswith(f"eddis-run: {bad}:1:1: "), told
        assert told[2].startswith(f"eddis-run: {bad}:3:"), told
    assert not os.path.exists(FOLDERS.path("state", "eddis")), "a folder of a job that never was"
    with Job(BUILD, FOLDERS, ["--ranks", "0,9", "--", "true"]) as j:  # known once there is a plan
        refused(j, "--ranks: there is no rank 9; the last of the 2 ranks is rank 1")


def refused(j, sentence, was_there=False):
    """One sentence and no folder; a folder that was there is empty."""
    assert j.end() == 2 and sentence in j.err, (j.code, j.err)
    assert j.err.count("\n") == 1 and not j.out, (j.err, j.out)
    j.check_nothing_left()
    assert os.path.isdir(j.dir) == was_there and (not was_there or not os.listdir(j.dir)), j.dir


def impossible():
    """What the nodes cannot give is usage too: known only after the profile."""
    with job("--set", "batch.global=2", "--", "true", ranks=4) as j:
        refused(j, "batch.global is 2, too small for 4 workers")
    empty = FOLDERS.path("work", "empty")
    os.mkdir(empty)
    with job("--job-dir", empty, "--set", "batch.global=2", "--", "true", ranks=4) as j:
        j.dir = empty
        refused(j, "batch.global is 2, too small for 4 workers", was_there=True)


# ---- options ----

def resume_by_name():
    """The newest of several jobs that have this whole name; the beginning of a name may be anybody's."""
    run = os.path.join(BUILD, "cmd/eddis-run")
    env = dict(os.environ, XDG_STATE_HOME=FOLDERS.path("named"), XDG_CACHE_HOME=FOLDERS.path("cache"))

    def eddis_run(*words):
        return subprocess.run([run, *words], capture_output=True, text=True, timeout=PATIENCE, env=env)
    for name in ("digits", "digits", "digits2"):
        assert eddis_run("-n", "1", "--set", f"name={name}", "--", "true").returncode == 0
    jobs = os.listdir(FOLDERS.path("named", "eddis", "jobs"))
    newest = max((j for j in jobs if j.startswith("digits-")),
                 key=lambda j: os.stat(FOLDERS.path("named", "eddis", "jobs", j, "job.yaml")).st_mtime_ns)
    p = eddis_run("--resume", "digits")
    assert p.returncode == 0 and newest in p.stdout and len(jobs) == 3, p
    assert len(os.listdir(FOLDERS.path("named", "eddis", "jobs"))) == 3, "it has trained to its end"
    p = eddis_run("--resume", "digit")
    assert p.returncode == 2 and "3 jobs begin with 'digit'; write more of the id" in p.stderr, p


def dry_run():
    run = os.path.join(BUILD, "cmd/eddis-run")
    env = dict(os.environ, XDG_STATE_HOME=FOLDERS.path("state"),
               XDG_CACHE_HOME=FOLDERS.path("cache"), XDG_RUNTIME_DIR=FOLDERS.path("runtime"),
               TMPDIR=FOLDERS.path("tmp"))

    def text(*options):
        return subprocess.run([*known.alone(), run, "--dry-run", "--json", *(options or ("-n", "3")), "--", "true"], env=env, text=True,
                              capture_output=True, check=True, timeout=PATIENCE).stdout

    def kept():  # the profile, which is measured anew when the machine is quiet again; None: it is none to keep
        for path in glob.glob(FOLDERS.path("cache", "eddis", "profile-*.json")):
            with open(path) as f:
                return f.read()

    def two_of_one_profile():
        profile, texts = kept(), [text(), text()]
        return profile and kept() == profile and texts
    text()
    texts = wait_for("two plans of one profile", two_of_one_profile)
    assert texts[0] == texts[1], "the same job and profile must give the same bytes"
    emulated = "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.1}]"
    assert text(*emulated) == text(*emulated), "no profile of an emulated node is of its moment"
    plan = json.loads(texts[0])["plan"]
    assert sum(w["batch"] for w in plan["workers"]) == plan["global_batch"]
    p = subprocess.run([run, "--profile", "--json"], env=env, text=True,
                       capture_output=True, check=True, timeout=PATIENCE)
    assert json.loads(p.stdout)["nodes"][0]["cores"] > 0
    assert not os.path.exists(FOLDERS.path("state", "eddis"))
    assert not os.listdir(FOLDERS.path("tmp")) and not os.listdir(FOLDERS.path("runtime"))


def unknown_hosts():
    """What never came up has left nothing, also where another host's login was still going on."""
    login = FOLDERS.path("work", "login")
    with open(login, "w") as f:
        f.write('#!/bin/sh\ncase "$*" in *nohost1*) echo "ssh: Could not resolve hostname nohost1: Name or service not known" >&2\n'
                'exit 255;; esac\nexec sleep 3600\n')
    os.chmod(login, 0o700)
    env = dict(os.environ, XDG_STATE_HOME=FOLDERS.path("state"), XDG_CACHE_HOME=FOLDERS.path("cache"),
               XDG_RUNTIME_DIR=FOLDERS.path("runtime"), TMPDIR=FOLDERS.path("tmp"))
    for args in (["--dry-run"], []):
        p = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), *args, "--ssh-command", login, "-H", "nohost1:1,nohost2:1", "--", "true"],
                           env=env, text=True, capture_output=True, timeout=PATIENCE)
        assert p.returncode == 3 and "nohost1" in p.stderr, p
        assert "may remain" not in p.stderr, p.stderr


def output():
    """What was asked for and cannot be written is a failure; a reader who has gone away is none."""
    run = os.path.join(BUILD, "cmd/eddis-run")
    env = dict(os.environ, XDG_STATE_HOME=FOLDERS.path("state"),
               XDG_CACHE_HOME=FOLDERS.path("cache"), XDG_RUNTIME_DIR=FOLDERS.path("runtime"),
               TMPDIR=FOLDERS.path("tmp"))
    one = ["--set", "profile.emulate=[{rate: 1.0, a_ms: 2, c_ms: 0.1}]", "--", "true"]
    for program in ("eddis-status", "eddis-train", "eddis-agent"):
        with open("/dev/full", "w") as full:
            p = subprocess.run([os.path.join(BUILD, "cmd", program), "--help"], env=env, stdout=full,
                               stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        assert p.returncode == 1 and "standard output" in p.stderr, (program, p)
    for args, code in ((["--help"], 1), (["--dry-run", "--json"] + one, 1),
                       (["--json"] + one, 1), (one, 0)):
        with open("/dev/full", "w") as full:
            p = subprocess.run([run] + args, env=env, stdout=full, stderr=subprocess.PIPE, text=True,
                               timeout=PATIENCE)
        assert p.returncode == code and "standard output" in p.stderr, (args, p)
        read, write = os.pipe()
        os.close(read)
        p = subprocess.run([run] + args, env=env, stdout=write, stderr=subprocess.PIPE, text=True,
                           timeout=PATIENCE)
        os.close(write)
        assert p.returncode == 0 and not p.stderr, (args, p)
    with open(FOLDERS.path("work", "file"), "w"):
        pass
    for folder, sentence in ((FOLDERS.path("work", "file"), "Not a directory"),
                             ("/proc/job", "No such file"), ("/sys/kernel/job", "not permitted")):
        p = subprocess.run([run, "--job-dir", folder, "--", "true"], env=env, text=True,
                           capture_output=True, timeout=PATIENCE)
        assert p.returncode == 2 and "cannot make the job's folder" in p.stderr, p
        assert sentence in p.stderr or folder.startswith("/sys"), p
    with job(*one, ranks=None) as j:  # the hint at the end works
        j.check(0, "ok")
        hint = j.out.split("eddis-status ")[1].splitlines()[0].split()
        p = subprocess.run([os.path.join(BUILD, "cmd/eddis-status")] + hint, env=env, text=True,
                           capture_output=True, timeout=PATIENCE)
        assert p.returncode == 0 and "done in" in p.stdout, p


def replay():
    with job("--set", "batch.global=100", "--", "true", ranks=3) as j:
        j.check(0, "ok")
        path = os.path.join(j.dir, "plan-1-1.json")
        plan = json.loads(j.file("plan-1-1.json"))
    with job("--set", "batch.global=100", "--plan", path, "--", "true", ranks=3) as j:
        j.check(0, "ok")
        assert json.loads(j.file("plan-1-1.json")) == plan
        assert "replayed" in j.out
        with job("--set", "batch.global=100", "--plan", j.dir, "--", "true", ranks=3) as k:
            k.check(0, "ok")
            assert json.loads(k.file("plan-1-1.json")) == plan
        with job("--set", "batch.global=100", "--plan", path, "--", "true", ranks=2) as k:
            refused(k, "plan")
        assert j.file("summary.json").endswith("}\n")


def replay_is_bitwise():
    """What a run has chosen of its communication is in its plan; two runs of that plan are equal to
    the last bit, also of the first run, whose plan knows how large the model is since eddis_commit."""
    data = os.path.join(os.path.dirname(__file__), "../../examples/digits/digits.csv")
    mix = "[{rate: 1, a_ms: 1, c_ms: 0.05}, {rate: 0.6}, {rate: 0.35}]"
    saved = []

    def train(*options):
        return job("--set", f"profile.emulate={mix}", "--set", "batch.global=120", *options, "--", "eddis-train",
                   "--data", data, "--model", "mlp", "--widths", "64,32", "--epochs", "3", "--quiet",
                   "--save", "final", ranks=None)

    def run(*options):
        with train(*options) as j:
            j.check(0, "ok")
            with open(os.path.join(j.folders.path("work"), "final"), "rb") as f:
                saved.append(f.read())
            os.unlink(f.name)
            return os.path.join(j.dir, "plan-1-1.json"), json.loads(j.file("plan-1-1.json")), j.out

    path, first, said = run("-v")
    assert first["model_bytes"] == 4 * (64 * 64 + 64 + 64 * 32 + 32 + 32 * 10 + 10), first
    assert "modes, for a model of 26 kB" in said, said
    assert first["communication"]["version"] > 0 and first["communication"]["reason"], first
    assert f"communication: {first['communication']['reason']}\n" in said, said  # with -v
    for _ in range(2):
        _, again, said = run("--plan", path)
        assert "replayed" in said, said
        for p in first, again:  # these follow the steps, which a busy machine makes longer
            p.pop("predicted_samples_per_s", None), p.pop("equal_samples_per_s", None)
        assert again == first, {k: (v, again.get(k)) for k, v in first.items() if again.get(k) != v}
    assert saved[1] == saved[2], "two runs of one plan differ"
    _, known, said = run()
    assert known["model_bytes"] == first["model_bytes"] and "modes, for a model of" in said, said


def modes():
    """The same program in the other modes: every sample is trained once an epoch, and the end is in good order."""
    data = os.path.join(os.path.dirname(__file__), "../../examples/digits/digits.csv")
    mix = "[{rate: 1, a_ms: 1, c_ms: 0.02}, {rate: 0.6}, {rate: 0.35}, {rate: 0.3}]"
    for mode, groups, options in (("async", [0, 1, 2, 3], []), ("hybrid", [0, 1, 0, 1], ["--set", "sync.groups=[[0, 2], [1, 3]]"])):
        with job("--set", f"profile.emulate={mix}", "--set", "batch.global=64", "--set", f"sync.mode={mode}",
                 "--set", "sync.period=4", *options, "--", "eddis-train", "--data", data, "--test", "297", "--model",
                 "softmax", "--epochs", "3", "--quiet", ranks=None) as j:
            j.check(0, "ok")
            plan, summary = json.loads(j.file("plan-1-1.json")), j.summary()
            assert [w["group"] for w in plan["workers"]] == groups, plan
            assert (plan["mode"], plan["period"], summary["mode"]) == (mode, 4, mode), plan
            assert plan["moving_rate"] == 0.9 / (max(groups) + 1), plan
            assert summary["samples"] == 3 * 1500 and summary["accuracy"] > 0.7, summary
            assert [w["group"] for w in summary["workers"]] == groups, summary


def variables():
    os.environ["HANDED_ON"] = "from here"
    with script("echo $A/$HANDED_ON/$RANK/$WORLD_SIZE", "-x", "A=b c", "-x", "HANDED_ON") as j:
        j.check(0, "ok")
        assert j.log(1) == "b c/from here/1/2\n", j.log(1)


def quiet_and_json():
    with job("-q", "--", "true") as j:
        j.check(0, "ok")
        assert j.out == "" and j.err == "", (j.out, j.err)
    with job("--json", "--", "true") as j:
        j.check(0, "ok")
        assert json.loads(j.out) == j.summary()


def broken_pipe():
    """eddis-run | head -1: the job goes on and ends with its own code."""
    with script("sleep 1; exit 6", ranks=1) as j:
        j.process.stdout.close()
        j.process.stdout = open(os.devnull)
        j.check(6, "rank_exit", failed_rank=0)


# ---- the driver's door ----

def door():
    with job(*SLEEP) as j:
        url, token = j.driver()
        j.wait_log(1, "up")
        j.wait_event("rank_started", 2)
        assert request(url + "/v1/job")[0] == 401
        assert request(url + "/v1/job", "x" * 64)[0] == 401
        status, text = request(url + "/v1/job", token)
        assert status == 200 and json.loads(text)["state"] == "running", text
        assert len(json.loads(request(url + "/v1/workers", token)[1])["workers"]) == 2
        assert json.loads(request(url + "/v1/plan", token)[1])["global_batch"] == 256
        events = json.loads(request(url + "/v1/events?after=2", token)[1])["events"]
        assert events[0]["n"] == 3, events
        assert request(url + "/v1/events?after=x", token)[0] == 400
        assert "eddis_refused_requests_total" in request(url + "/metrics", token)[1]
        assert re.search(r"eddis_refused_requests_total\{.*\} 2\n",
                         request(url + "/metrics", token)[1])
        # A reader may only read.
        assert request(url + "/v1/job", token, b"{}")[0] == 405
        assert request(url + "/v1/agents", token, b"{}")[0] == 405
        assert request(url + "/v1/agents/0/orders?after=0", token)[0] == 404
        assert request(url + "/v1/nothing", token)[0] == 404
        assert request(url + "/v1/job/stop", token, b"")[0] == 403
        owner = json.loads(j.file("driver.json"))["owner"]
        secrets(j, token, owner)
        agents_door(j, url, token, owner)
        assert re.match(r"\d+ refused requests from 127.0.0.1$",
                        json.loads(request(url + "/v1/job", token)[1])["refused"])
        # The owner may stop, and nothing else.
        assert request(url + "/v1/job", owner)[0] == 200
        assert request(url + "/v1/job", owner, b"{}")[0] == 405
        assert request(url + "/v1/job/stop", owner, b"")[0] == 202
        j.check(130, "interrupted", "refused a request from 127.0.0.1")
        assert j.err.count("refused a request") == 1, j.err
        kept = "".join(open(os.path.join(d, f), errors="replace").read()
                       for d, _, files in os.walk(j.dir) for f in files)
        assert token not in kept and owner not in kept


def listeners(pid):
    """(address, port) that this process listens on."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass
    found = []
    for table in "tcp", "tcp6":
        with open(f"/proc/{pid}/net/{table}") as f:
            for row in (line.split() for line in f.readlines()[1:]):
                if row[3] == "0A" and row[9] in inodes:
                    address, port = row[1].split(":")
                    found.append((address, int(port, 16)))
    return found


def agents_door(j, url, *tokens):
    """Only the driver listens, on loopback here; its other door is TLS 1.3 and the agents' own."""
    if os.geteuid() != 0:
        skip_part("door", "the descriptors of who holds secrets are root's to see")
        return
    found = listeners(j.process.pid)
    assert len(found) == 2 and all(address == "0100007F" for address, _ in found), found
    for program in "eddis-agent", "eddis-keeper", "eddis-rank":
        pids = j.pids(program)
        assert pids and not any(map(listeners, pids)), (program, {pid: listeners(pid) for pid in pids})
    port, = {port for _, port in found} - {int(url.rsplit(":", 1)[1])}
    try:
        assert request(f"http://127.0.0.1:{port}/v1/agents/0/orders?after=0", tokens[0])[0] == 0
    except (OSError, http.client.HTTPException):
        pass  # not a word in plain HTTP
    strange = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE
    for version, good in ("TLSv1_2", False), ("TLSv1_3", True):
        strange.minimum_version = strange.maximum_version = ssl.TLSVersion[version]
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
            try:
                with strange.wrap_socket(s) as t:
                    assert good
                    # People's tokens open nothing here.
                    t.sendall(b"GET /v1/agents/0/orders?after=0 HTTP/1.1\r\nHost: x\r\n"
                              b"Authorization: Bearer " + tokens[-1].encode() + b"\r\n\r\n")
                    assert b" 401 " in t.recv(4096)
            except ssl.SSLError:
                assert not good


def secrets(j, *tokens):
    """The tokens for people lie in driver.json alone, 0600; no process shows a secret."""
    assert os.stat(os.path.join(j.dir, "driver.json")).st_mode & 0o777 == 0o600
    for pid in marked(j.mark):
        with open(f"/proc/{pid}/cmdline", "rb") as c, open(f"/proc/{pid}/environ", "rb") as e:
            shown = c.read() + e.read()
        assert not any(token.encode() in shown for token in tokens)
        # 64 hexadecimal digits in a row would be a token.
        assert not re.search(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", shown), pid


CASES = [true, joined, false, exit_7, segv, left_first, missing_program, last_words, example, opened_again, scopes, left, scripts, threads,
         several_models, samples, mean, gone, preflight, grandchildren, stubborn, timeout, interrupt, interrupt_twice, interrupt_early, quit_at_once, terminate, user_2, ignored,
         rank_killed, out_of_memory, agent_killed, keeper_killed, keeper_and_agent_killed, agent_stopped, mpirun_killed,
         driver_killed, driver_stopped, full_disk, few_files, usage, impossible, resume_by_name, dry_run, unknown_hosts, output, replay,
         replay_is_bitwise, modes,
         variables, quiet_and_json, broken_pipe, door]


signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored, and the jobs would too
run(CASES, sys.argv[3:])
