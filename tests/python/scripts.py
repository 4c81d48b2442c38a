# SPDX-License-Identifier: Apache-2.0
"""scripts.py - cases of what scripts do beside a plain step: micro-batches, clipping, scaling, several optimizers"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from training import CLASSES, INPUTS, Case, device, mlp


class NoSync(Case):
    def step(self, x, y):
        """Three micro-batches of unlike sizes."""
        self.optimizer.zero_grad()
        parts = list(zip(x.split(-(-len(x) // 3)), y.split(-(-len(y) // 3))))
        with self.how.no_sync():
            for part, labels in parts[:-1]:
                (self.loss(part, labels) * len(part) / len(x)).backward()
        (self.loss(*parts[-1]) * len(parts[-1][0]) / len(x)).backward()
        self.optimizer.step()


class Passes(Case):
    """backward_passes_per_step."""

    def make(self):
        self.model = self.network()
        self.optimizer = self.how.distributed(self.updates(self.model.parameters()), self.model, passes=2)

    def step(self, x, y):
        self.optimizer.zero_grad()
        half = (len(x) + 1) // 2
        for part, labels in ((x[:half], y[:half]), (x[half:], y[half:])):
            if len(part):
                loss = self.loss(part, labels) * len(part) / len(x)
            else:
                loss = sum(p.sum() for p in self.model.parameters()) * 0
            loss.backward()
        self.optimizer.step()


class Pieces(Case):
    def step(self, x, y):
        self.optimizer.zero_grad()
        for (x, y), share in self.how.pieces((x, y)):
            (self.loss(x, y) * share).backward()
        self.optimizer.step()


class Clipped(Case):
    """With a scheduler, of each step."""

    def make(self):
        super().make()
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 40)

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.loss(x, y).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.optimizer.step()
        self.scheduler.step()


class ClippedValue(Case):
    """Gradients stay where they are between steps."""

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=False)
        self.loss(x, y).backward()
        nn.utils.clip_grad_value_(self.model.parameters(), 0.01)
        self.optimizer.step()


class Scaled(Case):
    """GradScaler, whose scale is too large for float32 at first."""

    dtype, tolerance = torch.float32, 1e-5

    def make(self):
        super().make()
        self.scaler = torch.amp.GradScaler(device().type, init_scale=2.0 ** 127, backoff_factor=2.0 ** -60)

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.scaler.scale(self.loss(x, y)).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Autocast(Case):
    """Each worker rounds its own mean to 8 bits."""

    dtype, tolerance = torch.float32, 0.02

    def loss(self, x, y):
        with torch.autocast(device().type, torch.bfloat16):
            return super().loss(x, y)


class Groups(Case):
    """Two groups of parameters, and a scheduler of each epoch."""

    def make(self):
        self.model = self.network()
        groups = [{"params": self.model[0].parameters(), "lr": 0.05, "weight_decay": 0.1},
                  {"params": self.model[2].parameters()}]
        self.optimizer = self.how.distributed(self.updates(groups), self.model)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.7)

    def ended(self):
        self.scheduler.step()


class Gan(Case):
    """Two optimizers, the second of which sees what the first has made of its network."""

    def make(self):
        self.maker = nn.Sequential(nn.Linear(CLASSES, 16), nn.Tanh(), nn.Linear(16, INPUTS)).double()
        self.critic = mlp(1).double()
        self.maker_optimizer, self.critic_optimizer = (
            self.how.distributed(torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.9)), model)
            for model in (self.maker, self.critic))

    @staticmethod
    def judged(scores, truth):
        return functional.binary_cross_entropy_with_logits(scores, torch.full_like(scores, truth))

    def step(self, x, y):
        made = self.maker(x[:, -CLASSES:])
        self.critic_optimizer.zero_grad()
        (self.judged(self.critic(x), 1) + self.judged(self.critic(made.detach()), 0)).backward()
        self.critic_optimizer.step()
        self.maker_optimizer.zero_grad()
        self.judged(self.critic(made), 1).backward()
        self.maker_optimizer.step()

    def numbers(self):
        return [p.detach().clone() for model in (self.maker, self.critic) for p in model.parameters()]


class Lbfgs(Case):
    tolerance = 1e-8  # its line search decides by differences of losses

    def updates(self, parameters):
        return torch.optim.LBFGS(parameters, lr=0.5, max_iter=3, line_search_fn="strong_wolfe")

    def step(self, x, y):
        def closure():
            self.optimizer.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            return loss

        self.optimizer.step(closure)


class Frozen(Case):
    """A frozen layer, one that nothing uses, and one that some samples use: with weight decay and momentum."""

    def network(self):
        return nn.ModuleDict({"frozen": nn.Linear(INPUTS, 16), "unused": nn.Linear(3, 3),
                              "last": nn.Linear(16, CLASSES), "rare": nn.Linear(INPUTS, CLASSES)}).double()

    def make(self):
        self.model = self.network()
        self.model["frozen"].requires_grad_(False)
        trained = (p for p in self.model.parameters() if p.requires_grad)
        updates = torch.optim.SGD(trained, lr=0.1, momentum=0.9, weight_decay=0.01)
        self.optimizer = self.how.distributed(updates, self.model)

    def loss(self, x, y):
        out = self.model["last"](torch.tanh(self.model["frozen"](x)))
        rare = x[:, 0] > 1.8
        if rare.any():
            out = out + rare[:, None] * self.model["rare"](x)
        return functional.cross_entropy(out, y)


class Compiled(Case):
    def make(self):
        super().make()
        self.inner = self.model
        self.model = torch.compile(self.inner, backend="aot_eager", dynamic=True)

    def numbers(self):
        return [p.detach().clone() for p in self.inner.parameters()]


class Assigned(Case):
    """load_state_dict(assign=True) makes new parameters."""

    def make(self):
        self.model = self.network()
        self.model.load_state_dict({name: value * 0.5 for name, value in self.model.state_dict().items()}, assign=True)
        self.optimizer = self.how.distributed(self.updates(self.model.parameters()), self.model)


class Twice(Case):
    """Two backward passes, each of a part of the loss."""

    def step(self, x, y):
        self.optimizer.zero_grad()
        out = self.model(x)
        functional.cross_entropy(out, y).backward(retain_graph=True)
        (out ** 2).mean().mul(0.1).backward()
        self.optimizer.step()


class ChannelsLast(Case):
    """Parameters whose memory is in another order."""

    def network(self):
        return nn.Sequential(nn.Unflatten(1, (4, 4, 4)), nn.Conv2d(4, 6, 3), nn.Tanh(), nn.Flatten(),
                             nn.Linear(24, CLASSES)).double().to(memory_format=torch.channels_last)


class Sparse(Case):
    """A table with sparse gradients."""

    def make(self):
        self.table, self.model = nn.Embedding(CLASSES, 3, sparse=True).double(), mlp(3).double()
        together = nn.ModuleList([self.table, self.model])
        self.optimizer = self.how.distributed(torch.optim.SGD(together.parameters(), lr=0.1), together)

    def loss(self, x, y):
        return ((self.model(x) - self.table(y)) ** 2).sum(1).mean()

    def numbers(self):
        return [p.detach().clone() for model in (self.table, self.model) for p in model.parameters()]


class Shared(Case):
    """Two parameters' gradients are one tensor."""

    def network(self):
        return nn.ModuleList([nn.Linear(INPUTS, CLASSES, bias=False), nn.Linear(INPUTS, CLASSES, bias=False)]).double()

    def loss(self, x, y):
        together = (self.model[0].weight.view(-1) + self.model[1].weight.view(-1)).view(CLASSES, INPUTS)
        return functional.cross_entropy(functional.linear(x, together), y)


SCRIPTS = {c.__name__: c for c in (NoSync, Passes, Pieces, Clipped, ClippedValue, Scaled, Autocast, Groups, Gan, Lbfgs,
                                   Frozen, Assigned, Twice, ChannelsLast, Sparse, Shared)}
# Apart: every process that compiles imports for seconds
COMPILED = {"Compiled": Compiled}
