# SPDX-License-Identifier: Apache-2.0
"""test_gpus.py BUILD SOURCE [CASE ...] - plans and jobs on the cards of the fake drivers of tests/gpu/fake_cards.h."""

import getpass
import os
import re
import signal
import subprocess
import sys

from cases import run
from job import Folders, Job
from lab import HOME, LOGIN, Cluster
from node import wait_for

BUILD = os.path.abspath(sys.argv[1])
FAKE = os.path.join(BUILD, "tests/gpu")
MIXED = "A100,V100,1080Ti"
ROW = re.compile(r"^ +\d+  \S+ +(.+?)  +[\d.]+ +(\d+)  +[\d.]+  probe$", re.M)


def environ(cards, driver="", **more):
    """A machine with these cards, whatever it has; also where CUDA_VISIBLE_DEVICES hides those of the tests' machine."""
    visible = ",".join(str(i) for i in range(cards.count(",") + 1))
    return {"LD_LIBRARY_PATH": FAKE, "FAKE_GPUS": cards, "FAKE_CUDA": driver, "CUDA_VISIBLE_DEVICES": visible, **more}


def amd_environ(cards, driver="", **more):
    """A machine with these cards of AMD, and none of NVIDIA."""
    visible = ",".join(str(i) for i in range(cards.count(",") + 1))
    return {"LD_LIBRARY_PATH": FAKE, "FAKE_CUDA": "nodevice", "FAKE_AMD_GPUS": cards, "FAKE_HIP": driver,
            "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": visible, **more}


def plan(cards, *args, code=0, command=("true",), batch=256, driver="", machine=environ, **more):
    """[(device, batch)] by rank, and all that eddis-run prints."""
    folders = Folders()
    done = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--set", "profile.cache=0s", "--set",
                           f"batch.global={batch}", *args, "--", *command], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**folders.environ(), **machine(cards, driver, **more)})
    assert done.returncode == code, done
    return [(device, int(samples)) for device, samples in ROW.findall(done.stdout)], done.stdout


def unlike(*_):
    """Each card gets its share, and its rank sees it as the LOCAL_RANK-th."""
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


def hosts(*_):
    """Three hosts have one card each, and one card lacks cuBLAS: the plan does not take it for the fastest."""
    cards = ["A100", "V100", "1080Ti:noblas"]
    with Cluster(3, BUILD, knows=False) as c:
        for host, card in zip(c.nodes, cards):
            with open(c.path(host, HOME + "/.bashrc"), "w") as f:  # a shell of sshd reads it
                f.write("".join(f"export {name}={value}\n" for name, value in environ(card).items()))
        done = c.run(LOGIN, [os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--set", "batch.global=256", "-H",
                             ",".join(c.nodes), "--", "true"], stderr=subprocess.STDOUT)
        assert done.returncode == 0, done
        workers = [(device, int(samples)) for device, samples in ROW.findall(done.stdout)]
        assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "V100-SXM2-16GB", "Ti"], done.stdout
        (_, fast), (_, middle), (_, slow) = workers
        assert 1.3 < fast / middle < 2.5 and 1.3 < middle / slow < 2.8, done.stdout  # as 1500 : 780 : 370
        assert "without a matrix product of GPU 0 all devices are compared by" in done.stdout, done.stdout


def half_measured(*_):
    """A card of which only the memory's speed is known is not taken for a faster one."""
    workers, output = plan("A100,A100:noblas")
    assert "without a matrix product of GPU 1 all devices are compared by the speed of their memory alone" in output
    assert 0.6 < workers[0][1] / workers[1][1] < 1.7, output


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


def instances(*_):
    """Each MIG instance is a device of its own, the only one that its worker sees."""
    folders = Folders()
    with Job(BUILD, folders, ["--", "sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES."], ranks=0,
             **environ("A100:mig=2,V100", CUDA_VISIBLE_DEVICES="MIG-80,MIG-90,GPU-01")) as j:
        j.check(0, "ok")
        for rank, uuid in enumerate(("MIG-80102030-.*", "MIG-90102030-.*", "GPU-01112131-.*")):
            assert re.search(f"sees {uuid}[.]$", j.log(rank), re.M) and "," not in j.log(rank), j.log(rank)


def busy(*_):
    """A card that another process keeps busy is not measured, and gets no worker; one with an idle process is named."""
    workers, output = plan("A100,V100:busy,1080Ti:used")
    assert [device.split()[-1] for device, _ in workers] == ["A100-SXM4-80GB", "Ti"], output
    assert re.search(r"GPU 1: process 1 .* keeps it 90 % busy;.* GPU 2 is also used by process 1", output), output
    assert "GPU 1 gets no worker" in output, output
    workers, output = plan("A100:busy,V100:busy")  # there is no other, so they are measured nevertheless
    assert len(workers) == 2 and "keeps it 90 % busy, so its speed may be too low" in output, output


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


def dead_driver(*_):
    """A job on the cards of a job whose driver was killed waits until that one's agent has ended its workers."""
    with Job(BUILD, Folders(), ["--", "sh", "-c", "echo up; sleep 1000"], ranks=0, **environ("A100,V100")) as first:
        first.wait_up()
        with Job(BUILD, Folders(), ["--", "true"], ranks=0, lease=30, **environ("A100,V100")) as second:
            wait_for("the wait", lambda: any("in case the other job" in e["text"] for e in second.events("note")))
            first.signal(signal.SIGKILL)
            second.check(0, "ok", "in case the other job is ending: 'GPU-")


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
        workers = [(device, int(samples)) for device, samples in ROW.findall(done.stdout)]
        assert [device.split()[-1] for device, _ in workers] == ["V100-SXM2-16GB", "MI210"], done.stdout
        assert 1.2 < workers[1][1] / workers[0][1] < 2.4, done.stdout  # as 1300 : 780
        assert "without a matrix product of GPU 0 all devices are compared by" in done.stdout, done.stdout


def idle(*_):
    """Fewer workers than cards: the others are said to be idle."""
    workers, output = plan(MIXED, "-n", "2")
    assert len(workers) == 2 and "1 of 3 GPUs stays idle, because the job asks for 2 workers here" in output, output


def trainer(*_):
    """eddis-train computes on the CPUs, and is planned there."""
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"))
    assert len(workers) == 2 and all(device.startswith("cpu") for device, _ in workers), output
    assert "eddis-train computes on the CPUs, so 3 GPUs get no worker" in output, output
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"), driver="broken")
    assert len(workers) == 2 and "no GPU is used: the NVIDIA driver does not start" in output, output


run([unlike, hosts, half_measured, one_bad, slow_driver, failed_driver, instances, busy, second_job, dead_driver, amd,
     amd_states, two_makers, two_nodes, idle, trainer], sys.argv[3:])
