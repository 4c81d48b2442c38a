# SPDX-License-Identifier: Apache-2.0
"""attached_more.py - further cases of attached.py: what else scripts do with models that torch.distributed combines"""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from attached import KINDS as FIRST
from attached import Accumulated, Alone, Case, Sharded, Single, Unweighted
from training import mlp

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy
except ImportError:  # an older PyTorch
    MixedPrecisionPolicy = None


class Adversaries(Case):
    """Two models with an optimizer each, of which one step goes through both."""

    def __init__(self, how):
        self.how = how
        torch.manual_seed(3)
        make, judge = mlp(8), nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
        self.make, self.judge = (self.combined(model.to(self.dtype)) for model in (make, judge))
        self.updates_made, self.updates_judge = (torch.optim.Adam(model.parameters(), lr=1e-3)
                                                 for model in (self.make, self.judge))

    def step(self, x, y):
        x = x.to(self.dtype)
        made = self.make(x)
        self.updates_judge.zero_grad()
        self.how.weighted(functional.softplus(-self.judge(x[:, :8])).mean() +
                          functional.softplus(self.judge(made.detach())).mean()).backward()
        self.updates_judge.step()
        self.updates_made.zero_grad()
        self.how.weighted(functional.softplus(-self.judge(made)).mean()).backward()
        self.updates_made.step()

    def numbers(self):
        return [p.detach().clone() for model in (self.make, self.judge) for p in model.parameters()]


class BareAdversaries(Adversaries):
    combine = "bare"


class CompiledAround(Case):
    def combined(self, model):
        return torch.compile(super().combined(model), backend="aot_eager")


class CompiledInside(Case):
    def combined(self, model):
        return super().combined(torch.compile(model, backend="aot_eager"))


class CompiledBare(CompiledInside):
    combine = "bare"


class CompiledAttached(Case):
    """The model that attach has got is compiled already."""

    def combined(self, model):
        if self.how is Alone:
            return model
        return self.how._attach(torch.compile(nn.parallel.DistributedDataParallel(model), backend="aot_eager"))


class CompiledAroundBare(CompiledAround):
    combine = "bare"


class Checkpointed(nn.Sequential):
    """Computes its middle anew in the backward pass."""

    is_reentrant = False

    def forward(self, x):
        first, *rest = self
        return checkpoint(nn.Sequential(*rest), first(x), use_reentrant=self.is_reentrant)


class Reentrant(Checkpointed):
    is_reentrant = True


class Saving(Case):
    def network(self):
        return Checkpointed(*mlp())


class SavingReentrant(Case):
    def network(self):
        return Reentrant(*mlp())


class SavingBare(SavingReentrant):
    combine = "bare"


class Scaled(Single):
    """Gradients of a loss that is scaled up."""

    def __init__(self, how):
        super().__init__(how)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.scaler.scale(self.how.weighted(self.loss(x, y))).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.scaler.step(self.optimizer)
        self.scaler.update()


class ScaledBefore(Scaled):
    """The scaled loss is weighted."""

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.how.weighted(self.scaler.scale(self.loss(x, y))).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()


class Hooked(Case):
    dtype, tolerance = torch.float32, 2e-3

    def hook(self, model):
        model.register_comm_hook(None, default_hooks.bf16_compress_hook)

    def combined(self, model):
        if self.how is Alone:
            return model
        model = nn.parallel.DistributedDataParallel(model)
        self.hook(model)
        return self.how._attach(model)


class LowRank(Hooked):
    """Of full rank here, so that little is lost."""

    def hook(self, model):
        model.register_comm_hook(powerSGD_hook.PowerSGDState(None, 64, start_powerSGD_iter=2,
                                                             min_compression_rate=0.01), powerSGD_hook.powerSGD_hook)


class Views(Case):
    def combined(self, model):
        return self.how.wrapped(model, gradient_as_bucket_view=True)


class ZeroRedundancy(Case):
    def updates(self, parameters):
        if self.how is Alone:
            return super().updates(parameters)
        return ZeroRedundancyOptimizer(parameters, torch.optim.SGD, lr=0.1, momentum=0.9)


class Marked(Case):
    """The clock stops when the gradients are this rank's own, and goes on when they are combined."""

    def backward(self, x, y):
        if self.how is Alone:
            super().backward(x, y)
            return
        from eddis._worker import Mark, worker
        first, seen = next(self.model.parameters()), {}

        def look(mark):
            if first.grad is not None:
                seen[mark] = first.grad.clone()
        looks = {mark: functools.partial(look, mark) for mark in (Mark.WAITS, Mark.GOES_ON)}
        for mark in looks:
            worker.marks[mark].append(looks[mark])
        super().backward(x, y)
        for mark in looks:
            worker.marks[mark].remove(looks[mark])
        assert not torch.equal(seen[Mark.WAITS], first.grad) and torch.equal(seen[Mark.GOES_ON], first.grad)


class MarkedBare(Marked):
    combine = "bare"


class ShardedMore(Sharded):
    """Layers tell whether the clock takes their time for this rank's own."""

    options = {}

    def network(self):
        model = mlp()
        for module in model:
            if isinstance(module, nn.Linear):
                module.__class__ = self.how.linear
        return model

    def combined(self, model):
        return self.how.sharded(model, **self.options)


class ShardedKept(ShardedMore):
    options = {"reshard_after_forward": False}


class ShardedCast(ShardedMore):
    """The policy casts what the model returns."""

    dtype, tolerance = torch.float32, 2e-3

    def combined(self, model):
        return self.how.sharded(model, MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32))


class ShardedSaving(Sharded):
    def network(self):
        return Checkpointed(*mlp())


class ShardedHeld(Accumulated):
    """Accumulates under eddis.no_sync."""

    combine = "sharded"

    def alone(self):
        return self.how.no_sync()


class ShardedScaled(Scaled):
    combine = "sharded"


class Hybrid(ShardedMore):
    """On a mesh of two by two ranks: each pair has the model."""

    def __init__(self, how):
        if how is not Alone:
            self.reduce, torch.distributed.all_reduce = torch.distributed.all_reduce, self.reduced
        super().__init__(how)

    def reduced(self, *arguments, **keywords):
        """fully_shard's all-reduce, in which the clock must not run."""
        from eddis.torch import _weighted
        assert _weighted.passes._clock._since is None, "the rank waits while its clock says that it computes"
        return self.reduce(*arguments, **keywords)

    def combined(self, model):
        return self.how.sharded(model, **({} if self.how is Alone else {
            "mesh": init_device_mesh("cpu", (2, 2), mesh_dim_names=("pairs", "parts"))}))


KINDS = dict(FIRST)
KINDS["ddp-more"] = {
    "adversaries": Adversaries, "adversaries-bare": BareAdversaries, "compiled-around": CompiledAround,
    "compiled-inside": CompiledInside, "compiled-bare": CompiledBare, "compiled-attached": CompiledAttached,
    "compiled-around-bare": CompiledAroundBare, "saving": Saving, "saving-reentrant": SavingReentrant,
    "saving-bare": SavingBare, "scaled": Scaled, "scaled-before": ScaledBefore, "bfloat16": Hooked, "low-rank": LowRank,
    "views": Views, "zero-redundancy": ZeroRedundancy, "marked": Marked, "marked-bare": MarkedBare,
    "unweighted": Unweighted}
KINDS["fsdp-more"] = {"more": ShardedMore, "kept": ShardedKept, "cast": ShardedCast, "saving": ShardedSaving,
                      "held": ShardedHeld, "scaled": ShardedScaled, "unweighted": Unweighted}
KINDS["hybrid"] = {"hybrid": Hybrid, "unweighted": Unweighted}
