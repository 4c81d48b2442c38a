# SPDX-License-Identifier: Apache-2.0
"""test_refused.py - what cannot be done is refused by a sentence that says what to do"""

from __future__ import annotations

import pytest

from rows import slow
from started import PROGRAMS, ended, job, script

OTHERWISE = ("would be replaced by the plan's: leave it out, choose the samples by torch.utils.data.Subset, or have an "
             "iterable data set yield them in its own order to eddis.torch.loader(stream=True)")
TOLD = {
    "iterable": "TypeError: an iterable data set gives samples in its own order",
    "no batch": "ValueError: a loader with batch_size=None makes no batches",
    "sampler": f"ValueError: the sampler WeightedRandomSampler {OTHERWISE}",
    "sampler of batches": f"ValueError: the sampler WeightedRandomSampler {OTHERWISE}",
    "late option": "RuntimeError: the job has been joined already, by a collective perhaps: call eddis.torch.init",
    "drop last": "RuntimeError: the job has been joined already, by a collective perhaps: make eddis.torch.loader",
    "batches": f"ValueError: the batch sampler Batches {OTHERWISE}",
    "empty": "ValueError: the data set is empty",
    "far ahead": "ValueError: 40 processes that prefetch 2 batches each read 80 steps ahead",
    "second loader": "RuntimeError: there is a loader that follows the plan already",
    "frozen": "ValueError: the optimizer has no parameter that requires a gradient",
    "passes": "ValueError: backward_passes_per_step is 0",
    "taken": "ValueError: parameter 'group0.0' is another optimizer's already",
    "weight outside": "RuntimeError: a weight can be set only inside the loop",
    "before the loop": "RuntimeError: the optimizer steps before a loop over eddis.torch.loader",
    "unlike": "ValueError: a batch is cut along the first dimension of its tensors",
    "late": "RuntimeError: the first step has begun",
    "added": "RuntimeError: parameters were added to the optimizer",
    "replaced": "RuntimeError: parameters were added to the optimizer, or replaced there",
    "mean of whole": "TypeError: the mean of torch.int64 is not of that type",
}


def run(tmp_path, program):
    """Of two workers."""
    return ended(tmp_path, *job(program, devices="[{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}]", batch__global=4,
                                restarts=0))


def test_refused(tmp_path):
    code, output = run(tmp_path, PROGRAMS / "refused_torch.py")
    missing = {what: text for what, text in TOLD.items() if f"{what}: {text}" not in output}
    assert not missing, output
    # `continue` before backward(): the job ends with the script's own exception
    assert code == 1 and "RuntimeError: step 1 ends without a backward pass that combines" in output, output


def test_forgotten(tmp_path):
    """A loop over eddis.torch.loader whose optimizer is none of eddis', each worker's alone."""
    program = script(tmp_path, """p = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([p], lr=1.0)
for batch, in eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(8, 1)), batch_size=4)):
    (p * batch).sum().backward()
    optimizer.step()
""")
    code, output = run(tmp_path, program)
    assert code == 1 and "RuntimeError: nothing combines the gradients of this script" in output, output


@pytest.mark.parametrize("how", ["before", slow("after")])
def test_combined_twice(tmp_path, how):
    """A model that DistributedDataParallel combines, too: where the optimizer is made, or at the first step."""
    program = script(tmp_path, f"""from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("gloo")
plain = torch.nn.Linear(1, 1)
model = DistributedDataParallel(plain) if {how == "before"} else plain
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(plain.parameters(), lr=1.0), plain.named_parameters())
print("made", flush=True)
model = DistributedDataParallel(plain)
for batch, in eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(8, 1)), batch_size=4)):
    model(batch).sum().backward()
    optimizer.step()
""")
    code, output = run(tmp_path, program)
    told = "RuntimeError: DistributedDataParallel combines the gradients of parameter 'weight' already"
    assert code == 1 and told in output and ("made" in output) == (how == "after"), output


@pytest.mark.parametrize("kind", ["fully_shard", slow("FullyShardedDataParallel"), slow("distribute_tensor")])
def test_in_parts(tmp_path, kind):
    """A model of which each worker has a part is for eddis.torch.attach."""
    program = script(tmp_path, f"""torch.distributed.init_process_group("gloo")
net = torch.nn.Linear(4, 4)
if "{kind}" == "distribute_tensor":
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    net.weight = torch.nn.Parameter(distribute_tensor(net.weight.data, init_device_mesh("cpu", (2,)), [Shard(0)]))
elif "{kind}" == "fully_shard":
    from torch.distributed.fsdp import fully_shard
    fully_shard(net)
else:  # which does not start on CPUs
    from eddis.torch import _others
    class FullyShardedDataParallel(torch.nn.Sequential):
        pass
    _others._fsdp = lambda: (FullyShardedDataParallel,)
    net = FullyShardedDataParallel(net)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=1.0), net.named_parameters())
""")
    code, output = run(tmp_path, program)
    told = [line for line in output.splitlines() if "call eddis.torch.attach(model) and leave out" in line]
    assert code == 1 and told and all("RuntimeError: " in line for line in told), output
