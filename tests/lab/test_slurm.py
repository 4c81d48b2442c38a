# SPDX-License-Identifier: Apache-2.0
"""test_slurm.py - test that the lab's Slurm runs, ends and requeues jobs, and leaves nothing.

Usage: test_slurm.py [CASE...]
"""

import os
import subprocess
import sys

import kernel
from hosts import LOGIN, Lab, LabError, check_machine
from slurmlab import Slurm, can_cgroup, check_programs
from traces import traces

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../cluster"))
from cases import run, skip_all, skip_part  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
NAME = f"slurm-{os.getpid()}"
PATIENCE = 180  # seconds


def left(name):
    """Return everything of a lab and its Slurm that is visible outside of its hosts."""
    return traces(name, ["slurm"])


class Up:
    """A lab with a Slurm inside of a `with` block.  Paths of nodes and of the shared folder are those on the hosts."""

    def __init__(self, nodes, name=NAME, **more):
        self.lab = Lab(name)
        self.lab.up(nodes, until=os.getpid())
        self.slurm = Slurm(self.lab, **more)
        try:
            self.slurm.up()
        except BaseException:
            self.lab.down()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.lab.down()
        assert not left(self.lab.name), left(self.lab.name)

    def sh(self, command, host=LOGIN, code=0):
        """Run a shell command in ~/shared on a host and check its exit status; return its output."""
        with self.lab.popen(host, ["/bin/sh", "-c", "cd ~/shared && " + command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True) as p:
            out = p.communicate(timeout=PATIENCE)[0].strip()
        assert p.returncode == code, (command, p.returncode, out)
        return out

    def submit(self, script, *options):
        """Submit a job script by sbatch; return the job's number."""
        with open(self.lab.shared + "/job.sh", "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        return int(self.sh(f"sbatch --parsable {' '.join(options)} job.sh").split(";")[0])

    def state(self, job):
        """Return a job's state in Slurm."""
        return self.sh(f"scontrol -o show job {job}").split("JobState=")[1].split()[0]

    def await_file(self, name):
        """Wait until a file exists in the shared folder."""
        kernel.await_true(name, lambda: os.path.exists(f"{self.lab.shared}/{name}"), PATIENCE)


def proctracks():
    """Return the ways of process tracking that can be tested here."""
    return ["cgroup", "linuxproc"] if can_cgroup(Lab("x")) else ["linuxproc"]


def runs():
    """Steps run on all nodes, batch jobs from any host, and requested devices and features are honoured."""
    with Up(3, gres={"node2": "gpu:2"}, features={"node3": "fast"}, conf=["EnforcePartLimits=ALL"]) as s:
        assert sorted(s.sh("srun -Q -N3 hostname").split()) == ["node1", "node2", "node3"]
        said = s.sh("srun -Q --gres=gpu:2 sh -c 'hostname; echo $CUDA_VISIBLE_DEVICES'", "node1")
        assert said == "node2\n0,1", said
        assert s.sh("srun -Q -C fast hostname") == "node3"
        assert "srun: error" in s.sh("srun -C slow hostname", code=1)
        assert "time limit" in s.sh("sbatch --test-only -p short -t 10 --wrap true", code=1)
        s.submit("srun hostname", "-N2 --wait -o out")
        with open(s.lab.shared + "/out") as f:
            assert sorted(f.read().split()) == ["node1", "node2"]


def orphans():
    """proctrack/cgroup ends processes that have left their parent; proctrack/linuxproc does not."""
    for kind in proctracks():
        with Up(1, proctrack=kind) as s:
            job = s.submit("(setsid sh -c 'echo $$ >new; mv new orphan; exec sleep 1000' &)\nexec sleep 1000")
            s.await_file("orphan")
            s.sh(f"scancel {job}")
            kernel.await_true("the job to go", lambda: s.state(job) == "CANCELLED" and s.sh("squeue -h") == "")
            with open(s.lab.shared + "/orphan") as f:
                alive = kernel.start_time(int(f.read())) is not None
            assert alive == (kind == "linuxproc"), (kind, alive)


def requeue():
    """A requeued job starts again soon, and gets its restart count."""
    with Up(1) as s:
        job = s.submit("[ -n \"$SLURM_RESTART_COUNT\" ] && { echo $SLURM_RESTART_COUNT >again; exit; }\n"
                       "touch first; exec sleep 1000", "--requeue")
        s.await_file("first")
        s.sh(f"scontrol requeue {job}")
        s.await_file("again")
        kernel.await_true("its number", lambda: s.sh("cat again") == "1", PATIENCE)


def lost():
    """A node that crashes ends its job, and takes jobs again once it is revived."""
    with Up(2, slurmd_timeout=5) as s:
        s.submit("touch here; exec sleep 1000", "-w node2")
        s.await_file("here")
        s.lab.crash("node2")
        kernel.await_true("node2 to be down", lambda: "down" in s.sh("sinfo -h -N -n node2 -o %T"))
        s.slurm.revive("node2")
        s.slurm.await_idle(["node2"])
        assert s.sh("srun -Q -w node2 hostname") == "node2"


def beside():
    """Two labs with the same node names and job numbers do not interfere; a killed Slurm is removed with its lab."""
    with Up(1) as a, Up(1, name=NAME + "b") as b:
        one, two = (s.submit("touch here; exec sleep 1000") for s in (a, b))
        assert one == two
        a.await_file("here")
        b.await_file("here")
        a.sh(f"scancel {one}")
        kernel.await_true("the job to go", lambda: a.state(one) == "CANCELLED")
        assert b.state(two) == "RUNNING"
        for pid in b.lab.processes(LOGIN) + b.lab.processes("node1"):
            with open(f"/proc/{pid}/comm") as f:
                if f.read().startswith(("slurm", "munge")):
                    os.kill(pid, 9)


def command():
    def slurm(*args):
        return subprocess.run([HERE + "/slurm", *args, "--name", NAME], capture_output=True, text=True,
                              timeout=PATIENCE)
    p = slurm("up", "1", "--gres", "node7=gpu:1")
    assert p.returncode == 2 and "no node 'node7'" in p.stderr, p
    p = slurm("up", "1", "--proctrack", "luck")
    assert p.returncode == 2 and "linuxproc" in p.stderr, p
    holder = subprocess.Popen(["sleep", "1000"])
    p = slurm("up", "1", "--while", str(holder.pid))
    assert p.returncode == 0, p
    out = subprocess.run([HERE + "/sh", "--name", NAME, "node1", "srun hostname"], capture_output=True, text=True)
    assert out.stdout == "node1\n", out
    holder.kill()
    holder.wait()
    kernel.await_true("the lab to go", lambda: not left(NAME), PATIENCE)


CASES = [runs, orphans, requeue, lost, beside, command]


def main():
    try:
        check_machine()
        check_programs()
    except LabError as e:
        skip_all(e)
    if "cgroup" not in proctracks():
        skip_part("cgroup", "no freezer of control groups version 1 here")
    run(CASES, sys.argv[1:])


main()
