# SPDX-License-Identifier: Apache-2.0
"""test_slurm_nodes.py - nodes of a real Slurm that are lost, shared by jobs and users, and not left clean.

Usage: test_slurm_nodes.py BUILD SOURCE [CASE...]
"""

import contextlib
import glob
import json
import os
import re
import signal
import subprocess
import sys

import cases
from cases import Skip
from lab import HOME, command_line
from node import wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD = os.path.realpath(sys.argv[1])
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
GUARDS = ("eddis-rank", "eddis-agent", "eddis-keeper", "eddis-run", "srun")  # each would clean up after those behind it
DATA = "0,1,2\n1,2,1\n" * 200
TIMES = "timeouts: {lease: 5s, node_lost: 10s, checkpoint: 20s}\n"
TRAIN = """\
name: NAME
command: [sh, -c, "exec eddis-train --data data.csv --test 10 --epochs EPOCHS --quiet"]
batch: {global: 80}
profile: {emulate: [{rate: 1, a_ms: 10, c_ms: 0.5}]}
checkpoint: {dir: saved-NAME, every: 20}
""" + TIMES
WAITS = "name: NAME\ncommand: [sh, -c, 'touch up-NAME-$RANK; until test -e go-NAME; do sleep 0.1; done']\n" + TIMES


class Site(SlurmCluster):
    def __enter__(self):
        super().__enter__()
        self.write("data.csv", DATA)
        os.chmod(self.lab.folder, 0o711)  # slurmd's spool is below it, which other users' scripts are run from
        return self

    def define(self, name, text, **values):
        """NAME.yaml in the folder that all hosts share."""
        for key, value in {"NAME": name, **values}.items():
            text = text.replace(key, str(value))
        self.write(name + ".yaml", text)
        return name + ".yaml"

    def state(self, name):
        """The environment of a job whose folder is in the shared one."""
        return {"XDG_STATE_HOME": f"{HOME}/shared/state-{name}"}

    def places(self, name):
        """Job folders as this process sees them, one for each start."""
        return sorted(glob.glob(f"{self.shared}/state-{name}/eddis/jobs/*"), key=os.path.getmtime)

    def submit(self, name, options, program="eddis-sbatch"):
        p = self.sh(f"{program} --parsable {options}", env=self.state(name))
        assert p.returncode == 0, p
        return p.stdout.strip()

    def waiting(self, name, options, ranks=1):
        """A job that is up, and ends when go-NAME is there."""
        job = self.submit(name, f"{self.define(name, WAITS)} {options}")
        wait_for(f"{name} to be up", lambda: all(self.exists(f"up-{name}-{r}") for r in range(ranks)))
        return job

    def go(self, name, job):
        self.write(f"go-{name}", "")
        out = self.await_end(job)
        assert self.job_field(job, "JobState") == "COMPLETED", out

    def exists(self, name):
        return os.path.exists(f"{self.shared}/{name}")

    def saved(self, name):
        """Steps of the checkpoints of a job, wherever below its folder."""
        found = glob.glob(f"{self.shared}/saved-{name}/**/step-????????", recursive=True)
        return sorted(int(path[-8:]) for path in found)

    def await_saved(self, name, above=0):
        wait_for(f"a checkpoint of {name} above step {above}", lambda: any(s > above for s in self.saved(name)))

    # ---- what is where ----

    def guards_of(self, job):
        """[(host, pid)] of the programs that start, watch and end a job's ranks."""
        return self.of_job(job, GUARDS)

    def marks(self, job):
        """Of the job's agents, {host: mark}."""
        lines = [(host, command_line(pid)) for host, pid in self.guards_of(job)]
        return {host: re.search(r"--mark ([0-9a-f]{32})", line)[1] for host, line in lines if "--mark " in line}

    def folders(self, marks):
        """Those that bear one of these marks, {host: paths}."""
        found = {}
        for host in self.nodes:
            for top in ("/tmp", "/dev/shm"):
                for name in os.listdir(self.path(host, top)):
                    try:
                        with open(self.path(host, f"{top}/{name}/mark")) as f:
                            if f.read(32) in marks.values():
                                found.setdefault(host, set()).add(f"{top}/{name}")
                    except OSError:
                        pass
        return found

    def groups_of(self, marks):
        return [folder for below, folders, _ in os.walk("/sys/fs/cgroup") for folder in folders
                if folder[:6] == "eddis-" and folder[6:] in marks.values()]

    def kill_all(self, job):
        """All that would clean up in one moment: none acts upon another's end."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for _, pid in self.guards_of(job):
                os.kill(pid, number)
        wait_for(f"job {job} to leave the queue", lambda: job not in self.queue())
        wait_for(f"processes of job {job} to end", lambda: not self.guards_of(job))

    def check_clean(self):
        """No process and no folder of any job."""
        self.await_empty()
        self.slurm.await_idle([n for n in self.nodes if n not in self.lost])
        wait_for("all to be gone", lambda: not self.left())

    lost = ()


def need_nobody(c):
    """Another user of the nodes, who may run what was built."""
    p = c.run("node1", [*AS_NOBODY, BUILD + "/cmd/eddis-run", "--version"])
    if p.returncode:
        raise Skip(f"another user cannot run {BUILD}: {p.stderr.strip()}")


def nobodys(c, name, script):
    """Submit, as another user, a script for node1; returns the job's number.  His files are in /tmp/nobody there."""
    for host in ("login", "node1"):
        c.run(host, [*AS_NOBODY, "mkdir", "-p", "/tmp/nobody"])
    c.write(f"{name}.sh", f"#!/bin/sh\nexport HOME=/tmp/nobody PATH={BUILD}/cmd:$PATH\ncd /tmp/nobody\n" + script)
    with open(f"{c.shared}/{name}.sh") as f:
        p = c.run("login", [*AS_NOBODY, "sbatch", "--parsable", "-w", "node1", "--chdir=/tmp", "-o", f"/tmp/nobody/{name}.out"],
                  stdin=f)
    assert p.returncode == 0, p
    return p.stdout.strip()


def nobody_said(c, name):
    with open(c.path("node1", f"/tmp/nobody/{name}.out")) as f:
        return f.read()


def summary_of(c, name, start=-1):
    with open(c.places(name)[start] + "/summary.json") as f:
        return json.load(f)


# ---- jobs beside others ----

def beside(c):
    """What is measured beside another job of Slurm's says so and is not kept; what is kept is used beside it."""
    def head(job="true"):
        p = c.sh(f"salloc -Q -w node1 -c1 eddis-run --dry-run -- {job}")
        assert p.returncode == 0, p
        return p.stdout
    kept = c.path("node1", "~/.cache/eddis/profile-node1.json")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(kept)
    other = c.sh("sbatch --parsable -w node1 -c1 --wrap 'exec sleep 1000'").stdout.strip()
    c.await_state(other, "RUNNING")
    wait_for("its step", lambda: c.pids("node1", "slurmstepd"))
    out = head()
    assert ", measured now, beside another job\n" in out, out
    assert f"measured while Slurm's job {other} ran, so perhaps too low; not kept" in out, out
    assert not os.path.exists(kept)
    c.sh(f"scancel {other}")
    c.check_clean()
    out = head()
    assert "measured now\n" in out and "beside" not in out and os.path.exists(kept), out
    other = c.sh("sbatch --parsable -w node1 -c1 --wrap 'exec sleep 1000'").stdout.strip()
    c.await_state(other, "RUNNING")
    wait_for("its step", lambda: c.pids("node1", "slurmstepd"))
    out = head()
    assert " cached " in out and "beside" not in out, out
    c.sh(f"scancel {other}")
    c.check_clean()


def one_allocation(c):
    """Several jobs of one allocation, on the same nodes at once, meet nowhere; who measures sees who trains."""
    c.define("first", WAITS)
    for name in ("one", "two"):
        c.define(name, TRAIN, EPOCHS=30)
    c.write("several.sh", """#!/bin/sh
eddis-run first.yaml >first.out 2>&1 &
until test -e up-first-1; do sleep 0.1; done
eddis-run --set profile.cache=0s --dry-run -- true >dry.out 2>&1
eddis-run one.yaml >one.out 2>&1 &
one=$!
eddis-run two.yaml >two.out 2>&1 || exit
wait $one || exit
touch go-first
wait
""")
    job = c.submit("several", "-N2 -w node1,node2 several.sh", "sbatch")
    c.await_state(job, "COMPLETED", "FAILED")
    out = {name: c.read(name + ".out") for name in ("first", "dry", "one", "two")}
    assert c.job_field(job, "JobState") == "COMPLETED", out
    assert all("done in" in out[name] for name in ("first", "one", "two")), out
    first = re.search(r"   job (first-\S+)", out["first"])[1]
    assert ", measured now, beside other jobs\n" in out["dry"] and f"measured while job {first} ran," in out["dry"], out["dry"]
    assert len(c.places("several")) == 3 and c.saved("one") and c.saved("two")
    c.check_clean()


def array(c):
    """Four tasks of one file on one node at once: each has its own checkpoints, which a restart of it alone goes on from."""
    c.define("array", TRAIN, EPOCHS=30)
    job = c.submit("array", "array.yaml --array=1-4 -n1 -c1 -w node1 -o array-%a.out --set slurm.requeue=on")
    c.await_empty()
    outs = [c.read(f"array-{task}.out") for task in range(1, 5)]
    assert all("done in" in out for out in outs), outs
    assert len({re.search(r"   job (\S+)", out)[1] for out in outs}) == len(c.places("array")) == 4, outs
    assert sorted(os.listdir(c.shared + "/saved-array")) == [f"slurm-{c.lab.name}-{job}_{task}" for task in range(1, 5)]
    c.check_clean()


# ---- what is left ----

def left_behind(c):
    """Folders and groups of a job whose driver, keepers and agents were killed in one moment go with the next start of the same
    user, and nothing else; and by --cleanup."""
    need_nobody(c)
    other = nobodys(c, "other", "exec eddis-run -n1 -- sh -c 'touch up; exec sleep 1000'\n")
    killed = c.waiting("killed", "-N2 -n2 -c1 -w node1,node2", 2)
    lives = c.waiting("lives", "-n1 -c1 -w node1")
    wait_for("the other user's job to be up", lambda: os.path.exists(c.path("node1", "/tmp/nobody/up")))
    marks = {job: c.marks(job) for job in (other, killed, lives)}
    assert [sorted(m) for m in marks.values()] == [["node1"], ["node1", "node2"], ["node1"]], marks
    before = {job: c.folders(m) for job, m in marks.items()}
    assert all(len(paths) == 2 for found in before.values() for paths in found.values()), before
    for job in (other, killed):
        c.kill_all(job)
    left = c.folders(marks[killed])
    assert left == before[killed], (before, left)
    assert c.folders(marks[other]) == before[other], (before, left, c.folders(marks[other]), nobody_said(c, "other"))
    p = c.sh("salloc -Q -N2 -n2 -c1 -w node1,node2 eddis-run -- true")
    assert p.returncode == 0, p
    assert not c.folders(marks[killed]) and not c.groups_of(marks[killed]), (left, c.folders(marks[killed]))
    assert c.folders(marks[other]) == before[other] and c.folders(marks[lives]) == before[lives]
    again = nobodys(c, "again", "exec eddis-run -n1 -- true\n")
    c.await_state(again, "COMPLETED", "FAILED")
    assert "done in" in nobody_said(c, "again"), nobody_said(c, "again")
    assert not c.folders(marks[other]) and not c.groups_of(marks[other]), c.folders(marks[other])
    stays = c.waiting("stays", "-n1 -c1 -w node1")
    there = c.folders(c.marks(stays))
    c.kill_all(lives)
    assert c.folders(marks[lives]) == before[lives]
    place = c.places("lives")[0].replace(c.shared, HOME + "/shared")
    p = c.sh(f"eddis-run --cleanup {place}/", "node1")  # where its driver was
    assert p.returncode == 0 and "node1: " in p.stdout and "removed 2 folders" in p.stdout, p
    assert not c.folders(marks[lives]) and not c.groups_of(marks[lives]) and c.folders(c.marks(stays)) == there
    c.go("stays", stays)
    c.check_clean()


# ---- who tries to come in ----

def try_secrets(c, door, secrets):
    """Try each to join by as another user on node1, all at once; returns [(code, seconds)]."""
    body = json.dumps({"node": "node1", "nonce": "0" * 32})
    line = " ".join(f"curl -sk -m 60 -d '{body}' -H 'Authorization: Bearer {secret}' -o /dev/null -w '%{{http_code}} %{{time_total}}\\n' "
                    f"https://{door}/v1/join &" for secret in secrets)
    p = c.run("node1", [*AS_NOBODY, "sh", "-c", line + " wait"])
    return [(code, float(seconds)) for code, seconds in map(str.split, p.stdout.splitlines())]


def stranger(c):
    """Another user of a node, while the agents of a job of several nodes join: whatever he can read there is no secret, each try is
    refused after a second and counted, and the start goes on."""
    os.makedirs(c.shared + "/slow/libexec/eddis")
    c.write("slow/libexec/eddis/eddis-keeper", "#!/bin/sh\ntouch ~/shared/slow/here\nuntil test -e ~/shared/slow/go; do "
            f"sleep 0.1; done\nexec {BUILD}/cmd/libexec/eddis-keeper \"$@\"\n", 0o755)
    c.define("slow", TRAIN + f"nodes: [node1, {{host: node2, eddis: {HOME}/shared/slow}}]\n", EPOCHS=30)
    c.write("slow.sh", "#!/bin/sh\nexec eddis-run slow.yaml\n")
    job = c.submit("slow", "-N2 -w node1,node2 slow.sh", "sbatch")
    wait_for("one node to have joined, and the other to wait", lambda: c.exists("slow/here") and c.pids("node1", "eddis-agent"))
    listening = c.run("node1", "ss -ltnpH").stdout.splitlines()
    door, = [line.split()[3] for line in listening if "eddis-run" in line and not line.split()[3].startswith("127.")]
    seen = c.run("node1", [*AS_NOBODY, "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"],
                 errors="replace", stdin=subprocess.DEVNULL).stdout
    marks = [mark for mark in c.marks(job).values() if mark in seen]
    assert marks, "he does not see the processes"
    secrets = [mark * 2 for mark in marks] + sorted(set(re.findall(r"\b[0-9a-f]{64}\b", seen)))[:8]
    secrets += [os.urandom(32).hex() for _ in range(6)]
    answers = try_secrets(c, door, secrets)
    assert len(answers) == len(secrets), answers
    assert all(code == "401" and seconds >= 1 for code, seconds in answers), answers
    c.write("slow/go", "")
    out = c.await_end(job)
    assert c.job_field(job, "JobState") == "COMPLETED" and "done in" in out, out
    address = c.lab.state()["hosts"]["node1"]["addresses"][0]
    assert summary_of(c, "slow")["refused"] == f"{len(secrets)} refused requests from {address}"
    c.check_clean()


# ---- lost nodes ----

def ranks_since_restart(c, name):
    """The nodes of the ranks of the generations behind the first."""
    with open(c.places(name)[-1] + "/events.jsonl") as f:
        events = [json.loads(line) for line in f if line.endswith("\n")]
    restarted = next(i for i, e in enumerate(events) if e.get("text", "").startswith("restarting from"))
    return [e["node"] for e in events[restarted:] if e["type"] == "rank_started"]


def lost(c):
    """With --no-kill, as eddis-sbatch asks, the job goes on in its allocation without the node, also when Slurm has found it to be down;
    without, Slurm ends it and puts it back, and it goes on on other nodes."""
    keeps = c.submit("keeps", c.define("keeps", TRAIN, EPOCHS=1000000) + " -N3 -w node1,node2,node3")
    c.define("fails", TRAIN + "slurm: {requeue: on}\n", EPOCHS=1000000)
    c.write("fails.sh", "#!/bin/sh\nexec eddis-run fails.yaml\n")
    fails = c.submit("fails", "--requeue --open-mode=append -N2 -x node1,node2,node3 fails.sh", "sbatch")
    for name in ("keeps", "fails"):
        c.await_saved(name)
    assert [c.job_field(fails, "BatchHost"), c.job_field(keeps, "BatchHost")] == ["node4", "node1"]
    c.lost = ("node3", "node5")
    for node in c.lost:
        c.lab.crash(node)
    wait_for("the next generation", lambda: "on 2 nodes (start 2" in c.read(f"slurm-{keeps}.out"))
    wait_for("Slurm to find the nodes down", lambda: c.sh("sinfo -h -N -p main -t down -o %N").stdout.split() == list(c.lost))
    wait_for("Slurm to start the other job again", lambda: c.job_field(fails, "Restarts") == "1")
    c.await_saved("keeps", c.saved("keeps")[-1])
    assert c.job_field(keeps, "JobState") == "RUNNING" and c.job_field(keeps, "Restarts") == "0"
    assert sorted(ranks_since_restart(c, "keeps")) == ["node1", "node2"]
    c.await_state(fails, "RUNNING")
    wait_for("it to go on", lambda: "continues from step" in c.read(f"slurm-{fails}.out"))
    c.await_saved("fails", c.saved("fails")[-1])
    for job in (keeps, fails):
        c.sh(f"scancel --batch --signal=INT {job}")
    c.await_empty()
    for name, starts, generations in (("keeps", 1, 2), ("fails", 2, 1)):
        summary = summary_of(c, name)
        assert len(c.places(name)) == starts and summary["generations"] == generations, summary
        assert summary["reason"] == "interrupted", summary
    c.check_clean()


def set_down(c):
    """A node that is silent is given up when Slurm has set it down, drained or not, before its lease is over."""
    patient = TRAIN.replace(TIMES, "timeouts: {lease: 20m, node_lost: 30m, checkpoint: 20s, heartbeat: 1s}\n")
    job = c.submit("down", c.define("down", patient, EPOCHS=1000000) + " -N2 -w node1,node2")
    c.await_saved("down")
    c.lab.cut("node2")
    try:
        for state in ("drain", "down"):
            c.sh(f"scontrol update nodename=node2 state={state} reason=broken")
        wait_for("the next generation", lambda: "on 1 node (start 2" in c.read(f"slurm-{job}.out"))
        out = c.read(f"slurm-{job}.out")
        assert re.search(r"node node2: no report from its agent for .* s \(Slurm reports the node as down\)", out), out
    finally:
        c.lab.join("node2")
        c.sh(f"scancel --batch --signal=INT {job}; scontrol update nodename=node2 state=resume")
    c.await_empty()
    summary = summary_of(c, "down")
    assert (summary["reason"], summary["generations"]) == ("interrupted", 2), summary


CASES = [beside, one_allocation, array, left_behind, stranger, set_down, lost]


def main():
    skip_without_slurm()
    with Site(6, build=BUILD) as c:
        cases.run(CASES, sys.argv[3:], c)


main()
