# SPDX-License-Identifier: Apache-2.0
"""job.py - runs eddis-run as a user does, for the tests of whole jobs.

Every job gets a mark in its environment, which all its processes inherit: what carries it after the
end was left behind.  Folders of one test lie in one temporary folder, which must be empty of
runtime files in the end.
"""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid

import known
from files import read
from node import LEASE, PATIENCE, cgroup, marked, state_of, wait_for

# Of a rank's script: go on when all ranks have come here.
MEET = (': > "met-$EDDIS_JOB_ID-$RANK"; '
        'until [ $(ls -d "met-$EDDIS_JOB_ID-"* | wc -l) = $WORLD_SIZE ]; do sleep 0.05; done; ')
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's `&` has both ignored, and the jobs would too
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


class Folders:
    """Where the programs may write; the cache is shared by all jobs, and has the machine's profile from the first of them on."""

    def __init__(self):
        self.known = False
        self.root = tempfile.TemporaryDirectory(prefix="test-run-")
        for name in ("state", "cache", "runtime", "tmp", "work"):
            os.mkdir(os.path.join(self.root.name, name), 0o700)

    def path(self, *names):
        return os.path.join(self.root.name, *names)

    def environ(self, **more):
        """The environment of a program that writes nowhere else."""
        return dict(os.environ, XDG_STATE_HOME=self.path("state"), XDG_CACHE_HOME=self.path("cache"),
                    XDG_RUNTIME_DIR=self.path("runtime"), TMPDIR=self.path("tmp"), **more)

    def know(self, build):
        if not self.known:
            self.known = True
            known.give(known.profile(build), self.path("cache"))


class Job:
    """A running eddis-run; `with` sees to it that nothing of it stays."""

    def __init__(self, build, folders, args, ranks=2, ignore=(), lease=LEASE, before=(), place=None, pass_fds=(),
                 **environ):
        self.mark = "EDDIS_TEST_MARK=" + uuid.uuid4().hex
        self.folders = folders
        name, value = self.mark.split("=")
        env = {**folders.environ(), **environ, name: value}
        folders.know(build)
        self.dir = os.path.join(place or folders.root.name, "job-" + value[:8])
        command = [*before, os.path.join(build, "cmd/eddis-run"), "--job-dir", self.dir,
                   "--set", f"timeouts.lease={lease}s", "--set", "timeouts.heartbeat=200ms"]
        command += (["-n", str(ranks)] if ranks else []) + args
        self.process = subprocess.Popen(
            command, env=env, cwd=folders.path("work"), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, pass_fds=pass_fds,
            preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignore])
        self.began = time.monotonic()
        self.out = self.err = self.code = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *ignored):
        if kind:
            print(self.state(), file=sys.stderr, flush=True)
        self.process.kill()
        self.process.wait()
        cgroup.kill(marked(self.mark))
        self.process.stdout.close()
        self.process.stderr.close()

    def interrupt(self, number=signal.SIGINT):
        """End it as a user does at the keyboard."""
        self.signal(number)
        assert self.end() == 128 + number, (self.code, self.err, self.out)

    def interrupted(self, *sentences, **options):
        """Ctrl-C ends it, and ends it well; options of check()."""
        self.signal(signal.SIGINT)
        self.check(130, "interrupted", *sentences, **options)

    def signal(self, number):
        self.process.send_signal(number)

    def end(self, seconds=PATIENCE):
        """Wait for the end; returns the exit code."""
        try:
            self.out, self.err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"eddis-run is still there after {seconds} s: "
                                 f"{marked(self.mark)} {self.events()}") from None
        self.code = self.process.returncode
        return self.code

    def path(self, *names):
        """Of a file in the job's folder."""
        return os.path.join(self.dir, *names)

    def file(self, name):
        return read(self.path(name))

    def rows(self, name):
        """The whole lines of a file of JSON; [] while there is none."""
        try:
            return [json.loads(line) for line in self.file(name).split("\n")[:-1]]
        except FileNotFoundError:
            return []

    def events(self, kind=None):
        return [e for e in self.rows("events.jsonl") if kind in (None, e["type"])]

    def metrics(self):
        return self.rows("metrics.jsonl")

    def steps_done(self):
        """The most that a line of metrics.jsonl tells."""
        return max((row["steps_done"] or 0 for row in self.metrics()), default=0)

    def wait_steps(self, above=0):
        wait_for(f"more steps than {above}", lambda: self.steps_done() > above)

    def plan(self, version=1, generation=1):
        return json.loads(self.file(f"plan-{generation}-{version}.json"))

    def checkpoints(self):
        """The names of the whole ones, in order; [] while there is no folder."""
        folder = self.path("checkpoints")
        return sorted(n for n in os.listdir(folder) if re.fullmatch(r"step-\d+", n)) if os.path.exists(folder) else []

    def wait_checkpoint(self, step=1):
        wait_for(f"a checkpoint of step {step}", lambda: any(int(name[5:]) >= step for name in self.checkpoints()))

    def rank_pid(self, rank, generation=1):
        """The program of a rank, in its start of this number."""
        def starts():
            return [e["text"] for e in self.events("rank_started") if e["rank"] == rank][generation - 1:]
        return int(re.search(r"pid (\d+)", wait_for(f"start {generation} of rank {rank}", starts)[0]).group(1))

    def wait_event(self, kind, count=1):
        wait_for(f"{count} events {kind}", lambda: len(self.events(kind)) >= count)

    def summary(self):
        return json.loads(self.file("summary.json"))

    def log(self, rank):
        return self.file("logs/rank-%04d.log" % rank)

    def agent_log(self):
        """Of all nodes' agents, one behind the other."""
        text = ""
        for path in sorted(glob.glob(self.path("logs/agent*.log"))):
            with open(path, errors="replace") as f:
                text += f.read()
        return text

    def wait_log(self, rank, text):
        def there():
            try:
                return text in self.log(rank)
            except FileNotFoundError:
                return False
        wait_for(f"'{text}' in the log of rank {rank}", there)

    def wait_up(self, text="up", ranks=2):
        """Until each rank has printed this."""
        for rank in range(ranks):
            self.wait_log(rank, text)

    def pids(self, program):
        """Processes below eddis-run whose program has this name.  By /proc/PID/stat, since what
        holds a secret does not show its environment, not even to its own user."""
        parents, found = {}, []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as f:
                    comm, rest = f.read().split(" (", 1)[1].rsplit(") ", 1)
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(name)] = int(rest.split()[1])
            if comm == program[:15]:
                found.append(int(name))

        def below(pid):
            while pid in parents and pid != self.process.pid:
                pid = parents[pid]
            return pid == self.process.pid
        return [pid for pid in found if below(pid)]

    def state(self):
        """What a failed test is to tell of the job: how far it came, and what runs."""
        events = [" ".join(str(v) for v in e.values()) for e in self.events()]
        running = [f"{pid} {state_of(pid)} {line}" for pid, line in marked(self.mark).items()]
        parts = {"command": [" ".join(self.process.args)], "exit code": [str(self.process.poll())],
                 "standard error": (self.err or "").splitlines(), "events": events,
                 "agent's log": self.agent_log().splitlines(), "running": running}
        return "".join(f"---- {name}\n" + "".join(f"  {line[:300]}\n" for line in lines[-20:])
                       for name, lines in parts.items() if lines)

    def shared_memory(self):
        """The job's folders in /dev/shm, as mpirun's arguments name them."""
        lines = " ".join(marked(self.mark).values())
        return set(re.findall(r"/dev/shm/eddis-[0-9a-f]+", lines))

    def driver(self):
        """(url, reader's token) from driver.json."""
        wait_for("driver.json", lambda: os.path.exists(self.path("driver.json")))
        d = json.loads(self.file("driver.json"))
        return d["url"], d["token"]

    def workers(self):
        """As the driver tells of them; [] where it cannot yet."""
        url, token = self.driver()
        return json.loads(request(url + "/v1/workers", token)[1]).get("workers", [])

    def check_nothing_left(self):
        try:
            wait_for("the job's processes to go", lambda: not marked(self.mark))
        except AssertionError:
            raise AssertionError(f"left behind: {marked(self.mark)}") from None
        made = re.findall(r"folders (\S+) and (\S+)", self.agent_log())
        left = [f for pair in made for f in pair if os.path.exists(f)]
        left += glob.glob(self.folders.path("runtime", "*")) + glob.glob(self.folders.path("tmp", "*"))
        assert not left, f"files left behind: {left}"

    def check_agents(self):
        """What a sanitizer finds in an agent that leaves is in its log alone."""
        text = self.agent_log()
        assert "Sanitizer" not in text and "runtime error: " not in text, text

    def check(self, code, reason, *sentences, seconds=PATIENCE, failed_rank=None):
        """The whole contract of an ending.  failed_rank may be several, one of which it was."""
        assert self.end(seconds) == code, (self.code, self.err, self.out)
        self.check_nothing_left()
        s = self.summary()
        assert s["exit_code"] == code and s["reason"] == reason and s["state"] == "ended", s
        for sentence in sentences:
            assert sentence in self.err, (sentence, self.err)
        if failed_rank is None:
            assert s["first_failure"] is None or s["first_failure"]["rank"] == -1, s
        else:
            assert s["first_failure"]["rank"] in (failed_rank if isinstance(failed_rank, tuple) else (failed_rank,)), s
        assert not os.path.exists(self.path("driver.json"))
        self.check_agents()
        assert reason == "node_lost" or "the driver is lost" not in self.agent_log(), "its lease ended the agent"


def tool(build, program, *args, **options):
    """The completed process of one of our programs."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": PATIENCE, **options}
    return subprocess.run([os.path.join(build, "cmd", program), *args], **options)


def request(url, token=None, body=None):
    """(status, text) of one HTTP request."""
    r = urllib.request.Request(url, data=body)
    if token is not None:
        r.add_header("Authorization", "Bearer " + token)
    try:
        with urllib.request.urlopen(r, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()
