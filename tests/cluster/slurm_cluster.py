# SPDX-License-Identifier: Apache-2.0
"""slurm_cluster.py - a cluster of tests/lab with a real Slurm on it, for the tests of jobs under Slurm.

    with SlurmCluster(4, build=BUILD, features={"node1": "a100"}) as c:
        c.write("train.yaml", "command: hostname\n")
        p = c.run("login", "cd ~/shared && eddis-sbatch train.yaml --wait")

A job's files lie in ~/shared, which all hosts see; eddis's programs are in PATH.
"""

import os
import re

from cases import skip_all
from lab import LOGIN, Cluster, hosts, skip_unless_possible
from node import PATIENCE, wait_for
import slurmlab


def skip_without_slurm():
    skip_unless_possible()
    try:
        slurmlab.check_programs()
    except hosts.LabError as e:
        skip_all(e)


class SlurmCluster(Cluster):
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

    def sh(self, command, host=LOGIN, env=None, seconds=PATIENCE):
        """The completed process of a line of shell in ~/shared."""
        env = {"PATH": os.path.join(self.build, "cmd") + ":" + os.environ["PATH"], **(env or {})}
        return self.run(host, "cd ~/shared && " + command, env=env, timeout=seconds)

    # ---- Slurm's view ----

    def queue(self):
        """Numbers of the jobs that wait or run."""
        return self.slurm.ask("squeue", "-h", "-o", "%A").split()

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

    def await_empty(self):
        wait_for("the queue to be empty", lambda: not self.queue())
