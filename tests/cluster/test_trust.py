# SPDX-License-Identifier: Apache-2.0
"""test_trust.py BUILD SOURCE [CASE ...] - what others may have written, and what they may read or change of a job."""

import json
import os
import re
import shutil
import stat
import struct
import sys
import tempfile
import zlib

from cases import run
from files import read, write
from job import Folders, Job, tool

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
STRANGER = 54321


def training(*args, **environ):
    data = os.path.join(SOURCE, "examples/digits/digits.csv")
    return Job(BUILD, FOLDERS, ["--set", "profile.emulate=[{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]", "--set", "checkpoint.every=5",
                                "--set", "binding=none", "--restarts", "0", *args, "--", "eddis-train", "--data", data, "--test", "360",
                                "--widths", "8", "--epochs", "2"], **environ)


def refused(sentence, *args):
    p = tool(BUILD, "eddis-run", *args, env=FOLDERS.environ())
    assert p.returncode in (1, 2) and re.search(sentence, p.stderr), p


def open_to_all(folder):
    found = []
    for at, names, files in os.walk(folder):
        for path in (os.path.join(at, name) for name in names + files):
            mode = os.lstat(path).st_mode
            if mode & stat.S_IWOTH and not stat.S_ISLNK(mode):
                found.append((path, oct(mode)))
    return found


def newest(j):
    return os.path.realpath(j.path("checkpoints", j.checkpoints()[-1]))


def others():
    """Nothing that a job makes can be written by all, whatever umask says; what is opened to all afterwards, or belongs to
    somebody else, is refused, with what mends it, also by root, whom a job.yaml of that user would tell what to run."""
    shared = FOLDERS.path("work", "made", "all")
    before = os.umask(0)
    try:
        with training("--set", "checkpoint.dir=" + shared) as j:
            j.check(0, "ok")
    finally:
        os.umask(before)
    assert not open_to_all(FOLDERS.root.name), open_to_all(FOLDERS.root.name)
    step = newest(j)
    job_yaml, nodes = (j.path(name) for name in ("job.yaml", "nodes.jsonl"))
    plain = ["--resume", step, "-n", "2", "--", "true"]
    for path, words in ((step, plain), (os.path.dirname(step), plain), (os.path.join(step, "rank-0000.parameters"), plain),
                        (os.path.join(step, "MANIFEST"), plain), (job_yaml, ["--resume", j.path("checkpoints")]),
                        (nodes, ["--cleanup", j.dir + "/"])):
        mode = os.stat(path).st_mode & 0o777
        os.chmod(path, 0o777)
        refused(f"'{re.escape(path)}' is not trusted: all users may write to it .*mode 0777.*chmod o-w it", *words)
        os.chmod(path, mode)
        if os.geteuid() != 0 or path == os.path.dirname(step):
            continue
        os.chown(path, STRANGER, STRANGER)
        refused(f"'{re.escape(path)}' is not trusted: it belongs to user number {STRANGER} .mode 0[0-7]+. and this process runs as user root", *words)
        os.chown(path, 0, 0)
    # Nor is anything written there, before it is too late.
    os.chmod(shared, 0o777)
    for key in "checkpoint.dir", "logs.dir":
        refused(f"{key} '{shared}' is not trusted: all users may write .*chmod o-w it",
                "-n", "1", "--set", f"{key}={shared}", "--", "true")


def cleaned_by_root():
    """Root cleans up after another user's job with that user's rights: what the job's list says to run is not root's word."""
    if os.geteuid() != 0:
        return
    with tempfile.TemporaryDirectory() as top:
        job = os.path.join(top, "job-20260101-000000-abcd")
        os.mkdir(job)
        login = write(os.path.join(job, "login"), f"#!/bin/sh\n{{ id -ru; id -rG; env; }} > {job}/seen\nexit 1\n")
        line = {"schema_version": 1, "job": os.path.basename(job), "host": "elsewhere", "mark": "5" * 32, "ssh": {"command": [login]}}
        nodes = write(os.path.join(job, "nodes.jsonl"), json.dumps(line) + "\n")
        job_yaml = write(os.path.join(job, "job.yaml"), "command: [true]\n")
        for path in (login, job, nodes, job_yaml, top):
            os.chmod(path, 0o755)
            if path != top:
                os.chown(path, STRANGER, STRANGER)
        p = tool(BUILD, "eddis-run", "--cleanup", job + "/", env=dict(os.environ, SECRET_OF_ROOT="1"))
        assert p.returncode == 1 and "not trusted" not in p.stderr, p
        seen = read(os.path.join(job, "seen")).split("\n")
    assert seen[:2] == [str(STRANGER)] * 2 and not any("SECRET" in v for v in seen), seen


def variables():
    """What steers TLS and HTTP is hidden from eddis, and the worker has it all the same."""
    seen = {"SSLKEYLOGFILE": FOLDERS.path("work", "keys"), "GNUTLS_SYSTEM_PRIORITY_FILE": "/no", "CURL_CA_BUNDLE": "/no",
            "OPENSSL_CONF": "/no", "OPENSSL_MODULES": "/no", "GIO_EXTRA_MODULES": "/no", "https_proxy": "http://127.0.0.1:1",
            "HTTP_PROXY": "http://127.0.0.1:1", "No_Proxy": "none", "LD_LIBRARY_PATH": "/no/such", "LD_PRELOAD": ""}
    script = ("import json, os\n"
              "all = {'worker': dict(os.environ)}\n"
              "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
              "    try:\n"
              "        name = open(f'/proc/{pid}/comm').read().strip()\n"
              "        text = open(f'/proc/{pid}/environ').read()\n"
              "    except OSError:\n"
              "        continue\n"
              "    if name in ('eddis-run', 'eddis-agent') and os.environ['EDDIS_TEST_MARK'] in text:\n"
              "        all[name] = dict(v.split('=', 1) for v in text.split('\\0') if '=' in v)\n"
              "json.dump(all, open('seen', 'w'))\n")
    with Job(BUILD, FOLDERS, ["--set", "binding=none", "--", "/usr/bin/python3", "-c", script], ranks=1, **seen) as j:
        j.check(0, "ok")
    found = json.loads(read(FOLDERS.path("work", "seen")))
    assert sorted(found) == ["eddis-agent", "eddis-run", "worker"], sorted(found)
    kept = {"LD_LIBRARY_PATH", "LD_PRELOAD"}
    for name, value in seen.items():
        assert found["worker"].get(name) == value, (name, found["worker"])
        for program in ("eddis-agent", "eddis-run"):
            assert (name in found[program]) == (name in kept), (program, name)
    assert not os.path.exists(seen["SSLKEYLOGFILE"])


def asked_for():
    """They are as others to -x and env_pass."""
    with Job(BUILD, FOLDERS, ["-x", "https_proxy", "--set", "env_pass=[NO_*, No_*]", "--", "sh", "-c", "echo $https_proxy $No_Proxy"],
             ranks=1, https_proxy="http://127.0.0.1:1", No_Proxy="none") as j:
        j.check(0, "ok")
        assert "http://127.0.0.1:1 none" in j.log(0), j.log(0)
        assert "No_Proxy" in j.file("job.yaml")


def list_of_samples():
    """A list of the samples that are left whose length is none's is damage, not a shorter list."""
    with training("--set", "sync.mode=async", "--set", "sync.period=4") as j:
        assert j.end() == 0, j.err
    step = newest(j)
    name = "rank-0000.eddis.samples"
    manifest = read(os.path.join(step, "MANIFEST")).split("\n")
    for n in (0, 3, 16, 20):
        damaged = FOLDERS.path("work", f"of-{n}", os.path.basename(step))
        shutil.copytree(step, damaged)
        data = struct.pack("=3q", 0, 0, 1)[:n]
        with open(os.path.join(damaged, name), "wb") as f:
            f.write(data)
        lines = ["%08x %d %s" % (zlib.crc32(data), len(data), name) if line.endswith(" " + name) else line
                 for line in manifest if not line.startswith("end ")]
        text = "\n".join(line for line in lines if line) + "\n"
        write(os.path.join(damaged, "MANIFEST"), text + "end %08x\n" % zlib.crc32(text.encode()))
        with training("--resume", damaged) as j:
            assert j.end() == 1 and f"is damaged: its 'eddis.samples' of {n} bytes is not a list of samples" in j.err + j.log(0), (n, j.err)


CASES = [others, cleaned_by_root, variables, asked_for, list_of_samples]

run(CASES, sys.argv[3:])
