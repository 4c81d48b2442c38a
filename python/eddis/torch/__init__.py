# SPDX-License-Identifier: Apache-2.0
"""eddis for PyTorch: the mean gradient over all workers' samples, however unequal their shares are.

    import torch, eddis.torch as eddis

    eddis.init()
    loader = eddis.loader(torch.utils.data.DataLoader(dataset, batch_size=256, num_workers=2))
    model = Net()
    optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
    for epoch in loader.epochs(20):
        for x, y in loader:
            optimizer.zero_grad()
            loss_fn(model(x), y).backward()
            optimizer.step()

If eddis-run starts the script, its plan sets each worker's share of the global batch and the mode: sync, async,
hybrid or local.  The same script runs in all modes.  Started alone, it trains in one process.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

from .._lib import Error
from .._progress import progress
from .._worker import READ_NONE, worker
from ._attach import attach, expect
from ._batchnorm import SyncBatchNorm
from ._collectives import Op, allreduce, broadcast, broadcast_object, broadcast_optimizer_state, broadcast_parameters
from ._groups import group, mesh
from ._kept import keep_rows
from ._lateloss import late_loss
from ._loader import Loader, loader
from ._optimizer import DistributedOptimizer, no_sync
from ._peaks import Peaks
from ._pieces import pieces
from ._save import save
from ._state import State
from ._steps import rows, steps
from ._weighted import weighted

__all__ = ["DistributedOptimizer", "Error", "Loader", "Op", "State", "SyncBatchNorm", "allreduce", "attach",
           "broadcast", "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters", "finish", "group",
           "init", "keep_rows", "loader", "local_rank", "local_size", "mesh", "mode", "no_sync", "pieces", "progress",
           "rank", "report", "rows", "save", "set_metric", "set_weight", "shutdown", "size", "steps", "stop",
           "weighted"]

Peaks(worker)


def init(*, read_ahead: int | None = None, min_count: int | None = None, own_pace: bool = False,
         pieces: bool = False, attach: bool = False) -> None:
    """Set how this worker joins the job.  Optional; equal on all workers; before any other call of eddis.  min_count
    alone may also be set later, until a collective, len(loader) or the first step joins the job.

    read_ahead: most steps that a loader's processes read ahead, at most 64; None: as many as the loader needs, or 8 if
    a collective operation comes before the loader.  In async and hybrid mode a worker takes its samples of so many
    steps in advance; in local mode rounds are opened ahead.

    min_count: each worker gets at least this many samples in a step and in each of its parts, or none.  None: 2 if
    there are several workers or parts, and a model of `attach` or DistributedOptimizer(model=) has batch normalisation
    that is in training mode and not a SyncBatchNorm; else 0.

    own_pace: the script itself spends the step time of an emulated device.

    pieces: the script splits each batch with `eddis.torch.pieces`.  A worker whose memory is too small for its share
    then keeps the share and holds fewer samples at once; otherwise it gets fewer samples.

    attach: models will be given to `attach`, which may then come after len(loader) and collectives of eddis, but before
    the first step.

    Raises RuntimeError if the job was already joined with other options.
    """
    is_least_alone = min_count is not None and read_ahead is None and not own_pace and not pieces
    if worker.options.get("gradients") and not is_least_alone:
        raise RuntimeError("call eddis.torch.init before eddis.torch.attach")
    worker.paces_itself |= own_pace
    options = {} if is_least_alone else {"own_pace": int(own_pace), "pieces": int(pieces)}
    if min_count is not None:
        options["min_count"] = min_count
    if read_ahead is not None:
        options["read_ahead"] = read_ahead or READ_NONE
    worker.set_options("call eddis.torch.init before anything else of eddis", **options)
    if attach:
        expect()


def __getattr__(name: str) -> ModuleType:
    """Import eddis.accelerate, eddis.lightning, eddis.transformers or eddis.ultralytics when a script uses it by this
    package.  Raises AttributeError for other names."""
    if name not in ("accelerate", "lightning", "transformers", "ultralytics"):
        raise AttributeError(f"eddis.torch has no {name}")
    return importlib.import_module(f"eddis.{name}")


def rank() -> int:
    """Return this worker's number, from 0."""
    return worker.rank


def size() -> int:
    """Return the number of workers."""
    return worker.size


def local_rank() -> int:
    """Return this worker's number on its node, from 0: the index of its GPU on the node."""
    return worker.local_rank


def local_size() -> int:
    """Return the number of workers on this worker's node."""
    return worker.local_size


def mode() -> str:
    """Return the training mode: "sync", "async", "hybrid" or "local"; "auto" until the first step if the job has
    left it open."""
    return worker.mode


def set_weight(weight: float) -> None:
    """Weight this worker's gradients of this step by `weight` instead of its number of samples.

    For losses that are not means over samples: for a mean over tokens the weight is the number of tokens.  Call it
    inside of the loop, before backward(), once in a step.  Only the ratio of the workers' weights matters; gradients of
    weight 0 do not count.  A worker without samples keeps the weight 0.  After `attach` it needs weights="told" there.
    Raises RuntimeError outside of the loop, or for an optimizer with loss="sum".
    """
    worker.set_weight(float(weight))


def report(loss: float | torch.Tensor | None = None, work: float = 0) -> None:
    """Report loss and work of this step to eddis-run and eddis-status.

    loss: the mean over this worker's samples.  A loss on a GPU is reported at a later step, when it has arrived, so
    that nothing waits for it; of several that have arrived only the newest is reported.  The loss of a batch without
    samples, or of weight 0, is ignored. work: units of work in this worker's samples if they differ between samples,
    such as tokens; the plan then shares the work.
    """
    if worker.in_step and (worker.is_empty or not worker.weight):  # a mean over no samples is no number
        loss = None
    if torch.is_tensor(loss):
        loss, worker.report.loss_age = late_loss(loss, worker.step.step) or (None, worker.report.loss_age)
    elif loss is not None:
        worker.report.loss_age = 0
    if loss is not None:
        worker.report.loss, worker.report.has_loss = float(loss), 1
    if work:
        worker.report.work = work


def set_metric(name: str, value: float | torch.Tensor) -> None:
    """Publish a result of the whole job; the last value counts.

    At most 8 names of at most 23 characters each. eddis-run's summary and eddis-status show "test_accuracy" and
    "test_loss" of rank 0, so a call on one worker is enough.  Raises eddis.Error for one name too many or a name that
    is too long.
    """
    worker.set_metric(name, float(value))


def stop() -> None:
    """Stop all workers a step or two from now, even if epochs are left.  Continue the loop until it ends by itself."""
    worker.stop()


def finish() -> None:
    """End all steps.  If the loader does not know the number of epochs, call it before the final model is evaluated.
    In async, hybrid and local mode the parameters are then the common model.  The end of the script does the same.
    Collective."""
    worker.finish()


def shutdown() -> None:
    """Leave the job, as the end of the script does.  Collective."""
    worker.close()
