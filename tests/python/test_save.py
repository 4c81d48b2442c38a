# SPDX-License-Identifier: Apache-2.0
"""test_save.py - files that rank 0 saves for all"""

from __future__ import annotations

import re

import pytest
import torch

from rows import slow
from started import ended, job, script

SAVE = """import pathlib, sys

folder, path = pathlib.Path(sys.argv[1]), sys.argv[2]
if len(sys.argv) > 3:
    torch.distributed.init_process_group("gloo")

rank = torch.distributed.get_rank() if len(sys.argv) > 3 else eddis.rank()
for number in range(3):
    eddis.save({"rank": rank, "number": number}, path)
    assert torch.load(path) == {"rank": 0, "number": number}
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    elif eddis.size() > 1:
        eddis.allreduce(torch.ones(1))
for obj, where in ((lambda: 0, path), (1, folder / "none" / "model.pt")):
    try:
        eddis.save(obj, where)
    except RuntimeError as reason:
        print(f"rank {rank}: {reason}\\n", end="", flush=True)  # one write: ranks of torchrun have no buffer
"""



@pytest.mark.parametrize("how, ranks", [
    (["eddis-run", "-n", "3", "--"], 3), slow(["env"], 1),
    slow(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"], 2),
    slow(["torchrun", "--standalone", "--nproc-per-node=2"], 2)])
def test_saved(tmp_path, how, ranks):
    """Every rank reads what rank 0 has saved; a failure leaves the older file, and no other, and all say why."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "link.pt").symlink_to("model.pt")
    of_torch = how[0] == "torchrun"
    code, output = ended(tmp_path, *how, *([] if of_torch else ["python3"]), script(tmp_path, SAVE), folder,
                         folder / "link.pt", *(["torch"] if of_torch else []))
    assert code == 0, output
    said = re.findall(r"rank (\d): rank 0 cannot save '(.*)': (.*)", output)
    assert sorted(rank for rank, _, _ in said) == sorted([*map(str, range(ranks))] * 2), output
    assert {why for _, path, why in said if "none" in path} == {"No such file or directory"}, output
    assert len({why for _, path, why in said if "link" in path}) == 1, output
    assert torch.load(folder / "model.pt") == {"rank": 0, "number": 2}
    assert (folder / "link.pt").is_symlink() and len([*folder.iterdir()]) == 2
    assert (folder / "model.pt").stat().st_mode & 0o044, "not for others"


KILLED = """import os, pathlib, signal, sys, time

folder = pathlib.Path(sys.argv[1])
model, others = folder / "model.pt", [folder / "model.pt.x.new", folder / "model.pt.1.news", folder / "odel.pt.1.new"]


class Killed:
    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def save(how, obj):
    pid = os.fork()
    if pid == 0:
        if how == "named":  # the file system has no files without names
            os.O_TMPFILE = os.O_DIRECTORY
        eddis.save(obj, model)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def left():
    return sorted(path for path in folder.iterdir() if path != model)


assert save("unnamed", Killed()) == -9 and not left() and not model.exists(), left()
assert save("named", Killed()) == -9 and len(left()) == 1 and not model.exists(), left()
for path in others:
    path.write_text("")
assert save("named", 1) == 0 and len(left()) == 4, left()  # its process may be alive
for path in left():
    os.utime(path, (time.time() - 4000,) * 2)
assert save("unnamed", 2) == 0 and left() == sorted(others), left()
assert torch.load(model) == 2
"""


def test_killed(tmp_path):
    """A process that is killed while it saves leaves nothing, or, where files need names, what a later one removes."""
    folder = tmp_path / "out"
    folder.mkdir()
    code, output = ended(tmp_path, "env", "python3", script(tmp_path, KILLED), folder)
    assert code == 0, output


TRAIN = """
import pathlib, sys
from eddis._worker import worker

model = torch.nn.Linear(1, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model=model)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(16, 1)), batch_size=4))
for epoch in loader.epochs(2):
    for x, in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        if worker.step.step_in_epoch == 1:
            eddis.save(model.state_dict(), sys.argv[1])
    eddis.save(model.state_dict(), sys.argv[1])
saved = torch.load(sys.argv[1])
assert all(torch.equal(saved[name], value) for name, value in model.state_dict().items())
"""


@pytest.mark.slow
def test_in_the_loop(tmp_path):
    """Inside of a step, between epochs, and after the last one."""
    code, output = ended(tmp_path, *job(script(tmp_path, TRAIN), tmp_path / "model.pt", options=["-n", "3"]))
    assert code == 0, output


BEFORE_ATTACH = """import os, sys

torch.distributed.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
path = os.path.join(os.fsencode(sys.argv[1]), b"model-\\xff.pt")
eddis.save(model.state_dict(), path)
assert os.path.exists(path)
eddis.attach(model)
"""


def test_before_attach(tmp_path):
    """The ranks of torch.distributed save without joining the job, so `attach` may come later; the path is of bytes,
    which are no UTF-8."""
    code, output = ended(tmp_path, *job(script(tmp_path, BEFORE_ATTACH), tmp_path, options=["-n", "2"]))
    assert code == 0, output
