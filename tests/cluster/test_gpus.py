# SPDX-License-Identifier: Apache-2.0
"""test_gpus.py BUILD SOURCE [CASE ...] - plans and jobs on the cards of the fake drivers of tests/gpu/fake_cards.h."""

import ctypes.util
import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from cases import run
from files import write
from gpu_machine import BUILD, FAKE, MIXED, amd_environ, environ, plan, rates
from job import Folders, Job
from known import shows_gpus
from lab import HOME, LOGIN, Cluster
from node import wait_for


def unlike(*_):
    """Each card has its rate, and its rank sees it as the LOCAL_RANK-th."""
    workers, output = plan(MIXED)
    assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "V100-SXM2-16GB", "Ti"], output
    (_, fast), (_, middle), (_, slow) = workers
    assert 1.1 < fast / middle < 1.9 and 1.1 < middle / slow < 1.9, output
    folders = Folders()
    with Job(BUILD, folders, ["--", "sh", "-c", "echo $LOCAL_RANK of $CUDA_VISIBLE_DEVICES"], ranks=0,
             **environ(MIXED)) as j:
        j.check(0, "ok")
        uuids = "GPU-00102030-.*,GPU-01112131-.*,GPU-02122232-.*"
        for rank in range(3):
            assert re.search(f"{rank} of {uuids}$", j.log(rank), re.M), j.log(rank)


def quality(workers, speeds):
    """How near the step of these batches is to the best split for cards of these speeds; 1: it is."""
    def longest(batches):
        return max(n / speed for n, speed in zip(batches, speeds))

    best = min(longest((a, b, 256 - a - b)) for a in range(1, 255) for b in range(1, 256 - a))
    whole = sum(samples for _, samples in workers)  # samples, or samples/s
    return best / longest([256 * samples / whole for _, samples in workers])


def precision(*_):
    """Cards are compared by their rates in the job's precision, and a card without it by that of fp32."""
    speeds = 6, 3.4, 1  # of the three with mixed precision, by public benchmarks
    workers, output = plan(MIXED, "--set", "profile.precision=fp16")
    # test_planner.c asks for 0.9, by exact rates
    assert quality(workers, speeds) >= 0.8 and "GPUs are compared by their rates in fp16" in output, output
    workers, output = plan(MIXED)
    assert quality(workers, speeds) < 0.6 and "rates in" not in output, output
    workers, output = plan(MIXED, "--set", "profile.precision=bf16")
    assert workers[0][1] > 4 * workers[1][1], output
    assert "GPU 1 and 1 more have no bf16, so they are planned by their fp32 rates" in output, output
    workers, output = plan("A100,A100:nobf16", "--set", "profile.precision=bf16")
    assert "without a matrix product in bf16 of GPU 1 all devices are compared by their fp32 rates" in output, output
    assert 0.6 < workers[0][1] / workers[1][1] < 1.7, output
    _, output = plan(MIXED, "--set", "profile.precision=fp8", code=2)
    assert '"profile.precision" is "fp8"' in output, output


def by_step_10(j):
    """The plans that are in force by step 10."""
    since = {1: 0}
    for text in (e.get("text", "") for e in j.events()):
        if agreed := re.search(r"version (\d+) from step (\d+)", text):
            since[int(agreed.group(1))] = int(agreed.group(2))
    return [j.plan(version) for version, first in sorted(since.items()) if first <= 10]


def paced(**more):
    """[(plan, how near it is to the best)] of the first ten steps of a job whose cards are 6 : 3 : 1, and what the user
    reads."""
    folders = Folders()
    for rank, ms in enumerate((1, 2, 6)):  # of a sample
        with open(folders.path("work", str(rank)), "w") as f:
            f.write(str(ms))
        os.makedirs(folders.path("work", "samples", str(rank)))
        with open(folders.path("work", "samples", str(rank), "images"), "wb") as f:
            f.write(bytes(64 * 256))
    # batch.max, because a plan by the cards' memory would be near the best already
    with Job(BUILD, folders, ["--set", "batch.global=256", "--set", "batch.max=256", "--set", "sync.mode=sync", "--",
                              os.path.join(BUILD, "tests/cluster/paced-worker"), ".", "samples"], ranks=0, **environ(MIXED, **more)) as j:
        j.wait_steps(above=12)
        j.interrupt()
        plans, texts = by_step_10(j), [e.get("text", "") for e in j.events("say")]
    return [(p, quality([(w["device"], w["batch"]) for w in p["workers"]], (6, 3, 1))) for p in plans], texts


def reported(*_):
    """The plan is by the rates in fp32 until the program reports its precision, and good by the tenth step."""
    plans, _ = paced(PACED_PRECISION="fp16")
    assert [p["precision"] for p, _ in plans[:2]] == ["fp32", "fp16"] and plans[-1][1] >= 0.9, plans


def measured(*_):
    """A program that reports no precision has a good plan by the tenth step, too, from times of its first ones."""
    plans, _ = paced()
    assert plans[0][1] < 0.9 <= plans[-1][1], plans


def without_precision(*_):
    """The user hears once which cards lack the precision that the program reports."""
    _, texts = paced(PACED_PRECISION="bf16")
    lacks = [text for text in texts if "bf16, so they are planned by their fp32 rates" in text]
    assert len(lacks) == 1 and re.match(r"node \S+: GPU 1 and 1 more have no bf16", lacks[0]), texts


def hosts(*_):
    """Three hosts have one card each, and one card lacks cuBLAS: the plan does not take it for the fastest."""
    cards = ["A100", "V100", "1080Ti:noblas"]
    with Cluster(3, BUILD, knows=False) as c:
        for host, card in zip(c.nodes, cards):
            with open(c.path(host, HOME + "/.bashrc"), "w") as f:  # a shell of sshd reads it
                f.write("".join(f"export {name}={value}\n" for name, value in environ(card, FAKE_SALT=host).items()))
        done = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--set", "batch.global=256", "-H",
                             ",".join(c.nodes), "--", "true"], stderr=subprocess.STDOUT)
        assert done.returncode == 0, done
        workers = rates(done.stdout)
        assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "V100-SXM2-16GB", "Ti"], done.stdout
        (_, fast), (_, middle), (_, slow) = workers
        assert 1.3 < fast / middle < 2.5 and 1.3 < middle / slow < 2.8, done.stdout  # as 1500 : 780 : 370
        assert "without a matrix product of GPU 0 all devices are compared by" in done.stdout, done.stdout


def half_measured(*_):
    """A card of which only the memory's speed is known is not taken for a faster one."""
    workers, output = plan("A100,A100:noblas")
    assert "without a matrix product of GPU 1 all devices are compared by the speed of their memory alone" in output
    assert 0.6 < workers[0][1] / workers[1][1] < 1.7, output


def own_python(*_):
    """cuBLAS is found among the packages of the Python that the node names, or the command by a path."""
    with tempfile.TemporaryDirectory() as top:
        driver, python = top + "/driver", top + "/venv/bin/python3"
        packages = top + "/venv/lib/python3.9/site-packages/nvidia/cublas/lib"
        for folder in (driver, packages, os.path.dirname(python)):
            os.makedirs(folder)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            shutil.copy(f"{FAKE}/{name}", driver)
        shutil.copy(FAKE + "/libcublas.so.12", packages)
        os.symlink("/usr/bin/python3", python)
        for program, entry in ("python3", f"{{host: localhost, python: {python}}}"), (python, "localhost"):
            workers, output = plan("A100,V100", "--set", f"nodes=[{entry}]", command=(program, "-c", "pass"),
                                   LD_LIBRARY_PATH=driver)
            assert len(workers) == 2 and "no cuBLAS" not in output, output


def one_bad(*_):
    """A card that cannot be used costs its own share alone."""
    workers, output = plan("A100,V100:bad,1080Ti")
    assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "Ti"], output
    assert re.search(r"GPU 1: the GPU cannot be used: .*GPU 1 gets no worker", output), output
    workers, output = plan("A100,V100:lost")
    assert len(workers) == 1 and re.search(r"GPU 1: the GPU cannot be used: .*GPU 1 gets no worker", output), output
    _, output = plan("A100,V100:bad", "-n", "2", code=2)
    assert "has 1 GPU, too few for workers_per_node (-n): 2" in output, output


def slow_driver(*_):
    """A driver that initialises many cards for seconds is waited for, and one that never comes is an error."""
    workers, output = plan(MIXED, driver="slow=9")
    assert len(workers) == 3, output
    _, output = plan(MIXED, driver="slow=100", code=3)
    assert re.search("the node's GPUs cannot be used: the search for GPUs took too long; .*CUDA_VISIBLE_DEVICES", output), output


def failed_driver(*_):
    """A driver that fails where GPUs are expected does not send the job to the CPUs."""
    _, output = plan(MIXED, driver="broken", code=3)
    assert "the node's GPUs cannot be used: the NVIDIA driver does not start: unknown error (CUDA error 999)" in output, output
    workers, output = plan("A100", driver="broken", CUDA_VISIBLE_DEVICES="")
    assert workers and all(device.startswith("cpu") for device, _ in workers), output


def absent_driver(*_):
    """A driver that is missing, is too old, or finds none of the GPUs that the environment names, is an error, too, if the
    machine shows GPUs; else a note."""
    refused = shows_gpus()

    def check(driver, words, **more):
        workers, output = plan("A100", driver=driver, code=3 if refused else 0, **more)
        if refused:
            assert "the node's GPUs cannot be used: " + words in output, output
            assert "CUDA_VISIBLE_DEVICES to an empty value to train on the CPUs" in output, output
        else:
            assert workers and all(device.startswith("cpu") for device, _ in workers), output
            assert "CUDA_VISIBLE_DEVICES names GPUs, but the node shows none: it trains on its CPUs" in output, output

    check("nodevice", "the NVIDIA driver finds no GPU; see whether nvidia-smi lists them")
    check("stub", "libcuda.so.1 is only a stub of the NVIDIA driver; see whether")
    check("old", "the NVIDIA driver supports only CUDA 10.2, but eddis needs CUDA 11; update it, or ")
    if not ctypes.util.find_library("cuda"):  # this machine has none of its own
        check("", "libcuda.so.1 of the NVIDIA driver is not installed", LD_LIBRARY_PATH="")
    trainer_words = (os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv")
    for more in ({"CUDA_VISIBLE_DEVICES": ""}, {"command": trainer_words}):
        workers, output = plan("A100", driver="nodevice", **more)
        assert workers and all(device.startswith("cpu") for device, _ in workers), output
    if not os.path.exists("/dev/kfd"):
        workers, output = plan("MI300X", driver="old", machine=amd_environ)
        assert workers and "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES names GPUs, but the node shows none" in output, output


def instances(*_):
    """Each MIG instance is a device of its own, the only one that its worker sees."""
    folders = Folders()
    with Job(BUILD, folders, ["--", "sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES."], ranks=0,
             **environ("A100:mig=2,V100", CUDA_VISIBLE_DEVICES="MIG-80,MIG-90,GPU-01")) as j:
        j.check(0, "ok")
        for rank, uuid in enumerate(("MIG-80102030-.*", "MIG-90102030-.*", "GPU-01112131-.*")):
            assert re.search(f"sees {uuid}[.]$", j.log(rank), re.M) and "," not in j.log(rank), j.log(rank)
    workers, output = plan("A100:mig=2,A100")  # by numbers: all instances of a card
    assert len(workers) == 3 and "MIG instance that CUDA shows" not in output, output
    workers, output = plan("A100:mig=2,V100")  # CUDA may number unlike cards in another way
    assert len(workers) == 1, output
    assert "GPU 0 is the only MIG instance that CUDA shows; to use others, set CUDA_VISIBLE_DEV" in output, output
    workers, output = plan("A100:mig=2,V100", "--set", "env={CUDA_DEVICE_ORDER: PCI_BUS_ID}")
    assert len(workers) == 3, output


def busy(*_):
    """A card that another process keeps busy is not measured, and gets no worker; one with an idle process is named."""
    workers, output = plan("A100,V100:busy,1080Ti:used")
    assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "Ti"], output
    assert re.search(r"GPU 1: process 1 .* keeps it 90 % busy;.* GPU 2 is also used by process 1", output), output
    assert "GPU 1 gets no worker" in output, output
    workers, output = plan("A100,V100:unseen")  # as in a container
    assert len(workers) == 1 and "GPU 1: a process that NVML does not list keeps it 90 % busy" in output, output
    workers, output = plan("A100,V100:busy", CUDA_MPS_PIPE_DIRECTORY="/nonexistent")  # jobs share it on purpose
    assert len(workers) == 2 and "GPU 1: process 1 " in output and "so its speed may be too low" in output, output
    workers, output = plan("A100:busy,V100:busy")  # there is no other, so they are measured nevertheless
    assert len(workers) == 2 and "keeps it 90 % busy, so its speed may be too low" in output, output


def busy_later(*_):
    """A card that another process keeps busy, or that broke, gets no worker although its speed was kept."""
    folders, salt = Folders(), {"FAKE_SALT": str(os.getpid())}
    workers, output = plan("A100,V100", folders=folders, **salt)
    kept = "not kept" not in output  # as beside a job of another test; test_profiler.c has no such neighbours
    assert len(workers) == 2, output
    for state, words in (("busy", "GPU 1: process 1 .* keeps it 90 % busy;.* GPU 1 gets no worker"),
                         ("unseen", "GPU 1: a process that NVML does not list keeps it 90 % busy;.* GPU 1 gets no w"),
                         ("lost", "GPU 1 does not answer any more: measured again; GPU 1 gets" if kept else "GPU 1")):
        workers, output = plan("A100,V100:" + state, folders=folders, **salt)
        assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB"] and re.search(words, output), output
        assert not kept or state == "lost" or ", cached" in output, output


def late_nvml(*_):
    """A start waits for NVML, which does not answer; the next ones wait less, for an hour, and find out if it answers."""
    folders = Folders()
    mark = os.path.join(folders.path("cache", "eddis"), f"nvml-late-{os.uname().nodename}")

    def note(**more):
        """Of no job, so that jobs of other tests beside it do not matter."""
        p = subprocess.run([os.path.join(BUILD, "cmd/libexec/eddis-probe")], env={**folders.environ(), **environ("A100,V100"), **more},
                           text=True, stdout=subprocess.PIPE, timeout=120, check=True)
        return json.loads(p.stdout)["note"]

    assert "not kept" not in note() and not os.path.exists(mark)
    for again in "", " again", "":
        found = note(FAKE_NVML="hang")
        assert f"look at the GPUs took too long{again}, so who uses them is unknown" in found, found
        assert os.path.exists(mark)
        if again:
            os.utime(mark, (0, 0))
    os.utime(mark, (0, 0))  # else a busy machine may be too slow
    found = note()
    assert "too long" not in found and not os.path.exists(mark), found


def second_job(*_):
    """A job on cards of a running job is refused with that job's id and user, and one on other cards runs."""
    folders = Folders()
    with Job(BUILD, folders, ["--", "sh", "-c", "echo up $EDDIS_JOB_ID; sleep 1000"], ranks=0, **environ("A100,V100")) as first:
        first.wait_up()
        job_id = re.search(r"up (\S+)", first.log(0)).group(1)
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, **environ("A100,V100,1080Ti")) as second:
            assert second.end() == 3, (second.code, second.err)
            words = f"'GPU-.*' is in use by job {job_id} of {getpass.getuser()}; wait until"
            assert re.search(words, second.err), second.err
        with Job(BUILD, Folders(), ["--", "true"], ranks=0,
                 **environ("A100,V100,1080Ti", CUDA_VISIBLE_DEVICES="2")) as other:
            other.check(0, "ok")
        with Job(BUILD, Folders(), ["--check", "--", "true"], ranks=0, **environ("A100,V100")) as checked:
            assert checked.end() == 0, (checked.code, checked.err)
        first.interrupt()
    with Job(BUILD, folders, ["--", "true"], ranks=0, **environ("A100,V100")) as third:
        third.check(0, "ok")


def paces_of(folders, *ms):
    """Make the folder from which paced-worker reads the milliseconds of each rank's step; return its path."""
    paces = folders.path("work", "paces")
    os.mkdir(paces)
    for rank, each in enumerate(ms):
        write(os.path.join(paces, str(rank)), str(each))
    return paces


def dropped(*_):
    """The card of a worker that nodes.drop leaves out is free for another job; --wait does not hold it either."""
    folders = Folders()
    paces = paces_of(folders, 20, 200)
    cards = environ("A100,V100")
    train = ["--set", "sync.mode=sync", "--set", "batch.global=256", "--set", "batch.min=64", "--restarts", "0"]
    command = ["--", os.path.join(BUILD, "tests/cluster/paced-worker"), paces]
    with Job(BUILD, folders, [*train, *command], ranks=0, **cards) as first:
        first.wait_steps(12)
        first.interrupt()
    for wait in ([], ["--wait"]):
        with Job(BUILD, folders, [*train, *wait, "--set", "nodes.drop=auto", *command], ranks=0, **cards) as one:
            one.wait_steps(1)
            assert len(one.plan()["workers"]) == 1 and one.plan()["left_out"][0]["worker"] == 1, one.plan()
            with Job(BUILD, Folders(), ["--", "true"], ranks=0, **environ("A100,V100", CUDA_VISIBLE_DEVICES="1")) as other:
                other.check(0, "ok")
            one.interrupt()


def dropped_later(*_):
    """A restart leaves out a worker that had trained before: its card is free for another job."""
    folders = Folders()
    paces = paces_of(folders, 20, 200)
    with Job(BUILD, folders, ["--set", "sync.mode=sync", "--set", "batch.global=256", "--set", "batch.min=64", "--restarts", "1",
                              "--set", "nodes.drop=auto", "--", os.path.join(BUILD, "tests/cluster/paced-worker"), paces],
             ranks=0, **environ("A100,V100")) as one:
        one.wait_steps(12)
        assert len(one.plan()["workers"]) == 2, one.plan()
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, **environ("A100,V100", CUDA_VISIBLE_DEVICES="1")) as other:
            assert other.end() == 3 and "is in use by job " in other.err, other.err
        os.kill(one.rank_pid(1), signal.SIGKILL)
        wait_for("the restart", lambda: len([e for e in one.events("rank_started")]) == 3)
        assert [left["worker"] for left in one.plan(generation=2)["left_out"]] == [1], one.plan(generation=2)
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, **environ("A100,V100", CUDA_VISIBLE_DEVICES="1")) as other:
            other.check(0, "ok")
        one.interrupt()


def dropped_node(*_):
    """The card of a node whose only worker is left out is free for another job, also if this one waits for its cards."""
    with Cluster(2, BUILD, knows=False) as c:
        for host, card in zip(c.nodes, ("A100", "V100")):
            with open(c.path(host, HOME + "/.bashrc"), "w") as f:
                f.write("".join(f"export {name}={value}\n" for name, value in environ(card).items()))
        os.mkdir(os.path.join(c.shared, "paces"))
        for rank, ms in enumerate((20, 400)):
            write(os.path.join(c.shared, "paces", str(rank)), str(ms))
        train = ["-H", ",".join(c.nodes), "--set", "sync.mode=sync", "--set", "batch.global=256", "--set", "batch.min=64",
                 "--restarts", "0"]
        command = ["--", os.path.join(BUILD, "tests/cluster/paced-worker"), os.path.join(c.shared, "paces")]
        with c.job([*train, *command]) as first:
            first.wait_steps(12)
            first.interrupt()
        with c.job([*train, "--wait", "--set", "nodes.drop=auto", *command]) as one:
            one.wait_steps(1)
            assert one.plan()["nodes"] == c.nodes[:1] and one.plan()["left_out"][0]["node"] == c.nodes[1], one.plan()
            with c.job(["-H", c.nodes[1], "--", "true"]) as other:
                assert other.end() == 0, (other.code, other.err)
                one.interrupt()  # in here: the end of a job of the lab kills all programs of its host
        for host in c.nodes:
            os.remove(c.path(host, HOME + "/.bashrc"))
        c.check_nothing_left()


def waits(job, *, for_job):
    """Until the user was told for whom it waits, once."""
    wait_for("the wait", lambda: [e for e in job.events("note") if "waiting for GPUs" in e["text"]])
    said, = [e["text"] for e in job.events("note") if "waiting for GPUs" in e["text"]]
    assert re.search(f"waiting for GPUs: 'GPU-.*' is (in use by|next for) job {for_job} of {getpass.getuser()}$", said), said
    assert not job.events("profiled") and not job.events("measures"), job.events()


def queue(*_):
    """Jobs with --wait get the cards of a running job in the order in which they came, and are measured then; Ctrl-C, SIGTERM,
    --stop, the time limit and the deadline end the wait."""
    cards = environ("A100,V100")
    script = ["--", "sh", "-c", "echo up $EDDIS_JOB_ID; date +from=%s%N; sleep 0.5; date +to=%s%N"]

    def begin(*args, folders=None):
        return Job(BUILD, folders or Folders(), [*args, *script], ranks=0, **cards)

    with Job(BUILD, Folders(), ["--", "sh", "-c", "echo up $EDDIS_JOB_ID; sleep 1000"], ranks=0, **cards) as first:
        first.wait_up()
        job_id = re.search(r"up (\S+)", first.log(0)).group(1)
        with begin("--wait") as second:
            waits(second, for_job=job_id)
            with begin("--wait", "--set", "profile.cache=0s") as third, begin("--wait=1s") as late:
                assert late.end() == 3, (late.code, late.err)
                assert re.search(rf"waited 1 s for GPUs \(timeouts.gpus\): 'GPU-.*' is in use by job {job_id} of ", late.err), late.err
                waits(third, for_job=job_id)
                folders = Folders()  # a plan is not worth the wait that a file asks for
                with open(folders.path("work", "train.yaml"), "w") as f:
                    f.write("command: [\"true\"]\ntimeouts: {gpus: none}\n")
                done = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", folders.path("work", "train.yaml")], text=True,
                                      timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**folders.environ(), **cards})
                assert done.returncode == 0 and len(rates(done.stdout)) == 2, done
                for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                    with begin("--wait") as ended:
                        waits(ended, for_job=job_id)
                        ended.signal(number)
                        assert ended.end() == code, (ended.code, ended.err)
                folders = Folders()
                with begin("--wait", folders=folders) as stopped, begin("--wait", "--timeout", "1s") as limited:
                    waits(stopped, for_job=job_id)
                    done = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--stop", stopped.dir], env=folders.environ(),
                                          stderr=subprocess.PIPE, text=True, timeout=120)
                    assert done.returncode == 0 and stopped.end() == 130, (done, stopped.code, stopped.err)
                    assert limited.end() == 124, (limited.code, limited.err)
                assert second.process.poll() is None and third.process.poll() is None
                first.interrupt()
                second.check(0, "ok", "waiting for GPUs: 'GPU-")
                third.check(0, "ok", "waiting for GPUs: 'GPU-")
                ends = [int(re.search(rf"{word}=(\d+)", job.log(rank)).group(1))
                        for job, word in ((second, "to"), (third, "from")) for rank in (0, 1)]
                assert max(ends[:2]) < min(ends[2:]), ends
    with begin("--wait") as free:  # nobody is waited for
        free.check(0, "ok")
        assert "waiting" not in free.err, free.err


def queue_hosts(*_):
    """Two jobs on the same two hosts, named in opposite orders, wait for a third, and not for each other."""
    with Cluster(2, BUILD, knows=False) as c:
        for host in c.nodes:
            with open(c.path(host, HOME + "/.bashrc"), "w") as f:
                f.write("".join(f"export {name}={value}\n" for name, value in environ("A100").items()))

        def begin(nodes, script, *args):
            return c.job(["-H", ",".join(nodes), *args, "--", "sh", "-c", script])

        with begin(c.nodes, "sleep 1000") as first:
            first.wait_event("rank_started", 2)
            with begin(c.nodes, "true", "--wait") as one, begin(c.nodes[::-1], "true", "--wait=20m") as two:
                for job in (one, two):
                    wait_for("the wait", lambda: any("waiting for GPUs: 'GPU-" in e["text"] for e in job.events("note")))
                first.signal(signal.SIGINT)
                for job, code in ((first, 130), (one, 0), (two, 0)):
                    assert job.end() == code, (job.code, job.err)
        for host in c.nodes:
            os.remove(c.path(host, HOME + "/.bashrc"))
        c.check_nothing_left()


def killed_holder(*_):
    """A job with --wait goes on when the job that it waits for was killed."""
    cards = environ("A100")
    with Job(BUILD, Folders(), ["--", "sh", "-c", "echo up $EDDIS_JOB_ID; sleep 1000"], ranks=0, **cards) as first:
        first.wait_up(ranks=1)
        with Job(BUILD, Folders(), ["--wait=10m", "--", "true"], ranks=0, **cards) as second:
            waits(second, for_job=re.search(r"up (\S+)", first.log(0)).group(1))
            first.signal(signal.SIGKILL)
            second.check(0, "ok")


def dead_driver(*_):
    """A job on the cards of a job whose driver was killed waits until that one's agent has ended its workers."""
    with Job(BUILD, Folders(), ["--", "sh", "-c", "echo up; sleep 1000"], ranks=0, **environ("A100,V100")) as first:
        first.wait_up()
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, lease=30, **environ("A100,V100")) as second:
            wait_for("the wait", lambda: any("in case the other job" in e["text"] for e in second.events("note")))
            first.signal(signal.SIGKILL)
            second.check(0, "ok", "in case the other job is ending: 'GPU-")


def lacking(*_):
    """The smallest card's batch stays within its memory through re-plans, which would give it more and more."""
    gib, batch, folders, workers = (80, 16, 11), 1600, Folders(), os.path.join(BUILD, "tests/cluster/memory-worker")
    # 1 GiB and 16 MiB a sample: nine tenths of the memory hold 4544, 857 and 569 samples
    command = ["--", workers, str(16 << 10), "100000", "card", "100", "200", "50"]
    settings = ["--set", f"batch.global={batch}", "--set", "sync.mode=sync", "--set", "checkpoint.every=0"]
    with Job(BUILD, folders, settings + command, ranks=0, CARD_GIB=",".join(map(str, gib)), **environ(MIXED)) as j:
        wait_for("5 re-plans", lambda: len(j.events("replanned")) >= 5)
        first = [w["batch"] for w in j.plan()["workers"]]
        assert all(b <= -(-batch * g // sum(gib)) for b, g in zip(first, gib)), first
        made = [[w["batch"] for w in j.plan(version)["workers"]] for version in range(2, 7)]
        most = [int((0.9 * g - 1) * 64) for g in gib]
        assert all(b <= m for batches in made for b, m in zip(batches, most)), (made, most)
        assert made[-1][2] > 3 * first[2] and made[-1][0] < first[0] / 2, (first, made)
        j.interrupted()
        assert "out of memory" not in j.err, j.err
    with Job(BUILD, folders, ["--dry-run", *settings, *command], ranks=0, **environ(MIXED)) as j:
        assert j.end() == 0, j.err
        planned = [int(samples) for samples in re.findall(r"^ +\d+  \S+ +\S.+?  +\d+ +(\d+)  .*  learnt$", j.out, re.M)]
        assert len(planned) == 3 and all(b <= m for b, m in zip(planned, most)), (planned, most, j.out)
        assert planned[2] > 3 * first[2], (planned, first)


def first_plans(*_):
    """The first plan is by the cards' memory, without the equal split that does not fit; by step 10 a second one is by
    the times of the first steps, within what fits."""
    gib, batch = (80, 16, 11), 800
    # 1 GiB and 64 MiB a sample: nine tenths of the memory hold 1136, 214 and 142 samples; the smallest card is the fastest
    command = [os.path.join(BUILD, "tests/cluster/memory-worker"), str(64 << 10), "100000", "card", "1000", "500", "200"]
    with Job(BUILD, Folders(), ["--set", f"batch.global={batch}", "--set", "sync.mode=sync", "--set", "checkpoint.every=0",
                                "--measure-equal", "20", "--", *command], ranks=0, CARD_GIB=",".join(map(str, gib)),
             **environ(MIXED)) as j:
        j.wait_steps(above=12)
        plans = by_step_10(j)
        j.interrupted()
        assert "the equal split is not measured, because rank 1 may take at most 120 samples, its part by the memory" in j.err, j.err
        assert "out of memory" not in j.err, j.err
    first, *later = ([w["batch"] for w in p["workers"]] for p in plans)
    assert all(b <= -(-batch * g // sum(gib)) for b, g in zip(first, gib)), first
    assert later and later[-1][2] > 1.3 * first[2], (first, later)
    assert all(b <= int((0.9 * g - 1) * 16) for batches in later for b, g in zip(batches, gib)), later


def retried(*_):
    """Limits that are halved too far are raised again, until the plan is found that fits; the next job begins with it."""
    folders, worker = Folders(), os.path.join(BUILD, "tests/cluster/memory-worker")
    # 1 GiB and 64 MiB a sample: the cards hold 96, 64 and 16 samples, and their parts by memory are 120, 24 and 17
    command = ["--set", "batch.global=160", "--set", "sync.mode=sync", "--set", "batch.rebalance=off", "--restarts", "1", "--",
               worker, str(64 << 10), "20", "card", "100", "100", "100"]
    for again in False, True:
        with Job(BUILD, folders, command, ranks=0, CARD_GIB="7,5,2", **environ(MIXED)) as j:
            j.check(0, "ok", failed_rank=None if again else (0, 1, 2))
            restarts, raised = j.summary()["restarts"], "are raised, to fewer samples than failed before" in j.err
            assert restarts == 0 if again else 2 <= restarts <= 8 and raised, (restarts, j.err)
            assert all(w["batch"] <= most for w, most in zip(j.plan(generation=1 + restarts)["workers"], (96, 64, 16))), j.err


def amd(*_):
    """Each AMD card gets its share, and its rank sees it as the LOCAL_RANK-th."""
    cards = "MI300X,MI210,7900XTX"
    workers, output = plan(cards, machine=amd_environ)
    assert [device.split()[-1] for device, _ in workers] == ["MI300X", "MI210", "XTX"], output
    (_, fast), (_, middle), (_, slow) = workers
    assert 1.5 < fast / middle < 4.5 and 1.05 < middle / slow < 2.1, output  # 100 : 35 : 25, memory 4000 : 1300 : 800
    shown = "echo $LOCAL_RANK of $ROCR_VISIBLE_DEVICES as $HIP_VISIBLE_DEVICES."
    with Job(BUILD, Folders(), ["--", "sh", "-c", shown], ranks=0, **amd_environ(cards, HIP_VISIBLE_DEVICES="2,0")) as j:
        j.check(0, "ok")
        for rank in range(2):
            uuids = "GPU-0212223242526272,GPU-0010203040506070"
            assert re.search(f"{rank} of {uuids} as 0,1[.]$", j.log(rank), re.M), j.log(rank)
    with Job(BUILD, Folders(), ["--", "sh", "-c", shown], ranks=0,
             **amd_environ("MI210,MI210:nouuid,MI210", HIP_VISIBLE_DEVICES="2,1")) as j:
        j.check(0, "ok")
        for rank in range(2):
            assert re.search(f"{rank} of as 2,1[.]$", j.log(rank), re.M), j.log(rank)


def amd_states(*_):
    """A broken AMD card costs its own share alone; a driver that fails or is late is treated as CUDA's."""
    workers, output = plan("MI300X,MI210:bad,7900XTX:lost", machine=amd_environ)
    assert [device.split()[-1] for device, _ in workers] == ["MI300X"], output
    assert re.search(r"GPU 1: the GPU cannot be used: .*\(HIP error 46\).*GPU 1 gets no worker", output), output
    _, output = plan("MI300X", driver="broken", code=3, machine=amd_environ)
    assert "the node's GPUs cannot be used: ROCm does not start: unknown error (HIP error 999)" in output, output
    workers, output = plan("MI300X", driver="slow=9", machine=amd_environ)
    assert len(workers) == 1, output
    workers, output = plan("MI300X", machine=amd_environ, HIP_VISIBLE_DEVICES="")
    assert workers and all(device.startswith("cpu") for device, _ in workers), output


def two_makers(*_):
    """Of the GPUs of two makers NVIDIA's are used, unless the environment hides them."""
    both = {"FAKE_CUDA": "", "FAKE_GPUS": "V100"}
    workers, output = plan("MI210", machine=amd_environ, CUDA_VISIBLE_DEVICES="0", **both)
    assert [device.split()[-1] for device, _ in workers] == ["V100-SXM2-16GB"], output
    assert "those of NVIDIA are used; to use those of AMD, set CUDA_VISIBLE_DEVICES to an empty value" in output, output
    workers, output = plan("MI210", machine=amd_environ, **both)
    assert [device.split()[-1] for device, _ in workers] == ["MI210"] and "NVIDIA" not in output, output


def two_nodes(*_):
    """A node with NVIDIA's GPUs and one with AMD's are compared by the figures that all have."""
    with Cluster(2, BUILD, knows=False) as c:
        for host, machine in zip(c.nodes, (environ("V100"), amd_environ("MI210:noblas"))):
            with open(c.path(host, HOME + "/.bashrc"), "w") as f:  # a shell of sshd reads it
                f.write("".join(f"export {name}={value}\n" for name, value in machine.items()))
        done = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--set", "batch.global=256", "-H",
                             ",".join(c.nodes), "--", "true"], stderr=subprocess.STDOUT)
        assert done.returncode == 0, done
        workers = rates(done.stdout)
        assert [device.split()[-1] for device, _ in workers] == ["V100-SXM2-16GB", "MI210"], done.stdout
        assert 1.2 < workers[1][1] / workers[0][1] < 2.4, done.stdout  # as 1300 : 780
        assert "without a matrix product of GPU 0 all devices are compared by" in done.stdout, done.stdout


def idle(*_):
    """Fewer workers than cards: the others are said to be idle."""
    workers, output = plan(MIXED, "-n", "2")
    assert len(workers) == 2 and "1 of 3 GPUs stays idle, because the job asks for 2 workers here" in output, output


def grouped(*_):
    """gpus_per_worker gives each worker several cards of one kind, which it sees from LOCAL_RANK * N on; what is left is named."""
    cards = "A100,V100,A100,V100,V100:mig=1"
    workers, output = plan(cards, "--set", "gpus_per_worker=2", CUDA_VISIBLE_DEVICES="MIG-84,GPU-00,GPU-01,GPU-02,GPU-03")
    assert [device.split()[:2] for device, _ in workers] == [["2", "x"]] * 2, output
    assert workers[0][0].endswith("A100-SXM4-80GB") and workers[0][1] > workers[1][1], output
    assert "1 MIG instance gets no worker, because gpus_per_worker is 2" in output, output
    workers, output = plan(MIXED, "--set", "gpus_per_worker=2", code=2)
    assert "has no 2 usable GPUs of the same kind; lower gpus_per_worker" in output, output
    workers, output = plan("A100,A100,A100", "--set", "gpus_per_worker=2", code=0)
    assert len(workers) == 1 and "GPU 2 stays idle, because gpus_per_worker is 2" in output, output
    workers, output = plan("A100", "--set", "gpus_per_worker=2", code=2, CUDA_VISIBLE_DEVICES="")
    assert "run on its CPUs" in output, output
    four = environ("A100,V100,A100,V100")
    with Job(BUILD, Folders(), ["--set", "gpus_per_worker=2", "--", "sh", "-c",
                                "echo $LOCAL_RANK of $CUDA_VISIBLE_DEVICES; sleep 1000"], ranks=0, **four) as j:
        j.wait_up(" of ")
        uuids = "GPU-00102030-.*,GPU-02122232-.*,GPU-01112131-.*,GPU-03132333-.*"
        for rank in range(2):
            assert re.search(f"{rank} of {uuids}$", j.log(rank), re.M), j.log(rank)
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, **{**four, "CUDA_VISIBLE_DEVICES": "3"}) as other:
            assert other.end() == 3 and "is in use by job" in other.err, (other.code, other.err)
        j.interrupt()


def selected(*_):
    """The job's or a node's env selects GPUs, and each rank sees its own of them as the LOCAL_RANK-th."""
    cards = "A100,V100,A100,V100"
    for env in ("env={CUDA_VISIBLE_DEVICES: '3,1'}", "nodes=[{host: localhost, env: {CUDA_VISIBLE_DEVICES: '3,1'}}]"):
        with Job(BUILD, Folders(), ["--set", env, "--", "sh", "-c", "echo $LOCAL_RANK of $CUDA_VISIBLE_DEVICES."],
                 ranks=0, **environ(cards)) as j:
            j.check(0, "ok")
            assert len(j.plan()["workers"]) == 2, j.plan()
            for rank in range(2):
                assert re.search(f"^{rank} of GPU-03132333-.*,GPU-01112131-.*[.]$", j.log(rank), re.M), j.log(rank)


def grouped_memory(*_):
    """A worker of two cards that lacks memory gets fewer samples, in the next job, too; the restart has another
    plan."""
    folders, cards = Folders(), environ("A100,V100,A100,V100")
    command = ["--set", "gpus_per_worker=2", "--set", "sync.mode=sync", "--set", "checkpoint.every=0", "--",
               os.path.join(BUILD, "tests/cluster/memory-worker"), str(16 << 10), "12", "card", "100", "100"]
    batch = ["--set", "batch.global=1600"]  # rank 1 holds 192, less than a sixth, its part by memory
    with Job(BUILD, folders, [*batch, *command], ranks=0, CARD_GIB="160,4", **cards) as j:
        j.check(0, "ok", "exited 79: out of memory", failed_rank=1)
        first = j.plan(generation=1)["workers"][1]["batch"]
        assert 192 < first <= -(-1600 * 16 // 96), first
        words = f"rank 1 ran out of memory with {first} samples at once; it gets at most {first // 2} from now on"
        assert words in j.err and j.summary()["restarts"] == 1, (j.err, j.summary())
        second = j.plan(generation=2)["workers"][1]
        assert second["batch"] <= first // 2 and second["piece"] == first // 2, second
    with Job(BUILD, folders, ["--dry-run", *batch, *command], ranks=0, CARD_GIB="160,4", **cards) as j:
        assert j.end() == 0, j.err
        planned = [int(samples) for samples in re.findall(r"^ +1  \S+ +\S.+?  +\d+ +(\d+)  ", j.out, re.M)]
        assert len(planned) == 1 and planned[0] <= first // 2, (planned, j.out)
    with Job(BUILD, Folders(), ["--set", "batch.global=16", *command], ranks=0, CARD_GIB="160,1", **cards) as j:
        assert j.end() != 0, j.err
        assert re.search("whose memory of 34359738368 bytes is too small for one sample", j.err), j.err


def trainer(*_):
    """eddis-train computes on the CPUs, and is planned there."""
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"))
    assert len(workers) == 2 and all(device.startswith("cpu") for device, _ in workers), output
    assert "eddis-train computes on the CPUs, so 3 GPUs get no worker" in output, output
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"), driver="broken")
    assert len(workers) == 2 and "no GPU is used: the NVIDIA driver does not start" in output, output


run([unlike, precision, reported, measured, hosts, half_measured, one_bad, slow_driver, failed_driver, absent_driver,
     instances, busy, busy_later, late_nvml, second_job, dropped, dropped_later, dropped_node, queue, queue_hosts, killed_holder, dead_driver, lacking,
     without_precision, first_plans, retried, own_python, amd, amd_states, two_makers, two_nodes, idle, grouped, selected, grouped_memory,
     trainer], sys.argv[3:])
