# SPDX-License-Identifier: Apache-2.0
"""test_login.py BUILD SOURCE [CASE ...] - a node that was logged in to, whose user may make no control group but lingers: a real
service manager of the user's beside a session's group that is root's, in a mount namespace of their own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from cases import Skip, run, table
from files import write
from node import PATIENCE, state_of, wait_for

BUILD = sys.argv[1]
USER, UID = "games", 5
SYSTEMD = "/lib/systemd/systemd"
LEFT = "98764"
OURS = ("eddis-run", "eddis-keeper", "eddis-agent", "mpirun", "eddis-rank")  # each is the parent of the next


def hierarchy():
    """The folder of the groups of version 2."""
    with open("/proc/mounts") as f:
        for line in f:
            words = line.split()
            if words[2] == "cgroup2":
                return words[1]
    return None


def processes():
    """(pid, comm, command) of the user's."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == UID and state_of(int(pid)) != "Z":
                with open(f"/proc/{pid}/comm") as c, open(f"/proc/{pid}/cmdline") as w:
                    yield int(pid), c.read().strip(), w.read().replace("\0", " ")


def left():
    return [p for p in processes() if p[1] == "sleep" and LEFT in p[2]]


@contextlib.contextmanager
def login(lingers):
    """Yields (what begins a command as the user's session, the user's folder, the manager)."""
    base = hierarchy()
    if os.geteuid() != 0 or not base or not os.path.exists(SYSTEMD) or not shutil.which("systemd-run"):
        raise Skip("needs root, control groups of version 2, and systemd")
    with open(os.path.join(BUILD, "cmd/libexec/eddis-keeper"), "rb") as f:
        if b"libsystemd" not in f.read():
            raise Skip("eddis was built without libsystemd")
    if any(processes()):
        raise Skip(f"user {USER} has processes")
    group = os.path.join(base, f"eddis-test-{os.getpid()}")
    session = os.path.join(group, "session-1.scope")
    with tempfile.TemporaryDirectory(prefix="test-login-", dir="/tmp") as folder:
        try:
            os.mkdir(group)
            os.mkdir(session)
        except OSError as e:
            raise Skip(f"no control group may be made here: {e}")
        for path in (group, os.path.join(group, "cgroup.procs"), os.path.join(group, "cgroup.subtree_control"), folder):
            os.chown(path, UID, UID)
        os.mkdir(os.path.join(folder, "run"), 0o700)
        os.chown(os.path.join(folder, "run"), UID, UID)
        prepare = ("mount --make-rprivate / && mkdir -p /run/systemd /var/lib/systemd && mount -t tmpfs none /run/systemd && "
                   "mkdir /run/systemd/system && mount -t tmpfs none /var/lib/systemd && mkdir /var/lib/systemd/linger && "
                   + (f"touch /var/lib/systemd/linger/{USER} && " if lingers else "") +
                   'for g in /sys/fs/cgroup/freezer; do ! mountpoint -q $g || mount -o remount,bind,ro $g || umount $g; done && '
                   'echo $$ > "$1/cgroup.procs" && shift && '
                   f'exec setpriv --reuid {UID} --regid {UID} --clear-groups env -i HOME={folder} XDG_RUNTIME_DIR={folder}/run '
                   f'XDG_STATE_HOME={folder} XDG_CACHE_HOME={folder} PATH="$PATH" "$@"')

        def begin(where, *command):
            return subprocess.Popen(["unshare", "--mount", "sh", "-c", prepare, "sh", where, *command], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
        manager = begin(group, SYSTEMD, "--user")
        try:
            wait_for("the user's service manager", lambda: manager.poll() is not None or
                     os.path.exists(os.path.join(folder, "run/systemd/private")))
            if manager.poll() is not None:
                raise Skip("systemd does not run here: " + manager.stdout.read()[-200:])
            yield (lambda *command: begin(session, *command)), folder, manager
        finally:
            for pid, _, _ in list(processes()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            manager.wait(PATIENCE)
            manager.stdout.close()
            wait_for("the user's processes to end", lambda: not any(processes()))
            for at, names, _ in os.walk(group, topdown=False):
                for name in names:
                    os.rmdir(os.path.join(at, name))
            os.rmdir(group)


def guards_killed(lingers):
    with login(lingers) as (begin, folder, _):
        program = os.path.join(BUILD, "cmd/eddis-run")
        job = os.path.join(folder, "job")
        j = begin(program, "-n", "1", "--job-dir", job, "--set", "binding=none", "--restarts", "0", "--", "sh", "-c",
                  f'env -i setsid sh -c "cd /; sleep {LEFT} & exit" >/dev/null 2>&1 </dev/null; sleep 60')
        wait_for("the child that has left all", left)
        pid = left()[0][0]
        with open(f"/proc/{pid}/cgroup") as f:
            groups = f.read()
        assert (".scope/eddis-" in groups) == lingers, groups
        guards = [p for p in processes() if p[1] in OURS]
        for p, _, _ in guards:
            os.kill(p, signal.SIGSTOP)
        wait_for("the guards to be stopped", lambda: all(state_of(p) in "TX" for p, _, _ in guards))
        for p, _, _ in sorted(guards, key=lambda g: -OURS.index(g[1])):  # an agent whose keeper dies is continued
            os.kill(p, signal.SIGKILL)
        j.communicate(timeout=PATIENCE)
        assert left()
        c = begin(program, "--cleanup", job + "/")
        out, _ = c.communicate(timeout=PATIENCE)
        assert c.returncode == 0, out
        assert bool(left()) != lingers, (left(), out)


# What has left session and environment is found, though all of eddis was killed at once, the driver too, which would
# reap it here.  Without a manager that stays it is not, and the job runs all the same.
GUARDS_KILLED = {"lingering": (True,), "not_lingering": (False,)}


def no_scope():
    """A manager that is stopped or hangs up, or a systemd-run that works once only, cost no node: the job starts without a
    scope."""
    with login(True) as (begin, folder, manager):
        write(os.path.join(folder, "systemd-run"), f'#!/bin/sh\n[ -e {folder}/asked ] && exit 1\ntouch {folder}/asked\n'
                                                   f'exec {shutil.which("systemd-run")} "$@"\n', 0o755)

        def groups(job):
            j = begin("env", f"PATH={folder}:{os.environ['PATH']}", os.path.join(BUILD, "cmd/eddis-run"), "-n", "1",
                      "--job-dir", os.path.join(folder, job), "--set", "binding=none", "--restarts", "0",
                      "--", "cat", "/proc/self/cgroup")
            out, _ = j.communicate(timeout=PATIENCE)
            assert j.returncode == 0, (job, out)
            return out

        assert ".scope/eddis-" in groups("answered")
        manager.send_signal(signal.SIGSTOP)
        wait_for("the manager to be stopped", lambda: state_of(manager.pid) in "TX")
        assert ".scope/eddis-" not in groups("stopped")
        private = os.path.join(folder, "run/systemd/private")
        os.unlink(private)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(private)
            os.chown(private, UID, UID)
            s.listen()
            threading.Thread(target=lambda: s.accept()[0].close()).start()
            assert ".scope/eddis-" not in groups("hung up")


CASES = [table(guards_killed, GUARDS_KILLED), no_scope]

run(CASES, sys.argv[3:])
