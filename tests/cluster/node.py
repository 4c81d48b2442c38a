# SPDX-License-Identifier: Apache-2.0
"""node.py - a small driver and a started node, for the tests of keeper, agent and wrapper.

The driver is real HTTP over TLS on a port of its own; what stands behind keeper and agent is what users
run.  Every wait has a deadline and says what it waited for.  Deadlines find hangs: on a busy machine all
comes late, and nothing here passes or fails by how late.
"""

import base64
import functools
import hashlib
import http.server
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lab"))

import cgroup  # noqa: E402
import kernel  # noqa: E402
from cases import run  # noqa: E402

# Seconds: a machine with ten programs on each core may keep a driver from answering for two, and one under a sanitizer
# with thirty an agent from moving for five (tests/meson.build).
LEASE = float(os.environ.get("EDDIS_TEST_LEASE", 5))
PATIENCE = 180.0  # seconds
TOKEN = "0123456789abcdef"
SECOND = 1000000000
# Both may name the group of a new process; the loser of the two is told of no permission, and goes on.
GROUP_NAMED = re.compile(r"plm:rsh: Warning: setpgid\(\d+,\d+\) failed in parent with errno=Permission denied\(13\)$")
SLEEP = ["sleep", "1000"]  # much longer than PATIENCE: who waits for it is found
# A rank whose children have left its group and session, twice over.
FAMILY = ["sh", "-c", "setsid sh -c 'setsid sleep 1000 & sleep 1000' & (sleep 1000 &) ; "
          "trap '' HUP; sleep 1000"]


# A child of a rank that only its environment names: without parent, session and control group.
STRAY = "setsid sh -c 'for g in /sys/fs/cgroup/ /sys/fs/cgroup/unified/ /sys/fs/cgroup/freezer/; do " \
        "test -w ${g}cgroup.procs && echo $$ > ${g}cgroup.procs; done; exec sleep 300' > /dev/null 2>&1 & "


# Of a start, what most tests do not choose.
START = {"mode": "sync", "algorithm": "allreduce", "seed": 7, "period": 0, "moving_rate": 0.0, "momentum": 0.0,
         "outer_rate": 0.0, "outer_momentum": 0.0, "overlap": 0, "wire": "float32", "choice": None, "bucket_bytes": 4 << 20, "warmup_steps": 0, "checkpoint_every": 0,
         "checkpoint_keep": 3, "report_at_step": 0, "open_ns": 0, "mode_named": False, "emulated": False, "resume": False,
         "resume_begun": False, "probe": False, "check_only": False, "network": "", "share": "", "mpi_secret": "",
         "check_models": 0}


def plan_of(batches, version):
    return {"version": version, "global_batch": sum(batches), "flags": 0, "period": 0, "batch": batches,
            "piece": [0] * len(batches)}


def next_mark(after):
    """Of a node's first start, or of the one after that: agents/protocol/node_identity.h."""
    mark = after.brief["mark"] if after else uuid.uuid4().hex[:24] + "0" * 8
    return mark[:24] + "%08x" % (int(mark[24:], 16) + 1)


def sh(script):
    return ["sh", "-c", script]


def state_of(pid):
    """R, S, T, ...; X: there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def stopped(pid):
    """Whether the process does nothing until SIGCONT.  A parent in vfork gets its SIGSTOP when its child has come to its
    program; until then it waits, and shows as D."""
    try:
        with open(f"/proc/{pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
    except (FileNotFoundError, ProcessLookupError):
        return False
    pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
    return fields["State"].split()[0] == "T" or bool(pending & 1 << signal.SIGSTOP - 1)


def alive(pid):
    """Whether the process is there and no zombie."""
    return state_of(pid) not in "ZX"


def parent(pid):
    """The parent's pid; 0: the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def marked(mark):
    """Living processes whose environment holds the mark: {pid: command line}."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                if mark.encode() in f.read() and alive(int(name)):
                    with open(f"/proc/{name}/cmdline", "rb") as c:
                        found[int(name)] = c.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def wait_for(what, condition, seconds=PATIENCE, most=0.2):
    """The first true value of condition(), asked every `most` seconds at least: less for what passes."""
    value = kernel.first_true(condition, seconds, most)
    if not value:
        raise AssertionError(f"after {seconds} s still waiting for {what}")
    return value


@functools.lru_cache(maxsize=None)
def key():
    """(TLS context, pin) of a key made for this run of the tests."""
    with tempfile.TemporaryDirectory(prefix="node-test-key-") as d:
        pem = os.path.join(d, "pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", "/CN=test", "-days", "2", "-keyout", pem, "-out", pem + ".crt"],
                       check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", pem, "-pubout", "-outform", "der"],
                                check=True, capture_output=True).stdout
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(pem + ".crt", pem)
    return context, "sha256//" + base64.b64encode(hashlib.sha256(public).digest()).decode()


class Driver:
    """Answers one agent.  `silent` makes it hear and say nothing, as a stopped driver does."""

    def __init__(self, agent=0, address="127.0.0.1"):
        self.agent = agent
        self.lock = threading.Condition()
        self.orders, self.events, self.progress, self.hello = [], [], {}, None
        self.silent = self.refuse = self.dead = False
        self.given = 0  # orders that were sent
        self.longest = 1 << 20  # bytes of a report that is taken
        self.lost_answers = 0  # so many reports are taken but not answered
        self.sequence = 0
        self.wrong = []  # what was found wrong of requests
        driver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                driver.get(self)

            def do_POST(self):
                driver.post(self)

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                """An agent that was killed has cut its connection; all else is its mistake, or ours."""
                if not isinstance(sys.exc_info()[1], OSError):
                    driver.wrong.append(traceback.format_exc())

        self.server = Server((address, 0), Handler)
        self.server.daemon_threads = True
        context, self.pin = key()
        # The handshake is left to the connection's own thread.
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.url = "https://%s:%d" % self.server.server_address
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, h, status, body):
        text = json.dumps(body).encode()
        while self.silent:
            time.sleep(0.05)
        if self.dead:
            h.close_connection = True
            return
        try:
            h.send_response(status)
            h.send_header("Content-Type", "application/json")
            h.send_header("Content-Length", str(len(text)))
            h.end_headers()
            h.wfile.write(text)
        except OSError:
            pass

    def get(self, h):
        if h.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(h, 401, {})
        after = int(re.fullmatch(rf"/v1/agents/{self.agent}/orders\?after=(\d+)", h.path).group(1))
        with self.lock:
            self.lock.wait_for(lambda: len(self.orders) > after, LEASE / 3)
            order = self.orders[after] if len(self.orders) > after else \
                {"number": 0, "type": "none", "generation": 0}
        self.answer(h, 200, order)
        self.given = max(self.given, order["number"])

    def post(self, h):
        text = h.rfile.read(int(h.headers["Content-Length"]))
        if len(text) < int(h.headers["Content-Length"]):
            raise ConnectionError("cut amidst a request")
        body = json.loads(text)
        if h.headers.get("Authorization") != "Bearer " + TOKEN:
            return self.answer(h, 401, {})
        if h.path == "/v1/agents":
            self.hello = body
            return self.answer(h, 409 if self.refuse else 200, {})
        assert h.path == f"/v1/agents/{self.agent}/reports", h.path
        if int(h.headers["Content-Length"]) > self.longest:
            return self.answer(h, 413, {})
        with self.lock:
            if body["sequence"] > self.sequence:
                assert body["sequence"] == self.sequence + 1, body["sequence"]
                self.sequence = body["sequence"]
                for e in body["event"]:
                    e["at"] = time.monotonic() - e["age_ns"] / SECOND
                self.events += body["event"]
                self.progress.update({w["rank"]: w for w in body["worker"]})
            if self.lost_answers > 0:
                self.lost_answers -= 1
                return self.answer(h, 500, {})
        return self.answer(h, 200, {})

    def order(self, kind, generation=1, **more):
        with self.lock:
            self.orders.append({"number": len(self.orders) + 1, "type": kind,
                                "generation": generation, **more})
            self.lock.notify_all()

    def prepare(self, n, generation=1, batches=None, cpus="", version=1):
        batches = batches or [8] * n
        self.order_start(generation, [{"agent": 0, "host": "localhost", "address": "", "n_ranks": n}], batches, 0, n,
                         cpus, version)

    def order_start(self, generation, nodes, batches, first, n, cpus="", version=1, **more):
        """Have the agent prepare n ranks of all, from this one on."""
        rows = [{"rank": first + i, "local_rank": i, "device_id": f"numa:{i}", "cpus": cpus, "batch": b,
                 "weight": b / sum(batches), "fixed_s": 0.0, "sample_s": 0.0}
                for i, b in enumerate(batches[first:first + n])]
        self.order("prepare", generation, **{**START, "n_ranks": len(batches), "group": [0] * len(batches), **more,
                                             "node": nodes, "rank": rows, "plan": plan_of(batches, version)})

    def stop(self, ladder, generation=1, grace=1000.0):
        self.order("stop", generation, ladder=ladder, grace_ns=int(grace * SECOND))

    def find(self, kind, **want):
        with self.lock:
            return [e for e in self.events
                    if e["type"] == kind and all(e[k] == v for k, v in want.items())]

    def wait(self, kind, n=1, **want):
        """The n-th event of this kind and these members."""
        def failed_instead():
            bad = [] if kind == "failed" else self.find("failed")
            assert not bad, bad[0]["text"]
            return len(self.find(kind, **want)) >= n

        wait_for(f"event {n} '{kind}' {want}; there are {[e['type'] for e in self.events]}",
                 failed_instead)
        return self.find(kind, **want)[n - 1]

    def die(self):
        """As a killed driver: nobody listens, connections are closed."""
        self.dead = True
        self.server.shutdown()
        self.server.server_close()

    def close(self):
        self.silent = False
        if self.dead:
            return
        self.server.shutdown()
        self.server.server_close()


class Node:
    """A keeper with its agent, in a folder of its own."""

    def __init__(self, build, command, driver=None, enter=(), after=None, **more):
        """enter: words before a command that run it on another host of a lab; after: a node
        that was here before and is given up."""
        self.mark = "EDDIS_TEST_MARK=" + uuid.uuid4().hex
        self.dir = tempfile.mkdtemp(prefix="node-test-")
        self.driver = driver or Driver()
        self.runtime = after.runtime if after else os.path.join(self.dir, "run")
        os.makedirs(self.runtime, 0o700, exist_ok=True)
        self.brief = {"agent": 0, "job_id": "test-1", "mark": next_mark(after), "url": [self.driver.url], "pin": self.driver.pin, "token": TOKEN,
                      "host": "here", "setup": [], "log_marker": "", "restarts": 0, "python_from": None,
                      "command": command, "workdir": self.dir, "env": [], "log_dir": self.dir,
                      "checkpoint_dir": None, "fence_job": "", "fence_before": 0, "resume_from": None, "data_path": None,
                      "step_pattern": None, "step_samples": 0, "quiet_ns": 0, "quiet_start_ns": 0,
                      "mpi_args": [], "mpi_mca": [], "bind": True, "log_max_bytes": 1 << 30,
                      "cache_ns": 0, "gpus_ns": 0, "emulate": [], "lease_ns": int(LEASE * SECOND),
                      "heartbeat_ns": SECOND // 10, **more}
        name, value = self.mark.split("=")
        self.keeper = subprocess.Popen(
            [*enter, f"{build}/cmd/libexec/eddis-keeper", str(int(LEASE * SECOND)), self.brief["mark"]],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, name: value, "XDG_CACHE_HOME": self.dir,
                 "XDG_RUNTIME_DIR": self.runtime})
        self.keeper.stdin.write(json.dumps(self.brief).encode())
        self.keeper.stdin.close()

    def registered(self):
        def registered_or_gone():
            ended = self.keeper.poll()
            assert self.driver.hello or ended is None, \
                f"the keeper ended with {ended} before its agent registered: {self.keeper.stderr.read().decode()}"
            return self.driver.hello

        wait_for("the agent to register", registered_or_gone)
        self.agent = self.driver.hello["pid"]
        return self.driver

    def read(self, name):
        try:
            with open(os.path.join(self.dir, name), "rb") as f:
                return f.read().decode(errors="replace")
        except (FileNotFoundError, IsADirectoryError):
            return ""

    def mpirun_log(self):
        """What mpirun said, without what it says where a daemon's start has begun its program before its parent
        could name its group: it is named by itself then, too."""
        return "".join(line for line in self.read("mpirun.log").splitlines(True) if not GROUP_NAMED.search(line))

    def folders(self):
        found = re.search(r"folders (\S+) and (\S+)", self.read("agent.log"))
        return found.groups() if found else ()

    def launch(self, n, **more):
        """Prepare, start, wait for all ranks.  Returns the pid of each."""
        d = self.registered()
        d.prepare(n, **more)
        d.order("start", more.get("generation", 1))
        g = more.get("generation", 1)
        return [d.wait("rank_started", rank=i, generation=g)["pid"] for i in range(n)]

    def mpirun(self):
        return next(p for p, c in marked(self.mark).items() if c.startswith("mpirun "))

    def wrapper(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])

    def expect_nothing_left(self):
        """No process, no folder."""
        wait_for(f"no process of {self.mark} to be left", lambda: not marked(self.mark) and
                 not alive(self.keeper.pid) and not (hasattr(self, "agent") and alive(self.agent)))
        left = os.listdir(self.runtime) + [f for f in self.folders() if os.path.exists(f)]
        assert not left, left
        assert not self.driver.wrong, self.driver.wrong
        # Its keeper's and agent's own, which nobody reads where they end by a lease.
        assert "Sanitizer" not in self.read("agent.log"), self.read("agent.log")

    def log(self, rank):
        return self.read(f"rank-{rank:04}.log")

    def wait_logs(self, text, n):
        """Until each of n ranks has printed this."""
        wait_for(f"'{text}' of {n} ranks", lambda: all(text in self.log(i) for i in range(n)))

    def wait_families(self):
        """Until two ranks of FAMILY have theirs."""
        wait_for("the families", lambda: sum("sleep" in c for c in marked(self.mark).values()) >= 8)

    def stop(self, ladder="failure", generation=1):
        self.driver.stop(ladder, generation)
        self.driver.wait("stopped", generation=generation)

    def stop_and_leave(self, ladder="failure"):
        self.stop(ladder)
        self.leave()

    def leave(self):
        """The ordinary end."""
        self.driver.order("bye")
        assert self.keeper.wait(PATIENCE) == 0, self.keeper.returncode
        self.expect_nothing_left()

    def close(self, failed):
        cgroup.kill([*marked(self.mark), self.keeper.pid])
        self.keeper.wait()
        words = self.keeper.stderr.read().decode(errors="replace")
        self.keeper.stderr.close()
        self.driver.close()
        if failed:
            print(f"--- standard error\n{words}--- agent.log\n{self.read('agent.log')}"
                  f"--- mpirun.log\n{self.read('mpirun.log')}")
        subprocess.run(["rm", "-rf", self.dir, *self.folders()], check=True)


def launched(make, n_ranks, *what, **more):
    """Make a node and start so many ranks there.  Returns it and their pids."""
    n = make(*what, **more)
    return n, n.launch(n_ranks)


def run_tests(tests, kind):
    """Run a program's tests, all or those named in its arguments after the build: {name: function}.

    Each is handed a function that starts what it needs, a kind(build, ...), and that is ended with it.
    """
    build = os.path.abspath(sys.argv[1])

    def run_test(test):
        made, good = [], False

        def make(*what, **more):
            made.append(kind(build, *what, **more))
            return made[-1]

        try:
            test(make)
            good = True
        finally:
            for started in made:
                started.close(not good)

    run({name[5:]: functools.partial(run_test, test) for name, test in list(tests.items())
         if name.startswith("test_")}, sys.argv[3:])
