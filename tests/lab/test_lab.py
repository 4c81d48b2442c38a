# SPDX-License-Identifier: Apache-2.0
"""test_lab.py - test that the lab's commands have their effect on hosts, and that a lab leaves nothing.

Usage: test_lab.py [CASE...]
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import kernel
from hosts import Lab, LabError, check_machine
from traces import traces

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../cluster"))
from cases import Skip, run, skip_all, skip_part  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
NAME = f"test-{os.getpid()}"
PATIENCE = 180  # seconds


def verb(name, *args, code=0):
    """Run a command of the lab and check its exit status; return its output, or its errors if code is not 0."""
    p = subprocess.run([os.path.join(HERE, name), "--name", NAME, *args], capture_output=True, text=True,
                       timeout=PATIENCE)
    assert p.returncode == code, (name, args, p)
    return p.stdout if code == 0 else p.stderr


def sh(host, command, code=0):
    """Run a shell command on a host and check its exit status; return its output."""
    return verb("sh", host, command, code=code).strip()


class Up:
    """A lab that exists inside of a `with` block; checks that nothing is left of it afterwards."""

    def __init__(self, *args):
        self.args = args

    def __enter__(self):
        began = time.monotonic()
        verb("up", *self.args)
        self.seconds = time.monotonic() - began

    def __exit__(self, *ignored):
        if os.path.exists("/run/eddis-lab-" + NAME):
            verb("down")
        assert not traces(NAME), traces(NAME)


def apart():
    """Hosts have a name, an address, disks and shared memory of their own, and one shared folder."""
    with Up("3"):
        assert sh("node2", "hostname") == "node2"
        assert sh("login", "ssh node3 hostname; ssh node1 hostname") == "node3\nnode1"
        assert sh("node1", "ssh node2 'ssh login hostname'") == "login"
        assert sh("node2", "ls /sys/class/net | tr '\\n' ' '") == "eth0 lo"
        for folder in ("/tmp", "/var/tmp", "/run", "/dev/shm", "~"):
            sh("node1", f"echo here >{folder}/mine")
            sh("node2", f"test ! -e {folder}/mine")
            where = "/root" if folder == "~" else folder
            assert not os.path.exists(where + "/mine"), folder
        sh("node1", "echo all >~/shared/ours")
        assert sh("node3", "cat ~/shared/ours") == "all"
        with open(Lab(NAME).path("node1", "/tmp/mine")) as f:
            assert f.read() == "here\n"
        with open(Lab(NAME).shared + "/ours") as f:
            assert f.read() == "all\n"
        assert os.path.exists(Lab(NAME).path("node1", HERE)), "hosts see the project"
        sh("login", "ssh node2 'kill -9 $$'", code=255)
        sh("node1", "exit 3", code=3)


def mpirun():
    with Up("3"):
        out = sh("login", "mpirun --allow-run-as-root --mca oob_tcp_if_include eth0 --host node1,node2,node3 "
                          "-n 3 hostname")
        assert sorted(out.split()) == ["node1", "node2", "node3"], out


def troubles():
    with Up("2"):
        ping, no_ping = (f"ping -q -c 1 -W {s} node2 >/dev/null" for s in (PATIENCE, 1))
        sh("login", ping)
        verb("cut", "node2")
        assert "cut" in verb("list")
        sh("login", no_ping, code=1)
        verb("join", "node2")
        sh("login", ping)
        verb("loss", "node2", "100")
        sh("login", no_ping, code=1)
        verb("loss", "node2", "0")
        sh("login", ping)
        sh("node2", "exec >/dev/null 2>&1; sleep 1000 & setsid sleep 1000 & echo x >/dev/shm/x; echo x >~/x")
        assert verb("ps", "node2").count("sleep 1000") == 2
        verb("crash", "node2")
        assert verb("ps", "node2") == ""
        assert sh("node2", "ls /dev/shm ~") == "/dev/shm:\n\n/root:\nshared\nx"
        assert "refused" in sh("login", "ssh node2 true", code=255)
        verb("revive", "node2")
        sh("login", "ssh node2 true")


def frozen():
    """Frozen hosts stay stopped until they are thawed, and a frozen lab can be taken down."""
    with Up("2"):
        if not Lab(NAME).groups.has("freezer"):
            skip_part("frozen", "there is no freezer here")
            return
        p = subprocess.Popen([HERE + "/sh", "--name", NAME, "node1",
                              "while :; do echo >>/tmp/ticks; sleep 0.02; done"])
        clock = Lab(NAME).path("node1", "/tmp/ticks")

        def goes(seconds):
            before, end = os.path.getsize(clock), time.monotonic() + seconds
            while os.path.getsize(clock) == before and time.monotonic() < end:
                time.sleep(0.01)
            return os.path.getsize(clock) != before
        while not os.path.exists(clock):
            time.sleep(0.01)
        assert goes(PATIENCE)
        verb("freeze", "node1")
        assert "frozen" in verb("list")
        assert not goes(0.5)
        verb("thaw", "node1")
        assert goes(PATIENCE)
        verb("freeze", "node1,node2")
        verb("down")
        assert p.wait(PATIENCE) != 0


def speed():
    """A cable's rate and a host's share of a core hold, within what a busy machine allows."""
    with Up("2", "--rate", "80mbit", "--cpu", "10,0"):
        code = ("import socket,time; s=socket.create_connection(('node2',9)); t=time.time();\n"
                "for _ in range(40): s.sendall(bytes(50000))\n"
                "s.shutdown(1); s.recv(1); print(time.time()-t)")
        server = ("import socket; l=socket.create_server(('',9)); print('up', flush=True); c,_=l.accept()\n"
                  "while c.recv(65536): pass")
        p = subprocess.Popen([HERE + "/exec", "--name", NAME, "node2", "/usr/bin/python3", "-c", server],
                             stdout=subprocess.PIPE, text=True)
        assert p.stdout.readline() == "up\n"
        took = float(verb("exec", "login", "/usr/bin/python3", "-c", code))
        assert took > 0.15, took  # 2 MB less two buckets' 64 kB at 10 MB/s
        p.communicate(timeout=PATIENCE)
        spin = ("import time; t=time.monotonic(); c=time.process_time()+0.1\n"
                "while time.process_time() < c: pass\nprint(time.monotonic()-t)")
        took = float(verb("exec", "node1", "/usr/bin/python3", "-c", spin))
        assert not Lab(NAME).groups.has("cpu") or took > 0.5, took


def many():
    with Up("16", "--rate", "1gbit", "--cpu", "50") as _:
        assert len(verb("list").splitlines()) == 17
        sh("login", "ssh node16 ping -q -c 1 node1")


def mistakes():
    other = Lab(NAME + "x")
    assert "there is no lab" in verb("down", code=2)
    assert "which host" in verb("freeze", code=2)
    assert "1 to 200" in verb("up", "0", code=2)
    assert "percentage" in verb("up", "2", "--cpu", "fast", code=2)
    assert "'quick' is no rate, as 200mbit" in verb("up", "2", "--rate", "quick", code=2)
    assert not traces(NAME), traces(NAME)
    with Up("1"):
        assert "already" in verb("up", "2", code=2)
        assert "no host 'node7'" in verb("exec", "node7", "true", code=2)
        assert "no percentage" in verb("loss", "node1", "101", code=2)
        other.up(1)  # side by side
        try:
            assert sh("node1", "ls ~") == "shared"
        finally:
            other.down()
        assert sh("login", "ssh node1 hostname") == "node1"
        p = subprocess.run([HERE + "/up", "--name", NAME + "y", "1"], capture_output=True, text=True,
                           preexec_fn=lambda: os.setuid(65534))
        assert p.returncode == 77 and p.stderr.count("\n") == 1 and "root" in p.stderr, p


def bereaved():
    """A lab with --while removes itself when that process was killed."""
    p = subprocess.Popen(["sleep", "1000"])
    verb("up", "1", "--while", str(p.pid))
    p.kill()
    p.wait()
    end = time.monotonic() + PATIENCE
    while traces(NAME) and time.monotonic() < end:
        time.sleep(0.1)
    assert not traces(NAME), traces(NAME)


def in_new_network(look):
    """Return what `look` returns of a process in a new network namespace, which then ends."""
    ready, is_ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        kernel.unshare(kernel.NEWNET)
        os.write(is_ready, b"+")
        time.sleep(PATIENCE)
        os._exit(1)
    os.close(is_ready)
    try:
        assert os.read(ready, 1) == b"+"
        return look(pid)
    finally:
        os.close(ready)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def renumbered():
    """The number of a network namespace that `down` holds is given to no new one, though its processes have gone."""
    held = in_new_network(kernel.Network)
    numbers = [in_new_network(kernel.network_of) for _ in range(50)]
    assert held.number and held.number not in numbers, (held.number, numbers)
    with held:
        pass
    if len(set(numbers)) == len(numbers):  # the kernel frees them late on a busy machine
        raise Skip("the kernel gave no number again, so this shows nothing")


def hidden():
    """A folder below /tmp is visible on hosts if it is named by --keep."""
    with tempfile.TemporaryDirectory(prefix="lab-test-") as kept:
        with open(kept + "/x", "w") as f:
            f.write("kept")
        with Up("1", "--keep", kept):
            assert sh("node1", f"cat {kept}/x") == "kept"
            verb("crash", "node1")
            assert sh("node1", f"cat {kept}/x") == "kept"


CASES = [apart, mpirun, troubles, frozen, speed, many, mistakes, bereaved, renumbered, hidden]


def main():
    try:
        check_machine()
    except LabError as e:
        skip_all(e)
    run(CASES, sys.argv[1:])


main()
