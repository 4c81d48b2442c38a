# SPDX-License-Identifier: Apache-2.0
"""traces.py - what of a lab is visible outside of its hosts."""

import os


def traces(name, groups=()):
    """Return folders, mounts, control groups (also those with one of these names) and processes of the lab."""
    with open("/proc/self/mountinfo") as f:
        found = [line for line in f if "eddis-lab" in line]
    for folder, more in ("/run", ()), ("/sys/fs/cgroup", groups):
        for below, folders, _ in os.walk(folder):
            found += [os.path.join(below, d) for d in folders if d in ("eddis-lab-" + name, *more)]
            if below.count("/") > 5:
                folders.clear()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f, open(f"/proc/{pid}/comm") as comm:
                if "eddis-lab-" + name in f.read() + comm.read():
                    found.append("process " + pid)
        except OSError:
            pass
    return found
