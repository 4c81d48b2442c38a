# SPDX-License-Identifier: Apache-2.0
"""test_attach.py - gradients that torch.distributed combines, with the plan's batches: three ranks make what one
process makes of all samples"""

from __future__ import annotations

import pathlib
import re
from collections import Counter

import pytest
import torch

import attached
import attached_more
import training
from rows import slow
from started import ended, job, said, script

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
UNEQUAL = "{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"  # samples 1:2:5
NO_SAMPLES = "{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"
EQUAL = "{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}, {rate: 1}"
BIASED = 1e-3  # what the plain mean is wrong by at least


def started(folder, kind, *options, emulate=UNEQUAL, **settings):
    """Return what each rank wrote down, and what the job printed."""
    told = {"batch.global": 24, "batch.rebalance": "off", "profile.emulate": f"[{emulate}]",
            **{name.replace("__", "."): value for name, value in settings.items()}}
    output = said(folder, "eddis-run", *(word for name, value in told.items()
                                         for word in ("--set", f"{name}={value}")), "--", "python3",
                  PROGRAMS / "attached_cases.py", folder, kind, *options)
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))], output


def one_process(kind, ranks):
    """Return {case: case} of one process that trains on the samples of all ranks, step by step."""
    x, y = training.lines() if kind == "told" else training.data()
    trained = {name: case(attached.Alone) for name, case in attached_more.KINDS[kind].items()}
    for parts in zip(*(rank["samples"] for rank in ranks), strict=True):
        numbers = [n for part in parts for n in part]
        for case in trained.values():
            case.step(x[numbers], y[numbers])
    return trained


def assert_exact(kind, ranks, times=1):
    """Every case is that of one process, but for the one without weights; all ranks have the same bits.  times: how
    often as long as usual they were trained."""
    far = {}
    for name, case in one_process(kind, ranks).items():
        for rank in ranks:
            assert all(torch.equal(a, b) for a, b in zip(rank["models"][name], ranks[0]["models"][name], strict=True))
        distance = training.largest(zip(case.numbers(), ranks[0]["models"][name], strict=True))
        far[name] = distance, (case.tolerance or 0) * times
    print({name: f"{row[0]:.1e}" for name, row in far.items()})
    assert far.pop("unweighted")[0] > BIASED
    assert not {name: row for name, row in far.items() if not row[0] <= row[1]}


def assert_once(ranks, epochs):
    times = Counter(n for rank in ranks for part in rank["samples"] for n in part)
    assert times == {n: epochs for n in range(training.N)}


def skip_without_sharding(kind):
    if kind.startswith("fsdp") and (attached.fully_shard is None or torch.__version__ < "2.7"):
        pytest.skip("fully_shard of this PyTorch does not run on CPUs")


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_exact(tmp_path, kind):
    skip_without_sharding(kind)
    ranks, output = started(tmp_path, kind)
    assert [len(rank["samples"][0]) for rank in ranks] == [3, 6, 15]
    assert {rank["world"] for rank in ranks} == {("sync", "external")}
    assert_once(ranks, 2)
    assert_exact(kind, ranks)
    assert "gradients by torch" in output


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_without_samples(tmp_path, kind):
    """The first rank never has one: it makes the same calls, and its samples count nothing."""
    skip_without_sharding(kind)
    ranks, _ = started(tmp_path, kind, emulate=NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert_exact(kind, ranks)


@pytest.mark.parametrize("kind", ["ddp", slow("fsdp")])
def test_replan(tmp_path, kind):
    """The shares follow what the ranks take, although each waits for the slowest in every step; all take up a plan at
    the same step, or the sums would not be of all samples."""
    skip_without_sharding(kind)
    ranks, _ = started(tmp_path, kind, "epochs=6", "pace=2,2,18", emulate=EQUAL, batch__rebalance=4)
    splits = [tuple(map(len, parts)) for parts in zip(*(rank["samples"] for rank in ranks), strict=True)]
    whole = [split for split in splits if sum(split) == 24]
    assert whole[0] == (8, 8, 8) and whole[-1][2] < 5 < 8 < whole[-1][0], splits
    assert_once(ranks, 6)
    assert_exact(kind, ranks, times=3)


BUSY = """
import time


def refuse(*_, **__):
    raise AssertionError("a step sleeps, or looks for the model's parameters")


eddis.init(own_pace=True)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(32, 4)), batch_size=8))
model = eddis.attach(torch.nn.Linear(4, 1))
for _ in loader.epochs(1):
    for x, in loader:
        time.sleep = torch.nn.Module.named_parameters = refuse
        eddis.weighted(model(x).mean()).backward()
"""


def test_steps_are_short(tmp_path):
    """The script itself spends the time of its emulated device, 1000 s a step: eddis does not sleep for it.  Nor does
    it look for the parameters in steps that do not compare the models."""
    devices = "[{rate: 1, a_ms: 1000000, c_ms: 1}, {rate: 1}]"
    said(tmp_path, *job(script(tmp_path, BUSY), devices=devices, batch__rebalance="off", checks__models="off"))


@pytest.mark.slow
def test_own_ranks(tmp_path):
    """torch.distributed has two ranks, of which eddis knows nothing."""
    found, output = ended(tmp_path, "torchrun", "--nproc_per_node=2", PROGRAMS / "attached_refused.py", "right")
    assert found == 1 and "torch.distributed has 2 ranks, the job 1: start the script by eddis-run" in output, output


REFUSED = {
    "unweighted": (1, r"a backward pass of a loss that is not weighted"),
    "optimizer": (1, r"torch.distributed combines the gradients of models that eddis.torch.attach was given"),
    "attached-late": (1, r"the job has been joined already, by a collective perhaps: call eddis.torch.attach before"),
    "outside": (1, r"eddis.torch.weighted is for the loop over eddis.torch.loader"),
    "nothing": (1, r"nothing is attached: call eddis.torch.attach\(model\) before the loop"),
    "expected": (1, r"no model is attached at the first step, although eddis.torch.init\(attach=True\)"),
    "no-backward": (1, r"ends without a backward pass that combines gradients"),
    "set-weight": (1, r"set_weight counts with attach\(model, weights='told'\)"),
    "unlike": (1, r"the workers have registered different layers"),
    "part": (1, r"the process group is not of all 3 workers"),
    "reduction": (1, r"reduction is 'product'"),
    "state": (1, r"of a model that eddis.torch.attach was given is in no model of eddis.torch.State"),
    "sharded-state": (1, r"a model of fully_shard is in eddis.torch.State, of which each rank has a part"),
    "sharded-optimizer": (1, r"an optimizer of a model of fully_shard is in eddis.torch.State, of which each rank has"),
    "redundant": (1, r"optimizer of eddis.torch.State is a ZeroRedundancyOptimizer, .* consolidate_state_dict\(\)"),
    "due": (1, r"state.due\(\) is for the loop over eddis.torch.loader: call it once in its body"),
    "wait-for": (1, r"state.wait_for\(\) is for a checkpoint that state.due\(\) has begun"),
    "again": (1, r"the model is attached already"),
    "methods": (1, r"without a forward pass of its own nothing combines their gradients: call model\(x\)"),
    "two-passes": (1, r"without a forward pass of its own nothing combines their gradients"),
    "twice": (1, r"models are attached with the same reduction, weights and weigh"),
    "inside": (1, r"comes to an attached model's output before it comes through eddis.torch.weighted, .* call it outs"),
    "inside-static": (1, r"comes to an attached model's output before it comes through eddis.torch.weighted, .* call"),
    "result-left": (1, r"the model's gradients may not be weighted: .* and call backward\(\) of what it returns"),
    "n-and-sum": (1, r"n has no meaning for a loss that is a sum over samples: leave out n, or sum=True"),
    "n-negative": (1, r"a loss that is a mean over n=-1 samples is not possible"),
    "outputs-and-loss": (1, r"the outputs of the model are weighted, .*: leave out eddis.torch.weighted"),
    "outputs-chain": (1, r"an input of an attached model requires a gradient, so .* would be weighted twice"),
    "cpu-norm": (1, r"module '1' is a torch.nn.SyncBatchNorm, which computes on GPUs only: .*SyncBatchNorm.convert"),
    "outputs-within": (1, r"parameter '0.weight' is of another attached model, too, so its .* weighted twice"),
    "outputs-object": (1, r"an attached model returns an object of type Found, in which eddis finds no tensors"),
}


@pytest.mark.parametrize("what", [name if name == "optimizer" else slow(name) for name in REFUSED])
def test_refused(tmp_path, what):
    code, words = REFUSED[what]
    found, output = ended(tmp_path, "eddis-run", "-n", 3, "--", "python3", PROGRAMS / "attached_refused.py", what)
    assert found == code and re.search(words, output), output


UNWEIGHTED = "RuntimeError: a backward pass of a loss that is not weighted"
UNFIT = {"pieces": "RuntimeError: eddis.torch.init(pieces=True) is for eddis.torch.DistributedOptimizer: leave it out",
         "unweighted plain": UNWEIGHTED}
TOO_OLD = "RuntimeError: {} is of fully_shard of PyTorch {}, and attach takes that of PyTorch 2.7 or later"
UNFIT_SHARDED = {
    "columns": "ValueError: parameter '0.weight' is on a mesh of 3 ranks: attach takes models whose gradients are",
    "some": "ValueError: parameter '2.weight' is in no module of fully_shard, so nothing combines its gradient",
    "old 2.6.0+cu124": TOO_OLD.format("the model", "2.6.0+cu124"),
    "old inside 2.6.0+cu124": TOO_OLD.format("module '0'", "2.6.0+cu124"),
    "old 2.3.1": TOO_OLD.format("the model", "2.3.1"),
    "old inside 2.3.1": TOO_OLD.format("module '0'", "2.3.1"),
    "unweighted sharded": UNWEIGHTED}


@pytest.mark.parametrize("sharded", [True, slow(False)])
def test_unfit(tmp_path, sharded):
    """Models that attach refuses, and backward passes of others that are not weighted."""
    if sharded:
        skip_without_sharding("fsdp")
    told = {**UNFIT, **(UNFIT_SHARDED if sharded else {})}
    code, output = ended(tmp_path, *job(PROGRAMS / "attached_unfit.py", *["sharded"][:sharded], options=["-n", 3],
                                     restarts=0))
    assert code == 3, output  # that of the script, which has then come to its end
    assert not {what: text for what, text in told.items() if f"{what}: {text}" not in output}, output


@pytest.mark.parametrize("mode", ["async", slow("hybrid")])
def test_modes(tmp_path, mode):
    """Workers with models of their own have no gradients to combine at every step."""
    found, output = ended(tmp_path, "eddis-run", "-n", 2, "--set", f"sync.mode={mode}", "--", "python3",
                          PROGRAMS / "attached_refused.py", "mode")
    assert found == 1 and f"needs sync.mode: sync or local, but the job's mode is {mode}" in output, output


@pytest.mark.parametrize("kind", ["outputs", slow("fsdp-outputs")])
@pytest.mark.parametrize("emulate", [UNEQUAL, slow(NO_SAMPLES)])
def test_outputs(tmp_path, kind, emulate):
    """The gradients of the models' outputs are weighted, and the losses as they are."""
    skip_without_sharding(kind)
    ranks, _ = started(tmp_path, kind, emulate=emulate, batch__min=0)
    assert_exact(kind, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp-more", "fsdp-more", "hybrid"])
def test_more(tmp_path, kind):
    """What else scripts do with such models."""
    skip_without_sharding(kind.replace("hybrid", "fsdp"))
    more = ", {rate: 0.3}" if kind == "hybrid" else ""
    ranks, _ = started(tmp_path, kind, emulate=UNEQUAL + more)
    assert_exact(kind, ranks)


def test_told(tmp_path):
    """Means over words, of which every rank has others; and sums that torch.distributed takes."""
    ranks, _ = started(tmp_path, "told")
    assert_exact("told", ranks)


@pytest.mark.parametrize("emulate", [NO_SAMPLES, slow(UNEQUAL)])
def test_held(tmp_path, emulate):
    """Weights that the ranks sum up by themselves: what their batches hold, or nothing."""
    ranks, _ = started(tmp_path, "held", emulate=emulate, batch__min=0)
    assert_exact("held", ranks)
