# SPDX-License-Identifier: Apache-2.0
"""test_equality.py - three workers with batches 1:2:5 make what one process makes of all samples"""

from __future__ import annotations

import kinds

N = kinds.cases.N


def test_equality(tmp_path):
    """Three networks, three optimizers, two types; 50 steps, every fifth of the tail of an epoch."""
    ranks = kinds.job(tmp_path, "equality", "epochs=5")
    assert [len(rank["samples"][0]) for rank in ranks] == [3, 6, 15]
    assert ranks[0]["epochs"] == [10] * 5
    assert not kinds.too_far(kinds.one_process("equality", ranks), ranks)


def test_words(tmp_path):
    """A loss that is a mean over words, of which every rank and micro-batch has others; one rank takes its samples in
    pieces, since its memory was not enough for all."""
    ranks = kinds.job(tmp_path, "words", "epochs=3", "memory=2")
    assert 0 < ranks[2]["piece"] < len(ranks[2]["samples"][0]), ranks[2]["piece"]
    assert not kinds.too_far(kinds.one_process("words", ranks), ranks)


def test_scripts(tmp_path):
    ranks = kinds.job(tmp_path, "scripts", "epochs=3")
    assert not kinds.too_far(kinds.one_process("scripts", ranks), ranks)


def test_without_samples(tmp_path):
    """The first rank never has one."""
    ranks = kinds.job(tmp_path, "scripts", "epochs=3", batch__min=0,
                      emulate="{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}")
    assert not any(ranks[0]["samples"])
    assert not kinds.too_far(kinds.one_process("scripts", ranks), ranks)
