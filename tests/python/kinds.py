# SPDX-License-Identifier: Apache-2.0
"""kinds.py - kinds of cases, which one job trains together; the jobs, and one process on the same samples"""

from __future__ import annotations

import torch

import scripts
import started
import training
from started import PROGRAMS, said

UNEQUAL = "{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"  # samples 1:2:5
ALL = training.equality()
# Each network with each optimizer, in one of the types
ONE_TYPE = {name: case for k, (name, case) in enumerate(ALL.items()) if k // 2 % 2 == k % 2}
BESIDE = {**scripts.SCRIPTS, **scripts.COMPILED}
KINDS = {"plain": {**ALL, **BESIDE}, "short": {**ONE_TYPE, **BESIDE},
         "words": training.WORDS_CASES, "scripts": scripts.SCRIPTS, "compiled": scripts.COMPILED}


def data(kind):
    return training.lines() if kind == "words" else training.data()


def made(kind, how):
    """{case: model} with the numbers that the random state gives."""
    torch.backends.cudnn.allow_tf32 = False  # float32 is what it says, on GPUs too
    with training.device():
        return {name: case(how) for name, case in KINDS[kind].items()}


def job(folder, kind, *options, emulate=UNEQUAL, **settings):
    """What each rank wrote down."""
    told = {"batch__global": 24, "batch__rebalance": "off", **settings}
    said(folder, *started.job(PROGRAMS / "trained.py", folder, kind, *options, devices=f"[{emulate}]", **told))
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))]


def one_process(kind, ranks):
    """{case: model} of one process that trains on the samples of all ranks, step by step."""
    x, y = data(kind)
    torch.manual_seed(0)
    trained = made(kind, training.Alone)
    ends = set(torch.tensor(ranks[0]["epochs"]).cumsum(0).tolist())
    for step, parts in enumerate(zip(*(rank["samples"] for rank in ranks), strict=True), 1):
        numbers = [n for part in parts for n in part]
        for case in trained.values():
            case.step(x[numbers].to(training.device()), y[numbers].to(training.device()))
            if step in ends:
                case.ended()
    return trained


def distances(trained, ranks):
    """{case: (largest difference of a number on any rank, what is allowed)}."""
    return {name: (training.largest(pair for rank in ranks
                                    for pair in zip(case.numbers(), rank["models"][name], strict=True)),
                   allowed(name, case))
            for name, case in trained.items()}


def allowed(name, case):
    """A GPU adds up otherwise for each size of batch, and Adam makes steps of a number's sign."""
    is_rough = training.device().type == "cuda" and case.dtype == torch.float32
    return max(case.tolerance, 5e-3 if "adam" in name else 1e-4) if is_rough else case.tolerance


def too_far(trained, ranks):
    return {name: row for name, row in distances(trained, ranks).items() if not row[0] <= row[1]}
