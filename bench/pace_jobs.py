# SPDX-License-Identifier: Apache-2.0
"""pace_jobs.py - jobs on the paced devices of pace.py, and how good their plans become"""

import json
import os
import sys

import pace
import peers

sys.path.insert(0, str(peers.ROOT / "tests/cluster"))

import lab  # noqa: E402

GOOD = 0.95  # share of the oracle's throughput that counts as good
STEPS = 180
DEADLINE_S = 300


class Bench:
    """Jobs on a cluster, all of the same network and devices."""

    def __init__(self, cluster, build, network, batch=pace.GLOBAL, options=(), program=pace.eddis_train):
        """program: as pace.eddis_train."""
        self.cluster, self.build, self.network, self.batch = cluster, str(build), network, batch
        self.options, self.program = list(options), program

    def command(self, steps, *more):
        """Return the arguments of eddis-run for a job of so many steps, with these additional options."""
        return [*more, *self.options, *pace.arguments(self.cluster, self.build, self.network, steps, self.batch,
                                                      self.program)]

    def caches(self):
        """Return the folders in which eddis keeps its measurements, by host."""
        return {h: self.cluster.path(h, lab.HOME + "/.cache/eddis") for h in self.cluster.hosts}

    def forget(self):
        """Remove everything that a probe or a job has measured."""
        for folder in self.caches().values():
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                os.remove(os.path.join(folder, name))

    def probe(self):
        """Return the plan of a dry run."""
        done = self.cluster.run(lab.LOGIN, [self.build + "/cmd/eddis-run", *self.command(1, "--dry-run", "--json")],
                                timeout=DEADLINE_S, cwd=lab.HOME)
        if done.returncode:
            sys.exit(f"eddis-run ended with {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)["plan"]

    def probe_anew(self):
        """Forget all measurements, then return the plan of a dry run."""
        self.forget()
        return self.probe()

    def find_alike(self):
        """Probe, and replace the result by equal devices, so that the first plan is an equal split."""
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
        """Train so many steps and return the job; its folder stays in the cluster. watch: called with the job while it
        runs."""
        with self.cluster.job(self.command(steps, *more), lease=10) as job:
            if watch:
                watch(job)
            if job.end(DEADLINE_S):
                sys.exit(f"eddis-run ended with {job.code}\n{job.err}")
            return job

    def fixed(self, plan, batches, steps):
        """Return the samples per second of a job with a fixed plan of these batches."""
        path = os.path.join(self.cluster.shared, "plan.json")
        pace.write_plan(path, plan, batches)
        job = self.run(steps, "--plan", path)
        return pace.rate(job.dir, 3, steps)


def steps_of(job):
    """Return the number of steps that the job has done so far."""
    return max((line["steps_done"] for line in pace.lines(os.path.join(job.dir, "metrics.jsonl"))), default=0)


# ---- plans that are corrected ----

def first_good(versions, at, known, good):
    """Return (step, number of re-plans) of the first plan after step `at` from which on every plan has the share
    `good`; (None, re-plans) if there is none. known: the newest plan version at that step; workers may agree on it
    later."""
    replans = 0
    for i, v in enumerate(versions):
        replans += v["version"] > known
        if all(later["share"] >= good for later in versions[i:]):
            return max(v["step"], at), replans
    return None, replans


def versions_of(job, laws):
    """Return the job's plans with their shares. laws: [(first step, devices from that step on)]."""
    rows = []
    for step, version, batches in pace.plans(job.dir):
        paces = [p for since, p in laws if since <= step][-1]
        rows.append({"step": step, "version": version, "batches": batches, "share": pace.share(paces, batches)})
    return rows


def corrected(bench, paces, prepare, steps=STEPS):
    """Run a job after `prepare`, and return how its first plan was corrected."""
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
