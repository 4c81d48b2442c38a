# SPDX-License-Identifier: Apache-2.0
"""The tensors of a model besides the parameters that an optimizer trains.

Running statistics are state of the library.  Like parameters, they start with rank 0's values and, in async and hybrid
mode, are drawn to the center variable, in local mode combined at the end of a round, so that the common model has
common statistics.  All other tensors only start with rank 0's values: frozen parameters, counters, masks (which may
contain infinities and so cannot be averaged).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import torch
from torch.nn.modules.batchnorm import _NormBase

from .. import _lib as L
from .._worker import Worker
from ._collectives import broadcast_tensors
from ._device import DEVICES, Device, Places, device_of
from ._gradients import DTYPES, FLOATING, is_dense

STATISTICS = ("running_mean", "running_var")


class _Statistic:
    """One running statistic of a module.  The module may replace the tensor at any time."""

    def __init__(self, name: str, module: torch.nn.Module, attribute: str) -> None:
        self.name, self.module, self.attribute = name, module, attribute
        self.id = -1
        self.registered: torch.Tensor | None = None  # tensor that the library reads and writes
        self.address = 0  # address of `registered` at registration; its storage may move later
        self.device: Device | None = None

    @property
    def tensor(self) -> torch.Tensor:
        """The module's present tensor."""
        return getattr(self.module, self.attribute)


class ModelState:
    """The running statistics of one model, whose parameters belong to an optimizer's parameter set `number`.  known:
    modules whose statistics another ModelState already has."""

    def __init__(self, worker: Worker, number: int, model: torch.nn.Module, known: set[torch.nn.Module]) -> None:
        self.worker, self.number, self.model = worker, number, model
        self.statistics = [_Statistic(f"{name}.{attribute}", module, attribute)
                           for name, module in model.named_modules()
                           if isinstance(module, _NormBase) and module not in known for attribute in STATISTICS
                           if _is_drawn(getattr(module, attribute))]
        if self.statistics:
            worker.before_commit.append(self._register)
            self.places = Places(worker)
            worker.before_values.append(self._find)
            worker.before_steps.append(self._find)

    @property
    def modules(self) -> set[torch.nn.Module]:
        """The modules that have a registered statistic."""
        return {s.module for s in self.statistics}

    def _register(self) -> None:
        """Register all statistics with the library; for those on a device, register a copy in host memory.  A callback
        before commit."""
        worker = self.worker
        layer = L.call("add_layer_to", worker.handle, self.number, f"eddis.statistics{self.number}".encode(), 0)
        for s in self.statistics:
            s.device, s.registered = device_of(s.tensor), s.tensor
        for device in {s.device for s in self.statistics if s.device}:
            staged = [s for s in self.statistics if s.device is device]
            places = self.places.add(device, [functools.partial(getattr, s, "tensor") for s in staged])
            for s, place in zip(staged, places):
                s.registered = place
        for s in self.statistics:
            told = L.Parameter(name=s.name.encode(), dtype=DTYPES[s.tensor.dtype], n_dims=1, state=1,
                               value=s.registered.data_ptr() or None)
            told.dims[0] = s.tensor.numel()
            s.id = L.call("add_parameter", worker.handle, layer, told)
            worker.outliving[s.id] = s.registered
            s.address = s.registered.data_ptr()

    def _find(self) -> None:
        """Give the library the address of each statistic whose module has replaced the tensor.  Raises RuntimeError if
        type, shape or device differ from the first step."""
        for s in self.statistics:
            if s.registered is None or s.tensor.data_ptr() == s.address:
                continue
            if not _is_drawn(s.tensor) or s.tensor.dtype != s.registered.dtype or \
                    s.tensor.shape != s.registered.shape or device_of(s.tensor) is not s.device:
                raise RuntimeError(f"{s.name} is of another kind than at the first step: leave a model's running "
                                   "statistics of one type, shape and device")
            if s.device:
                continue
            L.call("set_value", self.worker.handle, s.id, s.tensor.data_ptr())
            s.registered, s.address = s.tensor, s.tensor.data_ptr()
            self.worker.outliving[s.id] = s.registered


def share_rest(states: Iterable[ModelState], trained: Iterable[torch.Tensor]) -> None:
    """Overwrite with rank 0's values all tensors of these models that the library does not know.  It knows the
    `trained` parameters and the running statistics.  Collective."""
    done = {id(t) for t in trained} | {id(s.tensor) for state in states for s in state.statistics}
    rest = {id(t): t for state in states for held in (state.model.parameters(), state.model.buffers()) for t in held}
    broadcast_tensors([t for key, t in rest.items() if key not in done], 0)


def _is_drawn(tensor: torch.Tensor | None) -> bool:
    """Check whether a statistic can be registered with the library: a dense floating-point tensor on a CPU or CUDA
    device."""
    return tensor is not None and tensor.device.type in DEVICES and tensor.dtype in FLOATING and is_dense(tensor)
