# SPDX-License-Identifier: Apache-2.0
"""known.py - this machine's profile, measured once for all tests of a build

Every test has a cache of its own, and so has every host of a lab: without this the first job of each would
measure the machine, two seconds of all its cores.  Tests of measuring begin without what is given here.
"""

import fcntl
import glob
import json
import os
import subprocess

PROBE_S = 300  # under a sanitizer, on a busy machine
TRIES = 3
# What is measured beside jobs of other tests is not kept, but a network of its own is a node of its own.
ALONE = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def profile(build, environ):
    """The entry of eddis-run's cache for this machine, as eddis-run itself sees it: devices, what is visible of them.

    None: it is none that eddis-run would keep.
    """
    folder = os.path.join(build, "tests/known-" + environ.get("CUDA_VISIBLE_DEVICES", "all").replace("/", "-"))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(TRIES):
            entry, path = measured(build, environ, folder)
            if entry and (entry["complete"] or not entry["profile"]["note"]):
                break
            if path:
                os.unlink(path)
        if entry and not entry["complete"]:  # the tests beside keep the machine busy; nobody is to measure when they are over
            entry["complete"] = True
            entry["profile"].update(load=0, note="")
            write(entry, path)
    return entry


def measured(build, environ, folder):
    """(the cache's entry, its path), an earlier one where eddis-run believes it."""
    alone = ALONE if os.geteuid() == 0 else []
    done = subprocess.run([*alone, os.path.join(build, "cmd/eddis-run"), "--profile"], capture_output=True, text=True,
                          timeout=PROBE_S, env={**environ, "XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder, "TMPDIR": folder})
    assert done.returncode == 0, done
    for path in glob.glob(os.path.join(folder, "eddis/profile-*.json")):
        with open(path) as f:
            return json.load(f), path
    return None, None


def write(entry, path):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        json.dump(entry, f)


def give(entry, cache, host=None):
    """Into a folder of caches; host: another name that this machine has there."""
    if entry is None:
        return
    if host is not None:
        entry = {**entry, "key": {**entry["key"], "host": host}, "profile": {**entry["profile"], "host": host}}
    folder = os.path.join(cache, "eddis")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    write(entry, os.path.join(folder, f"profile-{entry['key']['host']}.json"))
