# SPDX-License-Identifier: Apache-2.0
"""test_ssh.py BUILD SOURCE [CASE ...] - agents by ssh: how they get onto hosts, and every way to fail.

A real sshd on loopback, under names that are not this machine's.  Each case checks exit code,
sentence, and that neither a process nor a file is left.
"""

import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from cases import Skip, run, skip_all, table
from files import write
from job import Folders, Job, LEASE, tool
from node import PATIENCE, alive, cgroup, marked, wait_for
import sshd

BUILD = sys.argv[1]
FOLDERS = Folders()
SLEEP = "echo up; sleep 1000"


def job_file(nodes, command, more=""):
    return write(FOLDERS.path("work", "job.yaml"),
                 f"command: [sh, -c, '{command}']\nnodes: [{', '.join(nodes)}]\n"
                 f"ssh: {{command: [ssh, -F, {SERVER.config}]}}\n"
                 f"checkpoint: {{every: 0}}\nprofile: {{emulate: [{{rate: 1, a_ms: 2, c_ms: 0.1}}]}}\n" + more)


def job(nodes, command="true", *args, launch="60s", more="", **how):
    return Job(BUILD, FOLDERS, ["--set", f"timeouts.launch={launch}", *args,
                                job_file(nodes, command, more)], ranks=0, **how)


def fails(nodes, *sentences, **how):
    with job(nodes, **how) as j:
        assert j.end() == 3, (j.code, j.err, j.out)
        for s in sentences:
            assert s in j.err, (s, j.err)
        assert len([line for line in j.err.splitlines() if "eddis-run:" in line]) == 1, j.err
        j.check_nothing_left()  # a login shell may still be reading its files
        assert j.summary()["reason"] == "start", j.summary()
        return j


# ---- it works ----

def profile(names):
    """Agents register, measure and leave."""
    with job(names, "true", "--profile") as j:
        assert j.end() == 0, j.err
        assert re.search(rf"^nodes +{len(names)} ", j.out, re.M), j.out
        j.check_nothing_left()


# The burst is more logins than the server takes at a time: they are tried again.
PROFILED = {"profile": (["fake1", "fake2", "fake3"],), "burst": ([f"busy{i}" for i in range(1, 9)],)}


def mixed():
    """What is this machine is forked; the others need a login."""
    with job(["localhost", "slow1"], launch="60s") as j:
        j.wait_event("registered")
        assert [e["node"] for e in j.events("registered")] == ["localhost"]
        assert len(j.pids("ssh")) == 1 and len(j.pids("eddis-keeper")) == 1
        j.signal(signal.SIGINT)
        assert j.end() == 130, j.err
        j.check_nothing_left()


def runs():
    """A job on a machine that is reached by ssh; what its shell prints disturbs nobody."""
    with job(["fake1"], "echo I am $RANK") as j:
        j.check(0, "ok")
        assert "I am 0" in j.log(0)
        lines = j.file("nodes.jsonl").splitlines()
        assert len(lines) == 1 and '"host":"fake1"' in lines[0], lines
        assert "token" not in lines[0]


# ---- it does not ----

FAIL = {"wrong_host": (["nohost1"], "nohost1: ssh: no such host", "check the name in nodes"),
        "refused_key": (["fake1", "badkey1"], "badkey1: ssh: permission denied", "ssh.identity"),
        "refused_connection": (["closed1"], "closed1: ssh: connection refused", "ssh.port"),
        "unknown_key": (["stranger1"], "stranger1: ssh: its host key is unknown", "log in there once by hand"),
        "missing_eddis": (['{host: fake1, eddis: "/no such/eddis"}'], "no eddis at '/no such/eddis' on fake1",
                          "install eddis")}


def mute_server():
    """It takes the connection and says nothing."""
    fails(["mute1"], "mute1: ssh: no answer", launch="4s")


def mute_names():
    """A name server that says nothing is asked for a while, and holds nobody up for ever."""
    resolv = write(FOLDERS.path("work", "resolv.conf"), "nameserver 127.77.0.53\n")
    own = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolv)
    if subprocess.run([*own, "true"], capture_output=True).returncode:
        raise Skip("needs a mount namespace")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # others may run this test
        mute.bind(("127.77.0.53", 53))
        fails(["closed1"], "closed1: ssh: connection refused", "ssh.port", before=own)


def false_keeper(name, script):
    """A node entry whose eddis is this script."""
    prefix = FOLDERS.path("work", name)
    keeper = os.path.join(prefix, "libexec/eddis/eddis-keeper")
    os.makedirs(os.path.dirname(keeper), exist_ok=True)
    write(keeper, f"#!/bin/sh\n{script}\n", 0o755)
    return prefix


def other_version():
    """One sentence before the brief, and its secrets, have been sent."""
    got = FOLDERS.path("work", "got")
    prefix = false_keeper("it's old", f"echo eddis-keeper 0.0.1 >&2\ncat > {got}")
    j = fails([f'{{host: fake1, eddis: "{prefix}"}}'], "node fake1 runs eddis 0.0.1 and this is eddis")
    wait_for("the stranger to end", lambda: not marked(j.mark))
    assert os.path.getsize(got) == 0


def hanging_login():
    """Who waits for whom is said while it waits, and in the end."""
    prefix = false_keeper("hangs", "exec cat > /dev/null")
    hangs = [f'{{host: fake{i}, eddis: "{prefix}"}}' for i in (2, 3)]
    with job(["fake1"] + hangs, launch="15s") as j:
        assert j.end() == 3, (j.code, j.err)
        waiting = r"agents 1/3 up; waiting for fake2 \(ssh: logging in\), fake3 \(ssh: logging in\)"
        assert re.search(waiting, j.out) and re.search(waiting, j.err), (j.out, j.err)
        wait_for("the logins to end", lambda: not any(c.startswith("cat") for c in marked(j.mark).values()))
        j.check_nothing_left()


def hostile_names():
    """A name is never an option or a command of anybody."""
    for name in ("-oProxyCommand=touch pwned", "$(touch pwned)", "a b", "`touch pwned`", "a;touch pwned"):
        with job([f'"{name}"']) as j:
            assert j.end() == 2, (name, j.code, j.err)
            assert not os.path.exists(FOLDERS.path("work", "pwned")), name
            j.check_nothing_left()


def no_terminal():
    """ssh asks nobody: nothing of the job has the terminal that eddis-run has."""
    path = job_file(["slow1"], "true")
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(XDG_STATE_HOME=FOLDERS.path("state"), XDG_CACHE_HOME=FOLDERS.path("cache"))
        os.chdir(FOLDERS.path("work"))
        os.execv(f"{BUILD}/cmd/eddis-run", ["eddis-run", "--job-dir", FOLDERS.path("pty"), path])

    def tty_of(pid):
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[4])

    def children():
        rows = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(child)], capture_output=True, text=True).stdout
        return [int(row.split()[0]) for row in rows.splitlines() if row.split()[1] == "ssh"]
    below = wait_for("ssh to run", children)
    assert tty_of(child) != 0 and all(tty_of(p) == 0 for p in below)
    os.kill(child, signal.SIGINT)
    end = time.monotonic() + PATIENCE
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        assert time.monotonic() < end
        try:
            os.read(terminal, 4096)
        except OSError:
            time.sleep(0.01)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, status


# ---- something dies ----

def kill_ssh(j):
    for pid in j.pids("ssh"):
        os.kill(pid, signal.SIGKILL)


def ssh_killed_early():
    with job(["slow1"]) as j:
        wait_for("ssh to run", lambda: j.pids("ssh"))
        kill_ssh(j)
        j.check(3, "start", "slow1: ssh was killed by signal 9 during the login")


def ssh_killed_late():
    """The session is not needed any more: the job goes on to its end."""
    go = FOLDERS.path("work", "go")
    with job(["fake1"], f"echo up; while [ ! -e {go} ]; do sleep 0.1; done") as j:
        j.wait_log(0, "up")
        kill_ssh(j)
        j.wait_event("session_ended")
        time.sleep(LEASE * 1.5)
        write(go, "")
        j.check(0, "ok")
    os.unlink(go)


def driver_killed():
    with job(["fake1"], SLEEP) as j:
        j.wait_log(0, "up")
        j.signal(signal.SIGKILL)
        j.process.wait()
        wait_for("the ssh client to end", lambda: not any("ssh " in c and "-F" in c for c in
                                                          marked(j.mark).values()))
        j.check_nothing_left()


def keeper_killed():
    with job(["fake1"], SLEEP, more="restarts: 0\n") as j:
        j.wait_log(0, "up")
        cgroup.kill([pid for pid, line in marked(j.mark).items() if "eddis-keeper" in line.split(" ")[0]])
        j.check(1, "node_lost", "fake1", "its supervisor was lost")


GUARDS = ("eddis-rank", "mpirun", "eddis-agent", "eddis-keeper")


def kill_guards(j):
    """All that would end a rank's daemon, before any of them can act.

    Children come first: one that lives when its parent dies is woken by that, even if stopped, and
    ends all below it.
    """
    found = marked(j.mark)
    pids = [p for g in GUARDS for p, line in found.items() if line.split(" ")[0].endswith(g)]
    assert len(pids) == len(GUARDS), found
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, sig)
    wait_for("the guards to die", lambda: not any(map(alive, pids)))


# ---- what is left ----

def run_cleanup(j, *args):
    return tool(BUILD, "eddis-run", "--cleanup", j.dir, *args, env=FOLDERS.environ(), stdin=subprocess.DEVNULL)


def cleanup():
    """Driver and all that would end a rank's daemon are killed."""
    with job(["fake1"], "setsid sleep 300 & " + SLEEP, "--set", "timeouts.lease=60s") as j:
        j.wait_log(0, "up")
        r = run_cleanup(j)
        assert r.returncode == 2 and "is running" in r.stderr and "--stop" in r.stderr, r
        j.signal(signal.SIGSTOP)  # it has no part in this
        kill_guards(j)
        j.signal(signal.SIGKILL)
        j.process.wait()
        assert "sleep 300" in str(marked(j.mark)), (marked(j.mark), j.agent_log())
        r = run_cleanup(j)
        assert r.returncode == 0 and not r.stderr, r
        assert re.fullmatch(r"fake1: killed \d+ process(es)? \(.*sleep.*\), removed [12] folders?\n",
                            r.stdout), r.stdout
        j.check_nothing_left()
        r = run_cleanup(j)
        assert (r.returncode, r.stdout) == (0, "fake1: nothing was left\n"), r
        r = run_cleanup(j, "--quiet")
        assert (r.returncode, r.stdout, r.stderr) == (0, "", ""), r


def cleanup_here():
    """The same without ssh, and of a job that ended well."""
    with Job(BUILD, FOLDERS, ["--", "true"]) as j:
        j.check(0, "ok")
        r = run_cleanup(j)
        assert r.returncode == 0 and r.stdout.endswith(": nothing was left\n"), r


def cleanup_unreachable():
    with job(["fake1"]) as j:
        j.check(0, "ok")
        with open(j.path("nodes.jsonl"), "a") as f:
            f.write(j.file("nodes.jsonl").splitlines()[0].replace("fake1", "closed1") + "\n")
        r = run_cleanup(j)
        assert r.returncode == 1 and r.stdout == "fake1: nothing was left\n", r
        assert r.stderr.startswith("eddis-run: closed1: ssh: connection refused"), r.stderr


CASES = [table(profile, PROFILED), mixed, runs, table(fails, FAIL), mute_server, mute_names, other_version,
         hanging_login, hostile_names, no_terminal, ssh_killed_early, ssh_killed_late, driver_killed, keeper_killed, cleanup,
         cleanup_here, cleanup_unreachable]

if not sshd.have():
    skip_all("needs ssh, sshd and root")
with tempfile.TemporaryDirectory(prefix="test-ssh-") as folder:
    SERVER = sshd.Server(folder)
    try:
        run(CASES, sys.argv[3:])
    finally:
        SERVER.close()
