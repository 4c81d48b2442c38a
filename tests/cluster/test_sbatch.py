# SPDX-License-Identifier: Apache-2.0
"""test_sbatch.py - eddis-sbatch with a real Slurm: scripts, refusals, jobs.

Usage: test_sbatch.py BUILD SOURCE [CASE...]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import cases
from lab import HOME, LOGIN
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])

NODES = {"gres": {"node1": "gpu:2", "node2": "gpu:2"},
         "features": {"node1": "a100", "node2": "a100", "node3": "v100", "node4": "v100"}, "threads": {"node3": 2},
         "conf": ["PartitionName=hidden Nodes=node4 Hidden=YES"]}

DIGITS = f"""\
command: [eddis-train, --data, {SOURCE}/examples/digits/digits.csv, --test, "360", --epochs, "3"]
batch: {{global: 96}}
sync: {{mode: sync}}
checkpoint: {{dir: checkpoints}}
"""


def script(c, text, options=""):
    c.write("train.yaml", text)
    p = c.sh(f"eddis-sbatch --print train.yaml {options}")
    assert p.returncode == 0 and not p.stderr, p
    return p.stdout


def lines_of(text):
    return [line[len("#SBATCH "):] for line in text.splitlines() if line.startswith("#SBATCH ")]


def refused(c, args, code, *words, env=None):
    """One sentence, and nothing in the queue."""
    p = c.sh("eddis-sbatch " + args, env=env)
    assert p.returncode == code and not p.stdout, (args, p)
    assert p.stderr.startswith("eddis-sbatch: ") and p.stderr.count("\n") == 1, (args, p.stderr)
    for word in words:
        assert word in p.stderr, (args, word, p.stderr)
    assert not c.queue(), args


# ---- the script ----

def scripts(c):
    """It asks for what Slurm's defaults would spoil, is clean, and is what sbatch takes."""
    plain = lines_of(script(c, "command: hostname\n"))
    assert "--no-kill" in plain and "--exclusive" in plain and "--nodes=1" in plain, plain
    assert "--signal=B:USR1@130" in plain, plain
    asked = script(c, "name: a-b\ncommand: hostname\ntimeouts: {checkpoint: 20500ms, grace: 2s}\n"
                      "slurm: {partition: short, time: 1m30s, nodes: 3, cpus: 2, memory: 1G, account: me, qos: it,\n"
                      "  requeue: off, constraint: \"a100|v100\", extra: [--comment, \"it's #1 \\\"x\\\"\"]}\n",
                   "-N2 --mail-user 'a b'")
    want = ["--job-name=a-b", "--signal=B:USR1@23", "--partition=short", "--nodes=3", "--ntasks-per-node=1",
            "--constraint=a100|v100", "--cpus-per-task=2", "--mem=1G", "--account=me", "--qos=it", "--time=00:01:30",
            "--no-requeue", "--no-kill", '--comment "it\'s #1 \\"x\\""', "-N2", '--mail-user "a b"']
    assert lines_of(asked) == want, asked
    for text in (asked, script(c, "command: hostname\n", "--set name=x")):
        c.write("job.sh", text)
        p = c.sh("sbatch --test-only job.sh")
        assert p.returncode == 0, p
        if shutil.which("shellcheck"):
            p = subprocess.run(["shellcheck", "-"], input=text, capture_output=True, text=True)
            assert p.returncode == 0, p.stdout
    if not shutil.which("shellcheck"):
        cases.skip_part("scripts", "shellcheck is not installed")


def by_hand(c):
    """The script runs where no Slurm starts it, from any folder, and inside of an allocation."""
    c.write("job.sh", script(c, "command: [sh, -c, 'echo here >here']\n"))
    p = c.sh("cd / && sh ~/shared/job.sh")
    assert p.returncode == 0 and c.read("here") == "here\n", p
    c.write("job.sh", script(c, "command: [sh, -c, 'echo on $(hostname)']\ncheckpoint: {dir: checkpoints}\n"))
    p = c.sh("salloc -N2 sh job.sh")
    assert p.returncode == 0 and "on node1" in p.stdout and "on node2" in p.stdout, p


def named_nodes(c):
    found = lines_of(script(c, "command: hostname\nnodes: [node2, \"node[3-4]\"]\ncheckpoint: {every: 0}\n"))
    assert "--nodes=3" in found and "--nodelist=node2,node3,node4" in found, found
    refused(c, "train.yaml --set slurm.nodes=2", 2, "--set", "slurm.nodes")
    refused(c, "train.yaml --set 'slurm.components=[{nodes: 3}]'", 2, "train.yaml:2", "slurm.components")


# ---- what is refused ----

def refusals(c):
    """Slurm's sentence and ours at once, with the place of what was asked for."""
    c.write("train.yaml", "command: hostname\nslurm:\n  nodes: 1\n")
    for args, words in (
            ("--set slurm.partition=nope", ["Slurm", "Invalid partition", "slurm.partition is nope (--set)", "main, short"]),
            ("--set slurm.gres=tpu:1", ["gres", "slurm.gres is \"tpu:1\" (--set)", "gpu:2"]),
            ("--set slurm.gres=gpu:3", ["not available", "slurm.gres is \"gpu:3\" (--set)", "a100"]),
            ("--set slurm.constraint=h100", ["Invalid feature", "slurm.constraint is h100", "a100, v100"]),
            ("--set slurm.nodes=9", ["not available", "slurm.nodes is 9"]),
            ("--set slurm.partition=short --set slurm.time=10m", ["slurm.time is 10m", "short", "5 minutes"]),
            ("-p short -t 10", ["the time limit is \"10\" (command line)", "short", "5 minutes"]),
            ("-p short -t 0", ["the time limit is \"0\" (command line)", "short", "5 minutes"]),
            ("--set slurm.nodes=auto --set slurm.components=[{},{partition:\\ short}] -t 9 : -t 10", ["\"10\"", "short", "5 minutes"]),
            ("-- -p nope", ["Invalid partition", "main, short"]),
            ("-t never", ["--time"]),
            ("--frobnicate", ["frobnicate", "sbatch --help"]),
            ("--set nodes=node9 --set slurm.nodes=auto", ["node name", "nodes is [node9]", "node[1-4]"])):
        refused(c, "train.yaml " + args, 3, *words)


def drain(c):
    c.sh("scontrol update nodename=node4 state=drain reason='bad fan'")


def drained(c):
    """A job that waits for a node that is not up now is taken, and that is said; one that can never run is not."""
    c.write("train.yaml", "command: hostname\nslurm:\n  nodes: 4\n")
    os.mkdir(c.shared + "/wrap")
    drain(c)
    try:
        for args in ("", "-w node4 -N1", "-N2 -C v100"):
            p = c.sh(f"eddis-sbatch train.yaml --parsable {args}")
            said = f"job {p.stdout.strip()} waits: Slurm cannot start the job with the nodes that are up now: " \
                   "node4 is drained (bad fan)"
            assert p.returncode == 0 and p.stderr == f"eddis-sbatch: {said}\n", (args, p)
            assert c.queue() == [p.stdout.strip()], (args, c.queue())
            c.sh("scancel -u root")
        c.write("wrap/scontrol", "#!/bin/sh\nkill -INT $PPID\nexec /usr/bin/scontrol \"$@\"\n")
        p = c.sh("chmod +x wrap/scontrol; PATH=~/shared/wrap:$PATH exec eddis-sbatch train.yaml --parsable")
        assert p.returncode == -signal.SIGINT and c.queue() == [p.stdout.strip()], (p, c.queue())
        c.sh("scancel -u root")
        for args in ("", "-N5"):
            refused(c, f"train.yaml --test-only {args}", 3, "node4 is drained (bad fan); only Slurm's queue shows")
        for args, words in (("-N5", ["(Partition", "--nodes is \"5\" (command line)"]),
                            ("-N1 -c 99", ["(Partition", "--cpus-per-task is \"99\""]),
                            ("-N2 --gres=gpu:3", ["not available", "--gres is \"gpu:3\" (command line)"]),
                            ("-N3 -C v100", ["not available", "--constraint is \"v100\" (command line)"]),
                            ("-p short -t 10", ["5 minutes"]), ("-p nope", ["Invalid partition"])):
            refused(c, "train.yaml " + args, 3, *words)
    finally:
        c.sh("scontrol update nodename=node4 state=resume")
        c.cancel_all()


def hidden(c):
    """Of a partition that users are not shown, too, it is told which node the job waits for."""
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp "
    c.run(LOGIN, f"cd /tmp && {nobody} sh -c 'echo \"{{command: hostname, slurm: {{partition: hidden}}}}\" > hidden.yaml'")
    drain(c)
    try:
        p = c.run(LOGIN, f"cd /tmp && {nobody} {BUILD}/cmd/eddis-sbatch hidden.yaml --parsable")
        assert p.returncode == 0 and re.search(r"that are up now: node4 is drained .*\(bad fan\)", p.stderr), p
        assert c.queue() == [p.stdout.strip()], (p, c.queue())
    finally:
        c.sh("scontrol update nodename=node4 state=resume")
        c.sh("scancel -u nobody")
        c.await_empty()


def narrow(c):
    """A job that gets one core of each node is told of it, also where a core is two processors."""
    c.write("train.yaml", "command: hostname\nslurm: {gres: \"gpu:0\", nodes: 1}\n")
    for args, is_told in (("-w node2", True), ("-w node3", True), ("-w node2,node3 -N2", True), ("-w node3 -c4", False),
                          ("-w node3 --exclusive", False)):
        p = c.sh(f"eddis-sbatch train.yaml --parsable --hold {args}")
        assert p.returncode == 0 and ("one core, or one processor, of each node" in p.stderr) == is_told, (args, p)
    c.cancel_all()


def drained_followed(c):
    """eddis-run --slurm waits for the node, and goes on when it is back."""
    c.write("train.yaml", "command: hostname\nslurm:\n  nodes: 4\n")
    drain(c)
    with c.begin("eddis-run --slurm train.yaml", stderr=subprocess.STDOUT) as p:
        lines = [p.stdout.readline() for _ in range(2)]
        assert "is in Slurm's queue" in lines[0], lines
        assert "waits: nodes that it needs are down, drained or reserved" in lines[1], lines
        c.sh("scontrol update nodename=node4 state=resume")
        assert "node4" in p.communicate(timeout=PATIENCE)[0] and p.returncode == 0, p.returncode


def usage(c):
    c.write("train.yaml", "command: hostname\n")
    c.write("typo.yaml", "command: hostname\nslurm: {partitoin: main}\n")
    for args, words in (
            ("", ["no job is named"]), ("no.yaml", ["no.yaml"]), ("typo.yaml", ["typo.yaml:2:9", "partition"]),
            ("-p main train.yaml", ["after the job's file"]), ("--pritn train.yaml", ["--print"]),
            ("train.yaml more", ["\"more\""]), ("train.yaml -N 2 more", ["\"more\""]),
            ("train.yaml --gpus-per-task=1", ["--gpus-per-task=1", "slurm.gres"]),
            ("train.yaml --set 'slurm.extra=[--gpus-per-task, \"1\"]'", ["--set", "slurm.gres"]),
            ("train.yaml --wrap=true", ["--wrap"]), ("train.yaml --set x", ["KEY=VALUE"]),
            ("train.yaml -N1 : -N1", ["slurm.components"]),
            ("train.yaml --set slurm.components=[{},{}] : -t2", ["timeouts.checkpoint", "command line"]),
            ("train.yaml --set slurm.time=2m", ["timeouts.checkpoint", "slurm.time is 2m (--set)"]),
            ("train.yaml -t2", ["timeouts.checkpoint", "command line"]),
            ("train.yaml --set slurm.requeue=on", ["checkpoint.dir"])):
        refused(c, args, 2, *words)
    p = c.sh("eddis-sbatch train.yaml", env={"SBATCH_GPUS_PER_TASK": "1"})
    assert p.returncode == 2 and "SBATCH_GPUS_PER_TASK" in p.stderr, p
    p = c.sh("eddis-sbatch train.yaml", env={"PATH": BUILD + "/cmd:/nowhere"})
    assert p.returncode == 3 and "no 'sbatch' in PATH" in p.stderr, p


# ---- jobs ----

def answers(c):
    """What is printed for people, for programs, and for scripts written for sbatch."""
    c.write("train.yaml", "name: quick\ncommand: \"true\"\n")
    p = c.sh("eddis-sbatch train.yaml -H")
    job = p.stdout.split()[1]
    assert p.stdout == f"job {job} (quick) is in Slurm's queue; its output goes to slurm-{job}.out; " \
                       f"run scancel {job} to end it\n", p
    assert c.job_field(job, "JobState") == "PENDING" and c.job_field(job, "JobName") == "quick"
    c.sh(f"scancel {job}")
    p = c.sh("eddis-sbatch --json train.yaml -H")
    said = json.loads(p.stdout)
    assert said == {"job": str(int(job) + 2), "cluster": "", "name": "quick", "schema_version": 1}, p
    p = c.sh("eddis-sbatch train.yaml -H --parsable")
    assert p.stdout.strip().isdecimal(), p
    c.sh("scancel -u root")
    p = c.sh("eddis-sbatch train.yaml --test-only")
    assert p.returncode == 0 and "to start at" in p.stdout, p
    for args, narrow in (("", True), ("-c 2", False), ("--set slurm.cpus=all", False)):
        p = c.sh(f"eddis-sbatch train.yaml -H --parsable --set slurm.gres=gpu:2 {args}")
        assert p.returncode == 0 and ("Slurm gives the job one core, or one processor, of each node" in p.stderr) == narrow, (args, p)
    c.cancel_all()


def variables(c):
    """What the file or the command line asks for holds over variables of sbatch, and those where neither says anything."""
    env = {"SBATCH_PARTITION": "short", "SBATCH_TIMELIMIT": "1", "SBATCH_JOB_NAME": "other", "SBATCH_NO_REQUEUE": "1",
           "SBATCH_SIGNAL": "INT@1", "SBATCH_OUTPUT": "theirs"}
    c.write("train.yaml", "name: ours\ncommand: 'true'\ncheckpoint: {dir: checkpoints}\n"
                          "slurm: {partition: main, time: 9m, requeue: on, nodes: 2, extra: [-o, mine]}\n")

    def shown(args, *more):
        p = c.sh(f"eddis-sbatch train.yaml --parsable -H {args}", env={**env, **dict(more)})
        assert p.returncode == 0, p
        found = c.slurm.ask("scontrol", "-o", "show", "job", p.stdout.strip()).splitlines()
        c.sh("scancel -u root")
        return found

    job, = shown("")
    for field in ("JobName=ours", "Partition=main", "TimeLimit=00:09:00", "Requeue=1", f"StdOut={HOME}/shared/mine", "NumNodes=2-2"):
        assert f" {field} " in job + " ", (field, job)
    job, = shown("-p short -t 4 --no-requeue -o yours --job-name 'of mine'")
    for field in ("JobName=of mine", "Partition=short", "TimeLimit=00:04:00", "Requeue=0", f"StdOut={HOME}/shared/yours"):
        assert f" {field} " in job + " ", (field, job)
    job, = shown("-t 0")
    assert " TimeLimit=UNLIMITED " in job, job
    first, second = shown("--set slurm.nodes=auto --set 'slurm.components=[{},{nodes: 2, partition: short}]' -t 7 : -t 5")
    assert " Partition=main " in first and " TimeLimit=00:07:00 " in first, first
    assert " Partition=short " in second and " TimeLimit=00:05:00 " in second and " NumNodes=2-2 " in second, second
    c.write("train.yaml", "command: 'true'\n")
    job, = shown("", ("SBATCH_TIMELIMIT", "4"))
    assert " Partition=short " in job and " TimeLimit=00:04:00 " in job and f" StdOut={HOME}/shared/theirs " in job, job
    refused(c, "train.yaml", 2, "the time limit is \"1\" (SBATCH_TIMELIMIT)", env=env)
    c.await_empty()


def summary_of(c, job):
    """Of a job that has completed; its folder is on the host of its script."""
    out = c.await_end(job)
    assert c.job_field(job, "JobState") == "COMPLETED" and "done in" in out, out
    jobs = c.path(c.job_field(job, "BatchHost"), "~/.local/state/eddis/jobs")
    newest = max((os.path.join(jobs, name) for name in os.listdir(jobs)), key=os.path.getmtime)
    with open(newest + "/summary.json") as f:
        return json.load(f)


def ends(c):
    """From submit to summary: four nodes, with the environment of a login, and what a sanitizer is told."""
    c.write("train.yaml", DIGITS + "slurm: {nodes: 4}\n")
    plain = os.path.exists(os.path.join(BUILD, "tests/cluster/small-arrays.so"))
    handed = "NONE" if plain else "ASAN_OPTIONS,LSAN_OPTIONS"
    job = c.sh(f"eddis-sbatch train.yaml --parsable --export={handed}").stdout.strip()
    summary = summary_of(c, job)
    assert summary["reason"] == "ok" and summary["accuracy"] > 0.8, summary
    assert "node4" in c.read(f"slurm-{job}.out")


def own_script(c):
    """A user's own script that calls eddis-run as one of its commands, without the environment of whoever submits it."""
    c.write("train.yaml", DIGITS)
    c.write("own.sh", f"#!/bin/bash\n#SBATCH -N4 --exclusive --export=NONE\n"
                      f"export PATH={BUILD}/cmd:$PATH ASAN_OPTIONS='{os.environ.get('ASAN_OPTIONS', '')}' "
                      f"LSAN_OPTIONS='{os.environ.get('LSAN_OPTIONS', '')}'\n"
                      "test -z \"$MINE\" || exit 9\neddis-run train.yaml\ncode=$?\necho behind it\nexit $code\n")
    job = c.sh("sbatch --parsable own.sh", env={"MINE": "1"}).stdout.strip()
    summary = summary_of(c, job)
    assert summary["reason"] == "ok" and summary["accuracy"] > 0.8, summary
    out = c.read(f"slurm-{job}.out")
    assert all(f" node{i} " in out for i in range(1, 5)) and out.endswith("behind it\n"), out


def unlike(c):
    """A heterogeneous job trains on all of its nodes."""
    c.write("train.yaml", DIGITS + "slurm: {components: [{nodes: 1, constraint: a100}, {nodes: 2, constraint: v100}]}\n")
    job = c.sh("eddis-sbatch train.yaml --parsable -w node2").stdout.strip()
    summary = summary_of(c, job)
    assert summary["reason"] == "ok" and summary["accuracy"] > 0.8, summary
    assert all(f" {node} " in c.read(f"slurm-{job}.out") for node in ("node2", "node3", "node4"))


def array(c):
    """Four jobs of one script, at once and each for itself."""
    c.write("train.yaml", DIGITS)
    p = c.sh("eddis-sbatch train.yaml --parsable --array=1-4 -o array-%a.out")
    assert p.returncode == 0, p
    c.await_empty()
    outs = [c.read(f"array-{i}.out") for i in range(1, 5)]
    assert all("done in" in out for out in outs), outs
    assert len({re.search(r"^eddis \S+ +job (\S+)", out, re.M).group(1) for out in outs}) == 4, outs


def code(c):
    """With --wait the exit code is the job's."""
    c.write("seven.yaml", "command: [sh, -c, exit 7]\n")
    p = c.sh("eddis-sbatch seven.yaml --wait")
    assert p.returncode == 7, p
    with c.begin("eddis-sbatch seven.yaml --wait --hold") as p:
        assert "queue" in p.stdout.readline()
        p.send_signal(signal.SIGINT)
    assert p.returncode == -signal.SIGINT, p
    wait_for("sbatch to go", lambda: not c.pids(LOGIN, "sbatch"))
    c.cancel_all()


def late(c):
    """An sbatch that does not end: whoever follows may leave at any time; a number that was told is used, and what may be in
    the queue without one is said."""
    c.write("train.yaml", "name: slow\ncommand: [sleep, \"1000\"]\nslurm: {extra: [--hold]}\n")
    real = shutil.which("sbatch")
    for name, out in (("told", ""), ("untold", " >>numbers")):
        os.mkdir(f"{c.shared}/{name}")
        c.write(name + "/sbatch", f"#!/bin/sh\ncase $1 in --parsable) ;; *) exec {real} \"$@\";; esac\n"
                                  f"{real} \"$@\"{out}; touch {name}/up; exec sleep 1000\n", 0o755)

    told, untold = (c.begin("eddis-run --slurm train.yaml", c.environ(f"{HOME}/shared/{name}:"))
                    for name in ("told", "untold"))
    for name in ("told", "untold"):
        wait_for(f"sbatch of {name}", lambda: os.path.exists(f"{c.shared}/{name}/up"))
    for p in (told, untold):
        p.send_signal(signal.SIGINT)
    out, err = told.communicate(timeout=PATIENCE)
    assert told.returncode == 130 and "is cancelled" in err, (told.returncode, out, err)
    out, err = untold.communicate(timeout=PATIENCE)
    assert untold.returncode == 3 and "squeue --me --name=slow" in err, (untold.returncode, out, err)
    assert c.queue() == [c.read("numbers").strip()], (c.queue(), c.read("numbers"))
    c.cancel_all()


def saves(c):
    """What --signal=B:USR1 sends reaches eddis-run, which ends in good order; near its time limit the job says so."""
    c.write("train.yaml", "command: [sh, -c, 'touch up; exec sleep 1000']\n")
    near = "-p short -t 5 --set timeouts.checkpoint=230s"
    for options, code, words in (("", 143, "by SIGUSR1"), (near, 124, "by Slurm's time limit (SIGUSR1)")):
        job = c.sh(f"eddis-sbatch --parsable train.yaml {options}").stdout.strip()
        wait_for("the job to be up", lambda: os.path.exists(c.shared + "/up"))
        os.unlink(c.shared + "/up")
        c.sh(f"scancel --batch --signal=USR1 {job}")
        c.await_state(job, "FAILED")
        assert c.job_field(job, "ExitCode") == f"{code}:0", c.job_field(job, "ExitCode")
        assert "stopped " + words in c.read(f"slurm-{job}.out"), c.read(f"slurm-{job}.out")


def components(c):
    """Unlike nodes are one heterogeneous job."""
    c.write("train.yaml", "command: [sleep, \"1000\"]\nslurm:\n  components:\n"
                          "    - {nodes: 1, constraint: a100, gres: \"gpu:2\"}\n"
                          "    - {nodes: 2, constraint: v100, cpus: 1}\n")
    p = c.sh("eddis-sbatch train.yaml --parsable -w node2 : -t 9")
    assert p.returncode == 0, p
    job = int(p.stdout)
    c.await_state(job, "RUNNING")
    shown = c.slurm.ask("scontrol", "-o", "show", "job", str(job)).splitlines()
    assert len(shown) == 2 and " NodeList=node2 " in shown[0] and " NodeList=node[3-4] " in shown[1], shown
    assert "TimeLimit=00:09:00" in shown[1] and "TimeLimit=00:09:00" not in shown[0], shown
    c.sh(f"scancel {job}")
    c.await_empty()
    refused(c, "train.yaml --set 'slurm.components=[{nodes: 1}, {constraint: x}]'", 3, "feature", "slurm.components")


CASES = [scripts, by_hand, named_nodes, refusals, drained, hidden, narrow, drained_followed, usage, answers, variables, ends,
         own_script, unlike, array, code, late, saves, components]


def main():
    skip_without_slurm()
    with SlurmCluster(4, build=BUILD, slurm=NODES) as c:
        cases.run(CASES, sys.argv[3:], c)


main()
