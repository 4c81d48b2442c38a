# SPDX-License-Identifier: Apache-2.0
"""test_options.py BUILD SOURCE [CASE ...] - what users say to eddis-run, on the command line and at the driver's door.

What is refused, before a job has a folder; what options do to a job; what may be read of a job that runs, and by whom.
"""

import glob
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys

import known
from cases import run, skip_part
from doors import listening
from files import read, write
from job import Folders, Job, request, tool
from node import PATIENCE, marked, wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
DIGITS = os.path.join(SOURCE, "examples/digits/digits.csv")
ONE = ["--set", "profile.emulate=[{rate: 1.0, a_ms: 2, c_ms: 0.1}]", "--", "true"]


def job(*args, **options):
    return Job(BUILD, FOLDERS, list(args), **options)


def eddis_run(*args, **options):
    return tool(BUILD, "eddis-run", *args, **{"env": FOLDERS.environ(), **options})


# ---- what is refused ----

def refused_at_once(args, sentence, **options):
    """One sentence on standard error, nothing else, and no folder of a job.  Returns the process."""
    state = FOLDERS.path("no-state")
    p = eddis_run(*args, env=dict(FOLDERS.environ(), XDG_STATE_HOME=state), **options)
    assert p.returncode == 2 and not p.stdout and p.stderr.count("\n") == 1, (args, p)
    assert p.stderr.startswith("eddis-run: ") and sentence in p.stderr, (sentence, p)
    assert not os.path.exists(state), (args, "a folder of a job that never was")
    return p


def missing_program():
    """A misspelt program is found before anything starts, by name; a plan is shown all the same."""
    work = FOLDERS.path("work")
    for name in ("train.py", "run.sh"):
        write(os.path.join(work, name), "#!/bin/sh\n")
    for words, sentence in ((["./no-such-program"], "/no-such-program'; build it first, or correct the command"),
                            (["no-such-program"], "no program 'no-such-program' in PATH; install it"),
                            (["eddis-trian", "--x"], "no program 'eddis-trian' in PATH; did you mean \"eddis-train\"?"),
                            (["./tain.py"], "/tain.py'; did you mean \"./train.py\"?"),
                            (["python3", "-u", "tain.py", "run.sh"], f"no script 'tain.py' for python3 in {work}; did you mean \"train.py\"?"),
                            (["sh", "./rum.sh"], "did you mean \"./run.sh\"?")):
        for more in [], ["-n", "2"], ["-H", "localhost"], ["--detach"]:
            refused_at_once([*more, "--", *words], sentence, cwd=work)
    write(os.path.join(work, "wrong.yaml"), "name: x\ncommand: python3 tain.py\n")
    p = refused_at_once(["wrong.yaml"], "no script 'tain.py' for python3 in ", cwd=work)
    assert p.stderr.startswith("eddis-run: wrong.yaml:2:1: no script "), p
    p = eddis_run("--dry-run", "--", "./tain.py", cwd=work)
    assert p.returncode == 2 and p.stderr.count("\n") == 1 and "plan  " in p.stdout and "did you mean" in p.stderr, p


def preflight():
    """What the job names on this machine is looked for before anything starts."""
    path = FOLDERS.path("work", "preflight.yaml")
    for text, sentence in (
            ("workdir: /nope", ":2:1: workdir '/nope' is not a folder"),
            ("checkpoint: {resume: /nope}", ":2:14: checkpoint.resume '/nope' is not a folder"),
            ("logs: {dir: /dev/null/logs}", ":2:8: logs.dir '/dev/null/logs' is not a writable folder"),
            ("ssh: {identity: /nope}", ":2:7: ssh.identity '/nope' cannot be read on this machine"),
            ("nodes: [{host: no-such.invalid, ssh: {identity: /nope}}]", ":2:1: ssh.identity '/nope' cannot be read"),
            ("checkpoint: {dir: /dev/null}", ":2:14: checkpoint.dir '/dev/null'")):
        write(path, f"command: [\"true\"]\n{text}\n")
        for more in ([], ["--dry-run"]):
            refused_at_once([path, *more], sentence)
    p = refused_at_once(["--set", "workdir=/nope", "--", "true"], "workdir '/nope' is not a folder")
    assert p.stderr.startswith("eddis-run: --set: workdir "), p


def usage():
    for args, sentence in (
            ([], "no job is named"), (["--nope"], 'unknown option "--nope"'),
            (["--dryrun"], 'did you mean "--dry-run"'),
            (["no-such.yaml"], "no-such.yaml"), (["a.yaml", "b.yaml"], "one job at a time"),
            (["a.yaml", "--", "true"], "not both"), (["-x", "NO_SUCH_VARIABLE", "--", "true"], "-x"),
            (["-x", "1A=2", "--", "true"], "1A"), (["-x", "RANK=3", "--", "true"], "set by eddis itself"),
            (["--set", "batch.global=0", "--", "true"], "batch.global"),
            (["--set", "batch.globl=4", "--", "true"], 'did you mean "global"'),
            (["--set", "foo=1", "--", "true"], 'unknown key "foo"'),
            (["--set", "batch=3", "--", "true"], "group of keys"),
            (["--set", "x", "--", "true"], "as --set batch.global=512"),
            (["-n", "cnn.yaml"], "-n needs the number"), (["true"], "eddis-run -- true"),
            (["--plan", "no-such", "--", "true"], "--plan no-such"),
            (["--set", "restarts=2000", "--", "true"], "restarts"),
            (["--set", "batch.min=64", "--set", "batch.max=8", "--", "true"], "batch.max"),
            (["--measure-equal", "x", "--", "true"], "--measure-equal"),
            (["--resume", "zzz", "--", "true"], "--resume zzz: there is no such file"),
            (["--seed", "-1", "--", "true"], "seed"), (["-n", "0.5", "--", "true"], "")):
        refused_at_once(args, sentence)
    bad = FOLDERS.path("work", "bad.yaml")
    for keys, lines in (["comand: a", "seed: -1", "sync: {mod: async}"], 3), ([f"k{i}: 1" for i in range(20)], 11):
        p = eddis_run(write(bad, "\n".join(keys)))
        assert p.returncode == 2 and not p.stdout, p
        told = p.stderr.splitlines()
        assert len(told) == lines and told[0].startswith(f"eddis-run: {bad}:1:1: "), told
        assert told[2].startswith(f"eddis-run: {bad}:3:"), told
    assert not os.path.exists(FOLDERS.path("state", "eddis")), "a folder of a job that never was"
    with Job(BUILD, FOLDERS, ["--ranks", "0,9", "--", "true"]) as j:  # known once there is a plan
        refused(j, "--ranks: there is no rank 9; the last of the 2 ranks is rank 1")


def launchers():
    """Who names another launcher is told what to write instead; one worker on a node may use it all the same."""
    def said(launcher, instead, besides=""):
        return f"others in each of them; write {instead} in place of '{launcher} ...'{besides}"

    one, words = "or give accelerate --num_processes 1", ["--nproc-per-node", "2", "train.py", "--lr", "1"]
    for command, sentence in (
            (["torchrun", *words], said("torchrun", "'python3 train.py ...'")),
            (["/v/bin/torchrun", *words[:3]], said("/v/bin/torchrun", "'/v/bin/python3 train.py'")),
            (["torchrun", "--standalone", "-m", "pack.train"], said("torchrun", "'python3 -m pack.train'")),
            (["torchrun", "--no-python", "./train"], said("torchrun", "the program itself")),
            (["python3.11", "-u", "-m", "torch.distributed.run", *words],
             said("python3.11 -u -m torch.distributed.run", "'python3.11 train.py ...'")),
            (["accelerate", "launch", "train.py"], said("accelerate launch", "'python3 train.py'", ", " + one)),
            (["deepspeed", *words], said("deepspeed", "'python3 train.py ...'")),
            (["-n", "1", "--", "mpirun", "./train"], said("mpirun", "the program itself"))):
        refused_at_once(command if "--" in command else ["-n", "2", "--", *command], sentence)
    for command in (["-n", "1", "--", "torchrun", "train.py"], ["--", "accelerate", "launch", "--num_processes", "1", "train.py"],
                    ["--", "accelerate", "test"], ["--", "python3", "torchrun"]):
        p = eddis_run("--dry-run", *ONE[:2], *command)
        assert ("others in each" not in p.stderr) and ("for which eddis does not plan" in p.stderr) == ("-n" in command), p


def refused(j, sentence, was_there=False):
    """One sentence and no folder; a folder that was there is empty."""
    assert j.end() == 2 and sentence in j.err, (j.code, j.err)
    assert j.err.count("\n") == 1 and not j.out, (j.err, j.out)
    j.check_nothing_left()
    assert os.path.isdir(j.dir) == was_there and (not was_there or not os.listdir(j.dir)), j.dir


def impossible():
    """What the nodes cannot give is usage too: known only after the profile."""
    with job("--set", "batch.global=2", "--", "true", ranks=4) as j:
        refused(j, "batch.global is 2, too small for 4 workers")
    empty = FOLDERS.path("work", "empty")
    os.mkdir(empty)
    with job("--job-dir", empty, "--set", "batch.global=2", "--", "true", ranks=4) as j:
        j.dir = empty
        refused(j, "batch.global is 2, too small for 4 workers", was_there=True)


# ---- options ----

def resume_by_name():
    """The newest of several jobs that have this whole name; the beginning of a name may be anybody's."""
    env = dict(FOLDERS.environ(), XDG_STATE_HOME=FOLDERS.path("named"))
    place = FOLDERS.path("named", "eddis", "jobs")
    for name in ("digits", "digits", "digits2"):
        assert eddis_run("-n", "1", "--set", f"name={name}", "--", "true", env=env).returncode == 0
    jobs = os.listdir(place)
    newest = max((j for j in jobs if j.startswith("digits-")),
                 key=lambda j: os.stat(os.path.join(place, j, "job.yaml")).st_mtime_ns)
    p = eddis_run("--resume", "digits", env=env)
    assert p.returncode == 0 and newest in p.stdout and len(jobs) == 3, p
    assert len(os.listdir(place)) == 3, "it has trained to its end"
    p = eddis_run("--resume", "digit", env=env)
    assert p.returncode == 2 and "3 jobs begin with 'digit'; write more of the id" in p.stderr, p


def dry_run():
    def text(*options):
        command = [*known.alone(), os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--json"]
        return subprocess.run([*command, *(options or ("-n", "3")), "--", "true"], env=FOLDERS.environ(), text=True,
                              capture_output=True, check=True, timeout=PATIENCE).stdout

    def kept():  # the profile, which is measured anew when the machine is quiet again; None: it is none to keep
        for path in glob.glob(FOLDERS.path("cache", "eddis", "profile-*.json")):
            return read(path)

    def two_of_one_profile():
        profile, texts = kept(), [text(), text()]
        return profile and kept() == profile and texts
    text()
    texts = wait_for("two plans of one profile", two_of_one_profile)
    assert texts[0] == texts[1], "the same job and profile must give the same bytes"
    emulated = "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.1}]"
    assert text(*emulated) == text(*emulated), "no profile of an emulated node is of its moment"
    plan = json.loads(texts[0])["plan"]
    assert sum(w["batch"] for w in plan["workers"]) == plan["global_batch"]
    p = eddis_run("--profile", "--json", check=True)
    assert json.loads(p.stdout)["nodes"][0]["cores"] > 0
    assert not os.path.exists(FOLDERS.path("state", "eddis"))
    assert not os.listdir(FOLDERS.path("tmp")) and not os.listdir(FOLDERS.path("runtime"))


def unknown_hosts():
    """What never came up has left nothing, also where another host's login was still going on."""
    says = "ssh: Could not resolve hostname nohost1: Name or service not known"
    login = write(FOLDERS.path("work", "login"),
                  f'#!/bin/sh\ncase "$*" in *nohost1*) echo "{says}" >&2\nexit 255;; esac\nexec sleep 3600\n', 0o700)
    for args in (["--dry-run"], []):
        p = eddis_run(*args, "--ssh-command", login, "-H", "nohost1:1,nohost2:1", "--", "true")
        assert p.returncode == 3 and "nohost1" in p.stderr, p
        assert "may remain" not in p.stderr, p.stderr


def output():
    """What was asked for and cannot be written is a failure; a reader who has gone away is none."""
    for program, args, code in (("eddis-status", ["--help"], 1), ("eddis-train", ["--help"], 1),
                                ("eddis-agent", ["--help"], 1), ("eddis-run", ["--help"], 1),
                                ("eddis-run", ["--dry-run", "--json", *ONE], 1), ("eddis-run", ["--json", *ONE], 1), ("eddis-run", ONE, 0)):
        with open("/dev/full", "w") as full:
            p = tool(BUILD, program, *args, env=FOLDERS.environ(), stdout=full)
        assert p.returncode == code and "standard output" in p.stderr, (program, args, p)
        if program != "eddis-run":
            continue
        gone, end = os.pipe()
        os.close(gone)
        p = eddis_run(*args, stdout=end)
        os.close(end)
        assert p.returncode == 0 and not p.stderr, (args, p)
    for folder, sentence in ((write(FOLDERS.path("work", "file"), ""), "Not a directory"),
                             ("/proc/job", "No such file"), ("/sys/kernel/job", "not permitted")):
        p = eddis_run("--job-dir", folder, "--", "true")
        assert p.returncode == 2 and "cannot make the job's folder" in p.stderr, p
        assert sentence in p.stderr or folder.startswith("/sys"), p
    with job(*ONE, ranks=None) as j:  # the hint at the end works
        j.check(0, "ok")
        hint = j.out.split("eddis-status ")[1].splitlines()[0].split()
        p = tool(BUILD, "eddis-status", *hint, env=FOLDERS.environ())
        assert p.returncode == 0 and "done in" in p.stdout, p


def replay():
    with job("--set", "batch.global=100", "--", "true", ranks=3) as j:
        j.check(0, "ok")
        path, plan = j.path("plan-1-1.json"), j.plan()
    with job("--set", "batch.global=100", "--plan", path, "--", "true", ranks=3) as j:
        j.check(0, "ok")
        assert j.plan() == plan
        assert "replayed" in j.out
        with job("--set", "batch.global=100", "--plan", j.dir, "--", "true", ranks=3) as k:
            k.check(0, "ok")
            assert k.plan() == plan
        with job("--set", "batch.global=100", "--plan", path, "--", "true", ranks=2) as k:
            refused(k, "plan")
        assert j.file("summary.json").endswith("}\n")


def replay_is_bitwise():
    """What a run has chosen of its communication is in its plan; two runs of that plan are equal to
    the last bit, also of the first run, whose plan knows how large the model is since eddis_commit."""
    mix = "[{rate: 1, a_ms: 1, c_ms: 0.05}, {rate: 0.6}, {rate: 0.35}]"
    saved = []

    def train(*options):
        return job("--set", f"profile.emulate={mix}", "--set", "batch.global=120", *options, "--", "eddis-train",
                   "--data", DIGITS, "--model", "mlp", "--widths", "64,32", "--epochs", "3", "--quiet",
                   "--save", "final", ranks=None)

    def run(*options):
        with train(*options) as j:
            j.check(0, "ok")
            with open(os.path.join(j.folders.path("work"), "final"), "rb") as f:
                saved.append(f.read())
            os.unlink(f.name)
            return j.path("plan-1-1.json"), j.plan(), j.out

    path, first, said = run("-v")
    assert first["model_bytes"] == 4 * (64 * 64 + 64 + 64 * 32 + 32 + 32 * 10 + 10), first
    assert "modes, for a model of 26 kB" in said, said
    assert first["communication"]["version"] > 0 and first["communication"]["reason"], first
    assert f"communication: {first['communication']['reason']}\n" in said, said  # with -v
    for _ in range(2):
        _, again, said = run("--plan", path)
        assert "replayed" in said, said
        for p in first, again:  # these follow the steps, which a busy machine makes longer
            p.pop("predicted_samples_per_s", None), p.pop("equal_samples_per_s", None)
        assert again == first, {k: (v, again.get(k)) for k, v in first.items() if again.get(k) != v}
    assert saved[1] == saved[2], "two runs of one plan differ"
    _, known, said = run()
    assert known["model_bytes"] == first["model_bytes"] and "modes, for a model of" in said, said


def modes():
    """The same program in the other modes: every sample is trained once an epoch, and the end is in good order."""
    mix = "[{rate: 1, a_ms: 1, c_ms: 0.02}, {rate: 0.6}, {rate: 0.35}, {rate: 0.3}]"
    for mode, groups, options in (("async", [0, 1, 2, 3], []), ("hybrid", [0, 1, 0, 1], ["--set", "sync.groups=[[0, 2], [1, 3]]"])):
        with job("--set", f"profile.emulate={mix}", "--set", "batch.global=64", "--set", f"sync.mode={mode}",
                 "--set", "sync.period=4", *options, "--", "eddis-train", "--data", DIGITS, "--test", "297", "--model",
                 "softmax", "--epochs", "3", "--quiet", ranks=None) as j:
            j.check(0, "ok")
            plan, summary = j.plan(), j.summary()
            assert [w["group"] for w in plan["workers"]] == groups, plan
            assert (plan["mode"], plan["period"], summary["mode"]) == (mode, 4, mode), plan
            assert plan["moving_rate"] == 0.9 / (max(groups) + 1), plan
            assert summary["samples"] == 3 * 1500 and summary["accuracy"] > 0.7, summary
            assert [w["group"] for w in summary["workers"]] == groups, summary


def variables():
    os.environ["HANDED_ON"] = "from here"
    with job("-x", "A=b c", "-x", "HANDED_ON", "--", "sh", "-c", "echo $A/$HANDED_ON/$RANK/$WORLD_SIZE") as j:
        j.check(0, "ok")
        assert j.log(1) == "b c/from here/1/2\n", j.log(1)


def quiet_and_json():
    with job("-q", "--", "true") as j:
        j.check(0, "ok")
        assert j.out == "" and j.err == "", (j.out, j.err)
    with job("--json", "--", "true") as j:
        j.check(0, "ok")
        assert json.loads(j.out) == j.summary()


# ---- the driver's door ----

def door():
    with job("--", "sh", "-c", "echo up; sleep 1000") as j:
        url, token = j.driver()
        j.wait_log(1, "up")
        j.wait_event("rank_started", 2)
        owner = json.loads(j.file("driver.json"))["owner"]

        def answers(*rows):
            for path, who, body, code in rows:
                status, text = request(url + path, who, body)
                assert status == code, (path, status, text)
        answers(("/v1/job", None, None, 401), ("/v1/job", "x" * 64, None, 401))
        status, text = request(url + "/v1/job", token)
        assert status == 200 and json.loads(text)["state"] == "running", text
        assert len(json.loads(request(url + "/v1/workers", token)[1])["workers"]) == 2
        assert json.loads(request(url + "/v1/plan", token)[1])["global_batch"] == 256
        events = json.loads(request(url + "/v1/events?after=2", token)[1])["events"]
        assert events[0]["n"] == 3, events
        answers(("/v1/events?after=x", token, None, 400))
        assert "eddis_refused_requests_total" in request(url + "/metrics", token)[1]
        assert re.search(r"eddis_refused_requests_total\{.*\} 2\n",
                         request(url + "/metrics", token)[1])
        # A reader may only read.
        answers(("/v1/job", token, b"{}", 405), ("/v1/agents", token, b"{}", 405),
                ("/v1/agents/0/orders?after=0", token, None, 404), ("/v1/nothing", token, None, 404),
                ("/v1/job/stop", token, b"", 403))
        secrets(j, token, owner)
        agents_door(j, url, token, owner)
        assert re.match(r"\d+ refused requests from 127.0.0.1$",
                        json.loads(request(url + "/v1/job", token)[1])["refused"])
        # The owner may stop, and nothing else.
        answers(("/v1/job", owner, None, 200), ("/v1/job", owner, b"{}", 405), ("/v1/job/stop", owner, b"", 202))
        j.check(130, "interrupted", "refused a request from 127.0.0.1")
        assert j.err.count("refused a request") == 1, j.err
        kept = "".join(open(os.path.join(d, f), errors="replace").read()
                       for d, _, files in os.walk(j.dir) for f in files)
        assert token not in kept and owner not in kept


def agents_door(j, url, *tokens):
    """Only the driver listens, on loopback here; its other door is TLS 1.3 and the agents' own."""
    if os.geteuid() != 0:
        skip_part("door", "the descriptors of who holds secrets are root's to see")
        return
    found = listening(j.process.pid)
    assert len(found) == 2 and all(address == "127.0.0.1" for address, _ in found), found
    for program in "eddis-agent", "eddis-keeper", "eddis-rank":
        pids = j.pids(program)
        assert pids and not any(map(listening, pids)), (program, {pid: listening(pid) for pid in pids})
    port, = {port for _, port in found} - {int(url.rsplit(":", 1)[1])}
    try:
        assert request(f"http://127.0.0.1:{port}/v1/agents/0/orders?after=0", tokens[0])[0] == 0
    except (OSError, http.client.HTTPException):
        pass  # not a word in plain HTTP
    strange = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    strange.check_hostname, strange.verify_mode = False, ssl.CERT_NONE
    for version, good in ("TLSv1_2", False), ("TLSv1_3", True):
        strange.minimum_version = strange.maximum_version = ssl.TLSVersion[version]
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
            try:
                with strange.wrap_socket(s) as t:
                    assert good
                    # People's tokens open nothing here.
                    t.sendall(b"GET /v1/agents/0/orders?after=0 HTTP/1.1\r\nHost: x\r\n"
                              b"Authorization: Bearer " + tokens[-1].encode() + b"\r\n\r\n")
                    assert b" 401 " in t.recv(4096)
            except ssl.SSLError:
                assert not good


def secrets(j, *tokens):
    """The tokens for people lie in driver.json alone, 0600; no process shows a secret."""
    assert os.stat(j.path("driver.json")).st_mode & 0o777 == 0o600
    for pid in marked(j.mark):
        with open(f"/proc/{pid}/cmdline", "rb") as c, open(f"/proc/{pid}/environ", "rb") as e:
            shown = c.read() + e.read()
        assert not any(token.encode() in shown for token in tokens)
        # 64 hexadecimal digits in a row would be a token.
        assert not re.search(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", shown), pid


CASES = [missing_program, preflight, usage, launchers, impossible, resume_by_name, dry_run, unknown_hosts, output, replay,
         replay_is_bitwise, modes, variables, quiet_and_json, door]

run(CASES, sys.argv[3:])
