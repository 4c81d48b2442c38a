# SPDX-License-Identifier: Apache-2.0
"""test_equality.py - three workers with batches 1:2:5 make what one process makes of all samples"""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import kinds
from rows import slow
from training import N


def assert_once(ranks, epochs):
    times = Counter(n for rank in ranks for part in rank["samples"] for n in part)
    assert times == {n: epochs for n in range(N)}


@pytest.mark.parametrize("kind, epochs", [("short", 2), slow("plain", 5)])
def test_equality(tmp_path, kind, epochs):
    """Three networks, three optimizers and two types, and what scripts do beside a plain step; every tenth step is of
    the tail of an epoch; samples are loaded by none, two and four processes."""
    ranks = kinds.job(tmp_path, kind, f"epochs={epochs}", "workers=0,2,4")
    assert [len(rank["samples"][0]) for rank in ranks] == [3, 6, 15]
    assert ranks[0]["epochs"] == [10] * epochs
    assert_once(ranks, epochs)
    assert not kinds.too_far(kinds.one_process(kind, ranks), ranks)


def test_words(tmp_path):
    """A loss that is a mean over words, of which every rank and micro-batch has others; one rank takes its samples in
    pieces, since its memory was not enough for all."""
    ranks = kinds.job(tmp_path, "words", "epochs=2", "memory=2")
    assert 0 < ranks[2]["piece"] < len(ranks[2]["samples"][0]), ranks[2]["piece"]
    assert not kinds.too_far(kinds.one_process("words", ranks), ranks)


NONE = {"batch__min": 0, "emulate": "{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"}


@pytest.mark.parametrize("kind", ["scripts", slow("compiled")])
def test_without_samples(tmp_path, kind):
    """The first rank never has one."""
    ranks = kinds.job(tmp_path, kind, "epochs=2", **NONE)
    assert not any(ranks[0]["samples"])
    assert not kinds.too_far(kinds.one_process(kind, ranks), ranks)


@pytest.mark.slow
def test_break(tmp_path):
    """After four of ten steps, with batches that were loaded ahead; and a test on rank 0 while the others go on."""
    ranks = kinds.job(tmp_path, "words", "epochs=3", "break=4", "test=1", "workers=4,0,2")
    assert ranks[1]["epochs"] == [4, 4, 2]
    assert_once(ranks, 1)
    assert not kinds.too_far(kinds.one_process("words", ranks), ranks)


def test_replan(tmp_path):
    """Shares that follow what is measured, while the samples of the next steps are under way in none, two and four
    processes."""
    ranks = kinds.job(tmp_path, "words", "epochs=2", "workers=0,2,4", "pace=20,20,150", batch__global=6,
                      batch__rebalance=4, emulate="{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}, {rate: 1}")
    splits = [tuple(map(len, parts)) for parts in zip(*(rank["samples"] for rank in ranks), strict=True)]
    ends = torch.tensor([0, *ranks[0]["epochs"]]).cumsum(0).tolist()
    whole = [{split for split in splits[a:b] if sum(split) == 6} for a, b in zip(ends, ends[1:])]
    assert max(map(len, whole)) > 1 and splits[-2][2] < splits[0][2], splits
    assert_once(ranks, 2)
    assert not kinds.too_far(kinds.one_process("words", ranks), ranks)


@pytest.mark.parametrize("mode, kind", [("hybrid", "scripts"), slow("async", "scripts"), slow("hybrid", "compiled"),
                                        slow("async", "compiled"), slow("local", "scripts")])
def test_models(tmp_path, mode, kind):
    """The same scripts where workers have models of their own, which become one in the end."""
    groups = {"sync__groups": 2} if mode != "async" else {}
    if mode == "local":
        groups |= {"sync__period": 3, "sync__overlap": 2}
    ranks = kinds.job(tmp_path, kind, "epochs=4", "workers=0,2,4", sync__mode=mode, **groups)
    assert_once(ranks, 4)
    for name, numbers in ranks[0]["models"].items():
        for rank in ranks[1:]:
            assert all(map(torch.equal, numbers, rank["models"][name])), name
    before, after = (sum(sum(rank["losses"][part]) for rank in ranks) for part in (slice(5), slice(-5, None)))
    assert after < before
