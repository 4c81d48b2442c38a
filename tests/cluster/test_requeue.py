# SPDX-License-Identifier: Apache-2.0
"""test_requeue.py - jobs that a real Slurm puts back into its queue go on where they were.

Usage: test_requeue.py BUILD SOURCE [CASE...]
"""

import os
import re
import signal
import subprocess
import sys
from collections import Counter

import cases
from lab import HOME
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])

# Two workers, whose sums are the same to the last bit in whatever order they are taken.
TRAIN = f"""\
name: digits
command: [sh, -c, "exec eddis-train --data {SOURCE}/examples/digits/digits.csv --epochs 5 --quiet --save final-$SLURM_ARRAY_TASK_ID"]
batch: {{global: 96, rebalance: off}}
sync: {{mode: sync}}
profile: {{emulate: [{{rate: 1, a_ms: 20, c_ms: 0.5}}]}}
checkpoint: {{dir: checkpoints, every: 5}}
communication: {{wire: float32}}
timeouts: {{checkpoint: 20s}}
"""
WAITS = "command: [sh, -c, 'touch up; test -e once && exit 0; touch once; exec sleep 1000']\n" \
        "checkpoint: {dir: checkpoints}\nslurm: {requeue: on}\n"


# Partitions of a node that most cases need not.
PREEMPTS = ["PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE",
            "PartitionName=low Nodes=node6 PreemptMode=REQUEUE GraceTime=60",
            "PartitionName=high Nodes=node6 PriorityTier=10 PreemptMode=OFF"]


def steps(c, name):
    """Of the whole checkpoints of a job that Slurm may put back."""
    try:
        found = os.listdir(f"{c.shared}/checkpoints/{name}")
    except FileNotFoundError:
        return []
    return sorted(int(one[5:]) for one in found if re.fullmatch(r"step-\d+", one))


def await_step(c, name, above):
    try:
        wait_for(f"a checkpoint above step {above} of {name}", lambda: any(s > above for s in steps(c, name)))
    except AssertionError:
        outputs = [c.read(name) for name in os.listdir(c.shared) if name.endswith(".out")]
        print(c.slurm.ask("squeue", "-l"), *outputs, sep="\n", flush=True)
        raise


def await_restart(c, job, number):
    wait_for(f"restart {number} of job {job}", lambda: c.job_field(job, "Restarts") == str(number) and
             c.job_field(job, "JobState") in ("RUNNING", "COMPLETED"))


def submitted(c, words):
    """The number of a job of eddis-sbatch."""
    p = c.sh(f"eddis-sbatch --parsable {words}")
    assert p.returncode == 0, p
    return p.stdout.strip()


def submit(c, text, options="", name="train.yaml"):
    c.write(name, text)
    return submitted(c, f"{name} {options}")


def folders(c, job):
    """Of the jobs of eddis that were starts of a job of Slurm's, on whichever node."""
    found = set()
    for host in c.hosts:
        jobs = c.path(host, "~/.local/state/eddis/jobs")
        for name in os.listdir(jobs) if os.path.isdir(jobs) else []:
            link = f"{jobs}/{name}/checkpoints"
            if os.path.islink(link) and os.readlink(link).endswith(f"-{job}"):
                found.add(name)
    return found


def goes_on(c):
    """Of an array one task is warned of its end, saves and puts itself back, and is put back from outside then: it trains
    every sample once, for its parameters are those of the task beside it."""
    array = submit(c, TRAIN, "-N2 --array=1-2 -o array-%a.out --set slurm.requeue=on")
    one, other = f"{array}_1", f"{array}_2"
    name = f"slurm-{c.lab.name}-{one}"
    await_step(c, name, 0)
    c.sh(f"scancel --batch --signal=USR1 {one}")
    await_restart(c, one, 1)
    out = c.read("array-1.out")
    told = re.search(r"stopped by SIGUSR1 at step (\d+); newest checkpoint: step (\d+)", out)
    assert told and told[1] == told[2], out
    assert f"job {one} is back in Slurm's queue" in out, out
    await_step(c, name, int(told[1]))
    assert f"continues from step {told[1]} ({HOME}/shared/checkpoints/{name}/step-{int(told[1]):08})" in c.read("array-1.out")
    saved = steps(c, name)[-1]
    c.sh(f"scontrol requeue {one}")
    await_restart(c, one, 2)
    c.await_state(one, "COMPLETED", "FAILED")
    c.await_state(other, "COMPLETED", "FAILED")
    out = c.read("array-1.out")
    starts = [int(step) for step in re.findall(r"continues from step (\d+) ", out)]
    assert starts[0] == int(told[1]) and starts[1] >= saved and "done in" in out, out
    assert c.job_field(other, "Restarts") == "0" and "continues from" not in c.read("array-2.out")
    with open(c.shared + "/final-1", "rb") as f, open(c.shared + "/final-2", "rb") as g:
        assert f.read() == g.read(), "not what one start has trained"
    fence = c.read(f"checkpoints/{name}/.generation").splitlines()
    assert fence[1:3] == [f"job {name}", "generation 2001"], fence
    assert len(folders(c, one)) == 3 and len(folders(c, other)) == 1, folders(c, one)


def begins_anew(c):
    """A restart that finds nothing says so; each start has the folder of its own that was asked for."""
    c.write("train.yaml", WAITS)
    c.write("job.sh", f"#!/bin/sh\nexec eddis-run --job-dir {HOME}/shared/job train.yaml\n")
    job = c.sh("sbatch --parsable --requeue --open-mode=append job.sh").stdout.strip()
    wait_for("the job to be up", lambda: os.path.exists(c.shared + "/up"))
    c.sh(f"scontrol requeue {job}")
    await_restart(c, job, 1)
    out = c.await_end(job)
    assert f"restart 1 of Slurm's job {job}" in out and "training starts from the beginning" in out and "done in" in out, out
    for folder in ("job", "job.1"):
        assert os.path.exists(f"{c.shared}/{folder}/summary.json"), folder


def forbidden(c):
    """What may not be put back, or was cancelled, stays saved."""
    job = submit(c, TRAIN, "--no-requeue --set slurm.requeue=on")
    await_step(c, f"slurm-{c.lab.name}-{job}", 0)
    c.sh(f"scancel --batch --signal=USR1 {job}")
    c.await_state(job, "FAILED")
    assert c.job_field(job, "ExitCode") == "75:0", c.job_field(job, "ExitCode")
    out = c.read(f"slurm-{job}.out")
    line, = [line for line in out.splitlines() if line.startswith("eddis-run: ")][-1:]
    assert f"Slurm does not requeue job {job}: " in line and "--resume" in line, out
    job = submit(c, TRAIN, "--set slurm.requeue=on")
    await_step(c, f"slurm-{c.lab.name}-{job}", 0)
    c.sh(f"scancel {job}")
    c.await_state(job, "CANCELLED")
    assert "is back in" not in c.read(f"slurm-{job}.out")
    assert c.job_field(job, "Restarts") == "0"


def followed(c):
    """Who follows a job and is ended by SIGTERM asks for the job's end: it saves, and is not put back."""
    c.write("train.yaml", TRAIN + "slurm: {requeue: on}\n")
    before = set(c.queue())
    with c.begin("eddis-run --slurm train.yaml", stderr=subprocess.STDOUT) as p:
        wait_for("a job", lambda: set(c.queue()) - before or p.poll() is not None)
        job, = set(c.queue()) - before
        await_step(c, f"slurm-{c.lab.name}-{job}", 0)
        p.send_signal(signal.SIGTERM)
        said = p.communicate(timeout=PATIENCE)[0]
    assert p.returncode == 75 and "stopped by SIGTERM at step" in said, (p.returncode, said)
    assert "is not requeued" in said and "is back in" not in said, said
    assert c.job_field(job, "JobState") == "FAILED" and c.job_field(job, "Restarts") == "0"


def refused(c):
    """Without a folder that is named, or with one that another run has written to: one sentence."""
    def ends(script, *words):
        c.write("job.sh", "#!/bin/sh\n" + script)
        p = c.sh("sbatch --wait -o refused.out job.sh")
        line, = [line for line in c.read("refused.out").splitlines() if line.startswith("eddis-run: ")]
        assert p.returncode == 2 and all(word in line for word in words), (p, line)

    c.write("train.yaml", "command: hostname\nslurm:\n  requeue: on\n")
    ends("exec eddis-run train.yaml\n", "train.yaml:3", "slurm.requeue", "checkpoint.dir")
    quick = "-q --set profile.emulate=[] --set slurm.requeue=on train.yaml"
    c.write("train.yaml", TRAIN)
    ends(f"eddis-run {quick} || exit 7\nexec eddis-run {quick}\n", "first start", "checkpoint.dir", "--resume")
    c.write("train.yaml", "command: hostname\nslurm: {requeue: on}\n")
    p = c.sh("salloc eddis-run train.yaml")  # which nobody starts again
    assert p.returncode == 0, p


def cut_off(c):
    """Put a job on a node and cut that off, which Slurm finds after half a minute."""
    c.write("turns", "1000000")
    job = submit(c, TRAIN.replace("--epochs 5", "--epochs 1000000"), "-N1 --set slurm.requeue=on",
                 "cut.yaml")  # read again by every start
    await_step(c, f"slurm-{c.lab.name}-{job}", 0)
    assert c.job_field(job, "BatchHost") == "node1"
    c.lab.cut("node1")
    return job


def outlived(c):
    """On a node that was cut off, but sees the folder, training goes on; from the job's next start on it writes nothing there."""
    job = c.cut_off
    place = f"{c.shared}/checkpoints/slurm-{c.lab.name}-{job}"
    await_restart(c, job, 1)
    assert c.job_field(job, "BatchHost") != "node1"
    wait_for("the next start to have the folder", lambda: "\ngeneration 1001\n" in c.read(place + "/.generation"))
    wait_for("the first start to end", lambda: not c.pids("node1", "eddis-run"))
    assert "start 1001 of the job has taken over checkpoint folder" in c.read(f"slurm-{job}.out")
    await_step(c, os.path.basename(place), steps(c, os.path.basename(place))[-1])
    assert not [name for name in os.listdir(place) if re.search(r"\.g[1-9]\.", name)], os.listdir(place)
    c.sh(f"scancel {job}")
    c.await_state(job, "CANCELLED")
    c.lab.join("node1")


def limited(c):
    """Put a job that writes down its samples into the queue."""
    c.write("limited.sh", f"""\
epochs=1000000  # the second start trains two more whole ones
test -z "$SLURM_RESTART_COUNT" || epochs=$(($(tail -n 1 samples-0-0 | cut -d ' ' -f 2) + 3))
exec {BUILD}/tests/cluster/index-worker "$PWD" $epochs
""")
    c.write("limited.yaml", """\
name: limited
command: [sh, limited.sh]
batch: {global: 64, rebalance: off}
sync: {mode: sync}
profile: {emulate: [{rate: 1, a_ms: 20, c_ms: 0.5}, {rate: 0.5}]}
checkpoint: {dir: checkpoints, every: 0}
timeouts: {checkpoint: 4m, grace: 1m}
slurm: {time: 1h, requeue: on}
""")
    return submitted(c, "limited.yaml -N1")


def samples(c, start):
    """Of a start of the job: {step: (epoch, [index])}, of all ranks together."""
    found = {}
    for rank in range(2):
        for line in c.read(f"samples-{start}-{rank}").splitlines():
            step, epoch, *indices = map(int, line.split())
            found.setdefault(step, (epoch, []))[1].extend(indices)
            assert found[step][0] == epoch
    return found


def out_of_time(c):
    """Before the time limit it saves and puts itself back; over both starts each epoch has every sample once."""
    job = limited(c)
    c.run_out(job, lambda: c.read(f"slurm-{job}.out") if os.path.exists(f"{c.shared}/slurm-{job}.out") else "")
    await_restart(c, job, 1)
    out = c.read(f"slurm-{job}.out")
    told = re.search(r"stopped by Slurm's time limit \(SIGUSR1\) at step (\d+); newest checkpoint: step (\d+)", out)
    assert told and told[1] == told[2], out
    out = c.await_end(job)
    assert f"continues from step {told[1]} " in out and "done in" in out, out
    first, second = samples(c, 0), samples(c, 1)
    steps = sorted(first)[:int(told[1])]
    assert len(second) >= 30 and sorted(second)[0] == steps[-1] + 1, (told[1], steps[-1], sorted(second)[:2])
    counted = {}
    for start, numbers in ((first, steps), (second, second)):
        for number in numbers:
            counted.setdefault(start[number][0], Counter()).update(start[number][1])
    assert sorted(counted) == list(range(first[max(first)][0] + 3)), sorted(counted)
    once = Counter(range(960))
    assert all(taken == once for taken in counted.values()), \
        {epoch: (once - taken, taken - once) for epoch, taken in counted.items() if taken != once}


def preempted(c):
    """What Slurm tells to end for a job that is more urgent saves in the time that is left, and is put back."""
    c.write("turns", "1000000")
    job = submit(c, TRAIN.replace("--epochs 5", "--epochs $(cat turns)"), "-p low --set slurm.requeue=on -o low.out", "low.yaml")
    name = f"slurm-{c.lab.name}-{job}"
    await_step(c, name, 0)
    urgent = c.sh("sbatch --parsable -p high --exclusive --wrap 'exec sleep 1'").stdout.strip()
    wait_for("the job to be put back", lambda: c.job_field(job, "Restarts") == "1")
    out = c.read("low.out")
    told = re.search(r"stopped by SIGTERM.* at step (\d+); newest checkpoint: step (\d+)", out)
    assert told and told[1] == told[2], out
    c.write("turns", str(int(told[1]) // 18 + 2))  # 1797 samples are 18 steps of 96 and a short one
    c.await_state(urgent, "COMPLETED")
    c.await_state(job, "COMPLETED", "FAILED")
    out = c.read("low.out")
    assert f"continues from step {told[1]} " in out and "done in" in out, out


CASES = [goes_on, begins_anew, forbidden, followed, refused, preempted, outlived, out_of_time]


def main():
    skip_without_slurm()
    wanted = sys.argv[3:]
    with SlurmCluster(6, build=BUILD, slurm={"conf": PREEMPTS}) as c:
        c.cut_off = cut_off(c) if not wanted or "outlived" in wanted else None  # beside the other cases
        cases.run(CASES, wanted, c)


main()
