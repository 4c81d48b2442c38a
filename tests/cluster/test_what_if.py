# SPDX-License-Identifier: Apache-2.0
"""test_what_if.py BUILD SOURCE [CASE ...] - eddis-run --what-if and --simulate behind a job that has run: what they predict
of changes, that they start and write nothing, and what they refuse."""

import json
import math
import os
import re
import socket
import sys

from cases import run
from files import write
from job import Folders, tool
from lab import HOME, LOGIN, Cluster

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
FOLDERS = Folders()
HOST = socket.gethostname()
DATA = os.path.join(SOURCE, "examples/digits/digits.csv")
# The first device computes 96 samples in 11.6 ms; an epoch has six steps.
TRAIN = (f"name: digits\ncommand: eddis-train --data {DATA} --test 360 --model mlp --widths 16 --epochs 2 --quiet\n"
         "batch: {global: 240}\nprofile: {emulate: [{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]}\n")
FIGURES = {"samples_per_s", "of_sum", "efficiency", "progress", "seconds", "bytes_per_s", "latency_s", "plan"}


def eddis_run(*args):
    return tool(BUILD, "eddis-run", *args, env=FOLDERS.environ(), cwd=FOLDERS.path("work"))


def job():
    """The file of a job; the first call runs it."""
    path = FOLDERS.path("work", "train.yaml")
    if not os.path.exists(path):
        FOLDERS.know(BUILD)
        write(path, TRAIN)
        before = eddis_run("--what-if=", path)
        assert before.returncode == 2 and not before.stdout, before
        assert "no earlier job of this program has measured its nodes; run the job once" in before.stderr, before
        p = eddis_run("--quiet", path)
        assert p.returncode == 0, p
    return path


def asked(changes, *args):
    """What is predicted, as a document."""
    p = eddis_run(f"--what-if={changes}", "--json", *args, job())
    assert p.returncode == 0 and not p.stderr, p
    answer = json.loads(p.stdout)
    figures = FIGURES | ({"simulated"} if "simulate" in answer else set())
    assert answer["changes"] == changes and set(answer["today"]) == set(answer["then"]) == figures, answer
    return answer


def files():
    """All files and folders below those that a program of ours could write to, with their times."""
    return sorted((os.path.join(at, name), os.stat(os.path.join(at, name)).st_mtime_ns)
                  for at, below, names in os.walk(FOLDERS.root.name) for name in names + below)


def nothing():
    """No change predicts what the plan of --dry-run predicts, and leaves no trace."""
    path = job()
    plan = json.loads(eddis_run("--dry-run", "--json", path).stdout)["plan"]
    before = files()
    answer = asked("")
    assert answer["today"]["plan"] == answer["then"]["plan"] == plan, answer
    assert answer["today"] == answer["then"], answer
    assert answer["today"]["samples_per_s"] == plan["predicted_samples_per_s"] > 0, answer
    assert math.isclose(answer["today"]["seconds"] * plan["predicted_samples_per_s"], 2 * 1440), answer
    assert files() == before
    p = eddis_run("--what-if", "", path)
    assert p.returncode == 0 and "what if   nothing changes" in p.stdout and "1.00x" in p.stdout, p
    assert "plan      sync, allreduce, global batch 240" in p.stdout, p.stdout
    assert not eddis_run("--what-if=", "--quiet", path).stdout


def changed():
    today = asked("")["today"]
    added = asked(f"+2x{HOST}, network=10gbit")
    assert added["today"] == today and len(added["then"]["plan"]["workers"]) == 6, added
    assert added["notes"] == [f"{HOST}+1 and {HOST}+2 are planned with the figures of {HOST}"], added
    assert added["then"]["samples_per_s"] > today["samples_per_s"], added
    slow = asked(f"+2x{HOST}, network=100kbit, latency=5ms, sync.mode=sync")
    assert slow["then"]["samples_per_s"] < added["then"]["samples_per_s"], slow
    unknown = asked(f"+{HOST}")
    assert any("the network between the nodes was not measured" in n for n in unknown["notes"]), unknown
    one = asked("network=1gbit")
    assert one["then"]["plan"] == today["plan"] and "changes nothing" in one["notes"][0], one
    half = asked(f"{HOST}.rate=0.5")
    assert half["then"]["seconds"] > 1.9 * today["seconds"], half
    batch = asked("batch.global=480,sync.mode=async")["then"]["plan"]
    assert batch["global_batch"] == 480 and batch["mode"] == "async", batch
    for algorithm in "local", "diloco":
        keys = {"sync.mode": "local", "sync.algorithm": algorithm}
        local = asked(",".join(f"{k}={v}" for k, v in keys.items()))["then"]
        plan = eddis_run("--dry-run", "--json", *(f"--set={k}={v}" for k, v in keys.items()), job()).stdout
        assert local["plan"] == json.loads(plan)["plan"] and local["plan"]["algorithm"] == algorithm, local
        assert local["samples_per_s"] == local["plan"]["predicted_samples_per_s"] > 0, local
    text = eddis_run("--what-if=sync.mode=local,sync.overlap=2", job()).stdout
    assert re.search("  overlap +- +2 steps\n", text) and ", overlap 2, " in text, text
    text = eddis_run(f"--what-if=+{HOST},sync.mode=hybrid", job()).stdout
    for part in (f"what if   +{HOST},sync.mode=hybrid\n", "  period ", "2.00x\n", f"{HOST}+1 is planned with the figures of {HOST}\n"):
        assert part in text, (part, text)


def simulated():
    """A simulated job is disturbed, and beside it that with changes; equal seeds give equal figures."""
    path = job()
    before = files()
    p = eddis_run("--simulate=600s", path)
    assert p.returncode == 0 and not p.stderr, p
    for part in ("simulate  600 s with seed 0: ", "today\n", "\n  simulated samples/s ", "\n  re-plans ", "; a plan follows after "):
        assert part in p.stdout, (part, p.stdout)
    assert "then" not in p.stdout and "what if" not in p.stdout and "x\n" not in p.stdout, p.stdout
    assert eddis_run("--simulate=10m", path).stdout.splitlines()[2:] == p.stdout.splitlines()[2:]
    one = json.loads(eddis_run("--simulate=600s", "--json", path).stdout)
    assert set(one) == {"schema_version", "from", "notes", "today", "simulate"} and one["simulate"]["seconds"] == 600, one
    today = one["today"]["simulated"]
    assert 0.7 < today["of_predicted"] < 1 and today["replans"] >= 1 and today["slow_downs"], today
    assert all(set(s) == {"rank", "begin_s", "end_s", "followed_s", "found"} and s["rank"] in (0, 1)
               for s in today["slow_downs"]), today
    both = asked(f"+{HOST}", "--simulate=600s")
    assert both["today"]["simulated"] == today and both["simulate"] == one["simulate"], both
    then = both["then"]["simulated"]
    assert then["samples_per_s"] > 1.5 * today["samples_per_s"], both
    assert json.loads(eddis_run("--simulate=600s", "--seed=3", "--json", path).stdout)["today"]["simulated"] != today
    kept = asked("batch.rebalance=off", "--simulate=600s")
    assert kept["then"]["simulated"]["replans"] == 0 and len(kept["notes"]) == 1, kept
    assert kept["then"]["simulated"]["samples_per_s"] < today["samples_per_s"], kept
    assert files() == before


def guessed():
    """Of a program whose steps were never timed, parts are simulated, and a note says that this is a guess."""
    FOLDERS.know(BUILD)
    assert eddis_run("--quiet", "-n", "2", "--", "true").returncode == 0
    p = eddis_run("--simulate=100s", "-n", "2", "--", "true")
    assert p.returncode == 0 and "the simulation is a guess, with steps of 100 ms" in p.stdout, p
    one = json.loads(eddis_run("--simulate=100s", "--json", "-n", "2", "--", "true").stdout)["today"]["simulated"]
    text = eddis_run("--what-if=nodes.drop=auto", "-n", "2", "--", "true").stdout
    assert "\n  nodes.drop: no worker is left out until a run has measured how large the model is\n" in text, text
    assert one["samples_per_s"] is None and 0.7 < one["of_predicted"] < 1.01, one


def refused():
    path = job()
    before = files()
    for words, sentence in (
            (["--what-if=-nowhere"], f"--what-if: there is no node 'nowhere'; the job's nodes are {HOST}"),
            ([f"--what-if=-{HOST}"], "--what-if: no node is left"),
            ([f"--what-if={HOST}.rate=0"], "the rate is not a number from 1e-06"),
            (["--what-if=fast"], '--what-if: "fast" is no change; write -node3'),
            (["--what-if=batch.globel=3"], '--what-if: unknown key "globel" in "batch"; did you mean "global"?'),
            (["--what-if=batch.global=0"], '--what-if: "batch.global" is "0"'),
            (["--what-if=batch.min=300"], "batch.min"),
            (["--what-if=network=0gbit"], "is not a bandwidth above 0"),
            (["--what-if=nodes=[a]"], '"nodes" cannot be changed'),
            (["--what-if=nodes.hosts=a"], '"nodes.hosts" cannot be changed: write -NODE to leave a node out'),
            (["--what-if=", "--dry-run"], "--what-if and --dry-run exclude each other"),
            (["--what-if=", "--profile"], "--what-if and --profile exclude each other"),
            (["--what-if=", "--check"], "--what-if and --check exclude each other"),
            (["--what-if=", "--detach"], "--what-if and --detach exclude each other"),
            (["--what-if=", "--resume", "digits"], "--what-if and --resume exclude each other"),
            (["--simulate=0s"], '--simulate "0s" is not a duration from 1s to 30d'),
            (["--simulate=600"], '--simulate "600" is not a duration from 1s to 30d'),
            (["--simulate=30d"], "--simulate: 2592000 s of 2 workers are too much to simulate; write at most "),
            (["--simulate=9s", "--what-if=-nowhere"], "--what-if: there is no node 'nowhere'"),
            (["--simulate=9s", "--dry-run"], "--simulate and --dry-run exclude each other"),
            (["--simulate=9s", "--resume", "digits"], "--simulate and --resume exclude each other"),
            (["--what-if=", "--job-dir", FOLDERS.path("work")], FOLDERS.path("work")),
            (["--what-if=", "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 1}]"], "no earlier job of this program")):
        p = eddis_run(*words, path)
        assert p.returncode == 2 and not p.stdout and p.stderr.count("\n") == 1, (words, p)
        assert sentence in p.stderr, (sentence, p.stderr)
    p = eddis_run("--what-if=", "--resume", asked("")["from"]["job"])  # which has trained to its end
    assert p.returncode == 2 and "--what-if and --resume exclude each other" in p.stderr, p
    assert files() == before


def several_nodes():
    """Leave out one of three hosts: its cables no longer count."""
    with Cluster(3, build=BUILD) as c:
        path = write(c.path(LOGIN, HOME + "/train.yaml"), TRAIN + "nodes: [node1, node2, node3]\nsync: {mode: sync}\n")
        with c.job([os.path.basename(path)]) as j:
            assert j.end() == 0, (j.code, j.err, j.out)

        def ask(changes, place=j.place):
            p = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), f"--what-if={changes}", "--json", "--job-dir", place,
                              "train.yaml"], cwd=HOME)
            assert p.returncode == 0, p
            return json.loads(p.stdout)

        today = ask("")["today"]
        assert ask("")["then"] == today and len(today["plan"]["workers"]) == 6, today
        without = ask("-node3")["then"]
        assert [w["node"] for w in without["plan"]["workers"]] == [0, 0, 1, 1], without
        links = json.loads(j.file("profile.json"))["network"]["links"]
        rest = sorted(link["bytes_per_s"] for link in links if {link["from"], link["to"]} == {0, 1})
        assert len(rest) == 2 and math.isclose(without["bytes_per_s"], sum(rest) / 2), (links, without)
        assert ask("network=1kbit")["then"]["samples_per_s"] < today["samples_per_s"]
        fast = "network=100gbit,latency=1us"
        assert ask("-node3," + fast)["then"]["samples_per_s"] < ask(fast)["then"]["samples_per_s"]
        assert ask("-node3,+node1")["then"]["plan"]["nodes"] == ["node1", "node2", "node1+1"]
        p = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--what-if=-node4", "--job-dir", j.place, "train.yaml"], cwd=HOME)
        assert p.returncode == 2 and "the job's nodes are node1, node2, node3" in p.stderr, p
        os.remove(path)
        c.check_nothing_left()


run([nothing, changed, simulated, guessed, refused, several_nodes], sys.argv[3:])
