# SPDX-License-Identifier: Apache-2.0
"""attached_rounds.py - models that are trained in local mode, and one process that trains them as all groups do"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from training import mlp


def weights_of(numbers: torch.Tensor, is_sparse: bool = False) -> torch.Tensor:
    """The weights of samples, by their numbers, where these are told; is_sparse: of most of them, and of whole batches,
    0, and others are not whole numbers."""
    return (numbers % 7 == 0) * (0.5 + numbers % 5) if is_sparse else 1.0 + numbers % 3


class Bare:
    """A plain model, which `attach` lets be combined.  eddis None: of one process."""

    def __init__(self, eddis: Any, update: str | None = None, **how: Any) -> None:
        self.weighted = eddis.weighted if eddis else lambda loss: loss
        torch.manual_seed(3 + (self.first_of(eddis.rank()) if eddis else 0))  # rank 0's is everyone's
        self.inner = self.network().double()
        self.model = eddis.attach(self.wrapped(eddis), **how) if eddis else self.inner
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0 if update == "sgd" else 0.9)

    @staticmethod
    def first_of(rank: int) -> int:
        """The ranks that have the same return the same."""
        return rank

    def network(self) -> nn.Module:
        return mlp()

    def wrapped(self, eddis: Any) -> nn.Module:
        return self.inner

    def step(self, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None = None) -> None:
        self.optimizer.zero_grad()
        losses = functional.cross_entropy(self.model(x), y, reduction="none")
        loss = losses.mean() if weights is None else (losses * weights).sum() / weights.sum().clamp(min=0.5)
        self.weighted(loss).backward()
        self.optimizer.step()

    def numbers(self) -> list[torch.Tensor]:
        return [getattr(p, "full_tensor", lambda p=p: p)().detach().clone() for p in self.model.parameters()]

    def statistics(self) -> list[torch.Tensor]:
        return [b.detach().clone() for b in self.inner.buffers() if b.dtype.is_floating_point]


class Wrapped(Bare):
    """The script wraps the model itself."""

    def wrapped(self, eddis: Any) -> nn.Module:
        return nn.parallel.DistributedDataParallel(self.inner, process_group=eddis.group())


class Sharded(Bare):
    """Each rank has parts, of a model that all ranks of its group have made alike, as scripts do."""

    @staticmethod
    def first_of(rank: int) -> int:
        return rank // 2

    def wrapped(self, eddis: Any) -> nn.Module:
        from torch.distributed.fsdp import fully_shard
        for module in self.inner:
            if isinstance(module, nn.Linear):
                fully_shard(module, mesh=eddis.mesh())
        return fully_shard(self.inner, mesh=eddis.mesh())

    def step(self, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor | None = None) -> None:
        super().step(x, y, weights)
        with torch.no_grad():  # behind it some parameters are whole
            self.model(x)


class Normalised(Wrapped):
    """Batch normalisation by all samples of the group, whose statistics are combined as the models are."""

    def network(self) -> nn.Module:
        first, *rest = mlp()
        return nn.Sequential(first, nn.BatchNorm1d(first.out_features), *rest)

    def wrapped(self, eddis: Any) -> nn.Module:
        self.inner = eddis.SyncBatchNorm.convert_sync_batchnorm(self.inner)
        return nn.parallel.DistributedDataParallel(self.inner, process_group=eddis.group(), broadcast_buffers=False)


KINDS = {"bare": Bare, "wrapped": Wrapped, "sharded": Sharded, "normalised": Normalised}


class Reference:
    """One process that trains a model of this kind as the groups did, by the equations of lib/sync/local.c."""

    def __init__(self, kind: str, ranks: list[dict], update: str | None = None, told: str = "") -> None:
        groups = sorted({rank["group"] for rank in ranks})
        self.told = told
        # [groups][steps] of samples of the group, and whether a round ends
        self.steps = [[(sum((numbers for numbers, _ in parts), []), parts[0][1])
                       for parts in zip(*(rank["steps"] for rank in ranks if rank["group"] == group), strict=True)]
                      for group in groups]
        self.models = [KINDS[kind](None, update) for _ in groups]
        self.common = [p.detach().clone() for p in self.models[0].model.parameters()]
        self.momentum = [torch.zeros_like(p) for p in self.common]
        self.n_rounds = 0

    def train(self, x: torch.Tensor, y: torch.Tensor, rate: float = 1.0, momentum: float = 0.0) -> Reference:
        """Train all rounds."""
        at = [0] * len(self.steps)
        while at[0] < len(self.steps[0]):
            samples = [self._round(g, at, x, y) for g in range(len(at))]
            self._combine(samples, rate, momentum)
        assert at == [len(steps) for steps in self.steps], at
        return self

    def _round(self, group: int, at: list[int], x: torch.Tensor, y: torch.Tensor) -> float:
        """Make the group's steps of a round; return its samples."""
        samples, is_over = 0.0, False
        while not is_over:
            numbers, is_over = self.steps[group][at[group]]
            at[group] += 1
            weights = weights_of(torch.tensor(numbers), self.told == "sparse") if self.told else None
            self.models[group].step(x[numbers], y[numbers], weights)
            samples += weights.sum().item() if self.told else len(numbers)
        return samples

    def _combine(self, samples: list[float], rate: float, momentum: float) -> None:
        """End the round."""
        self.n_rounds += 1
        with torch.no_grad():
            for k, (t, b) in enumerate(zip(self.common, self.momentum)):
                own = [list(model.model.parameters())[k] for model in self.models]
                d = sum(s * (t - x) for s, x in zip(samples, own)) / sum(samples)
                b.mul_(momentum).add_(d)
                t.sub_(rate * (d + momentum * b))
                for x in own:
                    x.copy_(t)
            for statistics in zip(*([b for b in m.inner.buffers() if b.dtype.is_floating_point] for m in self.models)):
                mean = sum(s * one for s, one in zip(samples, statistics)) / sum(samples)
                for one in statistics:
                    one.copy_(mean)

    def numbers(self) -> list[torch.Tensor]:
        return self.common

    def statistics(self) -> list[torch.Tensor]:
        return self.models[0].statistics()


def union(kind: str, ranks: list[dict], x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    """The numbers of one process in sync mode: each step has the samples of all ranks."""
    model = KINDS[kind](None, "sgd")
    for parts in zip(*(rank["steps"] for rank in ranks), strict=True):
        numbers = sum((numbers for numbers, _ in parts), [])
        model.step(x[numbers], y[numbers])
    return model.numbers()
