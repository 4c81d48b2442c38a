# SPDX-License-Identifier: Apache-2.0
"""test_gpus.py BUILD SOURCE [CASE ...] - plans and jobs on the cards of the fake CUDA driver of tests/gpu/fake_cards.h."""

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


def plan(cards, *args, code=0, command=("true",), batch=256, driver="", **more):
    """[(device, batch)] by rank, and all that eddis-run prints."""
    folders = Folders()
    done = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", "--set", "profile.cache=0s", "--set",
                           f"batch.global={batch}", *args, "--", *command], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**folders.environ(), **environ(cards, driver, **more)})
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
                assert re.search(rf"waited \d+ s for GPUs \(timeouts.gpus\): 'GPU-.*' is in use by job {job_id} of ", late.err), late.err
                waits(third, for_job=job_id)
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


def trainer(*_):
    """eddis-train computes on the CPUs, and is planned there."""
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"))
    assert len(workers) == 2 and all(device.startswith("cpu") for device, _ in workers), output
    assert "eddis-train computes on the CPUs, so 3 GPUs get no worker" in output, output
    workers, output = plan(MIXED, "-n", "2", command=(os.path.join(BUILD, "cmd/eddis-train"), "--data", "x.csv"), driver="broken")
    assert len(workers) == 2 and "no GPU is used: the NVIDIA driver does not start" in output, output


run([unlike, hosts, half_measured, one_bad, slow_driver, failed_driver, instances, busy, second_job, queue, queue_hosts, killed_holder, dead_driver, idle, grouped, trainer], sys.argv[3:])
