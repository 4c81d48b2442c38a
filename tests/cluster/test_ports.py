# SPDX-License-Identifier: Apache-2.0
"""test_ports.py BUILD SOURCE [CASE ...] - what a job listens on, and strangers who come to the ports of
Open MPI's daemons as one of them."""

import contextlib
import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys

import doors
from cases import Skip, run
from files import write
from job import Folders, Job, wait_for
from lab import LOGIN, Cluster, comm, network
from node import parent
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD = os.path.realpath(sys.argv[1])
STATUS = os.path.join(BUILD, "cmd/eddis-status")
WORKER = [os.path.join(BUILD, "tests/cluster/node-worker"), "0"]

# What a job's processes may listen on: program, and "loopback", the node's own "address" or "all" addresses.
# mpirun listens on loopback for its ranks (PMIx), its daemons' channel is on the node's address.  A rank of a job on
# several nodes has the port of MPI's data on all addresses: Open MPI cannot have it otherwise.
ONE_MACHINE = {("eddis-run", "loopback"), ("mpirun", "loopback")}
SEVERAL = {("eddis-run", "loopback"), ("eddis-run", "address"), ("mpirun", "loopback"), ("mpirun", "address"),
           ("orted", "loopback"), ("orted", "address"), ("node-worker", "all")}

# Inside an allocation srun, which is Slurm's, listens for its steps, too.
ALLOCATION = SEVERAL | {("srun", "all")}

# A stranger who says to be mpirun's daemon 1 and orders the job's end, as ORTE's daemons speak (Open MPI 4.1:
# origin, destination, tag, sequence, length, type, and 31 bytes of padding).
STRANGER = r"""
import os, socket, struct, sys
if int(sys.argv[3]):
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
def header(origin, target, tag, seq, n, kind):
    return struct.pack("<IIIIIIIB", *origin, *target, tag, seq, n, kind).ljust(64, b"\0")
def ask(message):
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 10) as s:
        s.settimeout(10)
        s.sendall(message)
        return s.recv(500)
def attempt(message):
    try:
        return ask(message)
    except OSError:
        return b""
answer = attempt(header((1, 1), (0, 0), 0, 0, 0, 2))  # who are you?
me = struct.unpack("<II", answer[:8]) if len(answer) >= 8 else (1, 0)
you = (me[0], 1)
version = struct.pack(">H", 1) + b"4.1.4\0"
taken = attempt(header(you, me, 0, 0, len(version), 1) + version + header(you, me, 1, 1, 1, 4) + b"\2")
print("answered" if answer or taken else "nothing")
"""


def listening(pids):
    """{(program, address, port)} of the processes' TCP sockets; none of those that have ended."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found |= {(comm(pid), *door) for door in doors.listening(pid)}
    return found


def kinds(found, own):
    """{(program, kind)}; own: the node's addresses."""
    def kind(at):
        at = ipaddress.ip_address(at)
        at = getattr(at, "ipv4_mapped", None) or at
        return "all" if at.is_unspecified else "loopback" if at.is_loopback else \
            "address" if str(at) in own else str(at)
    return {(program, kind(at)) for program, at, _ in found}


def kinds_of(found, own):
    """Of all hosts; both are by host."""
    return set().union(*(kinds(found[host], own[host]) for host in found))


def descendants(root):
    parents = {int(name): parent(int(name)) for name in filter(str.isdigit, os.listdir("/proc"))}
    found = {root}
    while True:
        more = {p for p, above in parents.items() if above in found} - found
        if not more:
            return found
        found |= more


def stranger(popen, address, port, another_user):
    p = popen(["/usr/bin/python3", "-c", STRANGER, address, str(port), str(int(another_user))],
              stdout=subprocess.PIPE, text=True)
    out, _ = p.communicate(timeout=120)
    assert p.returncode == 0, p
    return out.strip()


def refusals(events):
    return [e["text"] for e in events if "refused a connection" in e.get("text", "")]


def one_machine(folders, environ=None, table=None, server="mpirun"):
    """Nothing of a job on one machine can be reached from elsewhere, and another user who comes to
    mpirun's ports is refused and counted."""
    over = folders.path("over")
    with Job(BUILD, folders, ["--", "sh", "-c", f"echo up; while [ ! -e {over} ]; do sleep 0.1; done"],
             **(environ or {})) as j:
        j.wait_log(0, "up")
        found = listening(descendants(j.process.pid))
        assert kinds(found, set()) == (table or ONE_MACHINE), found
        servers = [(at, port) for program, at, port in found if program == server]
        assert len(servers) >= 2, found
        for at, port in servers:
            assert stranger(subprocess.Popen, at, port, True) == "nothing", (at, port)
        wait_for("the refusals to be told", lambda: refusals(j.events()))
        p = subprocess.run([STATUS, j.dir + "/", "--json"], stdout=subprocess.PIPE, text=True, check=True)
        assert json.loads(p.stdout)["state"] == "running", p.stdout
        open(over, "w").close()
        assert j.end() == 0, (j.code, j.err, j.out)
        assert any("127.0.0.1" in text and "mpirun" in text for text in refusals(j.events())), j.events()
        assert "from 127.0.0.1" in j.summary()["refused"], j.summary()["refused"]
        os.remove(over)
        j.check_nothing_left()


def preloaded(folders):
    """The user's own preloaded libraries reach the program as they were, and the guard's do not."""
    script = 'echo "[$LD_PRELOAD] [$EDDIS_MPI_GUARD] [$(grep -c eddis-mpi-guard /proc/self/maps)]"'
    with Job(BUILD, folders, ["--", "sh", "-c", script], ranks=1) as j:
        assert j.end() == 0, (j.code, j.err)
        assert j.log(0) == "[] [] [0]\n", j.log(0)
    libc = next(line.split()[-1] for line in open("/proc/self/maps") if "/libm" in line or "/libc" in line)
    for own in (libc, f"{libc} {libc}", libc + ":"):
        with Job(BUILD, folders, ["--", "sh", "-c", script], ranks=1, LD_PRELOAD=own) as j:
            assert j.end() == 0, (j.code, j.err)
            assert j.log(0) == f"[{own}] [] [0]\n", (own, j.log(0))


def not_loaded(folders):
    """Where mpirun does not take the guard, the job says so before it starts."""
    place = folders.path("static")
    os.makedirs(place, exist_ok=True)
    write(os.path.join(place, "mpirun"),  # as a launcher that cleans its environment
          f'#!/bin/sh\nunset LD_PRELOAD\nexec {shutil.which("mpirun")} "$@"\n', 0o755)
    with Job(BUILD, folders, ["--", "true"], ranks=1, PATH=place + ":" + os.environ["PATH"]) as j:
        assert j.end() == 0, (j.code, j.err)
        events = j.events()
        note = next(i for i, e in enumerate(events) if "does not load eddis-mpi-guard.so" in e.get("text", ""))
        start = next(i for i, e in enumerate(events) if e["type"] == "rank_started")
        assert note < start and "does not load eddis-mpi-guard.so" in j.err, j.err


def several(folders, families="4"):
    """Each node listens on its own address; who comes to the daemons' ports without the secret is refused."""
    with Cluster(3, build=BUILD, families=families) as c, c.job(["-H", "node1,node2", "--", *WORKER]) as j:
        own = {host: set(network.addresses(i, families)) for i, host in enumerate(c.hosts)}
        found = {}

        def look():
            found.update({host: listening(c.processes(host)) for host in (LOGIN, "node1", "node2")})
            return ("node-worker", "all") in kinds_of(found, own)

        wait_for("the ranks' ports", look)
        assert kinds_of(found, own) == SEVERAL, found
        for host, program in (("node1", "mpirun"), ("node2", "orted")):
            at, port = next((at, port) for name, at, port in found[host]
                            if name == program and at in own[host])
            assert stranger(lambda command, **more: c.lab.popen("node3", command, cwd="/", **more), at, port,
                            False) == "nothing", (host, at, port)
        wait_for("the refusals to be told", lambda: len(refusals(j.events())) >= 1)
        s = c.run(LOGIN, [STATUS, j.place + "/", "--once", "--json"])
        assert json.loads(s.stdout)["state"] == "running", s
        look_for_secret(c, j)
        j.interrupt()
        theirs, = network.addresses(c.hosts.index("node3"), families)
        assert f"4 refused requests from {theirs}" in j.summary()["refused"], j.summary()["refused"]
        j.check_nothing_left()


def by_six(folders):
    """The same of hosts that have IPv6 alone."""
    several(folders, "6")


def allocation(folders):
    """The same inside an allocation of Slurm's, where eddis-run starts its agents by srun."""
    skip_without_slurm()
    with SlurmCluster(3, build=BUILD) as c:
        c.write("job.sh", f"#!/bin/sh\nexec eddis-run --job-dir $PWD/job -n 1 -- {' '.join(WORKER)}\n")
        job = c.sh("sbatch --parsable -N2 -o job.out job.sh").stdout.strip()
        own = {host: {network.address(i)} for i, host in enumerate(c.hosts)}
        found = {}

        def look():
            found.update({host: ours(c, host) for host in c.nodes})
            return ("node-worker", "all") in kinds_of(found, own)

        wait_for("the ranks' ports", look)
        assert kinds_of(found, own) <= ALLOCATION and ("orted", "address") in kinds_of(found, own), found
        c.sh(f"scancel {job}")
        c.await_empty()


def ours(c, host):
    """What listens on a host, but Slurm's daemons."""
    return {row for row in listening(c.processes(host)) if row[0] not in ("slurmd", "slurmctld", "slurmstepd", "munged")}


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def look_for_secret(c, j):
    """The secret is in a file that this user alone may read, and in nothing else."""
    pid = c.pids("node1", "mpirun")[0]
    environ = dict(v.partition(b"=")[::2] for v in read(f"/proc/{pid}/environ").split(b"\0"))
    place = f"/proc/{pid}/root" + environ[b"EDDIS_MPI_GUARD"].decode()
    assert os.stat(place).st_mode & 0o777 == 0o600 and os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700
    secret = re.search(rb"[0-9a-f]{64}", read(place)).group()
    told = [f"/proc/{p}/{name}" for h in c.hosts for p in c.processes(h) for name in ("cmdline", "environ")]
    told += [os.path.join(below, name) for below, _, names in os.walk(j.dir) for name in names]
    told = [path for path in told if secret in read(path)]
    assert not told, told


def open_mpi_5(folders):
    """The same of Open MPI 5, whose mpirun becomes prterun."""
    place = os.environ.get("EDDIS_OPENMPI_5", "")
    if not os.path.exists(os.path.join(place, "bin/prterun")):
        raise Skip("there is no Open MPI 5 (EDDIS_OPENMPI_5, the folder of its bin/)")
    one_machine(folders, {"PATH": os.path.join(place, "bin") + ":" + os.environ["PATH"]},
                {("eddis-run", "loopback"), ("prterun", "loopback")}, "prterun")


CASES = [one_machine, preloaded, not_loaded, several, by_six, allocation, open_mpi_5]

if __name__ == "__main__":
    run(CASES, sys.argv[3:], Folders())
