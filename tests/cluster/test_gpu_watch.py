# SPDX-License-Identifier: Apache-2.0
"""test_gpu_watch.py BUILD SOURCE [CASE ...] - what NVML says of the cards of a job and of a profile"""

import contextlib
import json
import os
import re
import subprocess
import sys

import jsonschema
import yaml

from cases import run
from files import read, write
from gpu_machine import BUILD, SOURCE, environ, plan
from job import Folders, Job, request, tool
from node import wait_for


@contextlib.contextmanager
def read_by_nvml(cards, state="", *args, **more):
    """(job, say, pace): say() changes what NVML says of the cards while the job runs, pace() how long a rank's step lasts."""
    folders = Folders()
    path = folders.path("work", "nvml")
    os.mkdir(folders.path("work", "paces"))

    def say(text):
        os.rename(write(path + ".new", text), path)

    def pace(rank, ms):
        name = folders.path("work", "paces", str(rank))
        os.rename(write(name + ".new", str(ms)), name)
    say(state)
    for rank in range(cards.count(",") + 1):
        pace(rank, 20)
    with Job(BUILD, folders, ["--set", "sync.mode=sync", "--set", "batch.rebalance=off", "--restarts", "0", *args, "--",
                              os.path.join(BUILD, "tests/cluster/paced-worker"), folders.path("work", "paces")], ranks=0,
             **environ(cards, FAKE_NVML_STATE=path, **more)) as j:
        yield j, say, pace


def gpus(j):
    """What the driver says of each worker's GPU; {} where it knows nothing."""
    return [w.get("gpu", {}) for w in j.workers()]


def watched(*_):
    """What NVML says of the workers' GPUs is in JSON, in Prometheus' metrics and in eddis-status --gpus; errors are events."""
    api = yaml.safe_load(read(os.path.join(SOURCE, "agents/driver/openapi.yaml")))["components"]
    with read_by_nvml("A100:nv=2,V100:used:pcie=3x8:nv=2:numa=1", "1 ecc=5\n") as (j, say, _):
        wait_for("a first reading", lambda: len(gpus(j)) == 2 and all(gpus(j)))
        say("0 util=97 power=250 temp=86 clock=1005 heat\n1 util=42 ecc=5\n")
        wait_for("readings of both", lambda: [g.get("busy") for g in gpus(j)] == [0.97, 0.42])
        first, second = gpus(j)
        for g in (first, second):
            jsonschema.Draft202012Validator({"$ref": "#/components/schemas/Gpu", "components": api}).validate(g)
            assert set(g) == set(api["schemas"]["Gpu"]["properties"]), g
        assert first["slowed"] == "heat" and second["slowed"] == "" and first["others"] == 0 and second["others"] == 1, (first, second)
        assert (first["clock_mhz"], first["clock_most_mhz"], first["watts"], first["watts_most"]) == (1005, 1410, 250, 400), first
        assert (second["pcie_gen"], second["pcie_gen_most"], second["pcie_width"], second["pcie_width_most"]) == (3, 4, 8, 16), second
        assert [(g["numa"], g["nvlinks"], g["pci"]) for g in (first, second)] == [(0, 2, "0000:b7:00.0"), (1, 2, "0000:a7:00.0")], (first, second)
        url, token = j.driver()
        metrics = request(url + "/metrics", token)[1]
        for name, value in (("clock_hertz", "1005000000"), ("throttled", "1"), ("power_cap_watts", "400"), ("utilization_ratio", "0.97"),
                            ("memory_bytes", "85899345920"), ("ecc_corrected_total", "3"), ("pcie_generation", "4"), ("max_pcie_width", "16"),
                            ("nvlinks", "2")):
            assert re.search(f'^eddis_gpu_{name}{{.*rank="0".*}} {value}$', metrics, re.M), (name, metrics)
        assert re.search('^eddis_gpu_ecc_uncorrected_total{.*rank="1".*} 5$', metrics, re.M), metrics
        reasons = re.findall('^eddis_gpu_throttle_reason{.*rank="(.)".*,reason="(.*)"} 1$', metrics, re.M)
        assert reasons == [("0", "heat")], metrics
        page = tool(BUILD, "eddis-status", "--gpus", "--once", j.dir).stdout
        heads = "rank  node  +GPU  +util  +memory  +SM MHz  +power W  +temp  PCIe +NVLink  NUMA  NIC +others  errors  speed  state  +why low"
        assert re.search(heads, page), page
        assert re.search("0  .* A100-SXM4-80GB +97 %  1.1 of 86 GB  1005 of 1410 +250 of 400  86 C  4x16 +2 +0  - +0  +0 .* heat$", page, re.M), page
        assert re.search("1  .* V100-SXM2-16GB +42 %  .* of 17 GB  1530 of 1530 +60 of 300  40 C  3x8 of 4x16  +2 +1  - +1  +5 ", page), page
        assert "util" not in tool(BUILD, "eddis-status", "--once", j.dir).stdout
        say("0 xid=79\n1 ecc=7\n")
        found = wait_for("both errors", lambda: [e for e in j.events("note") if "rank" in e] if len(
            [e for e in j.events("note") if "rank" in e]) == 2 else None)
        text = {e["rank"]: e["text"] for e in j.events("note") if "rank" in e}
        assert re.search("rank 0: GPU GPU-00102030-.* reports the critical error Xid 79: the GPU has fallen off the bus", text[0]), found
        assert re.search("rank 1: GPU GPU-01112131-.* reports 2 new errors of its memory", text[1]), found
        j.interrupted()


def watched_groups(*_):
    """Of a worker with several cards all are reported, and its cause is the one that slows it."""
    api = yaml.safe_load(read(os.path.join(SOURCE, "agents/driver/openapi.yaml")))["components"]
    with read_by_nvml("A100,V100,A100,V100", "2 heat clock=1005\n", "--set", "gpus_per_worker=2") as (j, _, _):
        wait_for("readings of all", lambda: [len(w.get("gpus", [])) for w in j.workers()] == [2, 2])
        first, second = j.workers()
        for w in first, second:
            jsonschema.Draft202012Validator({"$ref": "#/components/schemas/Worker", "components": api}).validate(w)
        assert [g["slowed"] for g in first["gpus"]] == ["", "heat"] and first["gpu"]["id"] == first["gpus"][1]["id"], first
        assert [g["clock_most_mhz"] for g in second["gpus"]] == [1530, 1530] and second["gpu"]["slowed"] == "", second
        url, token = j.driver()
        clocks = re.findall('^eddis_gpu_clock_hertz{.*rank="(.)".*,gpu="GPU-(..).*"} (.*)$', request(url + "/metrics", token)[1], re.M)
        assert clocks == [("0", "00", "1410000000"), ("0", "02", "1005000000"), ("1", "01", "1530000000"), ("1", "03", "1530000000")], clocks
        page = tool(BUILD, "eddis-status", "--gpus", "--once", j.dir).stdout
        for rank, pci in ((0, "b7"), (0, "97"), (1, "a7"), (1, "87")):
            assert re.search(f"^ +{rank}  .* 0000:{pci}:00.0 of 2 x ", page, re.M), page
        j.interrupted()


def throttled(*_):
    """A worker that becomes slow while its card is throttled is named with that cause."""
    with read_by_nvml("A100,A100") as (j, say, pace):
        wait_for("readings and steps", lambda: j.steps_done() > 30 and all(g.get("clock_mhz") == 1410 for g in gpus(j)))
        say("1 heat clock=1005 temp=86\n")
        wait_for("the heat", lambda: gpus(j)[1].get("slowed") == "heat")
        assert not j.events("straggler"), j.events("straggler")  # its steps are as fast as before
        pace(1, 80)
        wait_for("a straggler", lambda: j.events("straggler"))
        text = j.events("straggler")[0]["text"]
        assert "rank 1 on " in text and "its GPU is throttled by heat, 1 005 of 1 410 MHz, at 86 degrees Celsius" in text, text
        say("")
        pace(1, 20)
        wait_for("its end", lambda: j.events("straggler_over"))
        j.interrupted()


def links(*_):
    """--profile prints how the cards are built in, what they did, and the ways between them, and keeps that with the profile."""
    folders = Folders()
    cards = "A100:nv=4:switch=1,A100:nv=4:switch=1,V100:switch=1:pcie=3x8:used,1080Ti:numa=1"
    command = [os.path.join(BUILD, "cmd/eddis-run"), "--profile"]
    states = write(folders.path("work", "nvml"), "0 power=250 temp=86 clock=1005 heat\n2 util=4 ecc=5\n")
    env = {**folders.environ(), **environ(cards, FAKE_NVML_STATE=states)}

    def profile(*args):
        done = subprocess.run([*command, *args], text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
        assert done.returncode == 0, done
        return done.stdout
    for output in (profile(), profile()):  # measured, then from the cache
        heads = "node +GPU  PCIe +NUMA  NIC +power cap W  MIG  ECC  compute mode  persistence$"
        assert re.search(heads, output, re.M), output
        assert re.search("^  .* 0  4x16 .* 400  off  on   default +on$", output, re.M), output
        assert re.search("^  .* 2  3x8 of 4x16 .* 300  off  on   default +on$", output, re.M), output
        assert re.search("^  .* 3  4x16 .* 250  off  -    default +on$", output, re.M), output
        heads = "node +GPU +SM MHz  why low +power W  temp +util +memory  others  (process  +)?ECC errors$"
        assert re.search(heads, output, re.M), output
        assert re.search(r"^  .* 0  1005 of 1410  heat +250 of 400  86 C +0 %  1.1 of 86 GB +0 +3 \+ 0$", output, re.M), output
        assert re.search(r"^  .* 2  1530 of 1530 +60 of 300  40 C +4 %  .* of 17 GB +1  .*3 \+ 5$", output, re.M), output
        assert re.search("^  .* 3  1911 of 1911 +60 of 250  40 C +0 % .* 0 +-$", output, re.M), output
        assert max(map(len, output[output.index("  during"):].splitlines())) <= 120, output
        ways = re.findall(r"^  GPU\d  +(.*)$", output, re.M)
        assert [row.split()[:4] for row in ways] == [["X", "NV4", "PIX", "SYS"], ["NV4", "X", "PIX", "SYS"],
                                                     ["PIX", "PIX", "X", "SYS"], ["SYS", "SYS", "SYS", "X"]], output
        assert re.search("^ +GPU0   GPU1   GPU2   GPU3 .* NUMA   cores$", output, re.M), output
    assert "cached" in output or "beside another job" in output, output
    devices = [d for d in json.loads(profile("--json"))["nodes"][0]["devices"] if d["kind"] == "cuda"]
    assert [d["gpu"]["links"] for d in devices][:2] == ["X NV4 PIX SYS", "NV4 X PIX SYS"], devices
    assert devices[0]["gpu"]["state"]["slowed"] == "heat" and devices[2]["gpu"]["state"]["busy"] == 0.04, devices
    assert "compute mode" not in plan(cards)[1] and "compute mode" not in plan("A100", "--profile", FAKE_NVML="none")[1]
    output = plan("A100:mig=2", "--profile", CUDA_VISIBLE_DEVICES="MIG-80,MIG-90")[1]
    assert len(re.findall("^  .* 4x16 .* 400  on   on   default +on$", output, re.M)) == 2, output


def unwatched(*_):
    """Without NVML, or with one that hangs or crashes, a job runs and ends as usual."""
    for state, more in (("", {"FAKE_NVML": "none"}), ("0 hang\n", {}), ("0 crash\n", {})):
        with read_by_nvml("A100,V100", state, **more) as (j, _, _):
            wait_for("steps", lambda: j.steps_done() > 100)
            assert gpus(j) == [{}, {}], gpus(j)
            j.interrupted()


run([watched, watched_groups, throttled, links, unwatched], sys.argv[3:])
