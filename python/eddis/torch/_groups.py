# SPDX-License-Identifier: Apache-2.0
"""Process groups of torch.distributed for the groups of local mode: the ranks that train one model together, and the
ranks of the same place in all groups.

eddis-run gives each process the groups of all ranks (EDDIS_GROUPS), so that they exist before the job is joined: a
script wraps its models early, and what it wraps decides how the job is joined.
"""

from __future__ import annotations

import functools
import os
import pathlib
from typing import Any

import torch
from torch import distributed

from .._worker import worker

SHARDING_SINCE = 2, 7  # PyTorch's version: the first whose fully_shard is public and runs on CPUs, too


def release() -> tuple[int, ...]:
    """Return the first two numbers of PyTorch's version."""
    return tuple(int(number) for number in torch.__version__.split(".")[:2])


def is_local() -> bool:
    """Return whether the job's mode is local, in which groups train models of their own between two rounds' ends."""
    return bool(os.environ.get("EDDIS_GROUPS"))


@functools.lru_cache(maxsize=None)
def members() -> tuple[tuple[int, ...], ...]:
    """Return the ranks of each group; outside of local mode one group of all."""
    numbers = [int(word) for word in os.environ.get("EDDIS_GROUPS", "").split(",") if word] or [0] * worker.size
    return tuple(tuple(r for r, number in enumerate(numbers) if number == g) for g in range(max(numbers) + 1))


def own_members() -> tuple[int, ...]:
    """Return the ranks of this worker's group."""
    return next(ranks for ranks in members() if worker.rank in ranks)


def name_of_group(ranks: tuple[int, ...]) -> str:
    """Return the name of the subfolder of checkpoints into which the group of these ranks writes in local mode."""
    return f"group-{ranks[0]}"


def folder_of_group(folder: pathlib.Path) -> pathlib.Path:
    """Return the part of a checkpoint's folder into which this worker's group writes: in local mode a subfolder."""
    return folder / name_of_group(own_members()) if is_local() else folder


def folder_for_group(folder: pathlib.Path, is_own: bool) -> pathlib.Path:
    """Return the part of a checkpoint's folder from which this worker's group reads.  If groups have written to it,
    that is the own subfolder, also if it is missing, so that reading names it; of a group of other workers than then
    that of the first worker's group.  Else, as of a job in another mode, it is the folder.

    is_own: the group has the same workers as then."""
    if not any(path.is_dir() for path in folder.glob("group-[0-9]*")):
        return folder
    return folder_of_group(folder) if is_local() and is_own else folder / "group-0"


def begin_torch(kind: str) -> None:
    """Call init_process_group for tensors on devices of this kind ("cuda", "cpu"), unless the script has.
    Collective."""
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if kind == "cuda" else "gloo")


def _own_of(groups: tuple[tuple[int, ...], ...]) -> Any:
    """Make a process group of each tuple of ranks, and return the one that has this rank.  Raises RuntimeError if
    torch.distributed has other ranks than the job.  Collective among all workers."""
    if (distributed.get_rank(), distributed.get_world_size()) != (worker.rank, worker.size):
        raise RuntimeError(f"torch.distributed has this worker as rank {distributed.get_rank()} of "
                           f"{distributed.get_world_size()}, the job as rank {worker.rank} of {worker.size}: call "
                           "init_process_group without other ranks than those of eddis-run")
    made = [(ranks, distributed.new_group(ranks)) for ranks in groups]
    return next(group for ranks, group in made if worker.rank in ranks)


@functools.lru_cache(maxsize=None)
def _own_group() -> Any:
    """Return the process group of this worker's group.  Collective among all workers."""
    return _own_of(members())


def group() -> Any:
    """Return the process group of the workers that train one model with this one, for scripts that wrap the model
    themselves:

        model = eddis.attach(DistributedDataParallel(model, process_group=eddis.group()))

    In local mode these are the workers of its group, else all workers.  Calls init_process_group, with NCCL if there
    are GPUs and gloo otherwise, unless the script has.  The first call is collective among all workers.
    """
    begin_torch("cuda" if torch.cuda.is_available() else "cpu")
    return _own_group() if is_local() else distributed.group.WORLD


@functools.lru_cache(maxsize=None)
def mesh() -> Any:
    """Return the device mesh of the workers that train one model with this one, as `group` does:

        model = eddis.attach(fully_shard(model, mesh=eddis.mesh()))

    Its devices are GPUs if NCCL connects the workers, else CPUs.  Raises RuntimeError if PyTorch is older than the
    fully_shard that `attach` takes.  The first call is collective among all workers.
    """
    if release() < SHARDING_SINCE:
        raise RuntimeError(f"eddis.torch.mesh is for fully_shard of PyTorch {'.'.join(map(str, SHARDING_SINCE))} or "
                           f"later, and this is PyTorch {torch.__version__}: install a later PyTorch, or write "
                           "DistributedDataParallel(model, process_group=eddis.group())")
    from torch.distributed.device_mesh import DeviceMesh
    own = group()
    return DeviceMesh.from_group(own, "cuda" if "nccl" in str(distributed.get_backend(own)) else "cpu")


@functools.lru_cache(maxsize=None)
def same_places() -> Any:
    """Return the process group of the workers that have this one's place in their groups.  Raises ValueError for groups
    of unlike sizes.  The first call is collective among all workers."""
    sizes = [len(ranks) for ranks in members()]
    if len(set(sizes)) > 1:
        raise ValueError(f"a model of fully_shard in local mode needs groups of equally many workers, and these have "
                         f"{', '.join(map(str, sizes))}: set sync.groups in train.yaml, or give attach a model that "
                         "each worker has whole")
    return _own_of(tuple(zip(*members())))
