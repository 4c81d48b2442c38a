# SPDX-License-Identifier: Apache-2.0
"""test_slurm_door.py - eddis-status, --stop and --cleanup from the login node, of jobs that a real Slurm runs elsewhere.

Usage: test_slurm_door.py BUILD SOURCE [CASE...]

The home of a host is its own, so that the login node sees nothing of a job but what Slurm tells; with SHARED in the
environment jobs have their folders where all hosts see them.
"""

import contextlib
import json
import os
import pty
import select
import signal
import sys

import cases
from lab import HOME, LOGIN
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
SHARED = {"XDG_STATE_HOME": f"{HOME}/shared/state"}
LONG = "name: long\ntimeouts: {lease: 5s}\ncommand: [sh, -c, 'echo words; touch up; exec sleep 1000']\n"


@contextlib.contextmanager
def on_login(c, command, env=None):
    """A program that runs in ~/shared of the login host, and ends at exit."""
    p = c.begin(command, c.environ(**(env or {})))
    try:
        yield p
    finally:
        p.kill()
        p.communicate()


@contextlib.contextmanager
def running(c, args="train.yaml", env=None, text=LONG):
    """The number of a job whose worker is up."""
    anew(c)
    c.write("train.yaml", text)
    p = c.sh(f"eddis-sbatch --parsable {args}", env=env)
    assert p.returncode == 0, p
    up(c)
    try:
        yield p.stdout.strip()
    finally:
        c.cancel_all()


def anew(c):
    """No file is left that workers of an earlier job, maybe several, have made."""
    for name in ("up", "over", "go", "inside"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{c.shared}/{name}")


def up(c):
    wait_for("a worker to be up", lambda: os.path.exists(c.shared + "/up"))


def steps(c):
    """Of all jobs, without those of the batch scripts and of the agents."""
    return [s for s in c.slurm.ask("squeue", "-s", "-h", "-o", "%i %j").splitlines() if s.endswith(" eddis")]


def check(p, code, *words, where="stderr"):
    """A sentence, alone on standard error."""
    text = getattr(p, where)
    assert p.returncode == code, p
    for word in words:
        assert word in text, (word, p)
    assert where != "stderr" or text.count("\n") == 1, p


def status(c):
    """Of a job on another node, with and without a folder that the login node sees."""
    for env in (None, SHARED):
        with running(c, env=env) as job:
            before = steps(c)
            wait_for("the job to run", lambda: json.loads(c.sh(f"eddis-status {job} --json", env=env).stdout)["state"] == "running")
            p = c.sh(f"eddis-status {job}", env=env)
            assert p.returncode == 0 and "running" in p.stdout and "node1" in p.stdout and not p.stderr, p
            s = json.loads(c.sh(f"eddis-status --json {job}", env=env).stdout)
            assert s["name"] == "long" and s["workers"][0]["node"] == "node1", s
            if env:  # by the id, and as the newest
                for word in (s["job"], s["job"][:12], "", f"~/shared/state/eddis/jobs/{s['job']}/"):
                    assert json.loads(c.sh(f"eddis-status --json {word}", env=env).stdout)["state"] == "running", word
            check(c.sh(f"eddis-status {job} --report", env=env), 1, "has not ended yet: it is running")
            check(c.sh(f"eddis-status {job} --logs 7", env=env), 1, "rank")
            p = c.sh(f"eddis-status {job} --logs 0", env=env)
            assert p.returncode == 0 and "words" in p.stdout, p
            assert steps(c) == before, steps(c)
        if env:  # what is over is in its folder
            p = c.sh(f"eddis-status {job} --json", env=env)
            assert p.returncode == 0 and json.loads(p.stdout)["state"] == "ended", p
        else:
            check(c.sh(f"eddis-status {job}"), 2, f"Slurm's job {job} has ended (CANCELLED)", "node1")


def last_state(lines):
    return json.loads(lines.splitlines()[-1])["state"] if lines else None


def watch(c):
    """Lines come until the end; and who stops looking leaves no step."""
    with running(c) as job:
        before = steps(c)
        with on_login(c, f"eddis-status {job} --watch --json --interval 200ms") as p:
            lines = [p.stdout.readline() for _ in range(3)]
            assert all(json.loads(line)["name"] == "long" for line in lines), lines
            assert steps(c) != before, "who looks has a step"
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=PATIENCE)
            assert p.returncode == 130, p.returncode
        wait_for("its step to be over", lambda: steps(c) == before)
        with on_login(c, f"eddis-status {job} --watch --json --interval 200ms") as p:
            p.stdout.readline()
            p.kill()
            p.wait()
        wait_for("its step to be over", lambda: steps(c) == before)
        with on_login(c, f"eddis-status {job} --watch --json --interval 200ms") as p:
            p.stdout.readline()
            assert c.sh(f"eddis-run --stop {job}").returncode == 0
            out, err = p.communicate(timeout=PATIENCE)
            assert p.returncode == 0, (out, err)  # what comes last may be lost with the job
            assert last_state(out) == "ended" or "has ended: FAILED, exit code 130" in err, (last_state(out), err)
    with running(c, env=SHARED) as job, on_login(c, f"eddis-status {job} --watch --json --interval 200ms", env=SHARED) as p:
        p.stdout.readline()
        assert c.sh(f"eddis-run --stop {job}", env=SHARED).returncode == 0
        out, err = p.communicate(timeout=PATIENCE)
        # A driver that ends this moment may not answer, which is told.
        assert p.returncode == 0 and last_state(out) == "ended" and "Slurm" not in err, (p.returncode, last_state(out), err)


class Terminal:
    """eddis-status on a terminal of the login host."""

    def __init__(self, c, args):
        self.own, theirs = pty.openpty()
        self.process = c.begin(f"eddis-status {args}", c.environ(TERM="xterm"), stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True)
        os.close(theirs)
        self.text = ""

    def read(self):
        while select.select([self.own], [], [], 0)[0]:
            try:
                self.text += os.read(self.own, 65536).decode(errors="replace")
            except OSError:
                return self.text
        return self.text

    def await_text(self, what, condition):
        wait_for(what, lambda: condition(self.read()))

    def end(self, code):
        wait_for("eddis-status to end", lambda: (self.read(), self.process.poll())[1] is not None)
        self.read()
        assert self.process.returncode == code, (self.process.returncode, self.text)
        os.close(self.own)


def live(c):
    """The view of a terminal refreshes itself; a key or a signal ends it, or the job's end."""
    with running(c) as job:
        before = steps(c)
        for ends in ("key", "signal", "once"):
            t = Terminal(c, f"{job} --interval 200ms" + (" --once" if ends == "once" else ""))
            if ends != "once":
                t.await_text("three pages", lambda text: text.count("running") > 2 and "q quits" in text)
            if ends == "key":
                os.write(t.own, b"q")
            elif ends == "signal":
                t.process.send_signal(signal.SIGINT)
            t.end(130 if ends == "signal" else 0)
            assert "running" in t.text and "\033[1" in t.text, t.text[-2000:]
            wait_for("its step to be over", lambda: steps(c) == before)
        t = Terminal(c, f"{job} --interval 200ms")
        t.await_text("a page", lambda text: "q quits" in text)
        c.sh(f"eddis-run --stop {job}")
        t.end(0)
        end = t.text[t.text.rfind("\033[?1049l"):]
        assert "exit code 130" in end, end


def stop(c):
    """In good order, wherever the driver is; one that waits is taken out of the queue."""
    for env in (None, SHARED):
        with running(c, env=env) as job:
            p = c.sh(f"eddis-run --stop {job}", env=env)
            assert p.returncode == 0 and "was stopped" in p.stdout and not p.stderr, p
            assert "exit code 130" in p.stdout or not env and "ended with code 130" in p.stdout, p
            c.await_empty()
            if env:
                check(c.sh(f"eddis-run --stop {job}", env=env), 0, "had already ended", where="stdout")
    with running(c) as job:
        p = c.sh(f"eddis-run --stop {job} --json")
        assert p.returncode == 0 and json.loads(p.stdout)["exit_code"] == 130, p
    job = c.sh("eddis-sbatch --parsable train.yaml --hold").stdout.strip()
    wait_for("why it waits", lambda: "scontrol release" in c.sh(f"eddis-status {job}").stderr)
    check(c.sh(f"eddis-status {job}"), 1, f"job {job} waits", "held")
    check(c.sh(f"eddis-run --cleanup {job}"), 2, f"job {job} waits")
    check(c.sh(f"eddis-run --stop {job}"), 0, f"job {job} was waiting", "has been cancelled", where="stdout")
    c.await_empty()
    job = c.sh("eddis-sbatch --parsable train.yaml --hold").stdout.strip()
    p = c.sh(f"eddis-run --stop {job} --json")
    assert p.returncode == 0 and json.loads(p.stdout) == {"slurm_job": job, "cancelled": True}, p


def cleanup(c):
    """Not while the job runs, but when its driver was killed in an allocation that goes on."""
    anew(c)
    c.write("train.yaml", LONG)
    c.write("script", "#!/bin/sh\neddis-run train.yaml\ntouch over; exec sleep 1000\n")
    job = c.sh("sbatch --parsable -N2 --exclusive script").stdout.strip()
    up(c)
    check(c.sh(f"eddis-run --cleanup {job}"), 2, "is running (pid", "--stop")
    for pid in c.pids("node1", "eddis-run"):
        os.kill(pid, signal.SIGKILL)
    wait_for("the script to go on", lambda: os.path.exists(c.shared + "/over"))
    p = c.sh(f"eddis-run --cleanup {job}")
    assert p.returncode == 0 and "node1: " in p.stdout and "node2: " in p.stdout and not p.stderr, p
    assert json.loads(c.sh(f"eddis-status --json {job}").stdout)["state"] == "lost"
    c.cancel_all()


def killed(c):
    """A driver that is killed with its allocation: its files do not say so, but Slurm does."""
    with running(c, env=SHARED) as job:
        for pid in c.pids("node1", "eddis-run"):
            os.kill(pid, signal.SIGKILL)
        c.await_empty()
        p = c.sh(f"eddis-status --json {job}", env=SHARED)
        assert p.returncode == 0 and json.loads(p.stdout)["state"] == "lost", p
        p = c.sh(f"eddis-run --stop {job}", env=SHARED)
        assert p.returncode == 1 and "its eddis-run has exited" in p.stdout, p
        os.makedirs(c.shared + "/closed", exist_ok=True)
        c.write("closed/ssh", "#!/bin/sh\necho Permission denied >&2; exit 255\n", 0o755)
        p = c.sh(f"PATH={c.shared}/closed:$PATH eddis-run --cleanup {job}", env=SHARED)
        assert p.returncode == 1 and "node1: " in p.stderr and "Slurm ended the processes" in p.stderr, p
        p = c.sh(f"eddis-run --cleanup {job}", env=SHARED)  # by ssh, which the lab allows
        assert p.returncode == 0 and "node1: " in p.stdout, p


def clusters(c):
    """A job that runs is not dead because another cluster says so, or knows of no such number."""
    with running(c, env=SHARED) as job:
        for env in (SHARED, {**SHARED, "SLURM_CLUSTERS": "other"}):
            p = c.sh(f"eddis-status --json {job}", env=env)
            assert p.returncode == 0 and json.loads(p.stdout)["state"] == "running", p
        check(c.sh(f"eddis-run --cleanup {job}", env=env), 2, "is running (pid", "--stop")
        folder = f"{c.shared}/state/eddis/jobs/{json.loads(p.stdout)['job']}"
        with open(folder + "/slurm.json") as f:
            link = json.load(f)
        with open(folder + "/slurm.json", "w") as f:
            json.dump({**link, "cluster": "other"}, f)
        for option in ("--cleanup", "--stop"):
            check(c.sh(f"eddis-run {option} {os.path.basename(folder)}", env=SHARED), 2, "runs on 'node1'")
        assert os.path.exists(folder + "/driver.json") and c.queue() == [job]


def another_home(c):
    """A job that has another XDG_STATE_HOME than whoever asks, on its node only or on a disk that both see."""
    for theirs in ("/tmp/of-the-job", SHARED["XDG_STATE_HOME"]):
        with running(c, env={"XDG_STATE_HOME": theirs}) as job:
            for env in (None, {"XDG_STATE_HOME": "/tmp/of-the-caller"}):
                p = c.sh(f"eddis-status --json {job}", env=env)
                assert p.returncode == 0 and json.loads(p.stdout)["name"] == "long", (theirs, env, p)
            p = c.sh(f"eddis-run --stop {job}")
            assert p.returncode == 0 and "was stopped" in p.stdout and not p.stderr, (theirs, p)
            c.await_empty()


def another_user(c):
    """Whose job it is is said, while it waits and when it is over."""
    nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp "
    job = c.run(LOGIN, f"cd /tmp && {nobody} sbatch --parsable --hold --wrap true").stdout.strip()
    check(c.sh(f"eddis-status {job}"), 1, f"job {job} of user nobody waits")
    c.sh(f"scancel {job}")
    for program in ("eddis-status", "eddis-run --stop", "eddis-run --cleanup"):
        check(c.sh(f"{program} {job}"), 2, f"job {job} belongs to user nobody", "it is over: CANCELLED")
    job = c.sh("sbatch --parsable --hold --wrap true").stdout.strip()
    p = c.run(LOGIN, f"{nobody} {BUILD}/cmd/eddis-run --stop {job}")
    check(p, 2, f"job {job} of user root waits", "only that user can cancel it")
    programs = "mkdir -p /tmp/some && ln -sf /usr/bin/squeue /usr/bin/scontrol /usr/bin/sacct /tmp/some"
    p = c.run(LOGIN, f"{programs} && {nobody} PATH=/tmp/some {BUILD}/cmd/eddis-run --stop {job}")
    check(p, 2, "scancel")  # that was not asked has refused nothing
    assert "only that user can cancel it" not in p.stderr and c.queue() == [job], (p, c.queue())
    c.cancel_all()


def arrays(c):
    """Of several tasks one is to be named."""
    c.write("train.yaml", "name: task\ncommand: [sh, -c, 'touch up-$SLURM_ARRAY_TASK_ID; exec sleep 1000']\n")
    job = c.sh("eddis-sbatch --parsable train.yaml -n1 --array=1-2").stdout.strip()
    for i in (1, 2):
        wait_for("a task", lambda: os.path.exists(f"{c.shared}/up-{i}"))
    check(c.sh(f"eddis-status {job}"), 2, f"job {job} is an array", f"{job}_1", f"{job}_2")
    for i in (1, 2):
        p = c.sh(f"eddis-status --json {job}_{i}")
        assert p.returncode == 0 and json.loads(p.stdout)["name"] == "task", p
    p = c.sh(f"eddis-run --stop {job}_2")
    assert p.returncode == 0, p
    wait_for("one to be left", lambda: len(c.queue()) == 1)
    p = c.sh(f"eddis-status --json {job}")
    assert p.returncode == 0 and json.loads(p.stdout)["state"] == "running", p
    assert c.sh(f"eddis-run --stop {job}").returncode == 0
    c.await_empty()
    check(c.sh(f"eddis-status {job}_9"), 2, f"job {job}_9")


def groups(c):
    """A heterogeneous job, by the number of any component."""
    with running(c, text=LONG + "slurm: {components: [{nodes: 1}, {nodes: 1}]}\n") as job:
        other = str(int(job) + 1)
        for word in (job, other, job + "+1"):
            p = c.sh(f"eddis-status --json {word}")
            assert p.returncode == 0 and len(json.loads(p.stdout)["workers"]) == 2, (word, p)
        p = c.sh(f"eddis-run --stop {other}")
        assert p.returncode == 0 and "was stopped" in p.stdout, p
    for plus in ("{}+1", "{}", None):
        job = c.sh("eddis-sbatch --parsable train.yaml --hold").stdout.strip()
        p = c.sh(f"eddis-run --stop {plus.format(job) if plus else int(job) + 1}")
        assert p.returncode == 0 and f"job {job} was waiting" in p.stdout, p
        c.await_empty()


def elsewhere(c):
    """Folders that --job-dir names; a driver in salloc's shell; and who asks in the job itself."""
    c.write("train.yaml", LONG)
    c.write("script", "#!/bin/sh\neddis-run --job-dir /tmp/my-job train.yaml &\nuntil test -e go; do sleep 0.1; done\n"
                      "cd / && eddis-status --json $SLURM_JOB_ID >~/shared/inside; wait\n")
    anew(c)
    job = c.sh("sbatch --parsable script").stdout.strip()
    up(c)
    p = c.sh(f"eddis-status --json {job}")
    assert p.returncode == 0 and json.loads(p.stdout)["name"] == "long", p
    c.write("go", "")
    wait_for("the job's own look", lambda: os.path.exists(c.shared + "/inside") and c.read("inside").endswith("}\n"))
    assert json.loads(c.read("inside"))["name"] == "long"
    assert c.sh(f"eddis-run --stop {job}").returncode == 0
    c.await_empty()
    anew(c)
    with on_login(c, "salloc --quiet -N1 eddis-run train.yaml"):
        up(c)
        p = c.sh(f"eddis-status --json {c.queue()[0]}")
        assert p.returncode == 0 and json.loads(p.stdout)["workers"][0]["node"] == "node1", p
        assert c.sh(f"eddis-run --stop {c.queue()[0]}").returncode == 0
        c.await_empty()
    job = c.sh("sbatch --parsable --wrap 'exec sleep 1000'").stdout.strip()
    c.await_state(job, "RUNNING")
    check(c.sh(f"eddis-status {job}"), 2, f"job {job} runs, but no eddis-run", "node1")
    check(c.sh(f"eddis-run --stop {job}"), 2, f"job {job} runs, but no eddis-run", "node1")
    c.cancel_all()


def launches(c):
    """By ssh inside of an allocation, because the file says so or there is no srun: no step is made."""
    srun = "".join(f"test -e {c.shared}/few/{p} || ln -s $(command -v {p}) {c.shared}/few/{p}; " for p in
                   ("sh", "sleep", "touch", "ssh", "mpirun", "orted", "hostname", "eddis-run"))
    for asked, more in (("--set slurm.launch=ssh", ""), ("", f"mkdir -p few; {srun} export PATH={c.shared}/few; ")):
        anew(c)
        c.write("train.yaml", LONG)
        c.write("script", f"#!/bin/sh\n{more}exec eddis-run {asked} train.yaml\n")
        job = c.sh("sbatch --parsable -N2 --exclusive script").stdout.strip()
        up(c)
        assert not steps(c), steps(c)
        s = json.loads(c.sh(f"eddis-status --json {job}").stdout)
        assert [w["node"] for w in s["workers"]] == ["node1", "node2"], s["workers"]
        p = c.sh(f"eddis-run --stop {job}")
        assert p.returncode == 0, p
        c.await_empty()


def words(c):
    """What is a number of Slurm's, and what to say where there is none."""
    for word in ("999", "999_1", "999+1"):
        for program in ("eddis-status", "eddis-run --stop", "eddis-run --cleanup"):
            check(c.sh(f"{program} {word}"), 2, "999")
    assert c.sh("eddis-run --job-dir 999 -- true").returncode == 0
    assert c.sh("eddis-status ./999 --json").returncode == 0
    assert c.sh("eddis-run --stop 999").returncode == 0  # a folder that is here
    os.mkdir(c.shared + "/bin")
    for name in ("eddis-status", "eddis-run"):
        os.symlink(f"{BUILD}/cmd/{name}", f"{c.shared}/bin/{name}")
    for program in ("eddis-status", "eddis-run --stop", "eddis-run --cleanup"):
        check(c.run(LOGIN, f"PATH=~/shared/bin {program} 998"), 2, "no Slurm on this machine", "998")


class Hanging:
    """eddis-status with an srun that does not get there, for as long as its deadline: begun before the other cases."""

    def __init__(self, c):
        os.mkdir(c.shared + "/slow")
        c.write("slow/srun", f"#!/bin/sh\necho srun: Job step creation temporarily disabled >&2\n"
                             f"echo asked >>{c.shared}/asked\nexec sleep 1000\n", 0o755)
        self.c = c
        self.job, self.process = self.begin("eddis-status", 1)

    def begin(self, program, nth):
        """The job, which ends, and the program that is on its way there."""
        job = self.c.sh("sbatch --parsable --wrap 'exec sleep 1000'").stdout.strip()
        self.c.await_state(job, "RUNNING")
        p = self.c.begin(f"{program} {job}", self.c.environ(self.c.shared + "/slow:"))
        wait_for("srun to be run", lambda: os.path.exists(self.c.shared + "/asked") and
                 self.c.read("asked").count("asked") == nth)
        self.c.cancel_all()
        return job, p

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.communicate()


def hangs(c, hanging):
    """Ctrl-C does not wait for a node that is not reached, and nobody else for ever."""
    _, stop = hanging.begin("eddis-run --stop", 2)
    stop.send_signal(signal.SIGINT)
    out, err = stop.communicate(timeout=PATIENCE)
    assert stop.returncode == 130 and not err, (stop.returncode, out, err)
    out, err = hanging.process.communicate(timeout=PATIENCE)
    assert hanging.process.returncode == 1 and err.count("\n") == 1, (hanging.process.returncode, out, err)
    for word in ("has not reached node node1", f"job {hanging.job}", "temporarily disabled"):
        assert word in err, (word, err)


CASES = [status, watch, live, stop, cleanup, killed, clusters, another_home, another_user, arrays, groups, elsewhere,
         launches, words]


def main():
    skip_without_slurm()
    with SlurmCluster(2, build=BUILD) as c:
        wanted = sys.argv[3:]
        with Hanging(c) if not wanted or "hangs" in wanted else contextlib.nullcontext() as hanging:
            cases.run({**{case.__name__: case for case in CASES}, "hangs": lambda c: hangs(c, hanging)}, wanted, c)


main()
