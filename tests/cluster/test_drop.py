# SPDX-License-Identifier: Apache-2.0
"""test_drop.py BUILD SOURCE [CASE ...] - nodes.drop: workers that cost more than they bring are left out, with the reason."""

import json
import os
import re
import sys

import yaml

from cases import run
from files import read, write
from job import Folders, Job, tool
from lab import HOME, LOGIN, Cluster
from node import wait_for

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
FOLDERS = Folders()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
# The third worker takes half a second for any batch, and each worker takes at least one sample.
TRAIN = (f"name: digits\ncommand: eddis-train --data {DATA} --test 360 --model mlp --widths 16 --epochs 2 --quiet\n"
         "batch: {global: 240}\nsync: {mode: sync}\n"
         "profile: {emulate: [{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}, {rate: 0.5, a_ms: 500}]}\n")
WHY = r"left out: \S+ worker 2 \(emulated 0.50\): \d[\d ]* samples/s without it, \d+ with it"


def eddis_run(*args):
    return tool(BUILD, "eddis-run", *args, env=FOLDERS.environ(), cwd=FOLDERS.path("work"))


def plan_of(*args):
    p = eddis_run("--dry-run", "--json", *args)
    assert p.returncode == 0, p
    return json.loads(p.stdout)["plan"]


def job():
    """The file of a job; the first call runs it, and no worker is left out before the size of the model is known."""
    path = FOLDERS.path("work", "train.yaml")
    if not os.path.exists(path):
        FOLDERS.know(BUILD)
        write(path, TRAIN)
        p = eddis_run("--set", "nodes.drop=auto", path)
        assert p.returncode == 0 and "left out:" not in p.stdout, p
        assert "no worker is left out until a run has measured how large the model is" in p.stderr, p
    return path


def planned():
    """The plan, as text and JSON, is without the slow worker where the job says so, and with it by default."""
    path = job()
    assert len(plan_of(path)["workers"]) == 3 and "left_out" not in plan_of(path)
    plan = plan_of("--set", "nodes.drop=auto", path)
    assert [w["device_id"] for w in plan["workers"]] == ["emulated:0", "emulated:1"], plan
    (left,) = plan["left_out"]
    assert (left["worker"], left["workers"], left["nodes"]) == (2, 1, 1), left
    assert left["progress_without"] > 5 * left["progress_with"] > 0, left
    p = eddis_run("--dry-run", "--set", "nodes.drop=auto", path)
    assert re.search("^  " + WHY + "$", p.stdout, re.M), p
    write(FOLDERS.path("work", "drop.yaml"), TRAIN + "nodes: {drop: auto}\n")
    assert len(plan_of(FOLDERS.path("work", "drop.yaml"))["workers"]) == 2


def what_if():
    answer = eddis_run("--what-if=nodes.drop=auto", "--json", job())
    assert answer.returncode == 0, answer
    answer = json.loads(answer.stdout)
    assert len(answer["today"]["plan"]["workers"]) == 3 and len(answer["then"]["plan"]["workers"]) == 2, answer
    assert answer["then"]["samples_per_s"] > 5 * answer["today"]["samples_per_s"], answer
    text = eddis_run("--what-if=nodes.drop=auto", job())
    assert text.returncode == 0 and re.search(WHY, text.stdout), text


def trained():
    """The worker is never started; events, status and summary say why."""
    job()
    with Job(BUILD, FOLDERS, ["--set", "nodes.drop=auto", "train.yaml"], ranks=3) as j:
        assert j.end() == 0, (j.code, j.err, j.out)
        assert len(re.findall(WHY, j.out)) == 2, j.out  # the plan, and the summary
        (event,) = j.events("left_out")
        assert re.fullmatch(WHY, "left out: " + event["text"]), event
        assert {e["rank"] for e in j.events("rank_started")} == {0, 1}, j.events()
        (left,) = j.summary()["left_out"]
        assert left == j.plan()["left_out"][0], left
        described = yaml.safe_load(read(os.path.join(SOURCE, "agents/driver/openapi.yaml")))["components"]["schemas"]["LeftOut"]
        assert set(left) == set(described["required"]) == set(described["properties"]), left
        p = tool(BUILD, "eddis-status", j.dir, env=FOLDERS.environ())
        assert p.returncode == 0 and re.search(WHY, p.stdout), p


def refused():
    path = job()
    for args, why in ((["--set", "nodes.drop=on"], '"nodes.drop" is "on"; write auto or none'),
                      (["--set", "nodes.drop=auto", "--set", "sync.mode=hybrid", "--set", "sync.groups=[[0], [1, 2]]"],
                       "workers that are left out have no rank, so a list of ranks would name others"),
                      (["--set", "nodes.dorp=auto"], "nodes"),
                      (["--set", "nodes.drop=auto", "--plan", "plan.json"],
                       "--plan and nodes.drop: auto exclude each other")):
        write(FOLDERS.path("work", "plan.json"), json.dumps(plan_of(path)))
        p = eddis_run("--dry-run", *args, path)
        assert p.returncode == 2 and why in p.stderr and p.stderr.count("\n") == 1, (args, p)


def narrow():
    """Of three equal hosts the one behind a narrow cable is left out: it runs no worker, and the job ends well."""
    with Cluster(3, build=BUILD) as c:
        c.lab.rate("node3", "3mbit")
        text = TRAIN
        for was, now in (("--widths 16", "--widths 256,256"), ("--epochs 2", "--epochs 1"), ("c_ms: 0.1", "c_ms: 2"),
                         (", {rate: 0.5, a_ms: 500}", "")):
            text = text.replace(was, now)
        path = write(c.path(LOGIN, HOME + "/train.yaml"),
                     text + f"nodes: {{hosts: [node1, node2, node3]}}\ncheckpoint: {{dir: {c.shared}}}\n")
        with c.job([os.path.basename(path)]) as j:
            assert j.end() == 0, (j.code, j.err, j.out)
        p = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", os.path.basename(path)], cwd=HOME)
        assert p.returncode == 0 and re.search("slower than one worker: .* nodes.drop: auto, .* would help", p.stdout), p
        p = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--what-if=nodes.drop=auto,+node3", "--simulate=60s", "--json",
                          "--job-dir", j.place, os.path.basename(path)], cwd=HOME)
        assert p.returncode == 0, p
        answer = json.loads(p.stdout)
        today, then = answer["today"], answer["then"]
        assert then["plan"]["nodes"] == ["node1", "node2"] and then["plan"]["left_out"][0]["nodes"] == 2, then
        assert then["bytes_per_s"] > 5 * today["bytes_per_s"] and 0.7 < then["simulated"]["of_predicted"] < 1.1, answer
        with c.job(["--set", "nodes.drop=auto", os.path.basename(path)]) as j:
            assert j.end() == 0, (j.code, j.err, j.out)
            assert j.out.count("left out: node3 worker") == 4, j.out  # in the plan, and in the summary
            assert j.plan()["nodes"] == ["node1", "node2"] and len(j.plan()["workers"]) == 4, j.plan()
            assert {e["node"] for e in j.events("rank_started") if e["n"] > j.events("left_out")[0]["n"]} == {"node1", "node2"}
            assert j.summary()["n_nodes"] == 2 and j.summary()["left_out"], j.summary()
        os.remove(path)
        c.check_nothing_left()


def lost():
    """A host that was left out trains once the other is lost: a restart decides again."""
    nodes = ("nodes:\n  hosts: [{host: node1, emulate: [{rate: 1.0, a_ms: 200, c_ms: 5}]},\n"
             "          {host: node2, emulate: [{rate: 1.0, a_ms: 2, c_ms: 0.1}]}]\n")
    with Cluster(2, build=BUILD) as c:
        path = write(c.path(LOGIN, HOME + "/train.yaml"),
                     f"name: digits\ncommand: eddis-train --data {DATA} --test 360 --model mlp --widths 16 --epochs 100000 --quiet\n"
                     f"batch: {{global: 240}}\nsync: {{mode: sync}}\n{nodes}checkpoint: {{dir: {c.shared}, every: 1s}}\n")
        with c.job([os.path.basename(path)], lease=2, node_lost=4) as j:
            j.wait_steps(6)
            j.interrupt()
        with c.job(["--set", "nodes.drop=auto", os.path.basename(path)], lease=2, node_lost=4) as j:
            j.wait_checkpoint()
            assert j.plan()["nodes"] == ["node2"] and j.plan()["left_out"][0]["node"] == "node1", j.plan()
            c.lab.crash("node2")
            wait_for("the other host", lambda: [e for e in j.events("rank_started") if e["node"] == "node1"])
            assert j.plan(generation=2)["nodes"] == ["node1"] and "left_out" not in j.plan(generation=2), j.plan(generation=2)
            j.signal(2)
            assert j.end() == 130, (j.code, j.err)
            assert "left_out" not in j.summary(), j.summary()
            c.lab.revive("node2")
        os.remove(path)


run([planned, what_if, trained, refused, narrow, lost], sys.argv[3:])
