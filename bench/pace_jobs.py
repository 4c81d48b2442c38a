# SPDX-License-Identifier: Apache-2.0
"""pace_jobs.py - jobs on the paced devices of pace.py, and what becomes of their plans"""

import json
import os
import sys

import pace
import peers

sys.path.insert(0, str(peers.ROOT / "tests/cluster"))

import lab  # noqa: E402

GOOD = 0.95  # of the oracle
STEPS = 180
DEADLINE_S = 300


class Bench:
    """Jobs on a cluster, all of one law."""

    def __init__(self, cluster, build, network, batch=pace.GLOBAL, options=(), program=pace.eddis_train):
        """program: as pace.eddis_train."""
        self.cluster, self.build, self.network, self.batch = cluster, str(build), network, batch
        self.options, self.program = list(options), program

    def command(self, steps, *more):
        return [*more, *self.options, *pace.arguments(self.cluster, self.build, self.network, steps, self.batch,
                                                      self.program)]

    def caches(self):
        """The folders in which eddis keeps what it knows, by host."""
        return {h: self.cluster.path(h, lab.HOME + "/.cache/eddis") for h in self.cluster.hosts}

    def forget(self):
        """What a probe or a job has found out."""
        for folder in self.caches().values():
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                os.remove(os.path.join(folder, name))

    def probe(self):
        """The plan of a dry run."""
        done = self.cluster.run(lab.LOGIN, [self.build + "/cmd/eddis-run", *self.command(1, "--dry-run", "--json")],
                                timeout=DEADLINE_S, cwd=lab.HOME)
        if done.returncode:
            sys.exit(f"eddis-run ended with {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["plan"]

    def probe_anew(self):
        self.forget()
        return self.probe()

    def find_alike(self):
        """Probe, and have it found that all devices are alike: the plan is an equal one."""
        self.probe_anew()
        for node in self.cluster.nodes:
            path = f"{self.caches()[node]}/profile-{node}.json"
            with open(path) as f:
                profile = json.load(f)
            profile["complete"] = True
            for device in profile["profile"]["devices"]:
                device.update(fp32_flops=1e11, memory_bytes_per_s=1e10)
            with open(path, "w") as f:
                json.dump(profile, f)

    def run(self, steps, *more, watch=None):
        """Train; returns the job, whose folder stays with the cluster."""
        with self.cluster.job(self.command(steps, *more), lease=10) as job:
            if watch:
                watch(job)
            if job.end(DEADLINE_S):
                sys.exit(f"eddis-run ended with {job.code}\n{job.err}")
            return job

    def fixed(self, plan, batches, steps):
        """Samples a second under a plan that stays."""
        path = os.path.join(self.cluster.shared, "plan.json")
        pace.write_plan(path, plan, batches)
        job = self.run(steps, "--plan", path)
        return pace.rate(job.dir, 3, steps)


def steps_of(job):
    """Done so far."""
    return max((line["steps_done"] for line in pace.lines(os.path.join(job.dir, "metrics.jsonl"))), default=0)


# ---- plans that are corrected ----

def first_good(versions, at, known, good):
    """(the step, number of re-plans) of the first plan after step `at` that has this share for good.  known:
    the newest version by then, on which workers may agree later."""
    replans = 0
    for i, v in enumerate(versions):
        replans += v["version"] > known
        if all(later["share"] >= good for later in versions[i:]):
            return max(v["step"], at), replans
    return None, replans


def versions_of(job, laws):
    """The job's plans, with shares; laws: [(the step from which they hold, paces)]."""
    rows = []
    for step, version, batches in pace.plans(job.dir):
        paces = [p for since, p in laws if since <= step][-1]
        rows.append({"step": step, "version": version, "batches": batches, "share": pace.share(paces, batches)})
    return rows


def corrected(bench, paces, prepare, steps=STEPS):
    """What became of a job's first plan."""
    prepare()
    job = bench.run(steps)
    versions = versions_of(job, [(0, paces)])
    step, replans = first_good(versions, 0, 1, GOOD)
    last = versions[-1]
    settled = step if step is not None else steps
    done = steps_of(job)
    measured = pace.rate(job.dir, last["step"] + 2, done)
    return {"versions": versions, "good_step": step, "replans": replans, "share_first": versions[0]["share"],
            "share_50": [v for v in versions if v["step"] <= 50][-1]["share"], "share": last["share"],
            "from_50_samples_per_s": pace.rate(job.dir, 50, done),
            "later_per_100": 100 * sum(v["step"] > settled for v in versions) / max(1, done - settled),
            "samples_per_s": measured}
