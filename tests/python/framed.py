# SPDX-License-Identifier: Apache-2.0
"""framed.py - runs scripts of frameworks on PyTorch as ranks of a job, and one process on the samples of all ranks

A program of such a script writes FOLDER/<rank>.pt: {"samples": numbers of each step, "model": parameters, ...}.
"""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable, Iterable

import torch

import training
from started import said

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
UNEQUAL = "{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"  # samples 1:2:5
NO_SAMPLES = "{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"
EQUAL = "{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}, {rate: 1}"


def job(folder: pathlib.Path, program: str, *options: str, emulate: str = UNEQUAL, **settings: object) -> list[object]:
    """Return the command of a job of three ranks of this program; settings: a__b=value."""
    told = {"batch.global": 24, "batch.rebalance": "off", "profile.emulate": f"[{emulate}]",
            **{name.replace("__", "."): value for name, value in settings.items()}}
    return ["eddis-run", *(word for name, value in told.items() for word in ("--set", f"{name}={value}")), "--",
            "python3", PROGRAMS / program, folder, *options]


def trained(folder: pathlib.Path, program: str, *options: str, **others: object) -> tuple[list[dict], str]:
    """Return what each rank wrote, and what the job printed; others: as of `job`."""
    output = said(folder, *job(folder, program, *options, **others))
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))], output


def unions(ranks: list[dict]) -> list[list[int]]:
    """Return the numbers of all ranks' samples in each step."""
    return [[n for part in parts for n in part] for parts in zip(*(rank["samples"] for rank in ranks), strict=True)]


def splits(ranks: list[dict]) -> list[tuple[int, ...]]:
    """Return the ranks' numbers of samples in each step of 24."""
    every = [tuple(map(len, parts)) for parts in zip(*(rank["samples"] for rank in ranks), strict=True)]
    return [split for split in every if sum(split) == 24]


def assert_once(ranks: list[dict], epochs: int) -> None:
    """Each sample came once an epoch."""
    times = Counter(n for step in unions(ranks) for n in step)
    assert times == {n: epochs for n in range(training.N)}


def distance(ranks: list[dict], parameters: Iterable[torch.Tensor]) -> float:
    """Return how far the parameters are from rank 0's; all ranks have the same bits."""
    for rank in ranks:
        assert all(torch.equal(a, b) for a, b in zip(rank["model"], ranks[0]["model"], strict=True))
    return training.largest((a.detach(), b) for a, b in zip(parameters, ranks[0]["model"], strict=True))


def train(ranks: list[dict], model: torch.nn.Module, optimizer: torch.optim.Optimizer,
          loss_of: Callable[[list[int]], torch.Tensor], clip: float) -> float:
    """Train the model in one process, step by step on the samples of all ranks, and return the distance to theirs.
    loss_of: the loss of the samples with these numbers."""
    for numbers in unions(ranks):
        optimizer.zero_grad()
        loss_of(numbers).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    return distance(ranks, model.parameters())
