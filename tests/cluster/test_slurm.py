# SPDX-License-Identifier: Apache-2.0
"""test_slurm.py BUILD SOURCE [CASE ...] - jobs inside allocations of a real Slurm, on hosts of tests/lab.

salloc's shell is on `login`, which is no node of Slurm's; a batch script is on its first node.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

from cases import run
from job import Job
from known import shows_gpus
from lab import HOME, LOGIN
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD = os.path.realpath(sys.argv[1])
RUN = os.path.join(BUILD, "cmd/eddis-run")
TRAIN = os.path.join(BUILD, "cmd/eddis-train")
LEASE = 3
DATA = "0,1,2\n1,2,1\n" * 200

# What a rank knows of where it is, one line each.
TELL = """#!/bin/sh
echo "$RANK $SLURMD_NODENAME job=$SLURM_JOB_ID proc=$SLURM_PROCID step=$SLURM_STEP_ID tasks=$SLURM_NTASKS \
cuda=$CUDA_VISIBLE_DEVICES mine=$MINE" >>$1
"""


TOLD = [HOME + "/shared/tell", HOME + "/shared/told"]


def there(*words):
    """The words that run these in the folder that all hosts share."""
    return ["/bin/sh", "-c", 'cd ~/shared && exec "$@"', "sh", *words]


class Site(SlurmCluster):
    OURS = SlurmCluster.OURS + ("tell",)

    def __enter__(self):
        super().__enter__()
        self.write("tell", TELL, 0o755)
        self.write("data.csv", DATA)
        return self

    def eddis(self, *words):
        """The words of an eddis-run whose job is in the shared folder, and where that is."""
        self.jobs += 1
        place = f"{HOME}/shared/job-{self.jobs}"
        return [RUN, "--job-dir", place, "--set", f"timeouts.lease={LEASE}s", "--set", f"timeouts.node_lost={2 * LEASE}s",
                "-n1", *words], f"{self.shared}/job-{self.jobs}"

    def told(self):
        """What the ranks of the last job have told, {rank: {what: value}}, with their nodes."""
        found = {}
        for line in self.read("told").splitlines():
            rank, node, *words = line.split()
            found[int(rank)] = {"node": node, **dict(word.split("=", 1) for word in words)}
        os.remove(self.shared + "/told")
        return found

    def salloc(self, asked, words, **more):
        return self.run(LOGIN, there("salloc", "--quiet", *asked, *words), **more)

    def check_nothing_left(self, seconds=PATIENCE, only=None):
        super().check_nothing_left(seconds)
        wait_for("Slurm's steps to be over", lambda: not self.steps(), seconds)
        self.slurm.await_idle()


class Training(Job):
    """eddis-run in an allocation of salloc's, which trains until it is ended."""

    def __init__(self, c, asked=("-N4",), every="0", resume=None, more=()):
        """every: steps between checkpoints; resume: go on with this job, a Training; more: options."""
        job = ["--resume", resume.place] if resume else [
            "--set", f"checkpoint.every={every}", "--set", f"checkpoint.dir={HOME}/shared/checkpoints",
            "--set", "profile.emulate=[{rate: 1, a_ms: 20, c_ms: 1}]", "--set", "batch.global=80", *more,
            "--", TRAIN, "--data", HOME + "/shared/data.csv", "--test", "10", "--epochs", "1000000", "--quiet"]
        words, self.dir = c.eddis(*job)
        self.c, self.place = c, words[2]
        self.process = c.lab.popen(LOGIN, there("salloc", "--quiet", *asked, *words), cwd="/", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        wait_for("all to train", self.trains)

    def __enter__(self):
        return self

    def __exit__(self, kind, *ignored):
        if kind:
            print(self.events()[-20:], self.c.ours(), flush=True)
        for pid in self.pids("eddis-run"):
            os.kill(pid, signal.SIGKILL)
        self.process.terminate()
        self.process.communicate()

    def status(self):
        p = self.c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-status"), self.place + "/", "--once", "--json"])
        return json.loads(p.stdout) if p.returncode == 0 else {}

    def trains(self, generation=1):
        s = self.status()
        return s.get("state") == "running" and s["generation"] == generation and s["workers"] and all(w["steps_done"] > 0 for w in s["workers"])

    def pids(self, program, host=LOGIN):
        return self.c.pids(host, program)

    def end(self):
        """By Ctrl-C, once; returns the exit code."""
        os.kill(self.pids("eddis-run")[0], signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        self.out, self.err = out, err
        return self.process.returncode


def interactive(c):
    """From salloc's shell on all nodes; the ranks are no tasks of the agents' step."""
    words, place = c.eddis("--", *TOLD)
    p = c.salloc(["-N4"], words)
    assert p.returncode == 0, p
    told = c.told()
    assert [told[r]["node"] for r in range(4)] == ["node1", "node2", "node3", "node4"], told
    assert all(t["job"].isdecimal() and not t["proc"] + t["step"] + t["tasks"] for t in told.values()), told
    with open(place + "/job.yaml") as f:
        assert "[node1, node2, node3, node4]" in f.read()
    c.check_nothing_left()


def batch(c):
    """In a batch script, on its first node, with variables for srun that eddis does not follow."""
    words, _ = c.eddis("-H", "node4,node1,node3", "--", *TOLD)
    c.write("job.sh", "#!/bin/sh\nexport SLURM_EXACT=1 SLURM_DISTRIBUTION=arbitrary SLURM_LABELIO=0 SLURM_STDINMODE=none "
                      f"SLURM_NTASKS=9 SLURM_HINT=nomultithread\nexec {' '.join(words)}\n")
    p = c.run(LOGIN, there("sbatch", "-N4", "-c2", "--ntasks-per-node=2", "--wait", "-o", "out", "job.sh"))
    assert p.returncode == 0, (p, c.read("out"))
    told = c.told()
    assert [told[r]["node"] for r in range(3)] == ["node4", "node1", "node3"] and len(told) == 3, told
    c.check_nothing_left()


def groups(c):
    """A heterogeneous job: a step each group.  Each node has the devices that Slurm gives it there."""
    words, _ = c.eddis("-x", "MINE=1", "--", *TOLD)
    p = c.salloc(["-N1", "-w", "node1", ":", "-N2", "-w", "node2,node3", ":", "-N1", "-w", "node4"],
                 ["env", "CUDA_VISIBLE_DEVICES=7", *words])
    assert p.returncode == 0, p
    told = c.told()
    assert [told[r]["node"] for r in range(4)] == ["node1", "node2", "node3", "node4"], told
    assert all(t["cuda"] == "" and t["mine"] == "1" for t in told.values()), told
    c.check_nothing_left()
    # Slurm's GPUs are no GPUs: where the machine shows none, the nodes train on their CPUs.
    emulated = ["--set", "profile.emulate=[{rate: 1, a_ms: 20, c_ms: 1}]"] if shows_gpus() else []
    words, _ = c.eddis(*emulated, "--", *TOLD)
    p = c.salloc(["-N1", "-w", "node1", ":", "-N1", "-w", "node2", "--gres=gpu:2"], words)
    assert p.returncode == 0, p
    told = c.told()
    assert [told[r]["cuda"] for r in range(2)] == ["", "0,1"], told
    c.check_nothing_left()


def step(c):
    """Inside a step its nodes are those of the job, and only its first task starts anything."""
    words, _ = c.eddis("--", *TOLD)
    p = c.salloc(["-N3"], ["srun", "--overlap", "-N2", "-n2", "--ntasks-per-node=1", *words])
    told = c.told()
    assert [told[r]["node"] for r in range(2)] == ["node1", "node2"] and len(told) == 2, told
    assert "this is task 1 of a step" in p.stderr and p.returncode == 2, p
    c.check_nothing_left()


def outside(c):
    """Other nodes than the allocation's are refused in one sentence, wherever they are named."""
    c.write("hosts", "node1\nnode9\n")
    c.write("train.yaml", "command: 'true'\nnodes: [node2, login]\n")
    for words, sentence in ((["-H", "node1,node3", "--", "true"], '-H: node "node3"'),
                            (["--hostfile", "hosts", "--", "true"], '--hostfile: node "node9"'),
                            (["train.yaml"], 'train.yaml:2: node "login"')):
        eddis, place = c.eddis(*words)
        p = c.salloc(["-N2", "-w", "node1,node2"], eddis)
        assert p.returncode == 2, p
        line, = [line for line in p.stderr.splitlines() if line.startswith("eddis-run: ")]
        assert sentence in line and "is not in the Slurm allocation" in line and "node1,node2; name" in line, p.stderr
        assert not os.path.exists(place)
    c.check_nothing_left()


def no_eddis(c):
    """What cannot be started is said, and nothing stays."""
    c.write("train.yaml", "command: 'true'\nnodes: [node1, {host: node2, eddis: /nowhere}]\n")
    eddis, _ = c.eddis("train.yaml")
    p = c.salloc(["-N2"], eddis)
    assert p.returncode == 3 and "no eddis at '/nowhere' on node2" in p.stderr, p
    c.check_nothing_left()


def srun_of(t):
    """Its process and the one beside it, in a group of their own."""
    first, beside = sorted(t.pids("srun"))
    assert os.getpgid(first) == os.getpgid(beside) == os.getsid(first) == first
    return first


def srun_killed(c):
    """The step ends at once with all ranks; the job goes on in another one, or more."""
    with Training(c) as t:
        step = c.steps()
        os.kill(srun_of(t), signal.SIGKILL)
        wait_for("the step to end", lambda: not set(step) & set(c.steps()))
        wait_for("the next generation to train", lambda: t.trains(2))
        assert t.end() == 130, (t.out, t.err)
    c.check_nothing_left()


def group_killed(c):
    """The step lives on, and the job with it; at its end the step ends, too."""
    with Training(c) as t:
        os.killpg(srun_of(t), signal.SIGKILL)
        wait_for("the driver to see it", lambda: t.events("session_ended"))
        assert not t.pids("srun") and t.trains(1)
        assert t.end() == 130, (t.out, t.err)
    c.check_nothing_left()


def seen_by_all(c):
    """Files of nodes in folders of checkpoints, by which they have seen that they share these."""
    folders = [os.path.join(c.shared, "checkpoints", name) for name in os.listdir(c.shared + "/checkpoints")]
    return [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)
            if re.fullmatch(r"\.[0-9a-f]{32}-\d+", name)]


def driver_killed(c):
    """No process outlives a lease, whoever of those who would end the step was killed first; folders of which Slurm has killed
    keeper and agent in one moment go with the next start there.  What is not on a node has gone before."""
    for more in ("", "srun", "group"):
        with Training(c) as t:
            srun = srun_of(t)
            os.kill(t.pids("eddis-run")[0], signal.SIGSTOP)
            if more == "group":
                os.killpg(srun, signal.SIGKILL)
            elif more:
                os.kill(srun, signal.SIGKILL)
            os.kill(t.pids("eddis-run")[0], signal.SIGKILL)
            t.process.communicate(timeout=PATIENCE)
        wait_for("all processes to end", lambda: not c.ours() and not c.steps())
        assert not seen_by_all(c), seen_by_all(c)
    words, _ = c.eddis("--", "true")
    p = c.salloc(["-N4"], words)
    assert p.returncode == 0, p
    c.check_nothing_left()


def node_again(c):
    """A node whose keeper and agent were killed comes back by a step of its own."""
    with Training(c, ["-N2"]) as t:
        for pid in [t.pids(program, "node2")[0] for program in ("eddis-keeper", "eddis-agent")]:
            os.kill(pid, signal.SIGKILL)
        wait_for("the next generation to train", lambda: t.trains(2))
        wait_for("another step", lambda: len(c.steps()) == 2)
        wait_for("its agent", lambda: t.pids("eddis-agent", "node2"))
        assert t.end() == 130, (t.out, t.err)
    c.check_nothing_left()


def resumed(c):
    """A job goes on in another allocation, on the nodes of that; those that it named keep their settings."""
    nodes = ["--set", "nodes=[node1, {host: node2, env: {OF: node2}}]"]
    with Training(c, ["-N2", "-w", "node1,node2"], every="10", more=nodes) as first:
        assert first.end() == 130, (first.out, first.err)
    with Training(c, ["-N3", "-w", "node2,node3,node4"], resume=first) as t:
        assert [w["node"] for w in t.status()["workers"]] == ["node2", "node3", "node4"], t.status()
        assert t.status()["plans"][0]["since"] > 0, t.status()
        assert "nodes: [{host: node2, env: {OF: node2}}, node3, node4]" in t.file("job.yaml")
        assert t.end() == 130, (t.out, t.err)
    c.check_nothing_left()


def stranger(c):
    """Who tries secrets to join by is refused late, and counted; the job goes on."""
    with Training(c, ["-N2"]) as t:
        listening = c.run(LOGIN, "ss -ltnpH").stdout.splitlines()
        door, = [line.split()[3] for line in listening  # salloc's own is inherited
                 if "eddis-run" in line and not line.split()[3].startswith(("127.0.0.1:", "0.0.0.0:"))]
        body = json.dumps({"node": "node1", "nonce": "0" * 32})
        for number in range(6):  # of the agents, of a node alone, of the group, of nobody
            began = time.monotonic()
            p = c.run("node4", ["curl", "-sk", "-m", "60", "-d", body, "-H", f"Authorization: Bearer {number:08x}{'a' * 56}",
                                "-w", "%{http_code}", f"https://{door}/v1/join"])
            assert p.stdout == '{"error":"not authorised"}401', p
            assert time.monotonic() - began >= 1
        assert t.trains(1)
        s = t.status()
        assert s["refused"] == f"6 refused requests from {c.lab.state()['hosts']['node4']['addresses'][0]}", s["refused"]
        assert t.end() == 130, (t.out, t.err)
    c.check_nothing_left()


def revoked(c):
    """An allocation that somebody has cancelled is gone with its nodes: they are not started again and again."""
    with Training(c, ["-N2"]) as t:
        job = max(map(int, c.queue()))
        c.slurm.ask("scancel", str(job))
        said = "".join(t.process.communicate(timeout=PATIENCE))
        assert said.count(f"Slurm's job {job} has ended") <= 1, said
        again = t.events("start_failed")
        assert len(again) <= 2, again
    wait_for("all processes to end", lambda: not c.ours() and not c.steps())
    c.run(LOGIN, [RUN, "--cleanup", t.place + "/"])  # for Slurm gives agents a moment only
    c.check_nothing_left()


CASES = [interactive, batch, groups, step, outside, no_eddis, srun_killed, group_killed, driver_killed, node_again, resumed,
         stranger, revoked]

skip_without_slurm()
with Site(4, build=BUILD, slurm={"gres": {"node2": "gpu:2"}}) as c:
    run(CASES, sys.argv[3:], c)
