# SPDX-License-Identifier: Apache-2.0
"""fault_cell.py - one cell of faults.table: a job, the moment, the blow, and what is left."""

import dataclasses
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

from lab import HOME, LOGIN, Cluster, command_line
from node import alive, parent, wait_for
from slow_disk import SlowDisk

NODES = 3
PHASES = ("login", "launch", "step", "checkpoint", "shutdown", "finished")
MODES = {"async": {"sync.mode": "async", "sync.period": 4},
         "hybrid": {"sync.mode": "hybrid", "sync.period": 4, "sync.groups": "[[0, 1], [2]]"},
         "local": {"sync.mode": "local", "sync.period": 2, "sync.groups": "[[0, 1], [2]]"},
         "overlap": {"sync.mode": "local", "sync.period": 3, "sync.groups": "[[0, 1], [2]]", "sync.overlap": 2}}
SIGNALS = {"segv": signal.SIGSEGV, "kill": signal.SIGKILL, "stop": signal.SIGSTOP, "fail": signal.SIGCONT}
HOSTS = {"host": "node2", "first": "node1", "home": LOGIN}
GUARDS = ("eddis-rank", "eddis-agent", "eddis-keeper")  # none ends another's children before it is dead
PROGRAMS = {"agent": "eddis-agent", "keeper": "eddis-keeper", "orted": "orted", "mpirun": "mpirun"}
STRANGER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "stranger.py")
NOBODY = 65534
EXIT_CODE = 7
LEASE, LOSSY_LEASE = 2.0, 10.0
FINISHED_LEASE = 5.0  # in "finished" mpirun is stopped from the beginning, which an agent bears for a lease
OUTAGE = 0.6     # leases that an interruption lasts
CABLE_LEASE = 4.0
HANG_S = 4
EPOCHS, BATCH, EVERY = 3, 48, 5
EMULATE = "[{rate: 1.0, a_ms: 20, c_ms: 0.3}]"


@dataclasses.dataclass
class Row:
    actor: str
    fault: str
    phases: dict  # phase: whether the gate runs it
    restarts: int
    codes: tuple      # one of them
    reason: str       # "-": there is no summary; "." any
    generations: str  # "-": as above
    says: str         # "-": nothing

    def cells(self, everything):
        return [(self, p) for p, gate in self.phases.items() if gate or everything]

    def name(self, phase):
        return f"{self.actor}-{self.fault}-{phase}" + ("" if self.restarts else "-0")


def read_table(path):
    rows = []
    with open(path) as f:
        for line in f:
            if line.startswith("#") or not line.strip():
                continue
            actor, fault, phases, restarts, code, reason, generations, says = line.split(None, 7)
            phases = {p.rstrip("*"): p.endswith("*") for p in phases.split(",")}
            assert set(phases) <= {*PHASES, *MODES}, line
            rows.append(Row(actor, fault, phases, int(restarts), tuple(map(int, code.split("|"))), reason,
                            generations, says.strip()))
    return rows


def check_story(text, every):
    """What rank 0 told: none of the samples before the last whole checkpoint was taken again, and each
    was taken once.  A checkpoint, `every` so many samples, may have become whole just before rank 0
    could say so."""
    saved = 0
    for word, value in re.findall(r"(saved|begins at) (\d+)", text):
        if word == "saved":
            saved = int(value)
        else:
            assert saved <= int(value) <= saved + every, f"begins at {value}, {saved} were saved: {text}"
    assert "accounts are right" in text, text


class Cell:
    def __init__(self, cluster, row, phase, lease=LEASE):
        self.c, self.row, self.phase = cluster, row, phase
        self.lease = LOSSY_LEASE if row.fault == "loss" else FINISHED_LEASE if phase == "finished" else lease
        self.job = self.stranger = self.disk = None

    # ---- the moment ----

    def by_itself(self):
        """Whether rank 1 strikes itself at the moment.  At the launch a signal would come before the driver knows that the
        program uses libeddis."""
        own = ("exit", "leave") if self.phase == "launch" else ("exit", "leave", "segv")
        return self.row.actor == "rank" and self.row.fault in own

    def told(self):
        """What the worker does at the moment."""
        if self.phase in ("login", "finished") or self.row.fault == "stale":
            return "none 0 0 hold"
        moment = "step" if self.phase in MODES and self.phase != "overlap" else self.phase
        own = {"exit": EXIT_CODE, "leave": "0", "segv": "segv"}[self.row.fault] if self.by_itself() else \
            "stray" if self.row.actor == "guards" else "hold"
        return f"{moment} 1 1 {own}"

    def prepare(self):
        for name in os.listdir(self.c.shared):
            path = os.path.join(self.c.shared, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        os.mkdir(self.shared("checkpoints"))
        with open(self.shared("told"), "w") as f:
            f.write(self.told() + "\n")
        if self.row.actor == "stranger":
            self.meet_stranger()

    def meet_stranger(self):
        """He is on node2 before the job, and its files there are his once it has ended."""
        self.stranger = self.c.lab.popen(
            "node2", ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "/usr/bin/python3", "-c",
                      open(STRANGER).read()], cwd="/", stdout=subprocess.PIPE, text=True)

    def part_with_stranger(self):
        """He has seen the job; what he made stays until now, and is no part of what the job left."""
        self.stranger.kill()
        said = self.stranger.communicate()[0]
        assert re.search(r"[1-9]\d* names taken", said), f"the stranger saw no keeper: {said}"
        for base in ("/tmp", "/dev/shm"):
            top = self.c.path("node2", base)
            for name in os.listdir(top):
                path = os.path.join(top, name)
                if os.lstat(path).st_uid == NOBODY:
                    os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)

    def shared(self, name):
        return os.path.join(self.c.shared, name)

    def stale(self):
        """An earlier job measures the network with a slow cable, which is none when ours begins."""
        folder = self.c.path(LOGIN, HOME + "/.cache/eddis")
        for name in os.listdir(folder) if os.path.exists(folder) else []:
            if name.startswith("network-"):
                os.unlink(os.path.join(folder, name))
        self.c.lab.rate("node2", "50mbit")
        with self.c.job(["-H", ",".join(self.c.nodes[:NODES]), "--set", "checkpoint.dir=" + self.shared("checkpoints"),
                         "--", "true"]) as j:
            assert j.end() == 0, j.err
        self.c.lab.rate("node2", "0")

    def start(self):
        r = self.row
        hangs = r.fault == "hang" and r.actor == "rank"
        worker = os.path.join(self.c.build, "tests/cluster",
                              "leaver" if self.phase == "finished" else "fault-worker")
        keys = {"profile.emulate": EMULATE, "batch.global": BATCH, "checkpoint.every": EVERY,
                "checkpoint.dir": self.shared("checkpoints"), "restarts": r.restarts,
                "timeouts.launch": "60s", "timeouts.hang": f"{HANG_S}s" if hangs else "5m"}
        keys.update(MODES.get(self.phase, {"sync.mode": "sync"}))
        if r.fault == "blink":
            keys["timeouts.heartbeat"] = f"{self.lease / 8}s"  # the slowest
        args = ["-H", ",".join(self.c.nodes[:NODES])]
        if r.actor == "disk":
            self.disk = self.slow_folder()
        for key, value in keys.items():
            args += ["--set", f"{key}={value}"]
        self.job = self.c.job(args + ["--", worker, self.c.shared, str(EPOCHS)], lease=self.lease,
                              node_lost=2 * self.lease)
        return self.job

    def slow_folder(self):
        """The folder that the job to come will have, on a file system that can hang."""
        place = self.c.next_place()
        os.mkdir(self.c.path(LOGIN, place), 0o700)
        return SlowDisk(place, inside=self.c.lab.find(LOGIN)[1])

    def running(self):
        if self.job.process.poll() is not None:
            out, err = self.job.process.communicate()
            raise AssertionError(f"it ended before the fault, with {self.job.process.returncode}: {out}{err}")
        return True

    def await_moment(self):
        if self.phase == "login":
            wait_for("an ssh session", lambda: self.running() and self.sessions(), most=0.01)
        elif self.row.fault == "stale":
            return
        elif self.phase == "finished":
            wait_for("all ranks to have exited", lambda: self.running() and self.runs() and self.exits() == NODES)
        elif not self.by_itself():
            wait_for(f"rank 1 to come to '{self.phase}'",
                     lambda: self.running() and os.path.exists(self.shared("here")))
            if self.phase == "launch":  # else it might be a program without steps, which starts again
                wait_for("the driver to hear that the program uses libeddis", lambda: self.running() and self.has_page(0))

    def has_page(self, rank):
        """Whether the driver has seen that this rank uses libeddis."""
        p = self.c.run(LOGIN, [os.path.join(self.c.build, "cmd/eddis-status"), "--once", "--json", self.job.place])
        return p.returncode == 0 and json.loads(p.stdout)["workers"][rank]["state"] == "start"

    def exits(self):
        """Ranks of the newest start, which may be the network's probe, that have ended."""
        types = [e["type"] for e in self.job.events()]
        return types[::-1][:types[::-1].index("prepared")].count("rank_exit") if "prepared" in types else 0

    def runs(self):
        """A line for each rank of the program that has begun."""
        try:
            with open(self.shared("runs")) as f:
                return sorted(f)
        except FileNotFoundError:
            return []

    # ---- the blow ----

    def sessions(self):
        node = "node1" if self.row.actor == "first" else "node2"
        return [p for p in self.c.pids(LOGIN, "ssh") if node in command_line(p)]

    def victims(self):
        actor = self.row.actor
        if actor == "rank":
            with open(self.shared("here")) as f:
                return [int(f.read())]
        if actor == "driver":
            return [self.job.process.pid]
        if actor == "ssh":
            return self.sessions()
        if actor == "guards":
            return [p for program in GUARDS for p in self.c.pids("node2", program)]
        # The youngest: what the probe of the network ran may not be gone yet.  A child of the same
        # name is about to become another program.
        found = self.c.pids("node1" if actor == "mpirun" else "node2", PROGRAMS[actor])
        return [p for p in found if parent(p) not in found][-1:]

    def strike(self):
        actor, fault = self.row.actor, self.row.fault
        if actor == "disk":
            self.disk.hang()
            time.sleep(2.5 * self.lease)
            self.disk.go_on()
            return
        if self.by_itself() or fault in ("hang", "stale") or actor == "stranger":
            return
        if fault == "blink":
            self.blink(HOSTS[actor])
            return
        if actor in HOSTS:
            args = [5] if fault == "loss" else []
            getattr(self.c.lab, fault)(HOSTS[actor], *args)
            return
        victims = self.victims()
        assert victims, f"there is no {actor}"
        if actor == "guards":
            for pid in victims:
                os.kill(pid, signal.SIGSTOP)
        for pid in victims:
            os.kill(pid, SIGNALS[fault])

    def blink(self, host):
        """At no moment of heartbeats and polls in particular.  The ranks wait on each other meanwhile.
        With a long lease it is the cable itself.  The kernel forgets its neighbours with it and then asks
        for each once a second: where it is out for 1.2 s, bare connections begun every 0.25 s are 2.3 s
        apart, and 1.3 s where frames are dropped."""
        begin, end = self.c.lab.cut, self.c.lab.join
        if self.lease < CABLE_LEASE:
            begin, end = (lambda h: self.c.lab.loss(h, 100)), (lambda h: self.c.lab.loss(h, 0))
        time.sleep(random.uniform(0, self.lease))
        begin(host)
        self.continue_mpirun()
        time.sleep(OUTAGE * self.lease)
        end(host)
        time.sleep(self.lease)  # whoever counts it out does so by now

    def release(self):
        """Let rank 1 go on, and a stopped mpirun, where the fault is one that the job is to live with."""
        self.continue_mpirun()
        quiet = self.row.actor in ("ssh", "stranger", "disk") or self.row.fault in ("loss", "blink")
        launcher = self.row.actor in ("mpirun", "orted") and self.row.fault == "stop"
        if quiet or launcher and self.phase == "shutdown":
            with open(self.shared("go"), "w"):
                pass

    def continue_mpirun(self):
        if self.phase == "finished" and self.row.actor not in ("mpirun", "orted"):
            for pid in self.c.pids("node1", "mpirun"):
                os.kill(pid, signal.SIGCONT)

    def undo(self):
        """After the end: what was frozen or cut comes back."""
        actor, fault = self.row.actor, self.row.fault
        if actor in HOSTS:
            host = HOSTS[actor]
            {"freeze": lambda: self.c.lab.thaw(host), "cut": lambda: self.c.lab.join(host),
             "loss": lambda: self.c.lab.loss(host, 0), "blink": lambda: None,
             "crash": lambda: self.c.lab.revive(host)}[fault]()

    # ---- the end ----

    def end(self):
        """Wait for the end as the fault lets it come; the driver's own troubles end first."""
        r = self.row
        nodes = [h for h in self.c.hosts if h != LOGIN]
        if r.fault in ("stop", "freeze", "cut") and r.actor in ("driver", "home"):
            if self.phase == "login":  # nothing is there yet
                time.sleep(1.5 * self.lease)
            self.c.check_nothing_left(only=nodes)
        if r.actor == "driver" and r.fault == "stop":
            os.kill(self.job.process.pid, signal.SIGCONT)
        if r.actor == "home" and r.fault in ("freeze", "cut"):
            self.undo()
        code = self.job.end()
        if r.actor != "home" or r.fault not in ("freeze", "cut"):
            self.undo()
        return code

    def check(self):
        r, j = self.row, self.job
        assert j.code in r.codes, f"exit code {j.code}, not {r.codes}"
        if self.stranger:
            self.part_with_stranger()
        self.c.check_nothing_left()
        if r.actor not in ("driver", "home"):
            parts = [n for _, folders, _ in os.walk(self.shared("checkpoints")) for n in folders if "part" in n]
            assert not parts, f"checkpoints that were never completed: {parts}"
        if r.reason != "-":
            s = j.summary()
            assert r.reason in (".", s["reason"]), f"reason '{s['reason']}', not '{r.reason}'"
            assert s["exit_code"] == j.code, s
            assert r.generations in (".", str(s["generations"])), \
                f"{s['generations']} generations, not {r.generations}"
        assert r.says == "-" or re.search(r.says, j.err), f"nothing like '{r.says}' in what it said"
        if r.fault == "stale":
            assert any("the network has changed since an earlier job measured it" in e.get("text", "") for e in j.events())
        if self.phase == "finished":
            assert self.runs() == [f"rank {r}\n" for r in range(NODES)], "a finished job ran again"
        elif j.code == 0:
            with open(self.shared("story")) as f:
                check_story(f.read(), EVERY * BATCH)
            assert (s["generations"] == 2) == ("restarting from " in j.err), j.err

    def run(self):
        self.prepare()
        if self.row.fault == "stale":
            self.stale()
        with self.start():
            try:
                self.await_moment()
                self.strike()
                self.release()
                self.end()
                self.check()
            finally:
                if self.stranger:
                    self.stranger.kill()
                    self.stranger.wait()
                if self.job.process.poll() is None and alive(self.job.process.pid):
                    os.kill(self.job.process.pid, signal.SIGCONT)
                if self.disk:
                    self.disk.__exit__()

    def story(self):
        """What is known of a cell that went wrong."""
        j = self.job
        if j is None:
            return ""
        events = "\n".join(f"    {e}" for e in j.events()[-25:])
        return f"  standard output:\n{j.out}\n  standard error:\n{j.err}\n  events:\n{events}"


def cluster(build):
    return Cluster(NODES, build=build)
