# SPDX-License-Identifier: Apache-2.0
"""doors.py - on which addresses and ports processes listen, from /proc."""

import ipaddress
import os
import re
import sys


def rows(pid):
    """Return the kernel's tables of TCP sockets as the process sees them; none of one that has ended."""
    found = []
    for table in "tcp", "tcp6":
        try:
            with open(f"/proc/{pid}/net/{table}") as f:
                found += [line.split() for line in f.readlines()[1:]]
        except OSError:
            pass
    return found


def listeners(pid):
    """Return {inode: (address, port)} of all sockets that listen in the network of the process."""
    found = {}
    for row in rows(pid):
        if row[3] == "0A":
            host, port = row[1].split(":")
            words = [int(host[i:i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(host), 8)]
            found[row[9]] = str(ipaddress.ip_address(b"".join(words))), int(port, 16)
    return found


def listening(pid):
    """Return {(address, port)} of the process's own sockets that listen."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass
    return {door for inode, door in listeners(pid).items() if inode in inodes}
