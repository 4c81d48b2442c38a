# SPDX-License-Identifier: Apache-2.0
"""cgroup.py - control groups of a lab's hosts: to stop all processes of a host at once, and to slow it down.

Version 1 has a folder in each of the freezer and the cpu hierarchy, version 2 has one folder.  They are created below
the group of this process, so that a lab works inside of a container, too.  If the machine lacks something the functions
return None, and the caller reports it.
"""

import os
import signal
import time

from kernel import await_true

PERIOD_US = 20000  # short, so that a slow host runs evenly
LEAST_US = 1000    # the kernel's smallest quota
MOST_SHARES, MOST_WEIGHT = 262144, 10000  # highest priority in versions 1 and 2


def mounts():
    """Return {controller: folder of this process's group}; the key "" is the hierarchy of version 2."""
    mine = {}
    with open("/proc/self/cgroup") as f:
        for line in f:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            for name in controllers.split(","):
                mine[name] = path
    found = {}
    with open("/proc/self/mountinfo") as f:
        for line in f:
            before, after = line.split(" - ")
            root, point = before.split()[3:5]
            kind, _, options = after.split()[:3]
            names = [""] if kind == "cgroup2" else options.split(",") if kind == "cgroup" else []
            for name in names:
                if name in mine:
                    path = mine[name]
                    inside = path[len(root):] if root != "/" and path.startswith(root) else path
                    found[name] = os.path.join(point, inside.lstrip("/"))
    return found


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def read(path):
    with open(path) as f:
        return f.read().strip()


def refuse_swap(group):
    """Disable swap for a group, so that a process over the limit is killed and not swapped out."""
    for name in ("memory.swap.max", "memory.swappiness"):
        if os.path.exists(os.path.join(group, name)):
            write(os.path.join(group, name), 0)


def little_memory(limit):
    """Create a group with this memory limit, bytes, below the group of this process.  Return its folder; None: not
    possible here."""
    mine = mounts()
    group = os.path.join(mine.get("memory") or mine.get("", "/nope"), f"eddis-test-{os.getpid()}")
    try:
        os.mkdir(group)
        name = "memory.limit_in_bytes" if "memory" in mine else "memory.max"
        if os.path.exists(os.path.join(group, name)):
            write(os.path.join(group, name), limit)
            refuse_swap(group)
            return group
        os.rmdir(group)
    except OSError as e:
        print(e)
    return None


def processor(name, percent=0):
    """Create a group below the group of this process, with priority over all other programs and so many percent of one
    core (0: no limit).  Return its folder; None: not possible here."""
    mine = mounts()
    folder = mine.get("cpu") or mine.get("", "/nope")
    group = os.path.join(folder, f"eddis-test-{os.getpid()}-{name}")
    try:
        if "cpu" not in mine:
            write(os.path.join(folder, "cgroup.subtree_control"), "+cpu")
        os.mkdir(group)
        write(*((os.path.join(group, "cpu.shares"), MOST_SHARES) if "cpu" in mine else
                (os.path.join(group, "cpu.weight"), MOST_WEIGHT)))
        set_quota(group, percent, PERIOD_US)
        return group
    except OSError as e:
        print(e)
    return None


def set_quota(group, percent, period_us):
    """Limit a group to so many percent of one core; 0: no limit."""
    quota = max(LEAST_US, period_us * percent // 100) if percent else None
    if os.path.exists(os.path.join(group, "cpu.max")):
        write(os.path.join(group, "cpu.max"), f"{quota or 'max'} {period_us}")
        return
    write(os.path.join(group, "cpu.cfs_quota_us"), -1)
    if quota:
        write(os.path.join(group, "cpu.cfs_period_us"), period_us)
        write(os.path.join(group, "cpu.cfs_quota_us"), quota)


def inside(group):
    """Return the words to put before a command so that it runs in the group."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]


def remove(group):
    """Remove a group when no process is left in it."""
    await_true("its group to be empty", lambda: not read(os.path.join(group, "cgroup.procs")))
    os.rmdir(group)


class Groups:
    """The control groups of a lab: one folder in each hierarchy, with one folder for each host."""

    def __init__(self, name):
        found = mounts()
        self.version = {}
        self.base = {}
        for controller, own in (("freezer", "freezer.state"), ("cpu", "cpu.cfs_quota_us")):
            folder = found.get(controller)
            if folder and os.access(folder, os.W_OK):
                self.base[controller] = os.path.join(folder, name)
                self.version[controller] = 1
        unified = found.get("")
        if unified and os.access(os.path.join(unified, "cgroup.subtree_control"), os.W_OK):
            for controller in ("freezer", "cpu"):
                if controller not in self.base:
                    self.base[controller] = os.path.join(unified, name)
                    self.version[controller] = 2

    def make(self, hosts):
        """Create the groups of these hosts.  Controllers for which this is not permitted are dropped, see `has`."""
        for controller, folder in list(self.base.items()):
            try:
                os.makedirs(folder, exist_ok=True)
                if controller == "cpu" and self.version[controller] == 2:
                    write(os.path.join(os.path.dirname(folder), "cgroup.subtree_control"), "+cpu")
                    write(os.path.join(folder, "cgroup.subtree_control"), "+cpu")
                for host in hosts:
                    os.makedirs(os.path.join(folder, host), exist_ok=True)
            except OSError:
                del self.base[controller]

    def has(self, controller):
        """Check whether this controller ("freezer" or "cpu") can be used."""
        folder = self.base.get(controller)
        return folder is not None and os.path.isdir(folder)

    def path(self, controller, host, name):
        """Return the path of a file in a host's group."""
        return os.path.join(self.base[controller], host, name)

    def join(self, host):
        """Move this process, and so all its future children, into the host's groups."""
        for folder in {self.base[c] for c in self.base if self.has(c)}:
            write(os.path.join(folder, host, "cgroup.procs"), "0")

    def cpu(self, host, percent, period_us=PERIOD_US):
        """Limit a host to so many percent of one core; 0: no limit."""
        set_quota(self.path("cpu", host, ""), percent, period_us)

    def frozen(self, host):
        """Check whether a host's processes are stopped."""
        if not self.has("freezer"):
            return False
        if self.version["freezer"] == 2:
            return read(self.path("freezer", host, "cgroup.freeze")) == "1"
        return read(self.path("freezer", host, "freezer.state")) != "THAWED"

    def freeze(self, host, on):
        """Stop or continue (on False) all processes of a host, and wait until they are."""
        if self.version["freezer"] == 2:
            write(self.path("freezer", host, "cgroup.freeze"), int(on))
            events = self.path("freezer", host, "cgroup.events")
            await_true(f"'{host}' to stop or go on", lambda: f"frozen {int(on)}" in read(events))
            return
        state = self.path("freezer", host, "freezer.state")
        want = "FROZEN" if on else "THAWED"

        def there():
            write(state, want)  # again: a new process may keep the group in FREEZING
            return read(state) == want
        await_true(f"'{host}' to be {want.lower()}", there)

    def thaw_below(self):
        """Continue all groups that programs on the hosts have made and stopped: the program may be dead."""
        for below, _, files in os.walk(self.base.get("freezer", "/nope")):
            for name, thawed in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
                if name in files and read(os.path.join(below, name)) != thawed:
                    write(os.path.join(below, name), thawed)

    def remove(self):
        """Remove all groups, also those that programs on the hosts have made below.  Their processes must have ended.
        """
        for folder in set(self.base.values()):
            end = time.monotonic() + 5
            for below, _, _ in list(os.walk(folder, topdown=False)):
                while os.path.isdir(below):
                    try:
                        os.rmdir(below)
                    except OSError:
                        if time.monotonic() > end:
                            raise
                        time.sleep(0.01)


def kill(pids):
    """Send SIGKILL to these processes; ignore those that have ended."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
