# SPDX-License-Identifier: Apache-2.0
"""test_attach_local.py - local mode whose gradients torch.distributed combines inside of each group: four ranks in two
groups make what one process makes that trains as the groups do"""

from __future__ import annotations

import re
import signal
import time
from collections import Counter

import pytest
import torch

import attached
import training
from attached_rounds import Reference, union, weights_of
from rows import slow
from started import PROGRAMS, began, ended, job, script

EXACT = 1e-12  # of float64 numbers, to one process
GROUPS = "[[0, 1], [2, 3]]"
UNEQUAL = "[{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}, {rate: 0.5}]"
ALIKE = "[{rate: 1, a_ms: 2, c_ms: 1}, {rate: 1}]"
HAS_SHARDING = attached.fully_shard is not None and torch.__version__ >= "2.7"
ALL = "bare,wrapped,normalised" + ",sharded" * HAS_SHARDING


def command(folder, *options, devices=UNEQUAL, groups=GROUPS, **settings):
    told = {"batch__global": 24, "batch__rebalance": "off", "sync__mode": "local", "sync__groups": groups, **settings}
    return job(PROGRAMS / "attached_local.py", folder, *options, devices=devices, **told)


def started(folder, *options, **settings):
    """Return what each rank wrote down."""
    code, output = ended(folder, *command(folder, *options, **settings))
    assert code == 0, output
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))]


def assert_once(ranks, epochs):
    times = Counter(n for rank in ranks for numbers, _ in rank["steps"] for n in numbers)
    assert times == {n: epochs for n in range(training.N)}


def assert_exact(ranks, rate=1.0, momentum=0.0, **how):
    """Every model is that of one process, on all ranks.  Return the number of rounds."""
    for kind in ranks[0]["models"]:
        reference = Reference(kind, ranks, **how).train(*training.data(), rate, momentum)
        for rank in ranks:
            assert rank["rounds"] == reference.n_rounds
            for name in "numbers", "statistics":
                values = getattr(reference, name)()
                found = rank["models" if name == "numbers" else name][kind]
                far = training.largest(zip(values, found, strict=True)) if values else 0
                assert far <= EXACT, (kind, name, far)
    return reference.n_rounds


def test_exact(tmp_path):
    """A faster group makes more steps; all end each round together."""
    ranks = started(tmp_path, f"kinds={ALL}", sync__period=3)
    assert [len(rank["steps"]) for rank in ranks[::2]] == [len(rank["steps"]) for rank in ranks[1::2]]
    assert len(ranks[0]["steps"]) < len(ranks[2]["steps"])
    assert_once(ranks, 2)
    assert assert_exact(ranks) > 4


def test_outer(tmp_path):
    """The outer optimizer of DiLoCo; samples count by weights that are told."""
    ranks = started(tmp_path, f"kinds={ALL}", "weights=told", sync__period=2, sync__algorithm="diloco",
                    sync__outer_rate=0.6, sync__outer_momentum=0.8)
    assert {rank["algorithm"] for rank in ranks} == {"diloco"}
    assert_once(ranks, 2)
    assert_exact(ranks, 0.6, 0.8, told="told")


@pytest.mark.slow
def test_sparse(tmp_path):
    """Most samples, the batches of some ranks, and those of a group in a step, have weights of 0."""
    ranks = started(tmp_path, f"kinds={ALL.replace('normalised,', '')}", "weights=sparse", sync__period=1)
    of_steps = [[weights_of(torch.tensor(numbers), True).sum().item() for numbers, _ in rank["steps"]]
                for rank in ranks]
    assert all(0 in weights and any(weights) for weights in of_steps)
    assert 0 in map(sum, zip(*of_steps[:2], strict=True))
    assert_exact(ranks, told="sparse")


@pytest.mark.slow
def test_period_1(tmp_path):
    """Combined after each step, without momentum, groups train as sync mode does."""
    ranks = started(tmp_path, f"kinds={ALL.replace('normalised,', '')}", "update=sgd", sync__period=1)
    assert len({len(rank["steps"]) for rank in ranks}) == 1
    for kind, numbers in ranks[0]["models"].items():
        assert training.largest(zip(union(kind, ranks, *training.data()), numbers, strict=True)) <= EXACT


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["[[0], [1], [2], [3]]", "[[0, 1, 2], [3]]", "[[0, 1, 2, 3]]"])
def test_groups(tmp_path, groups):
    """Groups of one rank, of unlike sizes, and a single one: models that each rank has whole need no equal groups."""
    ranks = started(tmp_path, "kinds=bare", groups=groups, sync__period=2, sync__algorithm="diloco")
    assert_once(ranks, 2)
    assert_exact(ranks, 0.7, 0.9)


@pytest.mark.slow
def test_without_steps(tmp_path):
    """A group has no samples in the short round at an epoch's end, and takes part in it: no rank waits for ever."""
    ranks = started(tmp_path, f"kinds={ALL.replace('normalised,', '')}", "min_count=60", sync__period=1,
                    batch__global=176, devices="[{rate: 1, a_ms: 2, c_ms: 4}, {rate: 1}, {rate: 1}, {rate: 1}]")
    assert_once(ranks, 2)
    assert any(len(rank["steps"]) < rank["rounds"] for rank in ranks) and len({rank["rounds"] for rank in ranks}) == 1
    for kind in ranks[0]["models"]:
        for rank in ranks[1:]:
            assert training.largest(zip(rank["models"][kind], ranks[0]["models"][kind], strict=True)) <= EXACT


@pytest.mark.slow
def test_stop(tmp_path):
    """A stop that one rank asks for ends all groups at a round's end, with the common model."""
    ranks = started(tmp_path, f"kinds={ALL}", "stop=2:5", "epochs=9", sync__period=2)
    assert all(0 < len(rank["steps"]) < 30 for rank in ranks)
    assert_exact(ranks)


@pytest.mark.slow
def test_interrupted(tmp_path):
    """Ctrl-C ends the job well."""
    told = command(tmp_path, f"kinds={ALL}", "epochs=10000", sync__period=2, checkpoint__every=0)
    process = began(tmp_path, *told)
    while not any(re.search(r'"samples": *[1-9]', path.read_text())
                  for path in tmp_path.glob("state/eddis/jobs/*/metrics.jsonl")):
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=600)[0]
    assert process.returncode == 130, output
    assert_exact([torch.load(path) for path in sorted(tmp_path.glob("[0-9].pt"))])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm, kinds", [("diloco", "bare,wrapped" + ",sharded" * HAS_SHARDING),
                                              ("local", "bare,wrapped")])
def test_restarted(tmp_path, algorithm, kinds):
    """A job that goes on from a checkpoint ends as one that was never broken; the script saves parts itself."""
    folders = tmp_path / "unbroken", tmp_path / "broken"
    options = f"kinds={kinds}", "state=1"
    for folder, more in zip(folders, ((), ("raise=1:9",))):
        folder.mkdir()
        started(folder, *options, *more, sync__period=2, sync__algorithm=algorithm, checkpoint__every=4)
    unbroken, broken = ([torch.load(path) for path in sorted(folder.glob("[0-9].pt"))] for folder in folders)
    assert all(rank["resumed"] for rank in broken) and not any(rank["resumed"] for rank in unbroken)
    for ours, theirs in zip(broken, unbroken, strict=True):
        assert ours["steps"] == theirs["steps"]
        for kind, numbers in theirs["models"].items():
            assert training.largest(zip(ours["models"][kind], numbers, strict=True)) <= EXACT
            if kind == "sharded":  # which orders no buckets anew
                assert all(torch.equal(a, b) for a, b in zip(ours["models"][kind], numbers, strict=True))


CHANGED = """
import os, pathlib, sys
from eddis._worker import worker
from eddis.torch import _rounds

torch.set_num_threads(1)
folder, generation = pathlib.Path(sys.argv[1]), int(os.environ["EDDIS_GENERATION"])
how = sys.argv[1 + generation]
torch.manual_seed(1)
samples = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=8, shuffle=True))
models = {name: torch.nn.Linear(4, 4) for name in "ab"}
models["b"].bias.requires_grad_("frozen" not in how)
optimizer = torch.optim.SGD([p for model in models.values() for p in model.parameters()], lr=0.1)
if "attach" in how:
    for name in sorted(models, reverse="swapped" in how):
        eddis.attach(models[name])
else:
    eddis.DistributedOptimizer(optimizer)
state = eddis.State(model=models, optimizer=optimizer)
is_first = True
for epoch in loader.epochs(20):
    for x, y in loader:
        names = {p: f"{name}.{key}" for name, model in models.items() for key, p in model.named_parameters()}
        momentum = {names[part.parameter]: part.momentum for part in _rounds.rounds._parts} if _rounds.rounds else {}
        if is_first and generation > 1 and worker.rank == 0:
            before = torch.load(folder / "momentum.pt")
            is_kept = all(torch.equal(value, before.get(name, torch.zeros(1))) for name, value in momentum.items())
            print(f"generation {generation} goes on with the momentum: {is_kept}")
        if not is_first and len(sys.argv) > 2 + generation:
            if worker.rank == 0:
                torch.save(momentum, folder / "momentum.pt")
            worker.broadcast_bytes(b"saved", 0)  # before any rank ends the job
            raise ValueError("asked for")
        is_first = False
        optimizer.zero_grad()
        loss = sum((model(x * y) ** 2).mean() for model in models.values())
        (eddis.weighted(loss) if "attach" in how else loss).backward()
        optimizer.step()
"""


JOINED = """
from torch.distributed import checkpoint as dcp
from torch.distributed.fsdp import fully_shard

torch.set_num_threads(1)
samples = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=16, shuffle=True))
model = eddis.attach(fully_shard(torch.nn.Linear(4, 4), mesh=eddis.mesh()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = eddis.State()
for epoch in range(4 if eddis.rank() < 2 else 1):
    for x, y in loader:
        optimizer.zero_grad()
        eddis.weighted(((model(x) - y) ** 2).mean()).backward()
        optimizer.step()
        if state.due():
            dcp.save({"model": model.state_dict()}, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
eddis.finish()
"""


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SHARDING, reason="fully_shard of this PyTorch does not run on CPUs")
def test_joined(tmp_path):
    """A group that ends before the others saves nothing any more, so there is no checkpoint, and a sentence says so."""
    code, output = ended(tmp_path, *job(script(tmp_path, JOINED), devices=UNEQUAL, sync__mode="local", restarts=0,
                                        sync__groups=GROUPS, sync__period=2, batch__global=16, checkpoint__every=4,
                                        timeouts__hang="1m"))
    assert code == 0 and re.search("no checkpoint is written, training goes on: rank [23] has ended its steps before "
                                   "the others, and cannot save its part of a model of fully_shard", output), output


FOLDERS = """
import errno, pathlib, shutil
from torch.distributed import checkpoint as dcp
from torch.distributed.fsdp import fully_shard

torch.set_num_threads(1)
samples = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=16, shuffle=True), 4)
model = eddis.attach(fully_shard(torch.nn.Linear(4, 4), mesh=eddis.mesh()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = eddis.State()
n_due = 0
make = pathlib.Path.mkdir


def fail(path, *arguments, **others):
    pathlib.Path.mkdir = make
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


if eddis.rank() == 1:
    pathlib.Path.mkdir = fail
for epoch in loader.epochs(4):
    for x, y in loader:
        optimizer.zero_grad()
        eddis.weighted(((model(x) - y) ** 2).mean()).backward()
        optimizer.step()
        if state.due():
            n_due += 1
            dcp.save({"model": model.state_dict()}, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
            if n_due == 2 and eddis.rank() == 1:
                shutil.rmtree(state.folder)
"""


@pytest.mark.skipif(not HAS_SHARDING, reason="fully_shard of this PyTorch does not run on CPUs")
def test_folders(tmp_path):
    """A group whose folder cannot be made, or that rank 0 does not see, gives the checkpoint up, and training goes on.
    """
    code, output = ended(tmp_path, *job(script(tmp_path, FOLDERS), devices=ALIKE, sync__mode="local", restarts=0,
                                        sync__groups="[[0], [1]]", sync__period=1, batch__global=16,
                                        checkpoint__every=4))
    told = re.findall("no checkpoint is written, training goes on: (.*)", output)
    assert code == 0 and len(told) == 2 and output.count("checkpoints are written again") == 2, output
    assert re.fullmatch("rank 1 cannot make its group's folder: .*No space left on device: '.*/group-1'", told[0]), told
    assert told[1] == "state.due() was true, but the script has saved nothing in state.folder of the group of rank 1"


LOST = """
import shutil

torch.set_num_threads(1)
samples = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=16, shuffle=True), 4)
model = eddis.attach(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = eddis.State(model=model, optimizer=optimizer)
has_saved = False
if state.resume():
    print(f"rank {eddis.rank()} reads {state.folder.name}", flush=True)
for epoch in loader.epochs(4):
    for x, y in loader:
        if has_saved and not state.resumed:
            raise ValueError("asked for")
        optimizer.zero_grad()
        eddis.weighted(((model(x) - y) ** 2).mean()).backward()
        optimizer.step()
        if state.due():
            has_saved = True
            (state.folder / "own").write_text("own")
            if eddis.rank() == 1:
                shutil.rmtree(state.folder)
"""


def test_lost(tmp_path):
    """A group whose part of the checkpoint is missing does not go on with another group's."""
    code, output = ended(tmp_path, *job(script(tmp_path, LOST), devices=ALIKE, sync__mode="local", restarts=1,
                                        sync__groups="[[0], [1]]", sync__period=1, batch__global=16,
                                        checkpoint__every=4))
    assert code == 0, output
    assert set(re.findall(r"rank (\d) reads (.*)", output)) == {("0", "group-0"), ("1", "group-1")}, output


NUMBERED = """
import os
from torch.distributed import checkpoint as dcp
from torch.distributed.fsdp import fully_shard

torch.set_num_threads(1)
samples = data.TensorDataset(torch.randn(64, 4), torch.randn(64, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=16, shuffle=True), 4)
whole = torch.nn.Linear(4, 4)
parts = fully_shard(torch.nn.Linear(4, 4), mesh=eddis.mesh())
for model in (parts, whole) if os.environ["EDDIS_GENERATION"] == "1" else (whole, parts):
    eddis.attach(model)
optimizer = torch.optim.SGD([*whole.parameters(), *parts.parameters()], lr=0.1)
state = eddis.State(model=whole)
has_saved = False
saved = {"parts": parts.state_dict()}
if state.resume():
    dcp.load(saved, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
for epoch in loader.epochs(4):
    for x, y in loader:
        if has_saved and not state.resumed:
            raise ValueError("asked for")
        optimizer.zero_grad()
        eddis.weighted(((whole(parts(x)) - y) ** 2).mean()).backward()
        optimizer.step()
        if state.due():
            has_saved = True
            dcp.save(saved, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
"""


@pytest.mark.skipif(not HAS_SHARDING, reason="fully_shard of this PyTorch does not run on CPUs")
def test_numbered(tmp_path):
    """A model that State has does not count among those of fully_shard, whose momentum goes on by their order."""
    code, output = ended(tmp_path, *job(script(tmp_path, NUMBERED), devices=ALIKE, sync__mode="local", restarts=1,
                                        sync__groups="[[0], [1]]", sync__period=1, sync__algorithm="diloco",
                                        batch__global=16, checkpoint__every=4))
    assert code == 0 and "asked for" in output and "momentum of the outer optimizer for" not in output, output


MOMENTUM = "momentum of the outer optimizer for parameter 'model.b.bias', not trained"
SWITCHED = "the outer optimizer's momentum of models of eddis.torch.{}, and this script's are of eddis.torch.{}: " \
    "it begins without momentum"


@pytest.mark.parametrize("hows, told", [
    (("attach", "swapped attach", "frozen attach", "attach"),
     [f"{MOMENTUM} here: it is left out", f"no {MOMENTUM} there: there it begins without"]),
    slow(("attach", "optimizer", "frozen optimizer", "attach"),
         [SWITCHED.format("attach", "DistributedOptimizer"),
          "the outer optimizer's momentum of other parameters than this job's: it begins without momentum",
          SWITCHED.format("DistributedOptimizer", "attach")])], ids=["parameters", "libraries"])
def test_changed(tmp_path, hows, told):
    """The outer optimizer's momentum goes on by the names of parameters.  Where it cannot, a sentence says so."""
    code, output = ended(tmp_path, *job(script(tmp_path, CHANGED), tmp_path, *hows, devices=ALIKE, restarts=9,
                                        batch__global=16, sync__mode="local", sync__groups="[[0], [1]]", sync__period=1,
                                        sync__algorithm="diloco", checkpoint__every=1))
    assert code == 0, output
    assert re.findall(r"eddis: checkpoint '.*' has (.*)", output) == told, output
    if "swapped attach" in hows:
        assert re.findall(r"generation (\d) goes on with the momentum: True", output)[:2] == ["2", "3"], output


LEFT = """
import sys
from eddis._worker import worker

torch.set_num_threads(1)
samples = data.TensorDataset(torch.randn(96, 4), torch.randn(96, 4))
loader = eddis.loader(data.DataLoader(samples, batch_size=8, shuffle=True))
model = eddis.attach(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in loader.epochs(3) if "known" in sys.argv else range(3):
    for x, y in loader:
        if worker.rank == 1 and worker.step.step == 3:
            sys.exit()
        optimizer.zero_grad()
        eddis.weighted(((model(x) - y) ** 2).mean()).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("epochs", ["unknown", slow("known")])
def test_left(tmp_path, epochs):
    """An exit of one rank with 0 ends the job, and says which rank it was, before timeouts.hang."""
    code, output = ended(tmp_path, *job(script(tmp_path, LEFT), epochs, devices=f"{ALIKE[:-1]}, {{rate: 1}}]",
                                        sync__mode="local", sync__groups="[[0, 1], [2]]", sync__period=4,
                                        batch__global=12, timeouts__hang="5m", restarts=0))
    told = {"unknown": "before eddis_finish has ended the rounds of local mode",
            "known": "before its last step, in local mode"}
    assert code == 1 and f"eddis: rank 1 exits with status 0 {told[epochs]}" in output, output
    assert re.findall(r"^eddis-run: (?:before that: )?rank (\d+) ", output, re.MULTILINE) == ["1"], output


UNFIT = {
    "wrapped": r"over ranks 0, 1, 2, 3, .* here 0, 1: write DistributedDataParallel\(model, process_group=eddis.group",
    "given": r"over ranks 0, 1, 2, 3, .* here 0, 1: write eddis.attach\(model, eddis.group\(\)\)",
    "sharded": r"over ranks 0, 1, 2, 3, .* here 0, 1: write fully_shard\(model, mesh=eddis.mesh\(\)\)",
    "unlike": r"rank 2 has a part of \d+ elements of parameter '0.weight' at \[0, 0\] on a mesh of 2x1 .*, and rank 0, "
              r".* on a mesh of 2 \(.*\): in local mode shard the model on equal meshes in all groups",
    "mesh": r"eddis.torch.mesh is for fully_shard of PyTorch 2.7 or later, and this is PyTorch .*: install a later",
    "outside": r"the job's mode is local, in which .* in the loop over eddis.torch.loader, and the script has none"}


def test_unfit(tmp_path):
    """Models whose gradients are combined over other ranks, and groups with unlike meshes."""
    what = [name for name in UNFIT if name not in (("mesh",) if HAS_SHARDING else ("sharded", "unlike"))]
    _, output = ended(tmp_path, *job(PROGRAMS / "attached_local_unfit.py", *what, devices=UNEQUAL, sync__mode="local",
                                     sync__groups=GROUPS, restarts=0))
    for name in what:
        assert re.search(rf"{name}: (Value|Runtime)Error: .*{UNFIT[name]}", output), output


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SHARDING, reason="fully_shard of this PyTorch does not run on CPUs")
def test_unlike_groups(tmp_path):
    """Groups of unlike sizes have no ranks of the same place."""
    _, output = ended(tmp_path, *job(PROGRAMS / "attached_local_unfit.py", "sizes", devices=UNEQUAL, sync__mode="local",
                                     sync__groups="[[0, 1, 2], [3]]", restarts=0))
    assert "sizes: ValueError: a model of fully_shard in local mode needs groups of equally many workers, and these " \
        "have 3, 1: set sync.groups" in output, output
