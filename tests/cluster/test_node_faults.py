# SPDX-License-Identifier: Apache-2.0
"""test_node_faults.py BUILD SOURCE [NAME ...] - what is left of a node when a part of it is killed or stopped.

Each test starts a node against a small real driver and ends, stops or silences one or more of its
parts: no process and no folder may be left in good time, and nobody may be accused who was held up.
"""

import os
import random
import signal
import time

from cases import table
from node import FAMILY, LEASE, PATIENCE, SLEEP, STRAY, Node, alive, launched, marked, run_tests, sh, wait_for


def test_driver_stopped(make):
    n, _ = launched(make, 2, FAMILY)
    n.driver.silent = True
    n.expect_nothing_left()
    assert n.keeper.wait(PATIENCE) == 3


def test_driver_killed(make):
    n, _ = launched(make, 2, FAMILY)
    n.driver.die()
    n.expect_nothing_left()
    assert n.keeper.wait(PATIENCE) == 3


def kill_actor(make, who, sig, code):
    n, pids = launched(make, 2, FAMILY)
    n.wait_families()
    actors = {"agent": [n.agent], "keeper": [n.keeper.pid], "both": [n.keeper.pid, n.agent],
              "mpirun": [n.mpirun()], "wrapper": [n.wrapper(pids[0])], "rank": [pids[0]]}
    for pid in actors[who]:
        os.kill(pid, sig)
    if who in ("mpirun", "wrapper", "rank"):
        n.driver.silent = True  # and nobody is there to order a stop
    n.expect_nothing_left()
    assert n.keeper.wait(PATIENCE) == code, n.keeper.returncode


ENDED = {
    "test_agent_killed": ("agent", signal.SIGKILL, 137),
    "test_agent_stopped": ("agent", signal.SIGSTOP, 3),
    "test_keeper_killed": ("keeper", signal.SIGKILL, -9),
    "test_keeper_stopped": ("keeper", signal.SIGSTOP, -9),
    "test_mpirun_killed_without_driver": ("mpirun", signal.SIGKILL, 3),
    "test_mpirun_stopped_without_driver": ("mpirun", signal.SIGSTOP, 3),
    "test_wrapper_killed_without_driver": ("wrapper", signal.SIGKILL, 3),
    "test_wrapper_stopped_without_driver": ("wrapper", signal.SIGSTOP, 3),
    "test_rank_killed_without_driver": ("rank", signal.SIGKILL, 3),
    "test_rank_stopped_without_driver": ("rank", signal.SIGSTOP, 3),
}


def test_next_ends_what_is_left(make):
    """All that would clean up is killed at once; the next start here does it first, by the node's mark."""
    n, _ = launched(make, 2, sh(STRAY + "exec sleep 1000"))
    daemons = lambda: [p for p, c in marked(n.mark).items() if c.strip() == "sleep 300"]  # noqa: E731
    wait_for("the daemons", lambda: len(daemons()) == 2)
    # Children first: a death makes orphans of the group of a stopped child, which the kernel then continues.
    guards = [p for p, c in marked(n.mark).items() if "eddis-rank" in c] + [n.mpirun(), n.agent, n.keeper.pid]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in guards:
            os.kill(pid, number)
    n.keeper.wait()
    assert daemons() and any(os.path.exists(f) for f in n.folders())
    second = make(SLEEP, after=n)
    second.registered()
    assert not marked(n.mark) and not any(os.path.exists(f) for f in n.folders())
    second.leave()


def test_kill_at_any_moment(make):
    """While things are being started is when there is most to get wrong."""
    random.seed(7)
    for round_ in range(16):
        n = make(FAMILY)
        d = n.driver
        d.prepare(3)
        d.order("start")
        wait_for("the agent or its end", lambda: d.hello or n.keeper.poll() is not None)
        time.sleep(random.uniform(0, 0.35))
        pid = d.hello["pid"] if round_ % 2 else n.keeper.pid
        os.kill(pid, signal.SIGKILL)
        n.agent = d.hello["pid"]
        n.expect_nothing_left()


def test_agent_and_keeper_killed_together(make):
    """The chain of parent-death signals ends the ranks; their wrappers clean up last."""
    for command in (SLEEP, FAMILY, sh("trap '' TERM; while :; do sleep 1; done")):
        n, _ = launched(make, 2, command)
        if command is FAMILY:
            n.wait_families()
        os.kill(n.keeper.pid, signal.SIGSTOP)  # so that it cannot begin to clean up
        os.kill(n.agent, signal.SIGKILL)
        n.keeper.kill()
        n.expect_nothing_left()


def test_agent_stopped_keeper_killed(make):
    n, _ = launched(make, 2, FAMILY)
    os.kill(n.agent, signal.SIGSTOP)
    os.kill(n.keeper.pid, signal.SIGKILL)
    n.expect_nothing_left()


def test_agent_stopped_for_a_moment(make):
    """What the ranks have to say waits for it, however many they are."""
    n, pids = launched(make, 24, sh("while ! test -e go; do sleep 0.5; done; exit $((RANK % 2 * RANK))"))
    os.kill(n.keeper.pid, signal.SIGSTOP)  # which would not wait so long
    os.kill(n.agent, signal.SIGSTOP)
    with open(n.dir + "/go", "w"):
        pass
    wait_for("all to end", lambda: not any(alive(p) for p in pids))
    time.sleep(2.5)
    os.kill(n.keeper.pid, signal.SIGCONT)
    os.kill(n.agent, signal.SIGCONT)
    n.driver.wait("rank_exit", n=24)
    codes = {e["rank"]: e["code"] for e in n.driver.find("rank_exit")}
    assert codes == {i: i % 2 * i for i in range(24)}, codes
    n.stop_and_leave()


def after_a_sleep(make):
    """Returns whether the agent was never left long with a tree that was stopped: this test itself may be held up."""
    n, _ = launched(make, 2, SLEEP)
    guards = [n.agent, n.keeper.pid]
    tree = [p for p in marked(n.mark) if p not in guards]

    def send(sig, pids):
        for pid in pids:
            os.kill(pid, sig)
        return time.monotonic()

    def seen():
        time.sleep(LEASE / 4)  # the agent has seen it
    began = time.monotonic()
    send(signal.SIGSTOP, tree)
    seen()
    first = send(signal.SIGSTOP, guards) - began
    time.sleep(LEASE + 1)
    began = time.monotonic()
    send(signal.SIGCONT, guards)
    seen()
    fair = max(first, send(signal.SIGCONT, tree) - began) < LEASE / 2
    time.sleep(LEASE + 1)
    assert not fair or not n.driver.find("rank_exit") and not n.driver.find("note"), n.driver.events
    n.leave()
    return fair


def test_all_stopped_then_continued(make):
    """A machine that slept, a job suspended by its scheduler: nobody is accused."""
    assert any(after_a_sleep(make) for _ in range(10)), "held up ten times"


def test_agent_terminated(make):
    n, _ = launched(make, 2, FAMILY)
    os.kill(n.keeper.pid, signal.SIGTERM)
    assert n.keeper.wait(PATIENCE) == 143
    n.expect_nothing_left()


run_tests({**globals(), **table(kill_actor, ENDED)}, Node)
