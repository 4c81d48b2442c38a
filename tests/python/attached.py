# SPDX-License-Identifier: Apache-2.0
"""attached.py - cases of scripts whose gradients torch.distributed combines: the same code trains one process on all
samples, or a rank

Each case is a model of one of the ways to combine: `wrapped` (DistributedDataParallel), `sharded` (fully_shard) or
`bare` (attach wraps it).
"""

from __future__ import annotations

import contextlib

import torch
from torch import nn
from torch.nn import functional

from training import CLASSES, PAD, Words, mlp

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # an older PyTorch
    fully_shard = None


def _sum(state, bucket):
    """A communication hook."""
    work = torch.distributed.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


_sum.__annotations__.clear()  # DDP compares annotations, which are texts here


class Alone:
    """One process without eddis."""

    @staticmethod
    def bare(model):
        return model

    @staticmethod
    def wrapped(model, **options):
        return model

    @staticmethod
    def sharded(model, policy=None, **options):
        return model

    linear = nn.Linear

    @staticmethod
    def summing(model):
        return model

    @staticmethod
    def unweighted(model):
        return model

    @staticmethod
    def weighted(loss, sum=False):
        return loss

    @staticmethod
    def mean_of(loss, n, batch):
        """A loss that is a mean over n samples, in a step of `batch`."""
        return loss * n / batch

    no_sync = contextlib.nullcontext
    normalisation = nn.BatchNorm1d


class Computes(nn.Linear):
    """A layer in whose passes this rank computes, as far as the clock knows."""

    def forward(self, x):
        return _Computes.apply(super().forward(_Computes.apply(x)))


class _Computes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        check_computing()
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        check_computing()
        return gradient


def check_computing():
    from eddis.torch import _weighted
    assert _weighted.passes._clock._since is not None, "the rank computes while its clock says that it waits"


class Rank:
    """A rank of the job."""

    def __init__(self, eddis, **how):
        self.weighted, self.no_sync = eddis.weighted, eddis.no_sync
        self.normalisation = eddis.SyncBatchNorm
        if how.get("weigh") == "outputs":
            self.weighted = Alone.weighted
        self.mean_of = lambda loss, n, batch: eddis.weighted(loss, n=n)
        self.bare = self._attach = lambda model: eddis.attach(model, **how)

    def wrapped(self, model, **options):
        return self._attach(nn.parallel.DistributedDataParallel(model, **options))

    @property
    def linear(self):
        return Computes

    def sharded(self, model, policy=None, **options):
        if policy:
            options["mp_policy"] = policy
        for module in model:
            if isinstance(module, nn.Linear):
                fully_shard(module, **options)
        return self._attach(fully_shard(model, **options))

    def summing(self, model):
        """What combines the gradients takes their sum."""
        combined = nn.parallel.DistributedDataParallel(model)
        combined.register_comm_hook(None, _sum)
        return self._attach(combined)

    @staticmethod
    def unweighted(model):
        """The plain mean over ranks, which eddis does not see."""
        return nn.parallel.DistributedDataParallel(model)


class Case:
    """A model, and a step of its training."""

    dtype = torch.float64
    tolerance = 1e-12  # of the parameters' numbers, to one process
    combine = "wrapped"

    def __init__(self, how):
        self.how = how
        torch.manual_seed(3)
        self.model = self.combined(self.network().to(self.dtype))
        self.optimizer = self.updates(self.model.parameters())

    def combined(self, model):
        return getattr(self.how, self.combine)(model)

    def network(self):
        return mlp()

    def updates(self, parameters):
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    def loss(self, x, y):
        return functional.cross_entropy(self.model(x.to(self.dtype)), y)

    def backward(self, x, y):
        self.how.weighted(self.loss(x, y)).backward()

    def before_update(self):
        pass

    def step(self, x, y):
        self.optimizer.zero_grad()
        self.backward(x, y)
        self.before_update()
        self.optimizer.step()

    def numbers(self):
        return [(p.full_tensor() if hasattr(p, "full_tensor") else p).detach().clone()
                for p in self.model.parameters()]


class Single(Case):
    dtype, tolerance = torch.float32, 2e-6

    def updates(self, parameters):
        return torch.optim.AdamW(parameters, lr=1e-3)


class Accumulated(Case):
    """Three micro-batches of unlike sizes; only the last one is combined."""

    def backward(self, x, y):
        parts = [p for p in zip(x.tensor_split(3), y.tensor_split(3))]
        for i, (part, labels) in enumerate(parts):
            with self.alone() if i < 2 else contextlib.nullcontext():
                share = len(part) / len(x)
                loss = self.loss(part, labels) * share if len(part) else self.model(x[:1].to(self.dtype)).sum() * 0
                self.how.weighted(loss).backward()

    def alone(self):
        return self.model.no_sync() if hasattr(self.model, "no_sync") else contextlib.nullcontext()


class Parts(Accumulated):
    """The same by the numbers of samples."""

    def backward(self, x, y):
        for i, (part, labels) in enumerate(zip(x.tensor_split(3), y.tensor_split(3))):
            with self.alone() if i < 2 else contextlib.nullcontext():
                loss = self.loss(part, labels) if len(part) else self.model(x[:1].to(self.dtype)).sum() * 0
                self.how.mean_of(loss, len(part), len(x)).backward()


class Criterion(Case):
    """What computes the loss is weighted, not each loss."""

    def backward(self, x, y):
        output = self.model(x.to(self.dtype))
        losses = [self.how.weighted(criterion)(output, y)
                  for criterion in (functional.cross_entropy, nn.CrossEntropyLoss())]
        losses.append(self.how.weighted(nn.CrossEntropyLoss()).to(self.dtype)(output, y))
        (sum(losses) / 3).backward()


class Ahead(Case):
    """Trains on the batch that came a step before."""

    before = None

    def backward(self, x, y):
        (before, labels), self.before = self.before or (x, y), (x, y)
        self.how.mean_of(self.loss(before, labels), len(before), len(x)).backward()


class Clipped(Case):
    def before_update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.05)


class Summed(Case):
    """The loss is a sum over samples."""

    def updates(self, parameters):
        return torch.optim.SGD(parameters, lr=0.003)

    def backward(self, x, y):
        loss = functional.cross_entropy(self.model(x.to(self.dtype)), y, reduction="sum")
        self.how.weighted(loss, sum=True).backward()


class Branches(nn.Module):
    """Uses one of two layers by turns."""

    def __init__(self):
        super().__init__()
        self.shared, self.odd, self.even = mlp(), nn.Linear(CLASSES, CLASSES), nn.Linear(CLASSES, CLASSES)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return (self.odd if self.steps % 2 else self.even)(self.shared(x))


class Unused(Case):
    def network(self):
        return Branches()

    def combined(self, model):
        return self.how.wrapped(model, find_unused_parameters=True)


class Static(Case):
    def combined(self, model):
        return self.how.wrapped(model, static_graph=True, gradient_as_bucket_view=True)


class Decayed(Case):
    """A term of the loss that is of the parameters."""

    def loss(self, x, y):
        return super().loss(x, y) + 1e-3 * sum(p.square().sum() for p in self.model.parameters())


class Within(nn.Module):
    """Returns its loss and what that is of, as language models do."""

    def __init__(self):
        super().__init__()
        self.inner = mlp()

    def forward(self, x, y):
        scores = self.inner(x)
        return {"loss": functional.cross_entropy(scores, y), "logits": scores}


class Inside(Case):
    def network(self):
        return Within()

    def loss(self, x, y):
        got = self.model(x.to(self.dtype), y)
        return got["loss"] + 0.01 * got["logits"].square().mean()


class Weighs(nn.Sequential):
    """Weighs its loss itself."""

    def __init__(self, how, *layers):
        super().__init__(*layers)
        self.how = how

    def forward(self, x, y):
        return self.how.weighted(functional.cross_entropy(super().forward(x), y))


class WeighsInside(Case):
    def network(self):
        return Weighs(self.how, *mlp())

    def backward(self, x, y):
        self.model(x.to(self.dtype), y).backward()


class Changed(Case):
    """Changes a large output in place."""

    def network(self):
        return mlp(400)

    def loss(self, x, y):
        scores = self.model(x.to(self.dtype))
        scores /= 2
        return functional.cross_entropy(scores, y)


class Autocast(Case):
    """Each rank rounds its own mean to 8 bits."""

    dtype, tolerance = torch.float32, 2e-3

    def loss(self, x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return super().loss(x, y)

    def before_update(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)


class Unweighted(Case):
    """What eddis is for: this must be wrong."""

    combine, tolerance = "unweighted", None

    def backward(self, x, y):
        self.loss(x, y).backward()


class Bare(Case):
    """A plain model, of which attach leaves names and methods as they are."""

    combine = "bare"

    def __init__(self, how):
        super().__init__(how)
        assert list(self.model.state_dict()) == list(self.network().state_dict())


class BareAccumulated(Accumulated):
    combine = "bare"

    @contextlib.contextmanager
    def alone(self):
        first = next(self.model.parameters())
        before = 0 if first.grad is None else first.grad.clone()
        with self.how.no_sync():
            yield
        if self.how is not Alone:  # ranks' own sums differ
            added = first.grad - before
            theirs = [torch.empty_like(added) for _ in range(torch.distributed.get_world_size())]
            torch.distributed.all_gather(theirs, added)
            assert not torch.equal(theirs[0], theirs[-1])


class BareWeighsInside(WeighsInside):
    combine = "bare"


class Normalised(Bare):
    """Batch normalisation by all samples."""

    def network(self):
        first, *rest = mlp()
        return nn.Sequential(first, self.how.normalisation(first.out_features), *rest)


class Sharded(Case):
    combine = "sharded"


class ShardedSingle(Single):
    combine = "sharded"


class ShardedClipped(Clipped):
    combine = "sharded"


class ShardedAccumulated(Accumulated):
    combine = "sharded"

    def backward(self, x, y):
        parts = list(zip(x.tensor_split(2), y.tensor_split(2)))
        for i, (part, labels) in enumerate(parts):
            if hasattr(self.model, "set_requires_gradient_sync"):
                self.model.set_requires_gradient_sync(i == 1)
            share = len(part) / len(x)
            loss = self.loss(part, labels) * share if len(part) else self.model(x[:1].to(self.dtype)).sum() * 0
            self.how.weighted(loss).backward()


class ShardedWeighsInside(WeighsInside):
    combine = "sharded"


class ShardedHalf(Case):
    """Computes in bfloat16, and reduces in float32."""

    combine, dtype, tolerance = "sharded", torch.float32, 2e-3

    def combined(self, model):
        return self.how.sharded(model, MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))

    def loss(self, x, y):
        return functional.cross_entropy(self.model(x.to(self.dtype)).float(), y)


class Told(Case):
    """A mean over words, of which every rank has others."""

    combine = "summing"
    network = Words.network
    sum = Words.sum

    def loss(self, x, y):
        return self.sum(x, y) / (y != PAD).sum()


class ToldUnweighted(Told):
    combine, tolerance = "unweighted", None

    def backward(self, x, y):
        self.loss(x, y).backward()


DDP = {"plain": Case, "adamw-32": Single, "accumulated": Accumulated, "parts": Parts, "ahead": Ahead,
       "criterion": Criterion, "clipped": Clipped, "summed": Summed,
       "unused": Unused, "static": Static, "decayed": Decayed, "inside": Inside, "autocast": Autocast, "bare": Bare,
       "bare-accumulated": BareAccumulated, "normalised": Normalised, "weighs-inside": WeighsInside,
       "bare-weighs-inside": BareWeighsInside, "unweighted": Unweighted}
FSDP = {"sharded": Sharded, "adamw-32": ShardedSingle, "clipped": ShardedClipped, "accumulated": ShardedAccumulated,
        "weighs-inside": ShardedWeighsInside, "half": ShardedHalf, "unweighted": Unweighted}
KINDS = {"ddp": DDP, "fsdp": FSDP, "told": {"plain": Told, "unweighted": ToldUnweighted}}
KINDS["held"] = {"plain": Case, "accumulated": Accumulated, "parts": Parts, "summed": Summed,
                 "unweighted": Unweighted}
KINDS["outputs"] = {"plain": Case, "accumulated": Accumulated, "unused": Unused, "decayed": Decayed, "inside": Inside,
                    "bare": Bare, "changed": Changed, "unweighted": Unweighted}
KINDS["fsdp-outputs"] = {"sharded": Sharded, "half": ShardedHalf, "unweighted": Unweighted}
# Arguments of attach
HOW = {"outputs": {"weigh": "outputs"}, "fsdp-outputs": {"weigh": "outputs"}, "held": {"weights": "told"},
       "told": {"weights": "told", "reduction": "sum"}}
