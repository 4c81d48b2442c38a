# SPDX-License-Identifier: Apache-2.0
"""norms.py - what normed.py trains, and its test trains again in one process: models with batch normalisation whose
every sample is a function of its number"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import torch
from torch import nn
from torch.utils.data import Dataset

# All with SyncBatchNorm; of float32 where their names say so
MODELS = ["mlp_sgd", "mlp_adam", "mlp_adamw", "cnn_sgd", "cnn_adam", "pieces", "cnn_adamw_32"]
OTHERS = ["plain", "half"]
KINDS = [(dtype, dims, affine) for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
         for dims, affine in (((6,), True), ((6, 5), False), ((6, 4, 3), True), ((6, 3, 2, 2), False))]


class Numbered(Dataset):
    """Samples that are their numbers."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> int:
        return index


def values_of(numbers: torch.Tensor, n: int) -> torch.Tensor:
    """float64 [samples, n], unlike each other, not around 0."""
    return torch.sin((numbers.double()[:, None] + 1) * (torch.arange(n) + 1)) * (1 + torch.arange(n) % 3) + 2


def made(name: str, seed: int) -> nn.Module:
    """A model with torch.nn.BatchNorm."""
    torch.manual_seed(seed)
    if name == "plain":
        model = nn.Sequential(nn.Linear(8, 8), nn.Unflatten(1, (4, 2)), nn.BatchNorm1d(4), nn.Flatten(),
                              nn.Linear(8, 3))
        model[2].num_batches_tracked += seed
        model[2].running_mean += seed
        model[4].requires_grad_(False)
        model.register_buffer("mask", torch.full((2,), -torch.inf) if seed == 0 else torch.zeros(2))
    elif name == "half":
        return nn.Sequential(nn.Linear(36, 5, dtype=torch.bfloat16), nn.Tanh(), nn.Linear(5, 3, dtype=torch.bfloat16))
    elif name.startswith("cnn"):
        model = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4, momentum=None), nn.Softplus(),
                              nn.Flatten(), nn.Linear(64, 3))
    elif name == "pieces":
        model = nn.Sequential(nn.Unflatten(1, (4, 9)), nn.BatchNorm1d(4, affine=False), nn.Flatten(), nn.Linear(36, 3))
    else:
        model = nn.Sequential(nn.Linear(36, 7, bias=False), nn.BatchNorm1d(7), nn.Tanh(),
                              nn.Linear(7, 5, bias=False), nn.BatchNorm1d(5, momentum=0.3), nn.Linear(5, 3))
    return model.float() if name.endswith("_32") else model.double()


def optimizer_of(name: str, model: nn.Module) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    if "adamw" in name:
        return torch.optim.AdamW(trained, lr=0.01, weight_decay=0.1)
    return torch.optim.Adam(trained, lr=0.01) if "adam" in name else torch.optim.SGD(trained, lr=0.01, momentum=0.9)


def loss_of(name: str, model: nn.Module, numbers: torch.Tensor, n: int) -> torch.Tensor:
    """Of these samples, of the n of the step, whose losses add up."""
    first = next(model.parameters())
    x = values_of(numbers, 8 if name == "plain" else 36).to(first.device, first.dtype)
    y = values_of(numbers + 7, 3).to(first.device)
    return (model(x.view(-1, 1, 6, 6) if name.startswith("cnn") else x) - y).square().sum() / n


def step(name: str, model: nn.Module, optimizer: torch.optim.Optimizer, pieces: Iterable[torch.Tensor],
         no_sync: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext) -> None:
    """One step of these micro-batches."""
    pieces = list(pieces)
    n = sum(len(part) for part in pieces)
    optimizer.zero_grad()
    for i, part in enumerate(pieces):
        with no_sync() if i + 1 < len(pieces) else contextlib.nullcontext():
            loss_of(name, model, part, n).backward()
    optimizer.step()


def pieces_of(name: str, numbers: torch.Tensor) -> list[torch.Tensor]:
    return [numbers[:1], numbers[1:]] if name == "pieces" else [numbers]


def passed(norm: nn.Module, dtype: torch.dtype, dims: tuple[int, ...],
           numbers: torch.Tensor) -> dict[str, torch.Tensor]:
    """What comes out of one pass of these samples, forward and backward: y, and the gradient of its input, of a loss
    that is a mean over samples."""
    x = values_of(numbers, torch.Size(dims).numel()).view(-1, *dims).to(dtype)
    if norm.running_mean is not None:
        x = x.to(norm.running_mean.device)
    x.requires_grad_()
    y = norm(x)
    ((y.double() * x.detach().double().cos()).sum() / len(numbers)).backward()
    return {"y": y.detach(), "dx": x.grad}
