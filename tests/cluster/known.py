# SPDX-License-Identifier: Apache-2.0
"""known.py - this machine's profile, measured once for all tests of a build

Every test has a cache of its own, and so has every host of a lab: without this the first job of each would
measure the machine, two seconds of all its cores.  What looks at measuring removes it, or has its Cluster know nothing.
"""

import fcntl
import functools
import glob
import json
import os
import socket
import subprocess

PROBE_S = 300  # under a sanitizer, on a busy machine
TRIES = 3
# What is measured beside jobs of other tests is not kept, but a network of its own is a node of its own.
ALONE = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def shows_gpus():
    """Whether this machine shows GPUs of NVIDIA: without a usable driver a job that asks for some is then refused."""
    def number(path):
        with open(path) as f:
            return int(f.read(), 16)

    return bool(glob.glob("/proc/driver/nvidia/gpus/*") or glob.glob("/dev/nvidia[0-9]*")) or any(
        number(device + "/vendor") == 0x10de and number(device + "/class") >> 16 == 3
        for device in glob.glob("/sys/bus/pci/devices/*"))


@functools.lru_cache
def alone():
    """Words before a command that run it on such a node; [] where they may not."""
    try:
        return ALONE if subprocess.run([*ALONE, "true"], capture_output=True, timeout=PROBE_S).returncode == 0 else []
    except FileNotFoundError:
        return []


@functools.lru_cache
def profile(build, login=False):
    """The entry of eddis-run's cache for this machine, as a job here has it, or one that comes by a login, which has
    none of our environment.

    A busy machine makes it provisional, and eddis-run measures anew ten minutes later or when it is quiet; whom it is
    given to measures no more.  None: there is none that eddis-run would keep.
    """
    environ = {k: v for k, v in os.environ.items() if not login or k != "CUDA_VISIBLE_DEVICES"}
    folder = os.path.join(build, f"tests/known-{'login' if login else 'here'}-{os.geteuid()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except PermissionError:
        return None  # another user's build
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(TRIES if alone() else 1):
            entry = measured(build, environ, folder)
            if entry and not entry["profile"]["note"]:
                return {**entry, "complete": True, "profile": {**entry["profile"], "load": 0}}
    return None


def measured(build, environ, folder):
    """The cache's entry; an earlier one where eddis-run believes it, and it is not older than what measures."""
    path = os.path.join(folder, "eddis", f"profile-{socket.gethostname()}.json")
    probe = os.path.join(build, "cmd/libexec/eddis-probe")
    if os.path.exists(path) and (os.path.getmtime(path) < os.path.getmtime(probe) or noted(path)):
        os.unlink(path)
    done = subprocess.run([*alone(), os.path.join(build, "cmd/eddis-run"), "--profile"], capture_output=True, text=True,
                          timeout=PROBE_S, env={**environ, "XDG_CACHE_HOME": folder, "XDG_STATE_HOME": folder, "TMPDIR": folder})
    assert done.returncode == 0, done
    return read(path) if os.path.exists(path) else None


def read(path):
    with open(path) as f:
        return json.load(f)


def noted(path):
    """Whether something could not be measured."""
    return bool(read(path)["profile"]["note"])


def give(entry, cache, host=None):
    """Into a folder of caches; host: another name that this machine has there."""
    if entry is None:
        return
    if host is not None:
        entry = {**entry, "key": {**entry["key"], "host": host}, "profile": {**entry["profile"], "host": host}}
    folder = os.path.join(cache, "eddis")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"profile-{entry['key']['host']}.json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
        json.dump(entry, f)
