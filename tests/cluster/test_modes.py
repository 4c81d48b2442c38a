# SPDX-License-Identifier: Apache-2.0
"""test_modes.py BUILD SOURCE [CASE ...] - what eddis-run does beside running a job in front of its user:
jobs in the background, ended from elsewhere, and folders of old ones removed."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import yaml

import cases
from files import read, write
from job import Folders, Job, tool
from node import LEASE, PATIENCE, marked, wait_for

BUILD = sys.argv[1]
FOLDERS = Folders()
JOBS = FOLDERS.path("state", "eddis", "jobs")
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
FOREVER = ["--", "sh", "-c", "echo up; sleep 600"]


def job(*args, **options):
    return Job(BUILD, FOLDERS, list(args), **options)


def run(*args, **options):
    return tool(BUILD, "eddis-run", *args, env=FOLDERS.environ(), **options)


def status(*args):
    return tool(BUILD, "eddis-status", *args, env=FOLDERS.environ())


def stopped(j):
    """It is ended from elsewhere, and all its processes go."""
    p = run("--stop", j.dir + "/")
    assert p.returncode == 0, p
    gone(j)


def gone(j):
    wait_for("the job's processes to go", lambda: not marked(j.mark))


def jobs():
    """The names of all folders of jobs."""
    return os.listdir(JOBS) if os.path.isdir(JOBS) else []


# ---- --stop ----

def stop():
    with job(*FOREVER) as j:
        j.wait_log(1, "up")
        p = run("--stop", j.dir + "/")
        assert p.returncode == 0 and not p.stderr, p
        assert "was stopped" in p.stdout and "by the user, exit code 130" in p.stdout, p.stdout
        j.check(130, "interrupted")
        again = run("--stop", j.dir + "/")
        assert again.returncode == 0 and "had already ended" in again.stdout, again
        text = json.loads(run("--stop", j.dir + "/", "--json").stdout)
        assert text["reason"] == "interrupted" and text["exit_code"] == 130, text


def stop_refused():
    for args, sentence in (
            (["--stop", "no-such-job"], "--stop no-such-job: there is no such file"),
            (["--stop", "x", "--prune", "1d"], "--stop, --cleanup and --prune exclude each other"),
            (["--stop", "x", "train.yaml"], "--stop runs no job"),
            (["--stop", "x", "--", "true"], "--stop runs no job"),
            (["--prune", "soon"], '--prune "soon" is not a duration'),
            (["--prune", "none"], '--prune "none" is not a duration'),
            (["--failed", "--", "true"], "--failed works only with --prune"),
            (["--stop", "x", "--failed"], "--failed works only with --prune"),
            (["--prune", "1d", "--detach"], "--prune runs no job"),
            (["--nproc_per_node", "4"], 'unknown option "--nproc-per-node"; did you mean "-n"?'),
            (["--tee", "3"], "each worker's output is shown and written to a file"),
            ([__file__], "; to run it as a program, write eddis-run -- python3 "),
            (["--nnodes=2"], 'unknown option "--nnodes"; name the machines: -H a,b'),
            (["--detach", "--dry-run", "--", "true"], "--detach: with --dry-run nothing runs"),
            (["--check", "--dry-run", "--", "true"], "--check and --dry-run"),
            (["--detach", "--check", "--", "true"], "--detach: with --check nothing runs"),
            (["--detach", "--profile"], "--detach: with --profile nothing runs")):
        p = run(*args)
        assert p.returncode == 2 and not p.stdout and p.stderr.count("\n") == 1, (args, p)
        assert sentence in p.stderr, (sentence, p.stderr)


def stop_elsewhere():
    """The driver is on another machine: nothing is asked, and the sentence says where to go."""
    with job(*FOREVER) as j:
        j.wait_log(1, "up")
        path = j.path("driver.json")
        driver = json.loads(j.file("driver.json"))
        true_text = j.file("driver.json")
        driver["host"] = "login2"
        write(path, json.dumps(driver))
        p = run("--stop", j.dir + "/")
        assert p.returncode == 2 and p.stderr.count("\n") == 1 and "runs on 'login2'" in p.stderr, p
        # eddis-status tells what the folder says, and does not take the job for lost.
        s = status(j.dir + "/", "--json")
        assert s.returncode == 0 and json.loads(s.stdout)["state"] != "lost", s
        write(path, true_text)
        assert run("-q", "--stop", j.dir + "/").stdout == ""
        j.check(130, "interrupted")


# ---- --detach ----

def detach():
    lock = os.open(FOLDERS.path("lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.set_inheritable(lock, True)
    with job("--detach", *FOREVER, pass_fds=[lock]) as j:
        assert j.end() == 0, (j.out, j.err)
        said = re.search(r"job (\S+) continues in the background; run eddis-status (\S+) to see it,", j.out)
        assert said and said.group(2) == j.dir + "/", j.out
        assert "sync, allreduce" in j.out, "the plan stands before it, for nobody sees it later"
        s = json.loads(status(j.dir + "/", "--json").stdout)
        assert s["state"] == "running" and s["job"] == said.group(1), s
        assert len(marked(j.mark)) > 2
        # It holds no lock of the script that has started it.
        os.close(lock)
        lock = os.open(FOLDERS.path("lock"), os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(lock)
        # It has neither our terminal's session nor our pipes.
        pid = json.loads(j.file("driver.json"))["pid"]
        assert os.getsid(pid) == pid
        log = j.path("driver.log")
        assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2") == log
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        assert os.stat(log).st_mode & 0o777 == 0o600
        stopped(j)
        assert "stopped after" in j.file("driver.log")
        assert j.summary()["reason"] == "interrupted"


def detach_ended():
    """A job that ends before it could be left alone: its own code, said on the terminal."""
    with job("--detach", "-H", "no-such-host.invalid", "--", "true") as j:
        assert j.end() == 3 and "no-such-host.invalid: ssh: " in j.err, (j.code, j.out, j.err)
        j.check_nothing_left()
    with job("--detach", "--set", "profile.emulate=[{rate: 0}]", "--", "true") as j:
        assert j.end() == 2 and j.err.count("\n") == 1, j.err


def detach_signal():
    """Ctrl-C while the parent waits reaches the job."""
    for _ in range(5):
        with job("--detach", "--set", "profile.cache=0s", *FOREVER) as j:
            j.wait_event("registered")
            j.signal(signal.SIGINT)
            if j.end() == 0:  # it was up already
                assert run("--stop", j.dir + "/").returncode == 0
            gone(j)
            if j.code:
                assert j.code == 130, (j.code, j.out, j.err)
                return
    raise AssertionError("it was up before the signal, five times")


def detach_quiet():
    with job("--detach", "-q", *FOREVER) as j:
        assert j.end() == 0 and re.fullmatch(r"\S+\n", j.out), j.out
        stopped(j)


# ---- --check ----

def check():
    before = set(jobs())
    p = run("--check", "-n", "2", "--", "sh", "-c", "touch trained", cwd=FOLDERS.path("work"))
    assert p.returncode == 0 and "the node is ready; nothing was trained" in p.stdout, p
    assert not os.path.exists(FOLDERS.path("work", "trained"))
    assert set(jobs()) == before, "a check left a job's folder"
    p = run("--check", "--", "/no/such/program")
    assert p.returncode == 2 and p.stderr.count("no program '/no/such/program'") == 1, p
    assert "not ready; nothing was trained" in p.stdout and "/no/such" not in p.stdout, p.stdout
    # The interpreter of the command runs once, behind setup, and the script does not.
    p = run("--check", "--json", "-n", "1", "--set", "setup=[echo loading]", "--", sys.executable, "-c", "open('trained', 'w')",
            cwd=FOLDERS.path("work"))
    node = json.loads(p.stdout)["nodes"][0]
    assert p.returncode == 0 and node["python"] == ".".join(map(str, sys.version_info[:3])), p
    assert not os.path.exists(FOLDERS.path("work", "trained"))
    p = run("--check", "-n", "1", "--set", "setup=[exit 4]", "--", "true")
    assert p.returncode == 3 and p.stderr.count("setup failed with code 4: exit 4") == 1 and "not ready" in p.stdout, p
    # What no permission tells; and what it must make to find out does not stay.
    p = run("--check", "--log-dir", "/proc/x", "--", "true")
    assert p.returncode == 2 and "--log-dir: logs.dir '/proc/x' is not a writable folder" in p.stderr, p
    new = FOLDERS.path("work", "new")
    p = run("--check", "--log-dir", f"{new}/logs", "--set", f"checkpoint.dir={new}/deep", "--", "true")
    assert p.returncode == 0 and not os.path.exists(new), p
    # Every host is named, not only the first that fails.
    p = run("--check", "--json", "-H", "localhost,no-such-1.invalid,no-such-2.invalid", "--ssh-command",
            "sh -c 'echo ssh: Could not resolve hostname $HOST: Name or service not known >&2; exit 255' sh",
            "--", "true")
    answer = json.loads(p.stdout)
    assert p.returncode == 3 and not answer["ready"], p
    assert [bool(n["trouble"]) for n in answer["nodes"]] == [False, True, True], answer
    assert answer["nodes"][0]["reached"] and "no-such-2" in answer["nodes"][2]["trouble"], answer


# ---- --prune ----

def job_folder(name, age_s, *files):
    path = os.path.join(JOBS, name)
    os.makedirs(os.path.join(path, "logs"), mode=0o700)
    for f in files:
        write(os.path.join(path, f), "{}")
    then = time.time() - age_s
    for root, folders, names in os.walk(path, topdown=False):
        for n in names:
            os.utime(os.path.join(root, n), (then, then))
        os.utime(root, (then, then))
    return path


def prune():
    day = 86400
    elsewhere = FOLDERS.path("work", "elsewhere")
    os.mkdir(elsewhere)
    write(os.path.join(elsewhere, "MANIFEST"), "x")
    old = job_folder("old-20250101-000000-aaaa", 40 * day, "summary.json", "logs/rank-0000.log")
    os.symlink(elsewhere, os.path.join(old, "checkpoints"))
    os.utime(old, (time.time() - 40 * day,) * 2)
    os.utime(os.path.join(old, "checkpoints"), (time.time() - 40 * day,) * 2, follow_symlinks=False)
    lost = job_folder("lost-20250101-000000-bbbb", 40 * day, "metrics.jsonl")
    young = job_folder("young-20250101-000000-cccc", 10 * day, "summary.json")
    written = job_folder("written-20250101-000000-dddd", 40 * day, "summary.json")
    write(os.path.join(written, "logs", "rank-0001.log"), "now")
    other = os.path.join(JOBS, "no-job")
    os.mkdir(other)
    os.utime(other, (0, 0))

    p = run("--prune", "--dry-run", "30d")
    assert p.returncode == 0 and p.stdout.endswith("2 jobs found\n") and os.path.exists(old), p
    p = run("--prune", "30d")
    assert p.returncode == 0 and p.stdout.endswith("2 jobs removed\n"), p
    assert "removing old-20250101-000000-aaaa   5 weeks old" in p.stdout or \
        "removing old-20250101-000000-aaaa   40 d old" in p.stdout, p.stdout
    assert not os.path.exists(old) and not os.path.exists(lost)
    assert os.path.exists(young) and os.path.exists(written) and os.path.exists(other)
    assert os.path.exists(os.path.join(elsewhere, "MANIFEST")), "a link was followed"
    rows = [json.loads(line) for line in run("--prune", "5d", "--json").stdout.splitlines()]
    assert [r["job"] for r in rows] == ["young-20250101-000000-cccc"], rows


def prune_young():
    """Jobs without a summary that are not a minute old stay, and are named with the reason; nor is one resumed then."""
    ahead = -3600  # by the files' own clock, so they stay young however slow this machine is
    hurt = job_folder("hurt-20250101-000000-aaaa", ahead, "metrics.jsonl", "driver.json")
    driver = {"schema_version": 1, "url": "http://127.0.0.1:1", "token": "x", "owner": "x", "pid": 1, "pid_start": 0}
    write(os.path.join(hurt, "driver.json"), json.dumps(driver), 0o600)
    new = job_folder("new-20250101-000000-bbbb", ahead, "job.yaml")
    p = run("--prune", "0s")
    assert p.returncode == 0 and os.path.exists(hurt) and os.path.exists(new), p
    assert "keeping hurt-20250101-000000-aaaa: its driver exited less than a minute ago, and" in p.stdout, p
    assert "keeping new-20250101-000000-bbbb: it is less than a minute old and may still be starting" in p.stdout, p
    assert run("--prune", "1s").stdout == "0 jobs removed\n"
    p = run("--resume", "new-")
    assert p.returncode == 2 and "--resume new-: the job is still starting" in p.stderr and p.stderr.count("\n") == 1, p
    shutil.rmtree(new)
    shutil.rmtree(hurt)


def prune_failed():
    """A refused job has no folder; the newest job is the newest that started workers; with --failed those
    that ended well or were stopped stay."""
    for n in jobs():
        shutil.rmtree(os.path.join(JOBS, n))
    one = ["-q", "-n", "2", "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.1}, {rate: 1}]", "--set"]
    for name, code, more in (("stopped", 124, ["--timeout", "1s", "--", "sleep", "1000"]), ("bad", 5, ["--", "sh", "-c", "exit 5"]),
                             ("good", 0, ["--", "true"]), ("gone", 3, ["-H", "no-such-host.invalid", "--", "true"]),
                             ("less", 2, ["--set", "batch.global=1", "--", "true"])):
        p = run(*one, "name=" + name, *more)
        assert p.returncode == code, (name, p)
    assert sorted(n.split("-")[0] for n in jobs()) == ["bad", "gone", "good", "stopped"], jobs()
    p = status("--json")
    assert json.loads(p.stdout)["name"] == "good", p
    for args, gone in ((["--failed", "1h"], []), (["0s", "--failed", "--dry-run", "--json"], []), (["0s", "--failed"], ["bad", "gone"])):
        p = run("--prune", *args)
        assert p.returncode == 0 and len(re.findall("removing", p.stdout)) == len(gone), p
        if "--json" in args:
            assert sorted(json.loads(line)["job"].split("-")[0] for line in p.stdout.splitlines()) == ["bad", "gone"], p
    assert sorted(n.split("-")[0] for n in jobs()) == ["good", "stopped"], jobs()


def prune_unreadable():
    """A folder whose files are damaged is listed as unreadable, is not resumed, and is removed."""
    damaged = {"binary": (b"\0\xff{{", b"\0\1"), "cut": (b'{"schema_version": 1, ', b"command: [true\n"), "empty": (b"", b"")}
    folders = {}
    for word, contents in damaged.items():
        name = f"{word}-20250101-000000-aaaa"
        folders[name] = job_folder(name, 0)
        for file, content in zip(("summary.json", "job.yaml"), contents):
            with open(os.path.join(folders[name], file), "wb") as f:
                f.write(content)
    table = status("--list").stdout
    rows = {j["job"]: j for j in json.loads(status("--list", "--json").stdout)["jobs"]}
    for name, path in folders.items():
        assert (rows[name]["state"], rows[name]["reason"]) == ("ended", "unreadable"), rows[name]
        assert re.search(rf"^{name} .*\bunreadable\b", table, re.M), table
        p = run("--resume", name)
        assert p.returncode == 2 and p.stderr.startswith(f"eddis-run: --resume {name}: {path}/job.yaml:"), p
        assert p.stderr.count("\n") == 1 and sorted(os.listdir(path)) == ["job.yaml", "logs", "summary.json"], p
    assert run("--prune", "0s", "--failed").returncode == 0 and all(map(os.path.isdir, folders.values()))
    p = run("--prune", "0s")
    assert p.returncode == 0 and not any(map(os.path.exists, folders.values())), p


def prune_running():
    """A job that runs, or whose driver is on another machine, stays, however old."""
    p = subprocess.Popen([os.path.join(BUILD, "cmd/eddis-run"), "-n", "1", "--set", f"timeouts.lease={LEASE}s",
                          *FOREVER], env=FOLDERS.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         cwd=FOLDERS.path("work"), text=True)
    try:
        mine = wait_for("the job's folder", lambda: [n for n in jobs() if n.startswith("work-")])
        folder = os.path.join(JOBS, mine[0])
        wait_for("driver.json", lambda: os.path.exists(os.path.join(folder, "driver.json")))
        assert run("--prune", "0s").returncode == 0
        assert os.path.isdir(folder), "a running job lost its folder"
        path = job_folder("far-20250101-000000-eeee", 3600, "metrics.jsonl")
        driver = dict(json.loads(read(os.path.join(folder, "driver.json"))), host="login2")
        write(os.path.join(path, "driver.json"), json.dumps(driver), 0o600)
        then = time.time() - 3600
        os.utime(os.path.join(path, "driver.json"), (then, then))
        os.utime(path, (then, then))
        assert run("--prune", "30m").returncode == 0 and os.path.isdir(path)
        assert run("--stop", "work-").returncode == 0
        p.communicate(timeout=PATIENCE)
        assert p.returncode == 130
        assert run("--prune", "0s").returncode == 0 and not os.path.isdir(folder)
    finally:
        p.kill()
        p.communicate()


# ---- --resume ----

def resume():
    """A job that was stopped goes on by its id alone; one that is over says so; what does not fit is refused."""
    data = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../examples/digits/digits.csv")
    path = write(FOLDERS.path("work", "train.yaml"),
                 f"command: [eddis-train, --data, {data}, --test, 360, --model, softmax, --epochs, 4, --quiet]\n"
                 "name: again\nseed: 3\nbatch: {global: 240}\ncheckpoint: {every: 4}\nenv: {API_KEY: hidden}\n"
                 "profile: {emulate: [{rate: 1, a_ms: 60, c_ms: 0.01}, {rate: 0.5}]}\n")
    p = subprocess.Popen([os.path.join(BUILD, "cmd/eddis-run"), "-q", path], env=FOLDERS.environ(),
                         stderr=subprocess.PIPE, text=True)

    def saved():
        return [n for n in jobs() if n.startswith("again-") and
                os.path.exists(f"{JOBS}/{n}/checkpoints/step-00000004/MANIFEST")]
    try:
        stopped = wait_for("a checkpoint", saved)[0]
        assert run("--stop", stopped).returncode == 0 and p.wait(PATIENCE) == 130, p.stderr.read()
    finally:
        p.kill()
        p.communicate()
    for args, sentence in (
            ([stopped], "its job.yaml does not store the value of API_KEY; give it again, -x API_KEY=..."),
            ([stopped, "--seed", "4", path], "has seed 3, but this job has 4"),
            ([stopped, "--set", "batch.global=100", path], "has a global batch of 240, but this job has 100"),
            ([os.path.join(JOBS, stopped, "checkpoints")], "does not store the value of API_KEY"),
            ([os.path.join(JOBS, stopped, "checkpoints", "step-00000004") + "/"], "does not store the value of API_KEY"),
            ([JOBS + "/"], "this is not a job's folder, so the program to run is unknown")):
        p = run("--resume", *args)
        assert p.returncode == 2 and sentence in p.stderr and p.stderr.count("\n") == 1, p
    before = jobs()
    p = run("--resume", stopped, "-x", "API_KEY=hidden")
    assert p.returncode == 0 and "test accuracy" in p.stdout, p
    done = [n for n in jobs() if n not in before]
    assert len(done) == 1, done
    s = json.loads(read(os.path.join(JOBS, done[0], "summary.json")))
    assert s["samples"] < 4 * 1437, f"it began from nothing: {s}"
    p = run("--resume", done[0])
    assert p.returncode == 0 and f"nothing left to train: job {done[0]}" in p.stdout and "test accuracy" in p.stdout, p
    assert len(jobs()) == len(before) + 1, "a job that is over left another folder"


# ---- --json ----

def words(text):
    """What stands behind .Va and .It Va."""
    return {w for line in re.findall(r"^\.(?:It )?Va (.*)$", text, re.M) for w in re.findall(r"\w+", line)}


def told_status():
    """Of eddis-status(1): the keys of each list, by the name in the sentence before it."""
    section = re.search(r"^\.Ss JSON\n(.*?)^\.Sh", read(os.path.join(ROOT, "man/eddis-status.1")), re.M | re.S).group(1)
    return {re.findall(r"\.Va (\w+)", before)[-1]: words(rows)
            for before, rows in re.findall(r"(.*?)^\.Bl [^\n]*\n(.*?)^\.El$", section, re.M | re.S)}


def told_run():
    """Of eddis-run(1): the keys behind each option that --json goes with."""
    item = re.search(r"^\.It Fl -json\n(.*?)^\.It", read(os.path.join(ROOT, "man/eddis-run.1")), re.M | re.S).group(1)
    return {option: words(text) for option, text in re.findall(r"With\n\.Fl -(\w+)\n(.*?)(?=^With|\Z)", item, re.M | re.S)}


def json_keys():
    """The manuals name every key that programs can read, and no other; openapi.yaml is held against a driver elsewhere."""
    of_status, of_run = told_status(), told_run()
    schemas = yaml.safe_load(read(os.path.join(ROOT, "agents/driver/openapi.yaml")))["components"]["schemas"]
    for name, schema in (("job", "Job"), ("workers", "Worker"), ("figures", "Figures"), ("plans", "PlanGave"),
                         ("first_failure", "FirstFailure"), ("equal_split_samples_per_s", "EqualSplit")):
        assert of_status[name] == set(schemas[schema]["properties"]), (name, of_status[name] ^ set(schemas[schema]["properties"]))
    p = run("--detach", "--json", "--", "true")
    assert p.returncode == 0 and set(json.loads(p.stdout)) == of_run["detach"], (p, of_run)
    run("--stop", json.loads(p.stdout)["job"])  # or it has ended
    listed = json.loads(status("--list", "--json").stdout)
    assert set(listed) == {"schema_version", "jobs"} and set(listed["jobs"][0]) == of_status["jobs"], listed
    old = job_folder("keys-20250101-000000-aaaa", 40 * 86400, "summary.json")
    assert set(json.loads(run("--prune", "30d", "--json").stdout)) == of_run["prune"] and not os.path.exists(old)
    checked = json.loads(run("--check", "--json", "--", "true").stdout)
    assert set(checked) | set(checked["nodes"][0]) == (of_run["check"] | {"nodes"}), checked


CASES = [json_keys, stop, stop_refused, stop_elsewhere, detach, detach_ended, detach_signal, detach_quiet, check, prune, prune_young, prune_failed, prune_unreadable, prune_running, resume]


cases.run(CASES, sys.argv[3:])
