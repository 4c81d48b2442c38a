# SPDX-License-Identifier: Apache-2.0
"""attached_unfit.py [sharded] - prints the sentence of each model and backward pass that eddis.attach refuses; sharded:
also those of fully_shard"""

import sys
import unittest.mock

import torch
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

HAS_SHARDS = "sharded" in sys.argv


def refused(what, call):
    try:
        call()
    except (RuntimeError, ValueError) as error:
        print(f"{what}: {type(error).__name__}: {error}", flush=True)


def network():
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))


def by_columns():
    """The first layer is divided among the ranks by its outputs."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    return parallelize_module(network(), init_device_mesh("cpu", (eddis.size(),)), {"0": ColwiseParallel()})


def of_some():
    """The last layer is in no module of fully_shard."""
    model = network()
    fully_shard(model[0])
    return model


torch.set_num_threads(1)
distributed.init_process_group("gloo")
loader = eddis.loader(DataLoader(TensorDataset(torch.randn(96, 4)), batch_size=8))
models = {"plain": network()}
if HAS_SHARDS:
    from torch.distributed.fsdp import fully_shard
    models["sharded"] = fully_shard(network())
    refused("columns", lambda: eddis.attach(by_columns()))
    refused("some", lambda: eddis.attach(of_some()))
    for version in "2.6.0+cu124", "2.3.1":
        with unittest.mock.patch.object(torch, "__version__", version):
            refused(f"old {version}", lambda: eddis.attach(models["sharded"]))
            refused(f"old inside {version}", lambda: eddis.attach(of_some()))
eddis.init(pieces=True)
refused("pieces", lambda: eddis.attach(models["plain"]))
eddis.init(pieces=False)
for model in models.values():
    eddis.attach(model)
for x, in loader:
    for name, model in models.items():
        refused(f"unweighted {name}", lambda: model(x).mean().backward())
    break
sys.exit(3)
