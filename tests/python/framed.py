# SPDX-License-Identifier: Apache-2.0
"""framed.py - runs scripts of frameworks on PyTorch as ranks of a job, and one process on the samples of all ranks

A program of such a script writes FOLDER/<rank>.pt: {"samples": numbers of each step, "model": parameters, ...}.
"""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from signal import SIGINT, SIGTERM

import torch

import kept
import training
from started import ended, said

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
UNEQUAL = "{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"  # samples 1:2:5
NO_SAMPLES = "{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}"
SAVED = {SIGINT: 130, SIGTERM: 75}  # exit codes of jobs that these signals have stopped, and that have saved
EQUAL = "{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}, {rate: 1}"
HANG_S = 25  # a busy machine may keep a rank from its step for some of it
# How rank 1 ends in step 13, and what the job says
ENDINGS = {"kill": ("kill", "forward", r"rank 1 \(.*\) died of signal 9 \(Killed\) at step 13"),
           "kill-between": ("kill", "between", r"rank 1 \(.*\) died of signal 9 \(Killed\) at step 13"),
           "raise": ("raise", "forward", r"rank 1 \(.*\) exited 1 at step 13"),
           "freeze": ("freeze", "forward", r"rank 1 \(.*\) was suspended by a signal and did not continue: killed")}


def job(folder: pathlib.Path, program: str, *options: str, emulate: str = UNEQUAL, **settings: object) -> list[object]:
    """Return the command of a job of three ranks of this program; settings: a__b=value."""
    told = {"batch.global": 24, "batch.rebalance": "off", "profile.emulate": f"[{emulate}]",
            **{name.replace("__", "."): value for name, value in settings.items()}}
    return ["eddis-run", *(word for name, value in told.items() for word in ("--set", f"{name}={value}")), "--",
            "python3", PROGRAMS / program, folder, *options]


def trained(folder: pathlib.Path, program: str, *options: str, **others: object) -> tuple[list[dict], str]:
    """Return what each rank wrote, and what the job printed; others: as of `job`."""
    output = said(folder, *job(folder, program, *options, **others))
    return results(folder), output


def replanned(folder: pathlib.Path, program: str, *options: str) -> tuple[list[dict], int]:
    """Return what each rank wrote in a job whose last rank becomes slower than its plan says, so that it gets fewer
    samples, and the job's epochs.  On a busy machine it takes more steps until the difference is more than noise."""
    for epochs in 6, 24:
        where = folder / str(epochs)
        where.mkdir()
        ranks, _ = trained(where, program, *options, f"epochs={epochs}", "pace=2,2,12", emulate=EQUAL,
                           batch__rebalance=4)
        whole = splits(ranks)
        if whole[-1][2] < 5 < 8 < whole[-1][0]:
            break
    assert whole[0] == (8, 8, 8) and whole[-1][2] < 5 < 8 < whole[-1][0], whole
    assert_once(ranks, epochs)
    return ranks, epochs


def results(folder: pathlib.Path) -> list[dict]:
    """Return what each rank wrote."""
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))]


def broken(folder: pathlib.Path, program: str, *options: str, do: str, where: str, told: str,
           **settings: object) -> list[dict]:
    """Return what each rank wrote in a job in whose step 13 rank 1 ends like this, which the job says as told."""
    limit = f"{HANG_S}s" if do == "freeze" else "1h"
    code, output = ended(folder, *job(folder, program, *options, "state=1", f"do={do}", "at=1:13", f"where={where}",
                                      timeouts__hang=limit, **settings))
    assert code == 0 and re.search(told, output) and "1 restart" in output, output
    assert "no checkpoint is written" not in output, output
    ranks = results(folder)
    assert len(ranks) == 3 and all(rank["resumed"] for rank in ranks)
    return ranks


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
        _step(model, optimizer, loss_of(numbers), clip)
    return distance(ranks, model.parameters())


def train_plainly(ranks: list[dict], model: torch.nn.Module, optimizer: torch.optim.Optimizer,
                  loss_of: Callable[[list[int]], torch.Tensor], clip: float) -> float:
    """The same as `train` with the plain mean over the ranks' losses, which is wrong."""
    for parts in zip(*(rank["samples"] for rank in ranks), strict=True):
        losses = [loss_of(numbers) for numbers in parts if numbers]
        _step(model, optimizer, sum(losses) / len(losses), clip)
    return distance(ranks, model.parameters())


def _step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: torch.Tensor, clip: float) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()


def stopped(folder: pathlib.Path, signal: int, program: str, *options: str,
            **settings: object) -> tuple[list[dict], str]:
    """Return what each rank of a job wrote that eddis-run has stopped by this signal in step 13, and the job's name."""
    folder.mkdir()
    code, output = kept.end_by(folder, signal, [*map(str, job(folder, program, *options, "state=1", "at=1:13",
                                                              "do=wait", **settings))])
    assert code == SAVED[signal], output
    return results(folder), re.search(r"job (\S+)", output)[1]


def resumed(folder: pathlib.Path, name: str, program: str, *options: str, workers: int,
            **settings: object) -> list[dict]:
    """Return what each rank wrote in a job of so many ranks that resumes from the other's checkpoint."""
    folder.mkdir()
    emulate = ", ".join(["{rate: 0.2, a_ms: 2, c_ms: 4}", "{rate: 0.4}", "{rate: 1}", "{rate: 0.7}"][:workers])
    code, output = kept.resumed(folder.parent, name, [*map(str, job(folder, program, *options, "state=1",
                                                                     emulate=emulate, **settings))])
    ranks = results(folder)
    assert code == 0 and len(ranks) == workers and all(rank["resumed"] for rank in ranks), output
    return ranks


def together(first: list[dict], rest: list[dict]) -> list[dict]:
    """Return what one rank would have written that makes all steps of a job and of one that resumes it."""
    assert len(first[0]["samples"]) + len(rest[0]["samples"]) == 20, "it was saved where it stopped"
    return [{**rest[0], "samples": unions(first) + unions(rest)}]
