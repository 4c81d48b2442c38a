# SPDX-License-Identifier: Apache-2.0
"""test_slurm_signals.py BUILD SOURCE [CASE ...] - how jobs under a real Slurm end by its signals: saved, and with nothing left.

Slurm knows a job's processes by control groups, and then signals the first process of each step alone, or by who is
whose child, and then signals all: a cluster of each kind has the same jobs.
"""

import contextlib
import json
import os
import re
import signal
import sys

import cases
from lab import HOME, hosts
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm
from slurmlab import PROCTRACKS

BUILD = os.path.realpath(sys.argv[1])
KILL_WAIT = 2 * PATIENCE  # who is to be gone before is gone by itself
LEASE = 60  # a busy machine has kept a driver from moving for 10 s
DATA = "0,1,2\n1,2,1\n" * 200

# When Slurm starts the job again it comes to no step.
TRAIN = """\
#!/bin/sh
[ -z "$SLURM_RESTART_COUNT" ] || { touch late; exec sleep 1000; }
exec eddis-train --data data.csv --test 10 --epochs 1000000 --quiet
"""
RUN = f"""\
eddis-run --job-dir {HOME}/shared/%s -n1 --restarts 0 --set timeouts.lease=%ss --set checkpoint.dir={HOME}/shared/%s.saved \\
    --set checkpoint.every=5 --set 'profile.emulate=[{{rate: 1, a_ms: 20, c_ms: 1}}]' --set batch.global=80 \\
    --set slurm.requeue=${{REQUEUE:-auto}} -- sh train"""

# Of jobs that end by it.
SHORT_LEASES = {"script_killed": 10}

EXEC = "#!/bin/sh\nexec %s\n"
# As eddis-slurm(7) has it.
IGNORES = "#!/bin/sh\ntrap '' TERM USR1\n%s\nrc=$?\necho \"ended with $rc\"\nexit $rc\n"
EXPOSED = "Slurm's signals may end the batch script"
PLAIN = "#!/bin/sh\n%s\necho after\n"

# Script and options of sbatch.
JOBS = {
    "cancelled": (EXEC, ""),
    "cancelled_script": (IGNORES, ""),
    "warned": (EXEC, ""),
    "all_warned": (IGNORES, ""),
    "time_limit": (EXEC, "--time=60"),
    # With a user's own form of times, which the driver does not read.
    "time_limit_warned": ("#!/bin/sh\nexport SLURM_TIME_FORMAT=relative\nexec %s\n", "--time=60 --signal=B:USR1@30"),
    "script_killed": (PLAIN, ""),
    "time_limit_script": (IGNORES, "--time=60 --signal=USR1@30"),
    "rank_killed": (EXEC, ""),
    "put_back": ("#!/bin/sh\nREQUEUE=on\nexec %s\n", "--requeue --open-mode=append"),
    "preempted": (EXEC, "--exclusive"),
}

# Slurm looks at the limits twice a minute: it is told of these before all else, and what it has done is seen last.
ENDS = {"time_limit": "now+1seconds", "time_limit_warned": "now+60seconds",
        "time_limit_script": "now+60seconds"}


def run_of(name):
    return RUN % (name, SHORT_LEASES.get(name, LEASE), name)


class Site(SlurmCluster):
    def __init__(self, proctrack):
        super().__init__(2, build=BUILD, slurm={
            "proctrack": proctrack, "cpus": 16, "kill_wait": int(KILL_WAIT),
            "conf": ["PreemptType=preempt/partition_prio", "PreemptMode=CANCEL",
                     "PartitionName=urgent Nodes=node1,node2 PriorityTier=9"]})
        self.job = {}

    def submit(self, name):
        script, options = JOBS[name]
        self.write(name + ".sh", script % run_of(name))
        p = self.sh(f"sbatch --parsable -N2 -o {name}.out {options} {name}.sh")
        assert p.returncode == 0, p
        self.job[name] = p.stdout.strip()

    def saved(self, name):
        """Steps of the whole checkpoints."""
        found = []
        for _, folders, _ in os.walk(f"{self.shared}/{name}.saved"):
            found += [int(one[5:]) for one in folders if re.fullmatch(r"step-\d+", one)]
        return sorted(found)

    def await_training(self, name):
        wait_for(f"a checkpoint of {name}", lambda: self.saved(name))

    def await_gone(self, name):
        wait_for(f"the end of {name}", lambda: self.job[name] not in self.queue())

    def summary(self, name):
        return json.loads(self.read(name + "/summary.json"))


def check_saved(c, name, signals="SIGTERM", where="( on node[12])?", code=75, limit=False):
    """The newest checkpoint is of the step at which the job was stopped, and the summary says by what."""
    c.await_gone(name)
    s = c.summary(name)
    by = rf"({signals}){where}"
    by = rf"Slurm's time limit \({by}\)" if limit else by
    told = re.fullmatch(rf"stopped by {by} at step (\d+); newest checkpoint: step (\d+); continue with .*",
                        s["message"])
    assert told and told.groups()[-2] == told.groups()[-1], (name, s["message"], c.read(name + ".out"))
    assert c.saved(name)[-1] == int(told.groups()[-1]), (name, c.saved(name), s["message"])
    assert (s["reason"], s["exit_code"]) == ("preempted", code), (name, s)


def cancelled(c):
    c.sh(f"scancel {c.job['cancelled']}")
    check_saved(c, "cancelled")
    assert EXPOSED not in c.read("cancelled.out"), c.read("cancelled.out")


def cancelled_script(c):
    """eddis-run is a child of the script, which lives on to see it end."""
    c.sh(f"scancel {c.job['cancelled_script']}")
    check_saved(c, "cancelled_script")
    out = c.read("cancelled_script.out")
    assert out.endswith("ended with 75\n") and EXPOSED not in out, out
    assert c.job_field(c.job["cancelled_script"], "ExitCode") == "75:0"


def warned(c):
    c.sh(f"scancel --batch --signal=USR1 {c.job['warned']}")
    check_saved(c, "warned", "SIGUSR1", where="")
    assert c.job_field(c.job["warned"], "ExitCode") == "75:0"


def all_warned(c):
    """To every process of the steps, as --signal=USR1@N has it; not to the script."""
    c.sh(f"scancel --signal=USR1 {c.job['all_warned']}")
    check_saved(c, "all_warned", "SIGUSR1", where=" on node[12]")
    assert c.read("all_warned.out").endswith("ended with 75\n")


def rank_killed(c):
    """From anybody else the same signal ends a worker at once."""
    _, rank = c.of_job(c.job["rank_killed"], ["eddis-train"])[0]
    os.kill(rank, signal.SIGTERM)
    c.await_gone("rank_killed")
    s = c.summary("rank_killed")
    assert (s["reason"], s["exit_code"]) == ("rank_signal", 143), s


def script_killed(c):
    """Without trap and exec the script dies, and with control groups eddis-run is killed with it: agents that have had
    SIGTERM stay for a lease, and no longer."""
    c.sh(f"scancel {c.job['script_killed']}")
    wait_for("what is told of it", lambda: EXPOSED in c.read("script_killed.out"))
    if c.slurm.proctrack == "linuxproc":  # it is nobody's child then
        wait_for("the summary", lambda: os.path.exists(c.shared + "/script_killed/summary.json"))
        check_saved(c, "script_killed")
        return
    c.await_gone("script_killed")
    assert not os.path.exists(c.shared + "/script_killed/summary.json")
    told = c.read("script_killed/logs/agent.log")
    assert "SIGTERM from" in told and "the driver is lost" in told, told


def time_limit(c):
    check_saved(c, "time_limit", limit=True)
    assert c.job_field(c.job["time_limit"], "JobState") == "TIMEOUT"


def time_limit_warned(c):
    check_saved(c, "time_limit_warned", "SIGUSR1", where="", limit=True)
    assert c.job_field(c.job["time_limit_warned"], "ExitCode") == "75:0"


def time_limit_script(c):
    check_saved(c, "time_limit_script", "SIGUSR1", where=" on node[12]", limit=True)
    assert c.read("time_limit_script.out").endswith("ended with 75\n")


def preempted(c):
    c.write("urgent.sh", "#!/bin/sh\n")
    p = c.sh("sbatch --wait -N1 -p urgent --exclusive urgent.sh")
    assert p.returncode == 0, p
    check_saved(c, "preempted")


def put_back(c):
    """A start that is told to end before its first step has saved nothing: put back, it would come back for ever."""
    job = c.job["put_back"]
    c.sh(f"scancel --batch --signal=USR1 {job}")
    wait_for("the next start", lambda: os.path.exists(c.shared + "/late"))
    assert f"job {job} is back in Slurm's queue" in c.read("put_back.out"), c.read("put_back.out")
    c.sh(f"scancel --batch --signal=USR1 {job}")
    c.await_gone("put_back")
    newest = c.saved("put_back")[-1]
    out = c.read("put_back.out")
    assert f"saved no checkpoint newer than step {newest}, so it is not requeued" in out, out
    assert (c.job_field(job, "Restarts"), c.job_field(job, "ExitCode")) == ("1", "75:0")


def interactive(c):
    """eddis-run is in no step at all: its agents tell it."""
    words = run_of("interactive").replace("\\\n", "")
    p = c.begin(f"salloc -N2 {words} >interactive.out 2>&1", cwd="/", start_new_session=True)
    c.await_training("interactive")
    c.job["interactive"] = re.search(r"Granted job allocation (\d+)", c.read("interactive.out"))[1]
    c.sh(f"scancel {c.job['interactive']}")
    wait_for("the end of salloc", lambda: p.poll() is not None)
    check_saved(c, "interactive", "SIGTERM|SIGHUP")


def unblocked(c):
    """What eddis blocks in a step is not blocked, nor ignored, in what it starts."""
    p = c.sh(f"salloc --quiet -N2 eddis-run --job-dir {HOME}/shared/unblocked -n1 -- grep -E '^Sig(Blk|Ign):' /proc/self/status")
    assert p.returncode == 0, p
    for rank in (0, 1):
        masks = c.read(f"unblocked/logs/rank-{rank:04}.log").split()
        assert [masks[i] for i in (0, 2)] == ["SigBlk:", "SigIgn:"] and not int(masks[1], 16) + int(masks[3], 16), masks


def nothing_left(c):
    wait_for("the queue to be empty", lambda: not c.queue())
    wait_for("nothing to be left", lambda: not c.left())
    assert not c.steps(), c.steps()


CASES = [unblocked, interactive, cancelled, cancelled_script, warned, all_warned, rank_killed, script_killed, time_limit,
         time_limit_warned, time_limit_script, put_back, preempted, nothing_left]


def train(sites, *names):
    """Have jobs of both clusters train, side by side.  One begins after the other: the first measures the network, which
    it cannot while others do, where the machine is busy."""
    for name in names:
        for c in sites:
            c.submit(name)
        for c in sites:
            c.await_training(name)


# In one cluster alone.
ONCE = ("put_back",)


def of_both(case):
    """The case in each cluster, by turns."""
    def both(sites):
        sites = sites[:1] if case.__name__ in ONCE else sites
        if case.__name__ in JOBS and case.__name__ not in ENDS:
            train(sites, case.__name__)
        for c in sites:
            print(f"{case.__name__} with proctrack/{c.slurm.proctrack}", flush=True)
            case(c)
    return both


def end_soon(sites, names):
    train(sites, *names)
    for c in sites:
        for name in names:
            p = c.sh(f"scontrol update JobId={c.job[name]} EndTime={ENDS[name]}")
            assert p.returncode == 0, p


def open_sites(stack):
    sites = []
    for proctrack in PROCTRACKS:
        try:
            sites.append(stack.enter_context(Site(proctrack)))
        except hosts.LabError as e:
            if not e.cannot:
                raise
            cases.skip_part(proctrack, e)
    if not sites:
        cases.skip_all("no Slurm starts here")
    return sites


def main():
    skip_without_slurm()
    wanted = sys.argv[3:] or [case.__name__ for case in CASES]
    with contextlib.ExitStack() as stack:
        sites = open_sites(stack)
        for c in sites:
            c.write("data.csv", DATA)
            c.write("train", TRAIN)
        end_soon(sites, [name for name in ENDS if name in wanted])
        cases.run({case.__name__: of_both(case) for case in CASES}, wanted, sites)


main()
