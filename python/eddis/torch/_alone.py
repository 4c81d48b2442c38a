# SPDX-License-Identifier: Apache-2.0
"""Reports of a script that attaches a model and uses nothing else of eddis: its steps, and each rank's own time.

Ranks that combine their gradients wait for each other, so their steps last equally long and show no slow rank.  What a
rank does before it waits does.  A step ends when a backward pass has combined gradients; its own time is what passed
since the end of the step before, without the waits.  The script does not join the job: nothing is weighted or refused.

On a GPU the times are of marks on its stream, which are read when they have passed, so the host waits for nothing.  A
step is then reported with a later one, or with the next forward pass.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

import torch
from torch.autograd import Variable

from .. import _lib as L
from .. import _progress
from .._worker import worker
from . import _loader
from ._combined import inner, is_fsdp_module
from ._device import Device
from ._groups import is_local
from ._replicated import replicas_of


_MOST_WAITS = 64  # pairs of marks that are kept; those of an evaluation may be many


class _Step(NamedTuple):
    """The marks of a step that has ended on the host."""

    number: int
    since: Any  # the end of the step before; None: this is the first step
    local: Any  # the last local gradient is complete
    end: Any  # the gradients are combined
    waits: list[tuple[Any, Any]]  # where the rank waited before `local` ...
    waited_ns: int  # ... and how long it did so in other places


class Alone:
    """The steps of this process outside of a job: their marks, and those that are not reported yet."""

    def __init__(self, device: Device | None) -> None:
        self._device = device
        self._is_over = False  # something else reports the steps
        self._pass = -1  # number of the newest backward pass
        self._combines = False  # it combines gradients
        self._since: Any = None  # the end of the newest step
        self._local: Any = None
        self._waits_since: Any = None  # the rank waits since this mark; None: it does not
        self._waits: list[tuple[Any, Any]] = []
        self._waited_ns = 0  # in waits that were dropped from `_waits`
        self._before_local: tuple[list[tuple[Any, Any]], int] = [], 0  # both, as of `_local`
        self._number = 0  # of the present step
        self._ended: deque[_Step] = deque()  # not reported yet

    @property
    def is_outside(self) -> bool:
        """Whether the script has not joined the job, and will not do so in a loop over the loader."""
        return not worker.handle and _loader._loader is None

    @property
    def is_measured(self) -> bool:
        """Whether passes are outside of the job, and nothing else reports the steps."""
        return not self._is_over and self.is_outside

    @property
    def is_waiting(self) -> bool:
        """Whether this rank waits, between its marks."""
        return self._waits_since is not None

    def waits(self) -> None:
        """Mark that this rank begins to wait for others; it may wait already."""
        if self._waits_since is None and self.is_measured:
            self._waits_since = self._now()

    def goes_on(self) -> None:
        """Mark that this rank goes on; it may go on already."""
        if self._waits_since is not None:
            self._waits.append((self._waits_since, self._now()))
            self._waits_since = None
            if len(self._waits) > _MOST_WAITS:
                first_ns = self._ns(*self._waits[0])
                if first_ns is not None:
                    self._waited_ns += first_ns
                    del self._waits[0]

    def arrived(self, model: Watched) -> None:
        """Note that a backward pass through the model has begun: the gradient of an output has arrived."""
        number = torch._C._current_graph_task_id()
        if number != self._pass:
            self._pass, self._combines = number, False
            Variable._execution_engine.queue_callback(self._on_local)
        self._combines = self._combines or model.combines

    def _on_local(self) -> None:
        """After the last local gradient.  A callback of the autograd engine, as in _weighted.py."""
        if self._combines and self.is_measured:
            self.goes_on()
            self._local, self._before_local = self._now(), (self._waits, self._waited_ns)
            self._waits = []
            Variable._execution_engine.queue_callback(self._on_end)

    def _on_end(self) -> None:
        """After the callbacks in which the gradients are combined: end the step."""
        end = self._now()
        self._ended.append(_Step(self._number, self._since, self._local, end, *self._before_local))
        self._number += 1
        self._since, self._waits, self._waited_ns, self._waits_since = end, [], 0, None
        self.tell()

    def _now(self) -> Any:
        """Return a mark: of the device, or the host's time if the model is on the host."""
        return self._device.mark() if self._device else time.perf_counter_ns()

    def _ns(self, first: Any, last: Any) -> int | None:
        """Return the ns between two marks; None: the device has not passed the last one."""
        return self._device.elapsed_ns(first, last) if self._device else last - first

    def tell(self) -> None:
        """Report the ended steps whose marks have passed.  Stop reporting if something else reports the steps."""
        while self._ended and not self._is_over:
            step = self._ended[0]
            report = L.ProgressReport(step=step.number)
            if step.since is not None:
                all_ns, own_ns = self._ns(step.since, step.end), self._ns(step.since, step.local)
                waits = [self._ns(*wait) for wait in step.waits]
                if all_ns is None or own_ns is None or None in waits:
                    return
                report.step_ns, report.compute_ns = max(1, all_ns), max(1, own_ns - sum(waits) - step.waited_ns)
                report.wait_ns = max(0, all_ns - report.compute_ns)
            self._ended.popleft()
            self._report(report)

    def _report(self, report: L.ProgressReport) -> None:
        """Report a step, unless the script does so itself."""
        try:
            if not _progress.is_used():
                L.call("progress_report", report)
                return
        except L.Error:  # another process of this worker reports, or the job's board is gone
            pass
        self._is_over = True
        self._ended.clear()


class Watched:
    """An attached model whose passes are measured."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._inner = replicas_of(model) or inner(model)
        self._groups = _groups_of(model)
        self._is_open = True  # the newest forward pass was not inside no_sync of DistributedDataParallel

    @property
    def combines(self) -> bool:
        """Whether a backward pass combines gradients now."""
        return self._is_open and (not self._groups or any(group.reduce_grads for group in self._groups))

    def look(self) -> bool:
        """Return whether to call `arrived` with the gradients of this forward pass's outputs."""
        if not alone or worker.in_step or not alone.is_measured:
            return False
        alone.tell()
        self._is_open = getattr(self._inner, "require_backward_grad_sync", True)
        return True

    def arrived(self, gradient: torch.Tensor) -> None:
        """Note the gradient of an output.  Raises RuntimeError in local mode without a loop over eddis.torch.loader,
        which combines the models of groups.  A hook of the output."""
        if alone and is_local() and alone.is_outside:
            raise RuntimeError("the job's mode is local, in which the models of groups are combined in the loop over "
                               "eddis.torch.loader, and the script has none: make one, or set sync.mode: sync")
        if alone:
            alone.arrived(self)


def _groups_of(model: torch.nn.Module) -> list[Any]:
    """Return the groups of parameters that fully_shard has made; their `reduce_grads` is False after
    set_requires_gradient_sync(False)."""
    states = [module._get_fsdp_state() for module in model.modules() if is_fsdp_module(module)]
    groups = [state._fsdp_param_groups if hasattr(state, "_fsdp_param_groups") else [state._fsdp_param_group]
              for state in states]
    return [group for several in groups for group in several if group is not None]


alone: Alone | None = None  # None: nothing is attached, or eddis-run has not started the script


def begin_alone(device: Device | None) -> None:
    """Begin to measure steps if eddis-run has started the script; later calls do nothing.  device: that of the model's
    parameters."""
    global alone
    if alone is None and worker.has_plan:
        alone = Alone(device)
