# SPDX-License-Identifier: Apache-2.0
"""limits.py - small disks and little memory for a block of a test; skip the case where there can be none."""

import contextlib
import subprocess

from cases import Skip
from node import cgroup, kernel


@contextlib.contextmanager
def disk(folder, options):
    """Mount a file system of its own, with these options of tmpfs, on the folder.  Only this process and those that it
    starts from here on see it."""
    try:
        kernel.unshare(kernel.NEWNS)
        kernel.mount("none", folder, "tmpfs", 0, options)
    except OSError as e:
        raise Skip(f"needs root and a mount namespace: {e}") from None
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def little_memory(limit):
    """Yield the words before a command that put it into a control group with so many bytes of memory."""
    group = cgroup.little_memory(limit)
    if not group:
        raise Skip("needs a control group of memory that may be made here")
    try:
        yield cgroup.inside(group)
    finally:
        cgroup.remove(group)
