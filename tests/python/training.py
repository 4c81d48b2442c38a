# SPDX-License-Identifier: Apache-2.0
"""training.py - what training scripts do, case by case: the same code trains one process on all samples, or a worker"""

from __future__ import annotations

import contextlib
import os

import torch
from torch import nn
from torch.nn import functional

N, INPUTS, CLASSES = 236, 64, 4  # of the data; ten steps an epoch of 24 samples, the last of 20
WORDS, LENGTH, PAD = 11, 8, -100


def device():
    """Where models and batches are: of what the tests start, too."""
    return torch.device(os.environ.get("EDDIS_TEST_DEVICE", "cpu"))


def largest(pairs):
    """The largest difference between two tensors of a pair; NaN where there is one."""
    return torch.tensor([(a - b).abs().max().item() for a, b in pairs]).max().item()


def data():
    made = torch.Generator().manual_seed(1)
    x = torch.randn(N, INPUTS, generator=made, dtype=torch.float64)
    return x, (x[:, :CLASSES] + x[:, CLASSES:2 * CLASSES]).argmax(1)


def lines():
    """Rows of words, and the next words: of unlike lengths, the shortest 1."""
    made = torch.Generator().manual_seed(2)
    words = torch.randint(WORDS, (N, LENGTH + 1), generator=made).cumsum(1) % WORDS
    following = words[:, 1:].clone()
    following[torch.arange(LENGTH) > torch.randint(LENGTH, (N, 1), generator=made)] = PAD
    return words[:, :-1], following


class Alone:
    """How a process without eddis does what cases ask for."""

    no_sync = staticmethod(contextlib.nullcontext)

    @staticmethod
    def distributed(optimizer, model, passes=1):
        return optimizer

    @staticmethod
    def pieces(batch):
        yield batch, 1.0


class Case:
    """A model and how it is trained.  step(x, y) is one of a loop, ended() is called after each epoch."""

    dtype = torch.float64
    tolerance = 1e-12  # of the parameters' numbers, to one process

    def __init__(self, how):
        self.how = how
        self.make()

    def make(self):
        self.model = self.network()
        self.optimizer = self.how.distributed(self.updates(self.model.parameters()), self.model)

    def network(self):
        return mlp().to(self.dtype)

    def updates(self, parameters):
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def loss(self, x, y):
        return functional.cross_entropy(self.model(x.to(self.dtype)), y)

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.loss(x, y).backward()
        self.optimizer.step()

    def ended(self):
        pass

    def numbers(self):
        return [p.detach().clone() for p in self.model.parameters()]


def mlp(outputs=CLASSES):
    return nn.Sequential(nn.Linear(INPUTS, 16), nn.Tanh(), nn.Linear(16, outputs))


def cnn():
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 6, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(32, CLASSES))


def encoder(width):
    # A bias of keys has the gradient 0 but for rounding, of which Adam makes steps of full length
    return nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0, activation="gelu", batch_first=True, bias=False)


def transformer():
    return nn.Sequential(nn.Unflatten(1, (8, 8)), nn.Linear(8, 12), encoder(12), nn.Flatten(), nn.Linear(96, CLASSES))


UPDATES = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
           "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1)}


def equality():
    """{name: class} of each network, optimizer and type."""
    def case(network, updates, dtype, tolerance):
        return type("Equal", (Case,), {"network": lambda self: network().to(dtype), "dtype": dtype,
                                       "updates": lambda self, p: updates(p), "tolerance": tolerance})

    return {f"{network.__name__}-{name}-{bits}": case(network, updates, dtype, tolerance)
            for network in (mlp, cnn, transformer) for name, updates in UPDATES.items()
            for bits, dtype, tolerance in ((64, torch.float64, 1e-12), (32, torch.float32, 1e-5))}


# ---- language models: the loss is a mean over words


class Words(Case):
    def network(self):
        return nn.Sequential(nn.Embedding(WORDS, 12), encoder(12), nn.Linear(12, WORDS)).double()

    def sum(self, x, y):
        return functional.cross_entropy(self.model(x).flatten(0, 1), y.flatten(), ignore_index=PAD, reduction="sum")

    def loss(self, x, y):
        return self.sum(x, y) / (y != PAD).sum()


class WordsNoSync(Words):
    """Micro-batches of unlike numbers of words."""

    def step(self, x, y):
        self.optimizer.zero_grad()
        words = (y != PAD).sum()
        with self.how.no_sync():
            (self.sum(x[:1], y[:1]) / words).backward()
        (self.sum(x[1:], y[1:]) / words).backward()
        self.optimizer.step()


class WordsPieces(Words):
    def step(self, x, y):
        self.optimizer.zero_grad()
        words = (y != PAD).sum()
        for (x, y), _ in self.how.pieces((x, y)):
            (self.sum(x, y) / words).backward()
        self.optimizer.step()


WORDS_CASES = {"whole": Words, "no_sync": WordsNoSync, "pieces": WordsPieces}
