# SPDX-License-Identifier: Apache-2.0
"""test_hosts.py PROGRAM SCENARIOS [CASE...] - the workers' messages between hosts of a lab, by plain mpirun.

PROGRAM is test_mpi_eddis, SCENARIOS is test_mpi_scenarios: sums of four writers on four servers, two workers on each
host too, are exact, frames lost or not.  A training over four hosts is right to the bit that it claims, also when
one of twenty frames is lost; when a cable is pulled every rank says in time for whom it waits, and
who is asked after whom ends at the rank that was cut off.
"""

import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lab"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../cluster"))
from cases import run, skip_all  # noqa: E402
from hosts import Lab, LabError, check_machine  # noqa: E402

PROGRAM = os.path.realpath(sys.argv[1])
SCENARIOS = os.path.realpath(sys.argv[2])
HOSTS = ["node1", "node2", "node3", "node4"]
MCA = {"plm_rsh_no_tree_spawn": 1, "pml": "ob1", "btl": "tcp,self,vader", "btl_tcp_if_include": "eth0",
       "oob_tcp_if_include": "eth0", "btl_tcp_flags": 1, "mpi_yield_when_idle": 1}
PATIENCE = 180  # seconds


def mpirun(lab, *args, program=PROGRAM, each=1):
    words = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "-H", ",".join(f"{h}:{each}" for h in HOSTS)]
    for name, value in MCA.items():
        words += ["--mca", name, str(value)]
    with open(lab.shared + "/out", "w") as out:
        return lab.popen(HOSTS[0], [*words, program, *args], cwd="/", stdout=out, stderr=out)


def train(lab):
    folder = os.path.join(lab.shared, "checkpoints")
    code = mpirun(lab, "train", folder).wait(PATIENCE)
    with open(lab.shared + "/out") as f:
        assert code == 0, f.read()


def smb_of(lab, each, accumulates):
    code = mpirun(lab, "smb", str(accumulates), program=SCENARIOS, each=each).wait(PATIENCE)
    with open(lab.shared + "/out") as f:
        assert code == 0, f.read()


def smb(lab):
    smb_of(lab, 1, 50)
    smb_of(lab, 2, 20)


def smb_lossy(lab):
    for host in HOSTS:
        lab.loss(host, 5)
    smb_of(lab, 1, 2)
    for host in HOSTS:
        lab.loss(host, 0)


def lossy(lab):
    for host in HOSTS:
        lab.loss(host, 5)
    train(lab)
    for host in HOSTS:
        lab.loss(host, 0)


def await_files(lab, what):
    """{rank: text} of the files that the ranks write."""
    deadline = time.monotonic() + PATIENCE
    paths = [os.path.join(lab.shared, f"{what}-{r}") for r in range(len(HOSTS))]
    while not all(map(os.path.exists, paths)):
        assert time.monotonic() < deadline, [p for p in paths if not os.path.exists(p)]
        time.sleep(0.02)
    texts = []
    for p in paths:
        with open(p) as f:
            texts.append(f.read())
        os.unlink(p)
    return texts


def cut(lab, floats, kind):
    run = mpirun(lab, "cut", lab.shared, str(floats))
    await_files(lab, "ready")
    lab.cut("node4")
    flag = os.path.join(lab.shared, "cut")
    open(flag, "w").close()
    began = time.monotonic()
    said = await_files(lab, "said")
    os.unlink(flag)
    took = time.monotonic() - began
    for host in HOSTS:
        lab.crash(host)
    run.wait(PATIENCE)
    lab.join("node4")
    for host in HOSTS:
        lab.revive(host)
    waits = []
    for r, text in enumerate(said):
        found = re.fullmatch(r"step \d+: bucket 0 of 1 with layer 'only' waits for rank (\d)", text)
        assert found and int(found.group(1)) != r, (r, text)
        waits.append(int(found.group(1)))
    for r in range(3):  # the ranks that still reach each other
        asked = [r]
        while asked[-1] != 3 and len(asked) < 5:
            asked.append(waits[asked[-1]])
        assert asked[-1] == 3, (kind, waits, asked)
    print(f"cut, {kind}: said after {took:.1f} s, {waits}", flush=True)


def cut_direct(lab):
    cut(lab, 100, "direct")


def cut_tree(lab):
    cut(lab, 10000, "tree")


def cut_ring(lab):
    cut(lab, 100000, "ring")


def main():
    try:
        check_machine()
    except LabError as e:
        skip_all(e)
    lab = Lab(f"mpi-{os.getpid()}")
    try:
        lab.up(len(HOSTS), rate="1gbit", keep=[os.path.dirname(PROGRAM), os.path.dirname(SCENARIOS)], until=os.getpid())
    except LabError as e:
        if not e.cannot:
            raise
        skip_all(e)
    try:
        run([train, smb, smb_lossy, lossy, cut_direct, cut_tree, cut_ring], sys.argv[3:], lab)
    finally:
        lab.down()


main()
