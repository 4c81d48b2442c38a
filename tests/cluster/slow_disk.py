# SPDX-License-Identifier: Apache-2.0
"""slow_disk.py - a file system that can be stopped and let go on, as NFS does whose server hangs.

    with SlowDisk(folder) as disk:      # a FUSE file system is mounted on the empty folder
        disk.hang()                     # calls into it do not come back from now on ...
        disk.go_on()                    # ... until then
        disk.set_pace(20)               # each read of a file takes so many ms from now on

Its server is a process of this file's, which keeps all in memory and speaks the kernel's own
protocol on /dev/fuse.  Hanging it reads no more of it: who waits for a call that the server has not
read can be killed, as with NFS, and who waits for one that it has read cannot.  Needs root.
"""

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import subprocess
import sys
import threading
import time

from cases import Skip

LOOKUP, FORGET, GETATTR, SETATTR, READLINK, SYMLINK = 1, 2, 3, 4, 5, 6
MKNOD, MKDIR, UNLINK, RMDIR, RENAME, LINK, OPEN, READ, WRITE = 8, 9, 10, 11, 12, 13, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR = 17, 18, 20, 25, 26, 27, 28, 29, 30
CREATE, INTERRUPT, DESTROY, BATCH_FORGET, RENAME2 = 35, 36, 38, 42, 45
MOST = 128 << 10
MODE, SIZE = 1 << 0, 1 << 3  # of SETATTR
NOSUID, NODEV, DETACH, NEWNS = 2, 4, 2, 0x20000
libc = ctypes.CDLL(None, use_errno=True)


class Node:
    def __init__(self, number, mode):
        self.number, self.mode, self.data, self.entries = number, mode, b"", {}
        self.time = int(time.time())


class Server:
    def __init__(self, fd):
        self.fd, self.root = fd, Node(1, stat.S_IFDIR | 0o755)
        self.nodes, self.next = {1: self.root}, 2
        self.read_s = 0
        self.going = threading.Lock()  # held from a call's read to its answer, and by who stops all that

    def attr(self, n):
        size = len(n.data)
        return struct.pack("<QQQQQQIIIIIIIIII", n.number, size, (size + 511) // 512, n.time, n.time, n.time, 0, 0, 0,
                           n.mode, 2 if stat.S_ISDIR(n.mode) else 1, os.geteuid(), os.getegid(), 0, 4096, 0)

    def entry(self, n):
        return struct.pack("<QQQQII", n.number, 0, 0, 0, 0, 0) + self.attr(n)

    def make(self, parent, name, mode, data=b""):
        if name in parent.entries:
            raise OSError(errno.EEXIST, "")
        n = Node(self.next, mode)
        n.data = data
        self.next += 1
        self.nodes[n.number] = parent.entries[name] = n
        return n

    def remove(self, parent, name, is_dir):
        n = parent.entries.get(name)
        if n is None:
            raise OSError(errno.ENOENT, "")
        if stat.S_ISDIR(n.mode) != is_dir:
            raise OSError(errno.ENOTDIR if is_dir else errno.EISDIR, "")
        if n.entries:
            raise OSError(errno.ENOTEMPTY, "")
        del parent.entries[name]

    def rename(self, node, new_parent, names):
        old, new = names.split(b"\0")[:2]
        to = self.nodes[new_parent]
        if old not in node.entries:
            raise OSError(errno.ENOENT, "")
        if to.entries.get(new) and to.entries[new].entries:
            raise OSError(errno.ENOTEMPTY, "")
        to.entries[new] = node.entries.pop(old)

    def set_attr(self, node, body):
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        mode = struct.unpack_from("<I", body, 68)[0]
        if valid & MODE:
            node.mode = stat.S_IFMT(node.mode) | mode & 0o7777
        if valid & SIZE:
            node.data = node.data[:size].ljust(size, b"\0")

    def read_dir(self, node, offset, most):
        out = b""
        for i, (name, n) in enumerate(list(node.entries.items())[offset:], offset + 1):
            one = struct.pack("<QQII", n.number, i, len(name), n.mode >> 12) + name
            one += b"\0" * (-len(one) % 8)
            if len(out) + len(one) > most:
                break
            out += one
        return out

    def answer(self, op, node, body):
        """The bytes of an answer."""
        name = body.split(b"\0")[0]
        if op == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, MOST, 1 << 5, 12, 10, MOST, 1, 0, 0, 0)
        if op == LOOKUP:
            if name not in node.entries:
                raise OSError(errno.ENOENT, "")
            return self.entry(node.entries[name])
        if op in (GETATTR, SETATTR):
            if op == SETATTR:
                self.set_attr(node, body)
            return struct.pack("<QII", 0, 0, 0) + self.attr(node)
        if op == READLINK:
            return node.data
        if op == SYMLINK:
            name, target = body.split(b"\0")[:2]
            return self.entry(self.make(node, name, stat.S_IFLNK | 0o777, target))
        if op in (MKDIR, MKNOD):
            kind, skip = (stat.S_IFDIR, 8) if op == MKDIR else (0, 16)
            return self.entry(self.make(node, body[skip:].split(b"\0")[0], kind | struct.unpack_from("<I", body)[0]))
        if op in (UNLINK, RMDIR):
            self.remove(node, name, op == RMDIR)
            return b""
        if op in (RENAME, RENAME2):
            self.rename(node, struct.unpack_from("<Q", body)[0], body[8 if op == RENAME else 16:])
            return b""
        if op == CREATE:
            made = self.make(node, body[16:].split(b"\0")[0], struct.unpack_from("<II", body)[1])
            return self.entry(made) + struct.pack("<QII", 0, 1, 0)
        if op in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 1 if op == OPEN else 0, 0)
        if op in (READ, READDIR):
            offset, most = struct.unpack_from("<QI", body, 8)
            if op == READ:
                time.sleep(self.read_s)
            return node.data[offset:offset + most] if op == READ else self.read_dir(node, offset, most)
        if op == WRITE:
            offset, n = struct.unpack_from("<QI", body, 8)
            node.data = node.data[:offset].ljust(offset, b"\0") + body[40:40 + n] + node.data[offset + n:]
            return struct.pack("<II", n, 0)
        if op == STATFS:
            return struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0)
        if op in (RELEASE, RELEASEDIR, FSYNC, FSYNCDIR, DESTROY):  # not FLUSH, for which the kernel waits at any cost
            return b""
        raise OSError(errno.ENOSYS, "")

    def take_one(self):
        """Returns whether there is a file system still."""
        try:
            message = os.read(self.fd, MOST + 4096)
        except OSError as e:
            return e.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN)
        _, op, unique, number = struct.unpack_from("<IIQQ", message)
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            return True
        try:
            out, code = self.answer(op, self.nodes.get(number), message[40:]), 0
        except OSError as e:
            out, code = b"", -e.errno
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(out), code, unique) + out)
        except OSError:
            pass  # whoever asked is gone
        return True

    def serve(self):
        some = select.poll()
        some.register(self.fd, select.POLLIN)
        there = True
        while there:
            some.poll()
            with self.going:
                there = self.take_one()


def mount(folder):
    fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    options = f"fd={fd},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()},allow_other"
    if libc.mount(b"eddis-test", os.fsencode(folder), b"fuse", NOSUID | NODEV, options.encode()) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), folder)
    return fd


class SlowDisk:
    """Skips the case where there can be none.  inside: a process among whose mounts it is to be."""

    def __init__(self, folder, inside=None):
        command = [sys.executable, os.path.realpath(__file__), folder] + ([str(inside)] if inside else [])
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.stopped = False
        word = self.server.stdout.readline()
        if word != "mounted\n":
            self.server.wait()
            raise Skip(f"no FUSE file system can be mounted here: {word.strip()}")

    def __enter__(self):
        return self

    def order(self, word):
        self.server.stdin.write(word + "\n")
        self.server.stdin.flush()
        assert self.server.stdout.readline() == word + "\n", word

    def hang(self):
        self.order("hang")
        self.stopped = True

    def go_on(self):
        if self.stopped:
            self.order("go on")
        self.stopped = False

    def set_pace(self, ms):
        self.order(f"pace {ms}")

    @contextlib.contextmanager
    def hanging(self):
        """For a block: who looks into the folder after a failure there does not hang as well."""
        self.hang()
        try:
            yield
        finally:
            self.go_on()

    def __exit__(self, *ignored):
        self.go_on()
        self.server.stdin.close()  # it unmounts what it has mounted, and ends
        self.server.wait()
        self.server.stdout.close()


def enter(pid):
    with open(f"/proc/{pid}/ns/mnt") as f:
        if libc.setns(f.fileno(), NEWNS) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(folder, inside=None):
    try:
        if inside:
            enter(inside)
        fd = mount(folder)
    except OSError as e:
        print(e, flush=True)
        sys.exit(1)
    print("mounted", flush=True)
    server = Server(fd)
    threading.Thread(target=server.serve, daemon=True).start()
    for line in sys.stdin:
        word = line.split()[0]
        if word == "pace":
            server.read_s = float(line.split()[1]) / 1e3
        else:
            server.going.acquire() if word == "hang" else server.going.release()
        print(line, end="", flush=True)
    libc.umount2(os.fsencode(folder), DETACH)


if __name__ == "__main__":
    main(*sys.argv[1:])
