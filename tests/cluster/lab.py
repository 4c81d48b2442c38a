# SPDX-License-Identifier: Apache-2.0
"""lab.py - eddis-run on the hosts of tests/lab, for the tests of jobs on several nodes.

    with Cluster(4, build=BUILD) as c, c.job(["-H", "node1,node2", "--", "true"]) as j:
        j.check(0, "ok")

The driver runs on the host `login`; each host has nothing of its own but its sshd, so whatever else
is found on one after a job was left behind: processes, listening sockets, files, control groups.
"""

import os
import re
import subprocess
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lab"))

import cgroup  # noqa: E402
import hosts  # noqa: E402
import known  # noqa: E402
import network  # noqa: E402,F401 (for those who import this)
import kernel  # noqa: E402
from hosts import HOME, LOGIN, Lab  # noqa: E402
from cases import skip_all  # noqa: E402
from doors import listeners  # noqa: E402
from files import read, write  # noqa: E402
from job import LEASE, Job  # noqa: E402
from node import PATIENCE, wait_for  # noqa: E402

# What may stay on a host: the profile's cache, and folders of jobs.
MAY_STAY = re.compile(rf"{HOME}/(\.cache/eddis|\.local/state/eddis|job-[0-9]+|\.ssh|shared)(/|$)|/run/sshd$")
PARENTS = {HOME + "/.cache", HOME + "/.local", HOME + "/.local/state"}


def skip_unless_possible():
    """End this test, and say why, where there can be no lab."""
    try:
        hosts.check_machine()
        if not Lab("x").groups.has("freezer") and not Lab("x").groups.base:
            raise hosts.LabError("no control groups that a host could be put in")
    except hosts.LabError as e:
        skip_all(e)


def comm(pid):
    try:
        return read(f"/proc/{pid}/comm").rstrip("\n")
    except OSError:
        return ""


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def device_of(path):
    """Of a file that may be removed this moment: None."""
    try:
        return os.lstat(path).st_dev
    except OSError:
        return None


class Cluster:
    def __init__(self, nodes, build=None, name=None, knows=True, **more):
        """knows: the hosts have the machine's profile from the first.  more: as Lab.up's, rate=, cpu= and keep= above all."""
        skip_unless_possible()
        self.lab = Lab(name or "t" + uuid.uuid4().hex[:8])
        self.kept = [os.path.realpath(k) for k in [*more.pop("keep", []), *([build] if build else [])]]
        self.build, self.count, self.knows, self.more = build, nodes, knows and build, more
        self.jobs = 0

    def __enter__(self):
        self.lab.up(self.count, keep=self.kept, until=os.getpid(), **self.more)
        self.nodes, self.hosts, self.shared = self.lab.nodes(), self.lab.hosts(), self.lab.shared
        try:
            if self.knows:
                self.know()
        except BaseException:
            self.lab.down()
            raise
        return self

    def know(self):
        for host in self.hosts:
            known.give(known.profile(self.build, login=True), self.path(host, HOME + "/.cache"), host)

    def __exit__(self, *ignored):
        self.lab.down()

    def run(self, host, command, **more):
        """subprocess.run on a host; a string goes through a shell."""
        if isinstance(command, str):
            command = ["/bin/sh", "-c", command]
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": "/", **more}
        timeout = more.pop("timeout", PATIENCE)
        with self.lab.popen(host, command, **more) as p:
            try:
                out, err = p.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                p.kill()
                raise
        return subprocess.CompletedProcess(command, p.returncode, out, err)

    def path(self, host, path):
        return self.lab.path(host, path)

    def write(self, name, text, mode=None):
        """In the folder that all hosts share; returns the path."""
        return write(os.path.join(self.shared, name), text, mode)

    def read(self, name):
        return read(os.path.join(self.shared, name))

    def next_place(self):
        """The folder of the next job, on its host."""
        return f"{HOME}/job-{self.jobs + 1}"

    def job(self, args, **more):
        return ClusterJob(self, args, **more)

    # ---- what is on a host ----

    def processes(self, host):
        """{pid: command line} of all but the sshd that waits for logins."""
        return {p: command_line(p) for p in self.lab.processes(host)
                if "[listener]" not in command_line(p)}

    def pids(self, host, program):
        """Of processes on the host whose program has this name, oldest first."""
        found = [p for p in self.lab.processes(host) if comm(p) == program[:15]]
        return sorted(found, key=lambda p: (kernel.start_time(p) or 0, p))

    def sockets(self, host):
        """Listening TCP ports but sshd's."""
        return [f"{address} port {port}" for address, port in listeners(self.lab.find(host)[1]).values() if port != 22]

    def files(self, host):
        """All that lies on the host's own disks and may not stay."""
        root = f"/proc/{self.lab.find(host)[1]}/root"
        found = []
        for top in ("/tmp", "/var/tmp", "/run", "/dev/shm", HOME):
            device = os.stat(root + top).st_dev
            for below, folders, files in os.walk(root + top):
                for name in folders + files:
                    path = os.path.join(below, name)
                    same = device_of(path) == device
                    inside = path[len(root):]
                    if same and not MAY_STAY.match(inside) and inside not in PARENTS and \
                            not self.holds_mount(inside):
                        found.append(inside)
                folders[:] = [d for d in folders if device_of(os.path.join(below, d)) == device]
        return found

    def holds_mount(self, path):
        """A folder on the way to one that the lab shows through."""
        return any(hosts.within(k, path) for k in [hosts.ROOT, self.lab.folder] + self.kept)

    def groups(self, host):
        """Control groups that were made below the host's."""
        found = []
        for folder in set(self.lab.groups.base.values()):
            top = os.path.join(folder, host)
            found += [os.path.join(b, d) for b, ds, _ in os.walk(top) for d in ds]
        return found

    def left(self, only=None):
        """{host: what was left behind}.  On some hosts only: sessions of one that was cut off are its
        sshd's, and stay until the network is back."""
        found = {}
        for host in only or self.hosts:
            here = [(p, line) for p, line in self.processes(host).items()
                    if not (only and line.startswith("sshd: "))] + self.sockets(host) + self.files(host) + \
                self.groups(host)
            if here:
                found[host] = here
        return found

    def check_nothing_left(self, seconds=PATIENCE, only=None):
        try:
            wait_for("the job to be gone", lambda: not self.left(only), seconds)
        except AssertionError:
            raise AssertionError(f"left behind: {self.left(only)}") from None


class ClusterJob(Job):
    """A running eddis-run on the login host.  What is shared with Job: its folder's files, events,
    the end; `check` looks for what was left on every host."""

    def __init__(self, cluster, args, lease=LEASE, node_lost=None, host=LOGIN, env=None, before=()):
        self.cluster, self.host = cluster, host
        self.place = cluster.next_place()  # on the host
        cluster.jobs += 1
        self.dir = cluster.path(host, self.place)
        self.mark = "EDDIS_TEST_MARK=" + uuid.uuid4().hex
        command = [*before, os.path.join(cluster.build, "cmd/eddis-run"), "--job-dir", self.place,
                   "--set", f"timeouts.lease={lease}s",
                   "--set", f"timeouts.node_lost={node_lost or 2 * lease}s",
                   "--set", "timeouts.heartbeat=200ms"] + args
        self.process = cluster.lab.popen(host, command, env=env, cwd=HOME, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         start_new_session=True)
        self.out = self.err = self.code = None

    def __exit__(self, kind, *ignored):
        if kind:
            print(self.state(), file=sys.stderr, flush=True)
        for host in self.cluster.hosts:  # what is frozen does not even die
            if self.cluster.lab.groups.frozen(host):
                self.cluster.lab.thaw(host)
        self.process.kill()
        self.process.wait()
        for host in self.cluster.hosts:
            cgroup.kill(self.cluster.processes(host))
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self, seconds=PATIENCE):
        try:
            self.out, self.err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            left = {h: self.cluster.processes(h) for h in self.cluster.hosts}
            raise AssertionError(f"eddis-run is still there after {seconds} s: {left} "
                                 f"{self.events()[-12:]}") from None
        self.code = self.process.returncode
        return self.code

    def pids(self, program, host=None):
        return self.cluster.pids(host or self.host, program)

    def shared_memory(self):
        raise NotImplementedError("on which host?")

    def check_nothing_left(self, seconds=PATIENCE, only=None):
        self.cluster.check_nothing_left(seconds, only)

    def wait_events(self, what, condition):
        """The first event of which condition(event) is true."""
        def found():
            if self.process.poll() is not None:
                raise AssertionError(f"the job ended while waiting for {what}: {self.process.communicate()}")
            return next((e for e in self.events() if condition(e)), None)
        return wait_for(what, found)
