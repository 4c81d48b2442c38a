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

Started by eddis-run the plan gives each worker its share of the global batch, and the mode, sync, async or hybrid, in
which the same script runs.  Alone it trains in one process.
"""

from __future__ import annotations

import torch

from .._lib import Error
from .._progress import progress
from .._worker import READ_NONE, worker
from ._batchnorm import SyncBatchNorm
from ._collectives import Op, allreduce, broadcast, broadcast_object, broadcast_optimizer_state, broadcast_parameters
from ._device import late_loss
from ._loader import Loader, loader
from ._optimizer import DistributedOptimizer, no_sync
from ._pieces import pieces
from ._state import State

__all__ = ["DistributedOptimizer", "Error", "Loader", "Op", "State", "SyncBatchNorm", "allreduce", "broadcast",
           "broadcast_object", "broadcast_optimizer_state", "broadcast_parameters", "finish", "init", "loader",
           "local_rank", "local_size", "mode", "no_sync", "pieces", "progress", "rank", "report", "set_metric",
           "set_weight", "shutdown", "size", "stop"]


def init(*, read_ahead: int | None = None, min_count: int = 0, own_pace: bool = False,
         pieces: bool = False) -> None:
    """Say how this worker joins the job; optional, the same on all workers, before anything else of eddis.

    read_ahead: most steps that a loader's processes read ahead, to 64; None: as many as the loader asks for, or 8 where
    a collective comes before it.  In async and hybrid mode so many steps' samples are taken ahead.
    min_count: no worker gets fewer samples than this in a step, or it gets none: 2 for batch normalisation.
    own_pace: the script itself takes the time of an emulated device.
    pieces: the script takes each batch by `eddis.torch.pieces`, so a worker whose memory is too small for its share
    keeps it, and holds fewer samples at once; otherwise it gets fewer.
    """
    options = {"min_count": min_count, "own_pace": int(own_pace), "pieces": int(pieces)}
    if read_ahead is not None:
        options["read_ahead"] = read_ahead or READ_NONE
    worker.set_options("call eddis.torch.init before anything else of eddis", **options)


def rank() -> int:
    """This worker's number, from 0."""
    return worker.rank


def size() -> int:
    """How many workers there are."""
    return worker.size


def local_rank() -> int:
    """This worker's number on its node, from 0: which of the node's GPUs is its own."""
    return worker.local_rank


def local_size() -> int:
    """How many workers its node has."""
    return worker.local_size


def mode() -> str:
    """"sync", "async" or "hybrid"; "auto" until the first step where the job leaves it open."""
    return worker.mode


def set_weight(weight: float) -> None:
    """Count this worker's gradient of this step for `weight` instead of its number of samples.

    For losses that are not means over samples: the number of tokens where the loss is a mean over tokens.  Inside of
    the loop, before backward(), once a step.  The workers' weights need not add up to anything; 0 counts nothing, which
    stays the weight of a worker without samples.
    """
    worker.set_weight(float(weight))


def report(loss: float | torch.Tensor | None = None, work: float = 0) -> None:
    """Tell eddis-run and eddis-status of this step.

    loss: the mean over this worker's samples; one that a GPU has is told at the next step, so that nothing waits for
    it; that of a batch without samples, or of weight 0, is left out.  work: units of work in its samples where they
    are not alike, tokens perhaps; the plan then shares these.
    """
    if worker.in_step and (worker.is_empty or not worker.weight):  # a mean over no samples is no number
        loss = None
    told = late_loss(loss) if torch.is_tensor(loss) else loss
    if told is not None:
        worker.report.loss, worker.report.has_loss = float(told), 1
    if work:
        worker.report.work = work


def set_metric(name: str, value: float | torch.Tensor) -> None:
    """Publish a result of the whole job; the last value counts.

    Under at most 8 names of at most 23 characters.  eddis-run's summary and eddis-status show rank 0's "test_accuracy"
    and "test_loss", so one worker's call is enough.  Raises eddis.Error for another name too many or too long.
    """
    worker.set_metric(name, float(value))


def stop() -> None:
    """Have all workers stop, whatever epochs are left: a step or two from now their loops end.  Go on until then."""
    worker.stop()


def finish() -> None:
    """End all steps, before an evaluation of the final model where the number of epochs is not told: in async and
    hybrid mode the parameters are the common model then.  Collective.  The end of the script does so, too."""
    worker.finish()


def shutdown() -> None:
    """Leave the job, as the end of the script does.  Collective."""
    worker.close()
