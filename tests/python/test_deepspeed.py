# SPDX-License-Identifier: Apache-2.0
"""test_deepspeed.py - DeepSpeed's ZeRO with the plan's batches: three ranks make what one process makes of all
samples"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import framed
import training
from started import ended

pytest.importorskip("deepspeed")
pytestmark = pytest.mark.slow


def far(ranks):
    """Return the distance to one process."""
    x, y = training.data()
    torch.manual_seed(3)
    model = training.mlp()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return framed.train(ranks, model, optimizer, lambda n: functional.cross_entropy(model(x[n].float()), y[n]), 0.5)


@pytest.mark.parametrize("stage, pieces", [(1, 1), (2, 1), (3, 1), (2, 4), (3, 4)])
def test_exact(tmp_path, stage, pieces):
    ranks, output = framed.trained(tmp_path, "zero.py", f"stage={stage}", f"pieces={pieces}")
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    framed.assert_once(ranks, 2)
    assert far(ranks) <= 2e-6


@pytest.mark.parametrize("stage", [2, 3])
def test_without_samples(tmp_path, stage):
    ranks, _ = framed.trained(tmp_path, "zero.py", f"stage={stage}", emulate=framed.NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert far(ranks) <= 2e-6


@pytest.mark.parametrize("stage", [2, 3])
def test_replan(tmp_path, stage):
    """The shares follow what the ranks take, although each waits for the slowest in every collective."""
    ranks, epochs = framed.replanned(tmp_path, "zero.py", f"stage={stage}")
    assert far(ranks) <= 1e-6 * epochs


@pytest.mark.parametrize("stage", [2, 3])
def test_restarted(tmp_path, stage):
    """The engine's own checkpoints, in the folder of the job's: after a kill the model is that of an unbroken job."""
    models = []
    for name in "unbroken", "broken":
        folder = tmp_path / name
        folder.mkdir()
        options = "zero.py", f"stage={stage}"
        if name == "broken":
            do, where, told = framed.ENDINGS["kill"]
            ranks = framed.broken(folder, *options, do=do, where=where, told=told, checkpoint__every=4)
        else:
            ranks, _ = framed.trained(folder, *options, "state=1", checkpoint__every=0)
        assert [rank["steps"] for rank in ranks] == [20] * 3
        models.append(ranks[0]["model"])
    assert training.largest(zip(*models, strict=True)) <= 2e-6


def test_unsaved(tmp_path):
    """A checkpoint without the engine is none, and training goes on."""
    _, output = framed.trained(tmp_path, "zero.py", "stage=2", "state=0", checkpoint__every=4)
    told = "no checkpoint is written, training goes on: an engine of DeepSpeed is saved by the script where state.due()"
    assert output.count(told) == 1, output


@pytest.mark.parametrize("stage", [1, 3])
def test_refused(tmp_path, stage):
    """State keeps no engine, and nothing of one under ZeRO."""
    code, output = ended(tmp_path, *framed.job(tmp_path, "zero.py", f"stage={stage}", "refused=1"))
    way_out = "leave it out, and save it by engine.save_checkpoint(state.folder / 'engine') on all ranks where"
    for name, what in {"engine": "an engine of deepspeed.initialize",
                       "optimizer": "an optimizer of DeepSpeed's ZeRO, so each rank has a part of its state",
                       "base": "an optimizer of DeepSpeed's ZeRO, so each rank has a part of its state",
                       "model": "a model of DeepSpeed's ZeRO, whose engine has parts of it of its own on each rank",
                       }.items():
        assert f"{name} of eddis.torch.State is {what}: {way_out}" in output, output
    assert code == 1, output
