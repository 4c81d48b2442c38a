#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stranger.py - another user of the machine who tries to stop every job, until it is killed.

He sees what everybody sees: the arguments of all processes, and the names in /tmp and /dev/shm.  Of
every keeper's arguments he guesses the names of its folders and makes them first, as folders and as
links; and he makes folders that bear its mark.  Says on standard output what he has got.
"""

import os
import re
import sys

BASES = ("/tmp", "/dev/shm")
MARK = re.compile(r"\b[0-9a-f]{32}\b")


def keepers_marks():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                line = f.read().replace("\0", " ")
        except OSError:
            continue
        if "eddis-keeper" in line.split(" ", 1)[0]:
            found.update(MARK.findall(line))
    return found


def take(path, link):
    try:
        os.symlink("/nowhere", path) if link else os.mkdir(path, 0o755)
        return True
    except OSError:
        return False


def plant(base, mark):
    """A folder like those of the job, which a clean-up or a next start shall not believe."""
    folder = f"{base}/eddis-{os.urandom(8).hex()}"
    os.mkdir(folder, 0o755)
    with open(folder + "/mark", "w") as f:
        f.write(mark)


def main():
    seen = set()
    while True:
        for mark in keepers_marks() - seen:
            seen.add(mark)
            for base in BASES:
                got = [take(f"{base}/eddis-{mark[i:i + 16]}", link=i % 2) for i in (0, 16, 8, 1)]
                plant(base, mark)
                print(f"{base}: {sum(got)} names taken of {mark}", flush=True)
        for base in BASES:
            for name in os.listdir(base):
                if re.fullmatch("eddis-[0-9a-f]{16}", name) and take(f"{base}/{name}", False):
                    print(f"{base}: {name} taken", flush=True)


try:
    main()
except KeyboardInterrupt:
    sys.exit(0)
