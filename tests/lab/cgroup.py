# SPDX-License-Identifier: Apache-2.0
"""cgroup.py - a host's control groups: to stop all of it at once, and to make it slow.

Version 1 has a folder under each of the freezer and the cpu hierarchy, version 2 one folder.  They
are made below the group that this process is in, so that a lab inside a container works as well.
What the machine does not offer is None, and the caller says so.
"""

import os
import signal
import time

from kernel import await_true

PERIOD_US = 20000  # short, so that a slow host is slow evenly
LEAST_US = 1000    # the kernel's smallest quota
MOST_SHARES, MOST_WEIGHT = 262144, 10000  # of versions 1 and 2


def mounts():
    """{controller: folder of the group this process is in}; "" is the unified hierarchy."""
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
    """What does not fit is killed for, not swapped out."""
    for name in ("memory.swap.max", "memory.swappiness"):
        if os.path.exists(os.path.join(group, name)):
            write(os.path.join(group, name), 0)


def little_memory(limit):
    """A group of that much memory, below the one that this process is in; None: it cannot be made here."""
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
    """A group, below the one that this process is in, that comes before all others' programs, of so much of
    one core; None: it cannot be made here."""
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
    """Percent of one core; 0: all there is."""
    quota = max(LEAST_US, period_us * percent // 100) if percent else None
    if os.path.exists(os.path.join(group, "cpu.max")):
        write(os.path.join(group, "cpu.max"), f"{quota or 'max'} {period_us}")
        return
    write(os.path.join(group, "cpu.cfs_quota_us"), -1)
    if quota:
        write(os.path.join(group, "cpu.cfs_period_us"), period_us)
        write(os.path.join(group, "cpu.cfs_quota_us"), quota)


def inside(group):
    """Words before a command that begins in the group."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]


def remove(group):
    """Once nobody is left in it."""
    await_true("its group to be empty", lambda: not read(os.path.join(group, "cgroup.procs")))
    os.rmdir(group)


class Groups:
    """The groups of a lab: one folder in each hierarchy, and in it one for each host."""

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
        """Drop what this machine does not let us make."""
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
        folder = self.base.get(controller)
        return folder is not None and os.path.isdir(folder)

    def path(self, controller, host, name):
        return os.path.join(self.base[controller], host, name)

    def join(self, host):
        """This process, and all that it starts, belongs to the host."""
        for folder in {self.base[c] for c in self.base if self.has(c)}:
            write(os.path.join(folder, host, "cgroup.procs"), "0")

    def cpu(self, host, percent, period_us=PERIOD_US):
        """Percent of one core; 0: all there is."""
        set_quota(self.path("cpu", host, ""), percent, period_us)

    def frozen(self, host):
        if not self.has("freezer"):
            return False
        if self.version["freezer"] == 2:
            return read(self.path("freezer", host, "cgroup.freeze")) == "1"
        return read(self.path("freezer", host, "freezer.state")) != "THAWED"

    def freeze(self, host, on):
        """Returns when every process of the host stands, or goes on."""
        if self.version["freezer"] == 2:
            write(self.path("freezer", host, "cgroup.freeze"), int(on))
            events = self.path("freezer", host, "cgroup.events")
            await_true(f"'{host}' to stop or go on", lambda: f"frozen {int(on)}" in read(events))
            return
        state = self.path("freezer", host, "freezer.state")
        want = "FROZEN" if on else "THAWED"

        def there():
            write(state, want)  # again: a process that came meanwhile may hold it in FREEZING
            return read(state) == want
        await_true(f"'{host}' to be {want.lower()}", there)

    def thaw_below(self):
        """Groups that programs in the hosts have made and stopped: who made them may be dead."""
        for below, _, files in os.walk(self.base.get("freezer", "/nope")):
            for name, thawed in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
                if name in files and read(os.path.join(below, name)) != thawed:
                    write(os.path.join(below, name), thawed)

    def remove(self):
        """All of it, also groups that programs in the hosts have made below; processes are gone."""
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
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
