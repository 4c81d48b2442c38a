# SPDX-License-Identifier: Apache-2.0
"""test_gpu.py - what other files try, on a GPU that all workers share"""

from __future__ import annotations

import pytest
import torch

import kept
import kinds
from test_batchnorm import check_common, check_equal, check_kinds, trained
from test_equality import NONE
from test_state import assert_equal
from test_staging import DEVICES

if not torch.cuda.is_available():
    pytest.skip("there is no GPU that PyTorch sees", allow_module_level=True)


@pytest.fixture(autouse=True)
def on_gpu(monkeypatch):
    monkeypatch.setenv("EDDIS_TEST_DEVICE", "cuda")


@pytest.mark.parametrize("kind", ["plain", "words"])
def test_equality(tmp_path, kind):
    """Workers with batches 1:2:5 make what one process makes of all samples."""
    ranks = kinds.job(tmp_path, kind, "epochs=3", "workers=0,2,0")
    assert all(numbers[0].is_cuda for numbers in ranks[0]["models"].values())
    assert not kinds.too_far(kinds.one_process(kind, ranks), ranks)


def test_without_samples(tmp_path):
    ranks = kinds.job(tmp_path, "scripts", "epochs=3", **NONE)
    assert not any(ranks[0]["samples"])
    assert not kinds.too_far(kinds.one_process("scripts", ranks), ranks)


@pytest.mark.parametrize("mode", ["async", "hybrid"])
def test_models(tmp_path, mode):
    groups = {"sync__groups": 2} if mode == "hybrid" else {}
    ranks = kinds.job(tmp_path, "scripts", "epochs=3", sync__mode=mode, **groups)
    for name, numbers in ranks[0]["models"].items():
        for rank in ranks[1:]:
            assert all(map(torch.equal, numbers, rank["models"][name])), name
        assert numbers[0].is_cuda
    before, after = (sum(sum(rank["losses"][part]) for rank in ranks) for part in (slice(5), slice(-5, None)))
    assert after < before


@pytest.mark.parametrize("mode", ["sync", "hybrid"])
def test_norms(tmp_path, mode):
    """Batch normalisation over the samples of all; other sums round otherwise."""
    groups = ["--set", "sync.groups=[[0, 1], [2]]", "--set", "sync.period=1000"] if mode == "hybrid" else []
    workers = trained(tmp_path, mode, DEVICES, 98, 1, *groups, device="cuda")
    assert all(worker["staged"] for worker in workers)
    check_equal(workers, exact=1e-8, single=1e-3)
    if mode == "sync":
        check_kinds(workers)
    check_common(workers, own=["plain"] if mode == "sync" else [])


def test_killed(tmp_path):
    """A job goes on with the numbers of an unbroken one, those that the GPU draws among them."""
    unbroken, folder = tmp_path / "unbroken/out", tmp_path / "killed/out"
    for path, options in (unbroken, []), (folder, ["at=1:9", "do=kill"]):
        path.parent.mkdir()
        code, output = kept.run(path, *options)
        assert code == 0, output
    assert all(value.is_cuda for value in torch.load(folder / "model.pt").values())
    first, second = kept.lines(folder, 1), kept.lines(folder, 2)
    assert_equal(folder, {rank: kept.kept(first[rank]) + kept.steps(second[rank]) for rank in range(3)}, unbroken)
