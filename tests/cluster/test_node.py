# SPDX-License-Identifier: Apache-2.0
"""test_node.py BUILD SOURCE [NAME ...] - keeper, agent, wrapper and mpirun against a small real driver.

Each test starts a node, does something to it, and looks at what was told and what was left.
"""

import glob
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

from cases import table
from files import read, write
from node import FAMILY, LEASE, PATIENCE, SLEEP, Driver, Node, alive, launched, marked, plan_of, \
    run_tests, sh, wait_for

BUILD = os.path.abspath(sys.argv[1])


def test_environment(make):
    script = ("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR "
              "$EDDIS_BATCH_SIZE $EDDIS_GLOBAL_BATCH $EDDIS_GRAD_WEIGHT $EDDIS_JOB_ID "
              "$EDDIS_GENERATION $EDDIS_SYNC_MODE \"$SPACES\" $OMPI_COMM_WORLD_RANK; "
              "test -f $EDDIS_BOARD && echo board; test $MASTER_PORT -gt 1023 && echo port; "
              "test -n \"$OMP_NUM_THREADS\" && echo threads; pwd; echo $WORLD; echo err >&2")
    n = make(sh(script), env=["SPACES=a  b", "WORLD=mine"])
    n.launch(2, batches=[6, 2])
    d = n.driver
    for i, weight in ((0, "0.75"), (1, "0.25")):
        e = d.wait("rank_exit", rank=i)
        assert (e["code"], e["signal"], e["by_us"]) == (0, 0, False), e
        b = [6, 2][i]
        assert n.log(i).splitlines() == [
            f"{i} 2 {i} 2 0 127.0.0.1 {b} 8 {weight} test-1 1 sync a  b {i}", "board", "port",
            "threads", n.dir, "mine", "err"], n.log(i)
    assert d.wait("mpirun_exit")["code"] == 0
    n.stop_and_leave("kill")


def test_user_wins(make):
    n, _ = launched(make, 1, sh("echo $RANK $OMP_NUM_THREADS $PATH $EDDIS_LIBRARY"),
                    env=["RANK=77", "OMP_NUM_THREADS=3"])
    n.driver.wait("rank_exit")
    words = n.log(0).split()
    assert words[:2] == ["77", "3"] and words[2].endswith(f":{BUILD}/cmd"), words
    assert words[3] == os.environ.get("EDDIS_LIBRARY", f"{BUILD}/lib/libeddis.so.0"), words
    n.leave()


def test_failure_is_told_at_once_and_first(make):
    n, _ = launched(make, 3, sh("test $RANK = 1 || exec sleep 1000; echo bad >&2; sleep 0.3; exit 7"))
    e = n.driver.wait("rank_exit")
    assert (e["rank"], e["code"], e["by_us"], e["last_lines"]) == (1, 7, False, "bad\n"), e
    time.sleep(1.5)  # mpirun alone would have killed the others by now
    assert len(n.driver.find("rank_exit")) == 1
    n.stop()
    assert {e["rank"]: e["by_us"] for e in n.driver.find("rank_exit")} == {0: True, 1: False, 2: True}, n.driver.events
    n.leave()


def test_signal_is_told(make):
    n, pids = launched(make, 2, SLEEP)
    os.kill(pids[1], signal.SIGKILL)
    e = n.driver.wait("rank_exit")
    assert (e["rank"], e["code"], e["signal"], e["oom"]) == (1, -1, 9, False), e
    n.stop_and_leave()


def test_wrapper_killed(make):
    n, pids = launched(make, 2, SLEEP)
    os.kill(n.wrapper(pids[0]), signal.SIGKILL)
    e = n.driver.wait("rank_exit")
    assert (e["rank"], e["signal"], e["by_us"]) == (0, 9, False), e
    n.stop()
    assert not marked(n.mark) or set(marked(n.mark)) <= {n.agent, n.keeper.pid}
    n.leave()


def test_mpirun_killed(make):
    n, _ = launched(make, 2, SLEEP)
    os.kill(n.mpirun(), signal.SIGKILL)
    e = n.driver.wait("mpirun_exit")
    assert (e["signal"], e["by_us"]) == (9, False), e
    n.stop()
    assert {e["rank"]: e["by_us"] for e in n.driver.find("rank_exit")} == {0: True, 1: True}, n.driver.events
    n.leave()


def test_mpirun_killed_before_the_stop(make):
    """Both come to the agent at once: it was not killed by the stop."""
    n, _ = launched(make, 2, SLEEP)
    os.kill(n.agent, signal.SIGSTOP)
    mpirun = n.mpirun()
    os.kill(mpirun, signal.SIGKILL)
    wait_for("mpirun to end", lambda: not alive(mpirun))
    n.driver.stop("failure")
    wait_for("the order to lie there", lambda: n.driver.given == len(n.driver.orders))
    os.kill(n.agent, signal.SIGCONT)
    e = n.driver.wait("mpirun_exit")
    assert (e["signal"], e["by_us"]) == (9, False), e
    n.driver.wait("stopped")
    n.leave()


def test_mpirun_stopped(make):
    n, _ = launched(make, 2, SLEEP)
    os.kill(n.mpirun(), signal.SIGSTOP)
    e = n.driver.wait("mpirun_exit")
    assert e["signal"] == 9, e
    assert "mpirun" in n.driver.wait("note")["text"]
    n.stop_and_leave()


def test_rank_and_wrapper_stopped(make):
    n, pids = launched(make, 3, SLEEP)
    os.kill(pids[2], signal.SIGSTOP)
    e = n.driver.wait("rank_exit")
    assert (e["rank"], e["signal"]) == (2, 9), e
    assert "rank 2" in n.driver.wait("note")["text"]
    os.kill(n.wrapper(pids[0]), signal.SIGSTOP)
    n.driver.wait("rank_exit", rank=0)
    n.stop_and_leave()


def stop_in_turns(make):
    """Returns whether no stop lasted too long because this test itself was held up."""
    n, pids = launched(make, 2, SLEEP)
    until = time.monotonic() + LEASE + 2
    longest = 0  # stop
    while time.monotonic() < until:
        began = time.monotonic()
        os.kill(pids[1], signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(pids[1], signal.SIGCONT)
        longest = max(longest, time.monotonic() - began)
        time.sleep(0.002)
    fair = longest < LEASE / 2
    assert not fair or alive(pids[1]) and not n.driver.find("rank_exit")
    n.stop_and_leave()
    return fair


def test_rank_goes_on_between_stops(make):
    """Seen stopped at nearly every look, it is slow and not hung."""
    assert any(stop_in_turns(make) for _ in range(10)), "held up ten times"


def test_orderly_stop_waits_for_the_last(make):
    # Rank 0 needs longer than mpirun would give it.
    n, _ = launched(make, 2, sh("trap 'test $RANK = 0 && sleep 2; echo saved; exit 0' TERM; echo up; "
                                "while :; do sleep 0.1; done"))
    n.wait_logs("up", 2)
    n.stop("orderly")
    for i in (0, 1):
        assert n.log(i).endswith("saved\n"), n.log(i)
        assert n.driver.wait("rank_exit", rank=i)["by_us"]
    n.leave()


def test_orderly_stop_then_killed(make):
    n, _ = launched(make, 2, sh("trap '' TERM; echo up; while :; do sleep 0.1; done"))
    n.wait_logs("up", 2)
    n.driver.stop("orderly")
    time.sleep(0.5)
    assert not n.driver.find("stopped")
    n.stop_and_leave("kill")


def test_stubborn_ranks_get_no_grace_after_a_failure(make):
    n, _ = launched(make, 3, sh("trap '' TERM HUP INT; echo up; while :; do sleep 0.1; done"))
    n.wait_logs("up", 3)
    n.stop_and_leave()


def test_stop_takes_grandchildren(make):
    n, _ = launched(make, 2, FAMILY)
    n.wait_families()
    n.stop()
    assert set(marked(n.mark)) <= {n.agent, n.keeper.pid}, marked(n.mark)
    n.leave()


def kept_in(folder):
    """What a folder of the start's holds beside its mark, which nobody else may read."""
    assert os.stat(folder + "/mark").st_mode & 0o777 == 0o600, folder
    return [name for name in os.listdir(folder) if name != "mark"]


def test_generations(make):
    n = make(sh("echo g$EDDIS_GENERATION; exec sleep 1000"))
    for g in (1, 2, 3):
        n.launch(2, generation=g)
        assert [kept_in(f) for f in n.folders()] == 2 * [[f"g{g}"]]
        n.driver.stop("kill", generation=g)
        n.driver.wait("stopped", generation=g)
        assert [kept_in(f) for f in n.folders()] == 2 * [[]]
    assert n.log(1) == "g1\n[eddis: start 2]\ng2\n[eddis: start 3]\ng3\n"
    n.leave()


def test_signal_reaches_ranks(make):
    n, _ = launched(make, 2, sh("trap 'echo usr2' USR2; echo up; while :; do sleep 0.05; done"))
    n.wait_logs("up", 2)
    n.driver.order("signal")
    n.wait_logs("usr2", 2)
    n.leave()


def test_sessions(make):
    """Each rank has its own, of which a busy kernel may make shares of the processors."""
    n, pids = launched(make, 2, SLEEP)
    assert [os.getsid(pid) for pid in pids] == pids, [os.getsid(pid) for pid in pids]
    n.leave()


def refusal(make, command, word, more):
    n = make(command, **more)
    d = n.registered()
    d.prepare(1)
    e = d.wait("failed")
    assert word in e["text"], e["text"]
    d.order("start")
    assert "no start" in d.wait("failed", n=2)["text"]
    assert [kept_in(f) for f in n.folders()] == 2 * [[]]
    n.leave()


REFUSED = {"test_no_program": (["no-such-program-here"], "no-such-program-here", {}),
           "test_no_folder": (SLEEP, "/nowhere/at/all", {"workdir": "/nowhere/at/all"}),
           "test_no_checkpoint_path": (SLEEP, "too long", {"checkpoint_dir": "/" + "x" * 2000})}


def test_interpreter_missing(make):
    # It is there and may be executed, but cannot be: its first line says so.
    n = make(["./script"])
    write(n.dir + "/script", "#!/no/such/interpreter\n", 0o755)
    d = n.registered()
    d.prepare(1)
    e = d.wait("failed")
    assert re.search(r"'/.*/script' cannot run because the interpreter '/no/such/interpreter' in its first line does not exist", e["text"]), e
    n.leave()


def test_bad_mpirun_arguments(make):
    n = make(SLEEP, mpi_args=["--no-such-option"])
    d = n.registered()
    d.prepare(1)
    d.order("start")
    e = d.wait("mpirun_exit")
    assert e["code"] > 0 and "no-such-option" in e["last_lines"], e
    n.stop_and_leave()


def test_log_is_bounded_and_counted(make):
    n, _ = launched(make, 1, sh("yes 0123456789012345678901234567890123456789 | head -c 30000000; echo the end"),
                    log_max_bytes=4 << 20)
    n.driver.wait("rank_exit")
    assert "dropped" in n.driver.wait("note")["text"]
    sizes = {f: os.path.getsize(f"{n.dir}/{f}") for f in os.listdir(n.dir) if f.startswith("rank")}
    assert sum(sizes.values()) < (4 << 20) + 1000, sizes
    assert n.log(0).startswith("0123456789")
    assert "were dropped" in n.log(0)
    assert n.read("rank-0000.tail.log").endswith("the end\n")
    dropped = int(n.driver.wait("note")["text"].split(": ")[1].split()[0])
    head = n.log(0).split("\n[eddis")[0]
    kept = len(head) + sum(s for f, s in sizes.items() if "tail" in f)
    assert kept + dropped == 30000000 + len("the end\n"), (kept, dropped)
    n.leave()


def test_last_lines(make):
    n, _ = launched(make, 1, sh("for i in $(seq 30); do echo line $i; done; printf 'a\\033[2Jb\\377\\000c'; exit 3"))
    lines = n.driver.wait("rank_exit")["last_lines"].splitlines()
    assert lines == [f"line {i}" for i in range(12, 31)] + ["ab??c"], lines
    n.stop_and_leave("kill")


def test_message_of_nobody(make):
    """A process that cannot be is not signalled: 0 and -1 mean many others.  One that can be is believed."""
    child = subprocess.Popen(["sleep", "1000"])
    try:
        for wrapper in 0, -1, child.pid:
            n = make(["sleep", "1000"])
            d = n.registered()
            d.prepare(1)
            d.wait("prepared")
            path, = glob.glob(n.runtime + "/eddis-*/g1/agent")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:  # struct rank_message
                s.sendto(struct.pack("@IIqq7i4xqqqiii4xqqi", 0x6564726b, 1, 1, 0, 0, wrapper, child.pid, *13 * [0]) + b"x\0", path)
            if wrapper == child.pid:
                assert d.wait("rank_started")["pid"] == child.pid
            else:
                time.sleep(0.5)
                assert not d.find("rank_started")
                d.order("start", 1)
                assert d.wait("rank_started")["pid"] != child.pid
            n.stop_and_leave("kill")
    finally:
        child.kill()
        child.wait()


def test_report_too_long(make):
    """Output may grow on its way: what the driver does not take may not hold up the end."""
    n = make(sh(r"for i in 1 2 3 4 5 6 7 8; do printf '%03000d\n' 0 | tr 0 '\001'; done; exit 3"))
    n.driver.longest = 40000
    n.launch(1)
    assert n.driver.wait("rank_exit")["code"] == 3
    n.stop_and_leave()


def test_lost_answers(make):
    n = make(sh("exit 5"))
    n.registered()
    n.driver.lost_answers = 5
    n.launch(2)
    for i in range(2):
        n.driver.wait("rank_exit", rank=i)
    time.sleep(0.5)
    assert len(n.driver.find("rank_exit")) == 2  # the sequence tells repeats
    n.leave()


def test_setup(make):
    """The lines hold for the program, which may come into PATH by them."""
    lines = ["source ./activate", "export A='x  y'; cd /", "if false; then exit 9; fi"]
    n = make(["setup-tool", "1 2", "'"], setup=lines)
    os.mkdir(n.dir + "/tools")
    write(n.dir + "/activate", f"PATH={n.dir}/tools:$PATH\n")
    write(n.dir + "/tools/setup-tool", "#!/bin/sh\necho \"$A|$1|$2\"; pwd; env | grep eddis_ || true\n", 0o755)
    n.launch(1)
    assert n.driver.wait("rank_exit")["code"] == 0, n.log(0)
    assert n.log(0) == "x  y|1 2|'\n/\n", n.log(0)
    n.leave()


def test_setup_fails(make):
    for lines, code, said in (
            (["true", "sh -c 'echo why; exit 5'"], 5,
             "why\neddis: setup failed with code 5: sh -c 'echo why; exit 5'\n"),
            (["exit 0"], 1, "eddis: setup failed with code 1: exit 0\n"),
            (["true"], 127, "eddis: no program 'no-such-tool' in PATH after setup; install it, or "
             "correct the command\n")):
        n, _ = launched(make, 1, ["no-such-tool"], setup=lines)
        e = n.driver.wait("rank_exit")
        assert (e["code"], e["last_lines"]) == (code, said), e
        n.stop_and_leave()


def worker(steps):
    return [f"{BUILD}/tests/cluster/node-worker", str(steps)]


def test_mpi_progress_and_rebalance(make):
    n = make(worker(0))
    n.launch(4, batches=[4, 3, 2, 1])
    d = n.driver
    run, shm = n.folders()
    assert any("ompi" in f for f in os.listdir(run + "/g1")), os.listdir(run + "/g1")
    wait_for("progress of all", lambda: len(d.progress) == 4 and
             all(p["recent_steps"] > 0 for p in d.progress.values()))
    p = wait_for("a page that is not old", lambda: next(
        (page for page in [d.progress[2]] if page["page_age_ns"] < 10**9), None))
    assert p["samples_done"] == 5 * p["steps_done"] and 0 < p["loss"] <= 1, p
    assert p["recent_samples"] == 5 * p["recent_steps"], p
    assert p["metric"] == [{"name": "test accuracy", "value": 0.5}], p
    wait_for("the board to be unlinked", lambda: not os.path.exists(shm + "/g1/board"))
    d.order("rebalance", plan=plan_of([1, 2, 3, 4], 2))
    wait_for("the new plan", lambda: "plan 2 batch 4 of 10" in n.log(3))
    assert "plan 1 batch 1 of 10" in n.log(3)
    d.order("rebalance", plan=plan_of([1, 2, 3, 4], 9))
    d.wait("failed")
    d.stop("failure")
    wait_for("the stop", lambda: d.find("stopped"))
    n.leave()


def test_mpi_ends_by_itself(make):
    n, _ = launched(make, 4, worker(50))
    for i in range(4):
        assert n.driver.wait("rank_exit", rank=i)["code"] == 0
    assert n.driver.wait("mpirun_exit")["code"] == 0
    wait_for("the last progress", lambda: [p["steps_done"] for p in n.driver.progress.values()] ==
             [50] * 4)
    assert n.mpirun_log() == "", n.mpirun_log()
    n.leave()


def test_mpi_rank_killed(make):
    n, pids = launched(make, 4, worker(0))
    n.wait_logs("up", 4)
    os.kill(pids[3], signal.SIGKILL)
    e = n.driver.wait("rank_exit")
    assert (e["rank"], e["signal"], e["by_us"]) == (3, 9, False), e
    n.stop_and_leave()


def test_mpi_abort(make):
    n, _ = launched(make, 4, sh(f"test $RANK = 2 && export EDDIS_BOARD=/none; exec {worker(0)[0]} 0"))
    n.driver.wait("rank_exit", n=4)
    first = min((e for e in n.driver.find("rank_exit") if not e["by_us"]), key=lambda e: e["at"])
    assert (first["rank"], first["code"]) == (2, 9), first
    assert "/none" in first["last_lines"], first
    n.stop_and_leave()


def test_mpi_files_after_kills(make):
    n, _ = launched(make, 4, worker(0))
    n.wait_logs("up", 4)
    assert any("vader" in f for f in os.listdir(n.folders()[1] + "/g1"))
    os.kill(n.agent, signal.SIGKILL)
    n.expect_nothing_left()


def test_profile(make):
    n = make(SLEEP, emulate=[{"rate": 1.0, "fixed_s": 0.002, "sample_s": 0.0001, "jitter": 0.0},
                             {"rate": 0.25, "fixed_s": 0.002, "sample_s": 0.0001, "jitter": 0.0}])
    n.registered()
    n.driver.order("profile", 0, turn=False, wait_ns=0, device=[])
    profile = json.loads(n.driver.wait("profile")["text"])
    rates = [d["rate"] for d in profile["devices"] if d["kind"] == "emulated"]
    assert rates == [1.0, 0.25], profile
    n.leave()


def test_leave_during_profile(make):
    n = make(SLEEP)
    n.registered()
    n.driver.order("profile", 0, turn=True, wait_ns=0, device=[])
    n.leave()


def test_profile_in_turn(make):
    """Without its turn an agent measures nothing, and says so."""
    n = make(SLEEP, cache_ns=0)
    assert n.registered().hello["machine"] == read("/proc/sys/kernel/random/boot_id").strip()
    n.driver.order("profile", 0, turn=False, wait_ns=0, device=[])
    n.driver.wait("unmeasured")
    assert not n.driver.find("profile")
    n.driver.order("profile", 0, turn=True, wait_ns=0, device=[])
    profile = json.loads(n.driver.wait("profile")["text"])
    assert profile["devices"], profile
    n.leave()


def test_binding(make):
    n = make(sh("grep Cpus_allowed_list /proc/self/status"))
    n.launch(1, cpus="0")
    n.driver.wait("rank_exit")
    assert n.log(0).split() == ["Cpus_allowed_list:", "0"]
    n.leave()


def test_binding_to_nothing(make):
    n = make(sh("echo ran"))
    n.launch(1, cpus="8000-8001")
    assert n.driver.wait("rank_exit")["code"] == 0
    assert n.log(0).splitlines()[-1] == "ran", n.log(0)
    assert n.log(0).startswith("eddis: ")
    n.leave()


def test_much_output(make):
    """As fast as a disk takes it, without filling memory; the order of its lines is kept."""
    n, pids = launched(make, 1, sh("i=0; dd if=/dev/zero bs=1M count=300 2>/dev/null | tr '\\0' 'x'; "
                                   "for i in 1 2 3; do echo out $i; echo err $i >&2; done"))
    wrapper, peak = n.wrapper(pids[0]), 0
    while alive(wrapper) and not n.driver.find("rank_exit"):
        try:
            with open(f"/proc/{wrapper}/status") as f:
                peak = max([peak] + [int(line.split()[1]) for line in f if "VmRSS" in line])
        except (OSError, ValueError):
            break
        time.sleep(0.02)
    n.driver.wait("rank_exit")
    assert os.path.getsize(n.dir + "/rank-0000.log") > 300 << 20
    with open(n.dir + "/rank-0000.log", "rb") as f:
        f.seek(-36, os.SEEK_END)
        assert f.read() == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    assert 0 < peak < 50 << 10, f"{peak} KiB"
    n.leave()


def test_refused(make):
    d = Driver()
    d.refuse = True
    n = make(SLEEP, driver=d)
    assert n.keeper.wait(PATIENCE) == 3
    n.expect_nothing_left()


def test_wrong_token(make):
    n = make(SLEEP, token="not-this-one")
    assert n.keeper.wait(PATIENCE) == 3
    n.expect_nothing_left()


def test_bad_brief(make):
    n = make(SLEEP, lease_ns="soon")
    assert n.keeper.wait(PATIENCE) == 1
    assert b"lease_ns" in n.keeper.stderr.read()


def test_strange_name(make):
    """A process that gave itself a name with a newline, out of its rank's group and session."""
    n, _ = launched(make, 1, ["/usr/bin/python3", "-c", "import os, time, ctypes; os.fork() or (os.setsid(), "
                              "ctypes.CDLL(None).prctl(15, b'a\\n) Z 1', 0, 0, 0), open('named', 'w')); "
                              "time.sleep(1000)"])
    wait_for("the name", lambda: os.path.exists(n.dir + "/named"))
    n.stop()
    assert set(marked(n.mark)) <= {n.agent, n.keeper.pid}, marked(n.mark)
    n.leave()


def test_log_is_no_file(make):
    n = make(SLEEP)
    os.mkfifo(n.dir + "/rank-0000.log")
    d = n.registered()
    d.prepare(1)
    d.order("start")
    assert "rank-0000.log" in d.wait("mpirun_exit")["last_lines"]
    n.stop_and_leave()


def test_secrets_are_nowhere(make):
    n, pids = launched(make, 1, SLEEP, env=["API_KEY=hush-hush"])
    for pid in marked(n.mark):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read()
            assert b"hush-hush" not in words and b"0123456789abcdef" not in words, words
    with open(f"/proc/{pids[0]}/environ", "rb") as f:
        words = f.read()
        assert b"hush-hush" in words and b"0123456789abcdef" not in words
    for name in os.listdir(n.dir):
        assert "0123456789abcdef" not in n.read(name) and "hush-hush" not in n.read(name)
    for folder in n.folders():
        assert os.stat(folder).st_mode & 0o777 == 0o700
    n.leave()


run_tests({**globals(), **table(refusal, REFUSED)}, Node)
