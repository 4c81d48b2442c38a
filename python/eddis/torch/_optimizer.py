# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: make any PyTorch optimizer step by the mean gradient over all workers' samples.

The optimizer stays the same object. eddis uses the optimizer's own hooks, which also run if a scheduler or a scaler has
replaced its `step`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from .. import _lib as L
from .._worker import worker
from ._batchnorm import set_min_count
from ._buffers import ModelState, share_rest
from ._gradients import ParameterSet
from ._graphs import divide_graphs
from ._others import refuse_others
from ._precision import report_precision
from ._schedules import keep_last_rates
from ._sums import look_for_partial, tell_sums

_distributed: list[_Distributed] = []
also_without_sync: list[Callable[[], Any]] = []  # makes a context manager for `no_sync` of a model that is attached


class _Distributed:
    """One optimizer and what eddis keeps for it."""

    def __init__(self, optimizer: torch.optim.Optimizer, named: list[tuple[str, torch.nn.Parameter]],
                 passes: int, model: torch.nn.Module | None, is_sum: bool) -> None:
        self.optimizer = optimizer
        self.parameters = _parameters_of(optimizer)
        # Parameters that were frozen when DistributedOptimizer was called.
        self.frozen = [p for p in self.parameters if not p.requires_grad]
        # The groups' own values of the options that a step has replaced by the job's.
        self.own: list[dict[str, Any]] = []
        self.set = ParameterSet(worker, len(_distributed), named, passes, is_sum)
        known = {module for d in _distributed if d.state for module in d.state.modules}
        self.state = ModelState(worker, self.set.number, model, known) if model is not None else None
        worker.before_commit.append(lambda: refuse_others(optimizer, named))  # again: the model may be wrapped by then
        worker.after_commit.append(self._check_momentum)
        worker.before_end.append(self._give_back)
        optimizer.register_step_pre_hook(self._before_step)
        optimizer.register_step_post_hook(lambda *_: self._give_back())

    def _check_momentum(self) -> None:
        """Raise ValueError if the job sets a momentum and this optimizer is not SGD."""
        momentum = worker.world.momentum
        if momentum and not isinstance(self.optimizer, torch.optim.SGD):
            raise ValueError(f"the job's sync.momentum is {momentum:g}, which is for torch.optim.SGD; this is "
                             f"{type(self.optimizer).__name__}: leave it out of train.yaml")

    def _before_step(self, optimizer: torch.optim.Optimizer, arguments: tuple[Any, ...],
                     keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Before the optimizer's step: combine gradients that no round has combined, check the parameters, and set the
        job's options.  Give L-BFGS a closure with the mean loss.  The optimizer's pre-step hook."""
        self._give_back()
        if not worker.in_step:
            _check_begun()
            return None
        worker.is_touched = True
        self.set.check_passed()
        self.set.synchronize()
        self._check()
        self._take_options()
        if isinstance(optimizer, torch.optim.LBFGS) and worker.world.n_group_ranks > 1:
            return (optimizer, _with_mean_loss(*arguments[1:], **keywords)), {}
        return None

    def _take_options(self) -> None:
        """Set the learning rate and momentum of the job for this step. _give_back restores them, so that a checkpoint
        has the script's own."""
        factor, momentum = worker.step.lr_factor, worker.world.momentum
        if worker.is_sum and worker.is_several and worker.step.batch:  # a sum already contains the group's share
            factor *= worker.world.batch / worker.step.batch
        for group in self.optimizer.param_groups if factor != 1 or momentum else ():
            jobs = {"momentum": momentum, "nesterov": True, "dampening": 0} if momentum else {}
            if factor != 1:
                jobs["lr"] = group["lr"] * factor
            self.own.append({option: group[option] for option in jobs})
            group.update(jobs)

    def _give_back(self) -> None:
        """Restore the groups' own options, also after a step that has raised."""
        for group, own in zip(self.optimizer.param_groups, self.own):
            group.update(own)
        self.own.clear()

    def _check(self) -> None:
        """Raise RuntimeError if a frozen parameter has a gradient, or if the optimizer's parameters were replaced or
        added to."""
        if any(p.grad is not None for p in self.frozen):
            raise RuntimeError("a parameter that was frozen when eddis.torch.DistributedOptimizer was made has a "
                               "gradient: let all that will ever be trained require gradients until the first step, "
                               "and take them out of the graph instead")
        now = _parameters_of(self.optimizer)
        if len(now) != len(self.parameters) or any(p is not q for p, q in zip(now, self.parameters)):
            raise RuntimeError("parameters were added to the optimizer, or replaced there, after "
                               "eddis.torch.DistributedOptimizer: do it before")


def _check_begun() -> None:
    """Raise RuntimeError if there are several workers and the loop over the loader has not begun: an optimizer must not
    step then."""
    if worker.size > 1 and not worker.committed:
        raise RuntimeError("the optimizer steps before a loop over eddis.torch.loader, so each worker would train a "
                           "model of its own: take the batches from eddis.torch.loader(DataLoader(...))")


def distributed_optimizers() -> list[tuple[torch.optim.Optimizer, list[tuple[str, torch.nn.Parameter]]]]:
    """Return all optimizers of DistributedOptimizer, each with its trained parameters by name."""
    return [(d.optimizer, [(m.name, m.parameter) for m in d.set.members]) for d in _distributed]


def _parameters_of(optimizer: torch.optim.Optimizer) -> list[torch.nn.Parameter]:
    """Return all parameters of an optimizer, in order."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def _with_mean_loss(closure: Callable[[], Any]) -> Callable[[], torch.Tensor]:
    """Return a closure that calls `closure` and returns the mean loss over the group's samples (or the sum, for a loss
    that is a sum).  L-BFGS decides by the loss, so all workers must see the same one.  The closure is collective in the
    group."""

    def run() -> torch.Tensor:
        # The closure: its loss on this worker counts with the worker's weight.
        loss = closure()
        total = torch.tensor([float(loss) * worker.weight if worker.weight else 0.0, worker.weight],
                             dtype=torch.float64, device="cpu")
        worker.collective(L.ALLREDUCE, total, 2, scope=L.GROUP, dtype=L.FLOAT64, op=L.SUM)
        mean = total[0] if worker.is_sum else total[0] / total[1]
        return mean.to(loss.dtype if torch.is_tensor(loss) else torch.float64)

    return run


def DistributedOptimizer(optimizer: torch.optim.Optimizer,
                         named_parameters: Iterable[tuple[str, torch.nn.Parameter]] | None = None,
                         backward_passes_per_step: int = 1, *,
                         model: torch.nn.Module | None = None, loss: str = "mean") -> torch.optim.Optimizer:
    """Make the optimizer step by the mean gradient over all workers' samples.  Return the same optimizer.

    named_parameters, or model: give parameters their names in messages; None: the numbers of group and parameter.  With
    `model`, the model's other tensors start with rank 0's values, too, and its running statistics are drawn to the
    center variable with the parameters.

    backward_passes_per_step: number of backward() calls that are micro-batches of one step's share; the gradients of
    all but the last only add up.  See also `no_sync` and `pieces`.

    loss: whether the script's loss is the "mean" or the "sum" over a batch's samples.  The result is then the mean or
    the sum over all workers' samples.  Equal for all optimizers.

    Parameters that require a gradient may be on CPUs and CUDA devices.  A second optimizer of other parameters is
    combined separately from the first, so a GAN may step one with the new values of the other; all workers must make
    their backward passes in the same order.  Gradients are combined when backward() returns: clipping, GradScaler and
    schedulers see the combined ones.  During a step the groups' learning rates are multiplied by the job's warm-up
    factor and, in async and hybrid mode, by this group's share of the samples (unless the loss is a sum, which contains
    the share); afterwards they are restored.  L-BFGS sees the mean loss of all workers.

    Raises ValueError for a parameter that another optimizer has and for impossible arguments.  Raises RuntimeError
    after the first step has begun, and, also at the first step, if DistributedDataParallel, FSDP or Horovod combines
    the gradients.
    """
    if worker.committed:
        raise RuntimeError("the first step has begun: make eddis.torch.DistributedOptimizer before the loop")
    if backward_passes_per_step < 1:
        raise ValueError(f"backward_passes_per_step is {backward_passes_per_step}, but at least 1 is needed")
    if worker.options.get("gradients"):
        raise RuntimeError("torch.distributed combines the gradients of models that eddis.torch.attach was given: "
                           "leave out eddis.torch.DistributedOptimizer, or attach")
    if loss not in ("mean", "sum"):
        raise ValueError(f"loss is {loss!r}, but a loss is the 'mean' or the 'sum' over a batch's samples")
    if _distributed and worker.is_sum != (loss == "sum"):
        raise ValueError(f"loss is {loss!r}, but another optimizer's is not: use the same loss for all optimizers")
    if model is not None:
        named_parameters = model.named_parameters()
    names = {p: name for name, p in named_parameters or ()}
    named = [(names.get(p, f"group{i}.{j}"), p) for i, group in enumerate(optimizer.param_groups)
             for j, p in enumerate(group["params"]) if p.requires_grad]
    if not named:
        raise ValueError("the optimizer has no parameter that requires a gradient")
    taken = {p for _, p in _trained()}
    for name, p in named:
        if p in taken:
            raise ValueError(f"parameter '{name}' is another optimizer's already: give each parameter to one")
    refuse_others(optimizer, named)
    if not _distributed:
        worker.after_commit.append(lambda: keep_last_rates(d.optimizer for d in _distributed))
        worker.after_commit.append(divide_graphs)
        worker.at_start.append(lambda: share_rest([d.state for d in _distributed if d.state],
                                                  (p for _, p in _trained())))
        worker.before_restore.append(lambda: look_for_partial(worker, _trained()))
        worker.before_end.append(lambda: tell_sums(worker, (p for _, p in _trained())))
    if model is not None:
        set_min_count(model)
    report_precision(model, (p for _, p in named))
    worker.is_sum = loss == "sum"
    _distributed.append(_Distributed(optimizer, named, backward_passes_per_step, model, worker.is_sum))
    return optimizer


def _trained() -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield the trained parameters of all optimizers, with their names."""
    return ((m.name, m.parameter) for d in _distributed for m in d.set.members)


@contextlib.contextmanager
def no_sync() -> Iterator[None]:
    """While the context is active, backward passes only add up their gradients, as in DistributedDataParallel.  Use it
    for all micro-batches of a step's share but the last.  A context manager."""
    with contextlib.ExitStack() as stack:
        for d in _distributed:
            stack.enter_context(d.set.hold())
        for without_sync in also_without_sync:
            stack.enter_context(without_sync())
        yield
