# SPDX-License-Identifier: Apache-2.0
"""threads.py - backward passes from threads other than the main one, from two at once, and inside of one another; rank
0 says where the models differ from one process's"""

from __future__ import annotations

import threading

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

import eddis.torch as eddis
from eddis._worker import worker

loader = eddis.loader(DataLoader(torch.arange(24), batch_size=8))


def made():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)).double()


def loss_of(model, numbers, n):
    x = torch.sin((numbers.double()[:, None] + 1) * torch.arange(1, 4))
    return model(x).square().sum() / n


def in_threads(*calls):
    """Make these calls, each in a thread, all at once; what they raise."""
    errors, together = [], threading.Barrier(len(calls))

    def run(call):
        together.wait()
        try:
            call()
        except RuntimeError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def halves(numbers):
    return numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]


def by_another(model, numbers):
    return in_threads(lambda: loss_of(model, numbers, len(numbers)).backward())


def by_two(model, numbers):
    """Both add up; one of the main thread's combines them."""
    with eddis.no_sync():
        errors = in_threads(*[loss_of(model, part, len(numbers)).backward for part in halves(numbers)])
    (0 * loss_of(model, numbers, 1)).backward()
    return errors


def inside(model, numbers):
    """A pass that another one makes."""

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            with torch.enable_grad(), eddis.no_sync():
                loss_of(model, halves(numbers)[1], len(numbers)).backward()
            return gradient

    Nested.apply(loss_of(model, halves(numbers)[0], len(numbers))).backward()


def recomputed(reentrant):
    def run(model, numbers):
        x = torch.sin((numbers.double()[:, None] + 1) * torch.arange(1, 4)).requires_grad_()
        for part in model:
            x = checkpoint(part, x, use_reentrant=reentrant)
        (x.square().sum() / len(numbers)).backward()
    return run


def at_once(model, numbers):
    """One begins while the other is under way; what it says."""
    under_way, over = threading.Event(), threading.Event()
    x = torch.sin((numbers.double()[:, None] + 1) * torch.arange(1, 4))
    between = model[:2](x)

    def meanwhile(gradient):
        under_way.set()
        over.wait()

    between.register_hook(meanwhile)

    def first():
        model[2](between).square().mean().backward()

    def second():
        under_way.wait()
        try:
            loss_of(model, numbers, 1).backward()
        finally:
            over.set()

    return in_threads(first, second)


ways = {"by another": by_another, "by two": by_two, "inside": inside, "recomputed": recomputed(False),
        "recomputed inside": recomputed(True)}
models = {name: made() for name in ways}
optimizers = {name: eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
              for name, model in models.items()}
refused = made()
eddis.DistributedOptimizer(torch.optim.SGD(refused.parameters(), lr=0.1), model=refused)
alone = made()
alone_optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
for epoch in loader.epochs(1):
    for numbers in loader:
        for name, model in models.items():
            optimizers[name].zero_grad()
            errors = ways[name](model, numbers)
            assert not errors, errors
            optimizers[name].step()
        union = eddis.broadcast_object(numbers, 0), eddis.broadcast_object(numbers, 1)
        alone_optimizer.zero_grad()
        loss_of(alone, torch.cat(union), sum(map(len, union))).backward()
        alone_optimizer.step()
        sentence, = at_once(refused, numbers)
        if worker.step.step == 2:
            break  # so that the end is told by the step that there is not
worker.end()
assert not worker.begin()
for name, model in models.items():
    far = torch.stack([(p - q).detach().abs().max() for p, q in zip(model.parameters(), alone.parameters())]).max()
    far = eddis.allreduce(far, eddis.Op.MAX)
    if eddis.rank() == 0:
        print(f"{name}: {'equal' if far < 1e-14 else far.item()}")
if eddis.rank() == 0:
    print(f"at once: {sentence}")
