# SPDX-License-Identifier: Apache-2.0
"""test_deepspeed.py - DeepSpeed's ZeRO with the plan's batches: three ranks make what one process makes of all
samples"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import framed
import training

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
    ranks, _ = framed.trained(tmp_path, "zero.py", f"stage={stage}", "epochs=6", "pace=2,2,12", emulate=framed.EQUAL,
                              batch__rebalance=4)
    whole = framed.splits(ranks)
    assert whole[0] == (8, 8, 8) and whole[-1][2] < 5 < 8 < whole[-1][0], whole
    framed.assert_once(ranks, 6)
    assert far(ranks) <= 6e-6
