# SPDX-License-Identifier: Apache-2.0
"""slurm_cluster.py - a cluster of tests/lab with a real Slurm on it, for the tests of jobs under Slurm.

    with SlurmCluster(4, build=BUILD, features={"node1": "a100"}) as c:
        c.write("train.yaml", "command: hostname\n")
        p = c.run("login", "cd ~/shared && eddis-sbatch train.yaml --wait")

A job's files lie in ~/shared, which all hosts see; eddis's programs are in PATH.
"""

import os
import re
import subprocess

from cases import skip_all
from lab import LOGIN, Cluster, comm, command_line, hosts, skip_unless_possible
from node import PATIENCE, wait_for
import slurmlab


def skip_without_slurm():
    skip_unless_possible()
    try:
        slurmlab.check_programs()
    except hosts.LabError as e:
        skip_all(e)


class SlurmCluster(Cluster):
    OURS = ("eddis-run", "eddis-keeper", "eddis-agent", "eddis-rank", "eddis-train", "srun", "mpirun", "orted")

    def __init__(self, nodes, build=None, name=None, slurm=None, **more):
        """slurm: arguments of slurmlab.Slurm."""
        super().__init__(nodes, build, name, **more)
        self.asked = slurm or {}

    def __enter__(self):
        super().__enter__()
        try:
            self.slurm = slurmlab.Slurm(self.lab, **self.asked)
            self.slurm.up()
        except BaseException:
            self.lab.down()
            raise
        return self

    def environ(self, first="", **more):
        """With eddis's programs in PATH; first: a folder before them, and a colon."""
        return {"PATH": f"{first}{self.build}/cmd:{os.environ['PATH']}", **more}

    def sh(self, command, host=LOGIN, env=None, seconds=PATIENCE):
        """The completed process of a line of shell in ~/shared."""
        return self.run(host, "cd ~/shared && " + command, env=self.environ(**(env or {})), timeout=seconds)

    def begin(self, command, env=None, **more):
        """A running program of a line of shell in ~/shared of the login host; all that it says is one text each."""
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
        words = ["/bin/sh", "-c", "cd ~/shared && exec " + command]
        return self.lab.popen(LOGIN, words, env=env or self.environ(), **more)

    # ---- what is on the hosts ----

    def ours(self):
        """[(host, pid, command line)] of eddis's processes and of those that it starts."""
        names = [name[:15] for name in self.OURS]
        return [(h, p, command_line(p)) for h in self.hosts for p in self.lab.processes(h) if comm(p) in names]

    def left(self, only=None):
        """Processes and folders of jobs; Slurm's own daemons stay."""
        found = [f"{h}: {line}" for h, _, line in self.ours()]
        for h in self.hosts:
            for top in ("/tmp", "/dev/shm"):
                found += [f"{h}: {top}/{name}" for name in os.listdir(self.path(h, top)) if name.startswith("eddis-")]
        return found

    def of_job(self, job, names=OURS):
        """[(host, pid)] of a job's processes on its nodes that have these names."""
        found = []
        for host in self.nodes:
            for pid in (pid for name in names for pid in self.pids(host, name)):
                try:
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        if f"SLURM_JOB_ID={job}".encode() in f.read().split(b"\0"):
                            found.append((host, pid))
                except OSError:
                    pass
        return found

    # ---- Slurm's view ----

    def queue(self):
        """Numbers of the jobs that wait or run."""
        return self.slurm.ask("squeue", "-h", "-o", "%A").split()

    def steps(self):
        """Numbers of the steps that run."""
        return self.slurm.ask("squeue", "-s", "-h", "-o", "%i").split()

    def job_field(self, job, name):
        """Of scontrol show job, "JobState"; of a heterogeneous job's first component."""
        found = re.search(rf"\b{name}=(\S*)", self.slurm.ask("scontrol", "-o", "show", "job", str(job)))
        return found[1] if found else None

    def await_state(self, job, *states):
        wait_for(f"job {job} to be {' or '.join(states)}", lambda: self.job_field(job, "JobState") in states)

    def run_out(self, job, text):
        """Have the time limit of a job of an hour come near, of which Slurm is to warn by USR1@300, and wait until it is
        put back with the hour.  text(): what it has printed so far."""
        wait_for(f"steps of job {job}", lambda: "\nepoch " in text())  # else it has nothing to save
        self.slurm.ask("scontrol", "update", f"JobId={job}", "EndTime=now+300seconds")
        wait_for(f"job {job} to be put back", lambda: f"job {job} is back in Slurm's queue" in text() or str(job) not in self.queue())
        self.slurm.ask("scontrol", "update", f"JobId={job}", "TimeLimit=60")
        assert f"job {job} is back in Slurm's queue" in text(), text()

    def await_end(self, job):
        """Until it has ended; what its script has printed where it was told nothing else."""
        self.await_state(job, "COMPLETED", "FAILED")
        return self.read(f"slurm-{job}.out")

    def cancel_all(self):
        self.sh("scancel -u root")
        self.await_empty()

    def await_empty(self):
        wait_for("the queue to be empty", lambda: not self.queue())
