# SPDX-License-Identifier: Apache-2.0
"""test_batchnorm.py - synchronised batch normalisation over unequal batches is that of one process on all of them"""

from __future__ import annotations

import collections
import re
import sys

import pytest
import torch
from torch import nn

from rows import slow
from started import PROGRAMS, ended, job, said, script

sys.path.insert(0, str(PROGRAMS))

EXACT = 1e-12
SINGLE = 1e-5  # in float32
FEW = 4  # or as many times one process's own error: statistics of the few samples of a group magnify what is rounded
TWO = "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 2}]"
ROUNDED = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.05, torch.float16: 0.01}


def command(tmp_path, mode, devices, samples, epochs, *options, device="cpu", more=()):
    return job(PROGRAMS / "normed.py", tmp_path, samples, epochs, 0 if mode == "sync" else 2, device, *more,
               devices=devices, options=options, sync__mode=mode, batch__global=8, batch__rebalance="off", batch__min=0,
               restarts=0)


def trained(tmp_path, *arguments, **keywords):
    """[what each worker has left]"""
    said(tmp_path, *command(tmp_path, *arguments, **keywords))
    return [torch.load(path, map_location="cpu") for path in sorted(tmp_path.glob("*.pt"))]


def far(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """The largest difference of two states, beside numbers of 1 and above relative."""
    assert a.keys() == b.keys()
    # max() of Python loses a NaN
    return torch.stack([((a[k] - b[k]).abs() / b[k].abs().clamp(min=1)).max().double() for k in a]).max().item()


def groups_of(workers):
    groups = collections.defaultdict(list)
    for told in workers:
        groups[told["group"]].append(told)
    return groups.values()


def of_one_process(name, group, started=None):
    """The model after the group's steps, each on the union of its batches; begun as that named `started` was."""
    from norms import made, optimizer_of, pieces_of, step
    model = made(name, seed=0)
    model.load_state_dict(group[0]["before"][started or name])
    optimizer = optimizer_of(name, model)
    rate = optimizer.param_groups[0]["lr"]
    for told in zip(*(worker["steps"] for worker in group)):
        parts = [pieces_of(name, numbers) for numbers, _ in told]
        optimizer.param_groups[0]["lr"] = rate * told[0][1]
        step(name, model, optimizer, [piece for part in zip(*parts) if len(piece := torch.cat(part))])
    return model.state_dict()


def check_equal(workers, exact=EXACT, single=SINGLE, few=False):
    from norms import MODELS
    for group in groups_of(workers):
        for name in MODELS:
            expected = of_one_process(name, group)
            is_single = name.endswith("_32")
            allowed = single if is_single else exact
            if few:  # float64 has no better one beside it, but the same samples in another order
                other = (of_one_process(name.removesuffix("_32"), group, started=name) if is_single else
                         of_one_process(name, group[::-1]))
                allowed = max(allowed, FEW * far(expected, other))
            for worker in group:
                assert far(worker["last"][name], expected) <= allowed, name
                for key, value in worker["last"][name].items():
                    assert torch.equal(value, group[0]["last"][name][key]), (name, key)


def check_common(workers, own=()):
    """Where all begin and end; `own`: models whose running statistics are each worker's own."""
    for when in ("before", "after"):
        for worker in workers:
            for name, state in worker[when].items():
                for key, value in state.items():
                    if when == "after" and (key.endswith("num_batches_tracked") or name in own and "running" in key):
                        continue  # groups make unlike numbers of steps
                    assert torch.equal(value, workers[0][when][name][key]), (when, name, key)
    plain = workers[0]["after"]["plain"]
    assert torch.isinf(plain["mask"]).all() and plain["2.running_mean"].isfinite().all()


def check_kinds(workers):
    """Of every type and shape of input."""
    from norms import KINDS
    counts = [len(worker["steps"][0][0]) for worker in workers]
    union = torch.cat([worker["steps"][0][0] for worker in workers])
    for i, (dtype, dims, affine) in enumerate(KINDS):
        norm = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d, 4: nn.BatchNorm3d}[len(dims)](
            dims[0], affine=affine, dtype=torch.float64)
        expected = rounded(norm, dtype, dims, union)
        got = [worker["looks"][0][i] for worker in workers]
        assert all(g["y"].dtype == dtype for g in got)
        y = torch.cat([g["y"][:n] for g, n in zip(got, counts)]).double()
        dx = torch.cat([g["dx"][:n].double() * n / sum(counts) for g, n in zip(got, counts)])
        assert (y - expected["y"]).abs().max() <= ROUNDED[dtype] * 4, (dtype, dims)
        assert (dx - expected["dx"]).abs().max() <= ROUNDED[dtype] * expected["dx"].abs().max(), (dtype, dims)
    values = torch.arange(6.0) + union[:, None]
    norm = nn.BatchNorm1d(6)
    norm(values)
    for worker in workers:
        assert far(worker["looks"][1], norm.state_dict()) < 1e-6


def rounded(norm, dtype, dims, numbers):
    """The same in float64, of inputs that are rounded to the type."""
    from norms import values_of
    x = values_of(numbers, torch.Size(dims).numel()).view(-1, *dims).to(dtype).double().requires_grad_()
    y = norm(x)
    ((y * x.detach().cos()).sum() / len(numbers)).backward()
    return {"y": y.detach(), "dx": x.grad}


def test_sync(tmp_path):
    """50 steps of batches 1:2:5, the last of an epoch of 2 samples, so that a worker has none."""
    workers = trained(tmp_path, "sync", "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 2}, {rate: 5}]", 194, 2)
    counts = [sorted(len(numbers) for numbers, _ in told) for told in zip(*(w["steps"] for w in workers))]
    assert len(counts) == 50 and counts[0] == [1, 2, 5] and min(counts[24]) == 0, counts
    check_equal(workers)
    check_common(workers, own=["plain"])
    check_kinds(workers)


@pytest.mark.slow
def test_pieces(tmp_path):
    """Workers that cut their shares would make unlike numbers of passes."""
    code, output = ended(tmp_path, *command(tmp_path, "sync", TWO, 16, 1, more=["pieces"]))
    assert code == 1 and "RuntimeError: a worker that takes its share in pieces makes more passes" in output, output


@pytest.mark.parametrize("tail", [1, slow(0)])
def test_tail(tmp_path, tail):
    """One value per channel of all workers together is refused, on all of them."""
    code, output = ended(tmp_path, *command(tmp_path, "sync", TWO, 16 + tail, 1))
    assert code == (1 if tail else 0), output
    assert tail == 0 or "ValueError: expected more than 1 value per channel when training, of all" in output, output


@pytest.mark.slow
def test_groups(tmp_path):
    """Each group is one process for itself, as there is no exchange before the end."""
    workers = trained(tmp_path, "hybrid", "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 3}, {rate: 2}, {rate: 2}]", 160, 2,
                      "--set", "sync.groups=[[0, 1], [2, 3]]", "--set", "sync.period=1000")
    assert len(list(groups_of(workers))) == 2
    check_equal(workers, few=True)
    check_common(workers)


@pytest.mark.slow
def test_alone(tmp_path):
    """In async mode statistics are the worker's own, and those of the common model are drawn as its parameters are."""
    workers = trained(tmp_path, "async", "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 2}]", 80, 2, "--set",
                      "sync.period=1")
    check_common(workers)
    before, after = (workers[0][when]["plain"]["2.running_mean"] for when in ("before", "after"))
    assert not torch.equal(before, after)


@pytest.mark.slow
def test_empty(tmp_path):
    """A worker whose input is empty, beside one that has some: gradients are those of the one's batch normalisation."""
    program = script(tmp_path, """import copy

torch.set_default_dtype(torch.float64)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.arange(8.0)), batch_size=4))
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1), torch.nn.BatchNorm2d(3))
boxes = torch.randn(4, 3, 5, 5)
plain = copy.deepcopy(model)
model = eddis.SyncBatchNorm.convert_sync_batchnorm(model)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.0), model=model)
for epoch in loader.epochs(1):
    for _ in loader:
        (plain(boxes) ** 3).sum().backward()
        (model(boxes[:0 if eddis.rank() else 4]) ** 3).sum().backward()
        worst = max((p.grad - q.grad / 2).abs().max().item() for p, q in zip(model.parameters(), plain.parameters()))
        optimizer.step()
worst = max(worst, (model[1].running_var - plain[1].running_var).abs().max().item())
print(f"off {worst:.1e}")
""")
    output = said(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3", program)
    # mpirun may put one's line amidst the other's.
    told = [float(number) for number in re.findall(r"off (\d\.\de[-+]\d\d)", output)]
    assert len(told) == 2 and max(told) < EXACT, output


@pytest.mark.slow
def test_one_sample(tmp_path):
    """What PyTorch's own cannot take is told with what helps, of each optimizer's model; what it can is taken, compiled
    too, and nothing of eddis is in a model that is copied or saved then, or called in a later step."""
    program = script(tmp_path, """import copy
import io
import sys

from torch.nn.modules import module

loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(5, 3, int(sys.argv[1]))), batch_size=4))
one, other = (torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Conv1d(3, 1, 1)) for _ in "12")
optimizers = [eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.0)) for model in (one, other)]
if len(sys.argv) > 2:
    other = torch.compile(other, backend="eager", fullgraph=True)
for epoch in loader.epochs(12):  # torch.compile compiles eight times at most
    for batch, in loader:
        saved = io.BytesIO()
        torch.save(one, saved)
        copied = copy.deepcopy(one)
        assert b"eddis" not in saved.getvalue()
        assert not any(it._forward_pre_hooks for model in (one, copied) for it in model.modules())
        copied(torch.ones(4, 3, 2))
        other(batch).mean().backward()
        for optimizer in optimizers:
            optimizer.step()
    assert not module._global_forward_pre_hooks
print("done")
""")
    code, output = ended(tmp_path, "python3", program, 1)
    assert code == 1 and "an input of [1, 3, 1]: call eddis.torch.init(min_count=2)" in output, output
    for more in (), ("compiled",):
        assert said(tmp_path, "python3", program, 2, *more).endswith("done\n")


@pytest.mark.parametrize("how", ["attached", *map(slow, ["optimized", "set", "frozen", "synchronised"])])
def test_least(tmp_path, how):
    """No worker gets one sample of a model with batch normalisation, unless the script says how many."""
    program = script(tmp_path, f"""how = "{how}"
from eddis._worker import worker

loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(24, 3, 2)), batch_size=4))
model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Flatten(), torch.nn.Linear(6, 1))
if how == "frozen":
    model[0].eval()
if how == "synchronised":
    model = eddis.SyncBatchNorm.convert_sync_batchnorm(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
if how == "optimized":
    optimizer = eddis.DistributedOptimizer(optimizer, model=model)
else:
    model = eddis.attach(model)
if how == "set":
    eddis.init(min_count=1)
counts = []
for epoch in loader.epochs(1):
    for batch, in loader:
        loss = model(batch).mean()
        (loss if how == "optimized" else eddis.weighted(loss)).backward()
        optimizer.step()
        counts.append(worker.step.count)
print(eddis.rank(), counts)
""")
    output = ended(tmp_path, *job(program, devices="[{rate: 0.1, a_ms: 2, c_ms: 4}, {rate: 1}]", batch__global=12,
                                  batch__rebalance="off", restarts=0))[1]
    least = 2 if how in ("attached", "optimized") else 1
    assert f"0 [{least}, {least}]" in output and f"1 [{12 - least}, {12 - least}]" in output, output
    assert output.count("the model has batch normalisation, so each worker gets at least 2") == least - 1, output


@pytest.mark.slow
@pytest.mark.parametrize("how, told", [
    ("attached", "but the job was joined before the model was given to eddis, so a worker may get one sample"),
    ("set", "RuntimeError: the job has been joined already, by a collective perhaps: call eddis.torch.init before")])
def test_joined_before(tmp_path, how, told):
    """After len(loader) has joined the job nothing changes the least number of samples, and that is said."""
    program = script(tmp_path, f"""eddis.init(attach=True)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(24, 3)), batch_size=4))
len(loader)
if "{how}" == "set":
    eddis.init(min_count=2)
model = eddis.attach(torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1)))
for epoch in loader.epochs(1):
    for batch, in loader:
        eddis.weighted(model(batch).mean()).backward()
""")
    code, output = ended(tmp_path, *job(program, devices="[{rate: 0.1, a_ms: 2, c_ms: 4}, {rate: 1}]",
                                        batch__global=12, batch__rebalance="off", restarts=0))
    assert code == 1 and told in output and "min_count=2" in output, output
