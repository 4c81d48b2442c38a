# SPDX-License-Identifier: Apache-2.0
"""attached_local_unfit.py NAME... - prints the sentence with which eddis refuses each of these models in local mode"""

import sys

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import eddis.torch as eddis


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))


def wrapped():
    """Over all ranks."""
    eddis.attach(DistributedDataParallel(network()))


def given():
    """A plain model, over all ranks."""
    eddis.attach(network(), distributed.group.WORLD)


def sharded():
    """Over all ranks."""
    eddis.attach(fully_shard(network()))


def unlike():
    """The second group's mesh has another shape."""
    from torch.distributed.device_mesh import DeviceMesh
    own = [0, 1] if eddis.rank() < 2 else [[2], [3]]
    names = {} if eddis.rank() < 2 else {"mesh_dim_names": ("copies", "parts")}
    for ranks in ([0, 1], [[2], [3]]):  # makes groups of all ranks, as collectives do
        made = DeviceMesh("cpu", ranks, **(names if ranks == own else {}))
        mesh = made if ranks == own else None if eddis.rank() in (0, 1) == (ranks == [0, 1]) else locals().get("mesh")
    eddis.attach(fully_shard(network(), mesh=mesh))


def sizes():
    """Groups of unlike sizes."""
    eddis.attach(fully_shard(network(), mesh=eddis.mesh()))


def mesh():
    """Of a PyTorch whose fully_shard is not taken."""
    eddis.mesh()


def outside():
    """Without a loop over eddis.loader."""
    eddis.attach(plain)(torch.ones(1, 4)).sum().backward()


torch.manual_seed(0)
plain = network()
distributed.init_process_group("gloo")
if {"sharded", "unlike", "sizes"} & {*sys.argv[1:]}:
    from torch.distributed.fsdp import fully_shard
for name in sys.argv[1:]:
    try:
        globals()[name]()
    except (RuntimeError, ValueError) as error:
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
    distributed.barrier()
