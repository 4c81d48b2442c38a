# SPDX-License-Identifier: Apache-2.0
"""kernel.py - the system calls that make a host (unshare, setns, mount), and look-ups in /proc.

Python 3.11's os module has none of these calls, and nsenter and unshare would each be one more process.
"""

import ctypes
import os
import time

NEWNS, NEWUTS, NEWIPC, NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x40000000
HOST = NEWNS | NEWUTS | NEWIPC | NEWNET
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 1 << 12, 1 << 14, 1 << 18, 2, 4
MNT_DETACH = 2
NAMESPACES = ("net", "uts", "ipc", "mnt")  # mnt last: after it the paths are the host's

LIBC = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    """Call a function of the C library; raise OSError if it returns a negative value."""
    if getattr(LIBC, name)(*args) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def text(s):
    """Return s as bytes for C; None for None."""
    return s.encode() if s is not None else None


def unshare(flags):
    """Put this process into new namespaces (NEW... flags)."""
    call("unshare", flags)
    if flags & NEWNS:  # mounts made here must not show outside
        mount(None, "/", None, MS_REC | MS_PRIVATE)


def mount(source, target, kind, flags=0, data=None):
    call("mount", text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))


def umount(target):
    call("umount2", text(target), MNT_DETACH)


def sethostname(name):
    call("sethostname", text(name), len(name))


def enter(pid, namespaces=NAMESPACES):
    """Move this process into the namespaces of another one; keep the working directory's path if it exists there."""
    here = os.getcwd()
    opened = [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in namespaces]
    for fd in opened:
        call("setns", fd, 0)
        os.close(fd)
    try:
        os.chdir(here)
    except OSError:
        os.chdir("/")


def start_time(pid):
    """Return a process's start in clock ticks since boot, which together with the pid identifies it for good; None: it
    has ended."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[19]) if fields[0] not in "ZX" else None


def network_of(pid):
    """Return the inode number of a process's network namespace, different for each host; None: it has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


class Network:
    """A process's network namespace, whose inode number stays reserved inside of a `with` block.  The kernel gives the
    number of a namespace that has gone to the next one, which may be another lab's."""

    def __init__(self, pid):
        try:
            self.file = open(f"/proc/{pid}/ns/net")
        except OSError:
            self.file = None
        self.number = self.file and os.fstat(self.file.fileno()).st_ino

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.file:
            self.file.close()


def processes_in(networks):
    """Return {network: [pid, ...]} of all running processes in these network namespaces."""
    found = {n: [] for n in networks}
    for name in os.listdir("/proc"):
        if name.isdigit():
            network = network_of(name)
            if network in found and start_time(int(name)) is not None:
                found[network].append(int(name))
    return found


def first_true(condition, seconds, most=0.2):
    """Return the first true value of condition(), or its last value when the time is over.

    A condition that takes long, such as asking Slurm, is tested less often, but at least every `most` seconds: many
    tests share the cores.
    """
    end = time.monotonic() + seconds
    while True:
        asked = time.monotonic()
        value = condition()
        now = time.monotonic()
        if value or now > end:
            return value
        time.sleep(min(most, max(0.01, 3 * (now - asked))))


def await_true(what, condition, seconds=180.0):
    """Return the first true value of condition().  Raises TimeoutError that names `what` after so many seconds."""
    value = first_true(condition, seconds)
    if not value:
        raise TimeoutError(f"after {seconds:g} s still waiting for {what}")
    return value
