# SPDX-License-Identifier: Apache-2.0
"""test_attach_bare.py - attach for a script of one process: the model stays what it is"""

from __future__ import annotations

import pytest
import torch

from rows import slow
from started import PROGRAMS, job, said, script

DEVICES = "[{rate: 0.5, a_ms: 1, c_ms: 1}, {rate: 1}]"


def trained(folder, *options, **settings):
    """Return what each rank has at the end, and what the job printed."""
    folder.mkdir()
    output = said(folder, *job(PROGRAMS / "attached_bare.py", folder / "out", *options, devices=DEVICES,
                               batch__global=12, batch__rebalance="off", **settings))
    return [torch.load(folder / f"out.{rank}", weights_only=True) for rank in range(2)], output


@pytest.mark.parametrize("how", ["", slow("fails"), slow("around")])
def test_bare(tmp_path, how):
    """All ranks have one model and rank 0's buffers; after a failure it is the same to the last bit, and so it is in a
    PyTorch that cannot combine in place, which is said."""
    ranks, output = trained(tmp_path / "whole")
    assert {rank["backend"] for rank in ranks} == {"gloo"} and "is wrapped" not in output
    assert list(ranks[0]["model"]) == ["centre", "into.weight", "into.bias", "back.weight", "back.bias"]
    if how:
        others, output = trained(tmp_path / how, how, checkpoint__every=4, restarts=1)
        assert [rank["resumed"] for rank in others] == [how == "fails"] * 2
        assert output.count("the model is wrapped in DistributedDataParallel: ") == (how == "around")
        ranks += others
    for rank in ranks[1:]:
        assert all(torch.equal(value, ranks[0]["model"][name]) for name, value in rank["model"].items())


COPIED = """import copy
import pickle

loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(16, 1)), batch_size=4))
model = eddis.attach(torch.nn.Linear(1, 1))
for _ in loader.epochs(1):
    for x, in loader:
        eddis.weighted(model(x).mean()).backward()
        for like in copy.deepcopy(model), pickle.loads(pickle.dumps(model)):
            assert torch.equal(like.weight, model.weight)
            like(x).mean().backward()  # of a copy, which no other rank has
"""


def test_copies_of_one(tmp_path):
    """The model of a job of one worker can be copied and pickled, and its copies are not weighted."""
    said(tmp_path, *job(script(tmp_path, COPIED), options=["-n", "1"]))
