# SPDX-License-Identifier: Apache-2.0
"""torch_turns.py REQUEST - one worker of bench/torch: trains with several systems alternately

All systems run in one process, so that a round compares them under equal conditions.  Each has a model of its own, of
the same shape, with the same data and optimizer, and trains some steps while the others pause.  If a difference of a
few per mille counts, they take turns after each step, so that what else the machine does falls on all of them alike.
The request is JSON:

    systems   {name: {"steps": steps of a round, "batches": [one per rank, or one for all]}}; the name is eddis,
              attached, plain, ddp, horovod, or one of these followed by a word, as "ddp tuned"; eddis and
              attached (DDP given to eddis.attach) take the plan's batches, and a request has at most one of them
    model     ["mlp", layers, width], ["cnn"], ["images", channels, size], ["transformer", layers, width, length],
              ["slept", [speed of each rank], factor by which a step lasts longer] or ["asleep", ms of a forward pass]
    device    the models' device in PyTorch's form; default cpu
    rounds    number of rounds that count; one more comes before them
    by_step   true: the systems take turns after each step, and not after their steps of a round
    out       the file that rank 0 writes: {"torch": version, "samples_per_s": {name: [one for each round]},
              "processor_s": {name: [seconds of a step of rank 0, one for each round]},
              "waits_us": [[for each rank: microseconds in eddis_wait at the end of each step of attached]],
              "ends_us": [[the same of eddis_wait and eddis_step_end together]]}
"""

import gc
import itertools
import json
import os
import sys
import time

import torch
from torch import distributed, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Sampler, TensorDataset

LAYERS, WIDTH = 16, 250  # of the model "slept": 10^6 parameters
FIXED_S, SAMPLE_S = 0.010, 0.004  # the design's mix: a step on a device of speed 1 takes FIXED_S + b SAMPLE_S


# ---- models ----

class Clock:
    """The clock of an emulated device: sleeps, layer by layer, until the part of the step's time is over."""

    def __init__(self, speed, stretch):
        self.fixed_s, self.sample_s = FIXED_S * stretch, SAMPLE_S * stretch / speed

    def begin(self, samples):
        """Begin a step of so many samples."""
        self.begun, self.step_s = time.monotonic(), self.fixed_s + self.sample_s * samples

    def until(self, part):
        """Sleep until this part of the step's time, 0 to 1, is over."""
        left = self.begun + part * self.step_s - time.monotonic()
        if left > 0:
            time.sleep(left)


class SleptProduct(torch.autograd.Function):
    """A matrix product that takes its part of the step's time, a third of which is the forward pass."""

    @staticmethod
    def forward(ctx, x, weight, clock, layer):
        ctx.save_for_backward(x, weight)
        ctx.clock, ctx.layer = clock, layer
        y = x @ weight
        clock.until((layer + 1) / LAYERS / 3)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx, dw = dy @ weight.T, x.T @ dy
        ctx.clock.until(1 / 3 + 2 / 3 * (LAYERS - ctx.layer) / LAYERS)
        return dx, dw, None, None


class Slept(nn.Module):
    """LAYERS square layers whose products take an emulated device's time."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock
        self.weights = nn.ParameterList(torch.eye(WIDTH) for _ in range(LAYERS))

    def forward(self, x):
        self.clock.begin(len(x))
        for layer, weight in enumerate(self.weights):
            x = SleptProduct.apply(x, weight, self.clock, layer)
        return x


class Asleep(nn.Module):
    """A linear layer whose forward pass sleeps first."""

    def __init__(self, ms, width=64):
        super().__init__()
        self.seconds, self.layer = ms / 1e3, nn.Linear(width, width)

    def forward(self, x):
        time.sleep(self.seconds)
        return self.layer(x)


class Transformer(nn.Module):
    """A transformer encoder that classifies a sequence of words."""

    def __init__(self, layers, width, words=64):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.out = nn.Linear(width, words)

    def forward(self, x):
        return self.out(self.layers(self.words(x)).mean(1))


def model_of(words, rank):
    """Return (the request's model, the input of one sample)."""
    name = words[0]
    if name == "slept":
        return Slept(Clock(words[1][rank], words[2])), torch.ones(WIDTH)
    if name == "asleep":
        return Asleep(words[1]), torch.ones(64)
    if name == "mlp":
        layers, width = words[1:]
        parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.Tanh())]
        return nn.Sequential(*parts[:-1]), torch.ones(width)
    if name == "transformer":
        layers, width, length = words[1:]
        return Transformer(layers, width), torch.arange(length) % 64
    if name == "images":
        channels, size = words[1:]
        parts = [part for _ in range(4) for part in (nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())]
        return nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.ReLU(), *parts, nn.AdaptiveAvgPool2d(1),
                             nn.Flatten(), nn.Linear(channels, 10)), torch.rand(3, size, size)
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(),
                         nn.Linear(64, 10)), torch.rand(1, 8, 8)


# ---- systems ----

class Shares(Sampler):
    """A batch sampler: yields the numbers of a rank's samples in each step of an epoch, in another order in each epoch.
    """

    def __init__(self, batches, rank, steps):
        self.first, self.count, self.all, self.steps = sum(batches[:rank]), batches[rank], sum(batches), steps
        self.epoch = 0

    def __len__(self):
        return self.steps

    def __iter__(self):
        self.epoch += 1
        order = torch.randperm(self.steps * self.all, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        for at in range(self.first, len(order), self.all):
            yield order[at:at + self.count]


class System:
    """A model and its training. ddp and horovod combine the gradients as if all ranks' batches were equal."""

    def __init__(self, name, request, rank, size):
        row = request["systems"][name]
        self.steps, batches = row["steps"], row["batches"]
        batches = batches if len(batches) == size else batches * size
        self.samples = self.steps * sum(batches)
        torch.manual_seed(1)
        self.device = torch.device(request.get("device", "cpu"))
        self.model, sample = model_of(request["model"], rank)
        self.model.to(self.device)
        data = TensorDataset(sample.expand(self.samples, *sample.shape))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.parameter = next(self.model.parameters())
        self.attach(data, batches, rank, request)

    def attach(self, data, batches, rank, request):
        """Make the loader, and let the system wrap model and optimizer."""
        self.loader = DataLoader(data, batch_sampler=Shares(batches, rank, self.steps))

    def backward(self, loss):
        """Make the gradients of a loss."""
        loss.backward()

    def turns(self):
        """Train the steps of a round, and yield after each."""
        for x, in self.loader:
            self.optimizer.zero_grad()
            y = self.model(x.to(self.device))
            self.backward(functional.mse_loss(y, torch.zeros_like(y)))
            self.optimizer.step()
            yield
        if self.device.type == "cuda":
            torch.cuda.synchronize()


class Ddp(System):
    def attach(self, data, batches, rank, request):
        super().attach(data, batches, rank, request)
        self.model = nn.parallel.DistributedDataParallel(self.model, **request.get("ddp", {}))


class Horovod(System):
    def attach(self, data, batches, rank, request):
        import horovod.torch as hvd

        super().attach(data, batches, rank, request)
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)
        self.optimizer = hvd.DistributedOptimizer(self.optimizer, named_parameters=self.model.named_parameters())


class Eddis(System):
    def attach(self, data, batches, rank, request):
        import eddis.torch as eddis

        eddis.init(own_pace=True)
        self.loader = eddis.loader(DataLoader(data, batch_size=sum(batches)), epochs=request["rounds"] + 1)
        self.optimizer = eddis.DistributedOptimizer(self.optimizer, model=self.model)


class Attached(Ddp):
    """DistributedDataParallel with the plan's batches."""

    def attach(self, data, batches, rank, request):
        import eddis.torch as eddis

        eddis.init(own_pace=True)
        super().attach(data, batches, rank, request)
        self.loader = eddis.loader(DataLoader(data, batch_size=sum(batches)), epochs=request["rounds"] + 1)
        self.model, self.weighted = eddis.attach(self.model), eddis.weighted

    def backward(self, loss):
        self.weighted(loss).backward()


SYSTEMS = {"eddis": Eddis, "attached": Attached, "plain": System, "ddp": Ddp, "horovod": Horovod}


class StepEnds:
    """Times the calls of libeddis at the end of each step: eddis_wait, in which a worker waits for the round of all
    workers, and eddis_step_end."""

    def __init__(self):
        from eddis import _lib

        self.wait, self.call = _lib.wait, _lib.call
        self.waits_ns, self.ends_ns = [], []
        _lib.wait, _lib.call = self.timed_wait, self.timed_call

    def timed_wait(self, name, *arguments):
        """Take the place of eddis._lib.wait."""
        begun = time.perf_counter_ns()
        result = self.wait(name, *arguments)
        if name == "wait":
            self.waits_ns.append(time.perf_counter_ns() - begun)
        return result

    def timed_call(self, name, *arguments):
        """Take the place of eddis._lib.call."""
        begun = time.perf_counter_ns()
        result = self.call(name, *arguments)
        if name == "step_end":
            self.ends_ns.append(self.waits_ns[-1] + time.perf_counter_ns() - begun)
        return result

    def told(self, ranks, steps):
        """Return the last so many steps' times of all ranks, in microseconds.  Collective."""
        rows = [None] * ranks.size
        own = [[ns / 1e3 for ns in times[-steps:]] for times in (self.waits_ns, self.ends_ns)]
        distributed.all_gather_object(rows, own)
        return dict(zip(("waits_us", "ends_us"), zip(*rows)))


# ---- this process ----

class Ranks:
    """The ranks of this process's job, which wait for each other between the rounds."""

    def __init__(self, systems):
        self.rank, self.size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.hvd = None
        if any(name.startswith("horovod") for name in systems):
            import horovod.torch as hvd

            hvd.init()
            self.rank, self.size, self.hvd = hvd.rank(), hvd.size(), hvd
        elif self.size > 1 or any(name.startswith(("ddp", "attached")) for name in systems):
            distributed.init_process_group("gloo")

    def combined(self, x, greatest=False):
        """Return the sum of x over all ranks, or the maximum."""
        if self.hvd:
            return self.hvd.allreduce(x, op=self.hvd.Max if greatest else self.hvd.Sum)
        if self.size > 1:
            distributed.all_reduce(x, op=distributed.ReduceOp.MAX if greatest else distributed.ReduceOp.SUM)
        return x

    def meet(self):
        """Wait for all ranks."""
        self.combined(torch.zeros(1))

    def leave(self):
        """Wait for all ranks, and close the process group."""
        self.meet()
        if distributed.is_initialized():  # the group's threads must not outlive the interpreter
            gc.collect()  # frees modules of DDP, which keep the group alive
            distributed.destroy_process_group()

    def check_alike(self, name, parameter):
        """Exit if the ranks' models differ in the first elements of this parameter."""
        own = parameter.detach().flatten()[:100].cpu().clone()
        if not torch.equal(self.combined(own.clone(), greatest=True), own):
            sys.exit(f"{name}: the ranks' models are not alike")


class Taken:
    """The time that turns took, and their processor time."""

    def __init__(self):
        self.s = self.processor_s = 0

    def take(self, turns, n):
        """Make n of these turns, None: all; return whether there may be more."""
        begun, used = time.perf_counter(), time.process_time()
        made = sum(1 for _ in itertools.islice(turns, n))
        self.s += time.perf_counter() - begun
        self.processor_s += time.process_time() - used
        return made == n


def round_of(systems, number, by_step, ranks):
    """Let all systems train the steps of a round, in another order than in the round before; return {name: Taken}."""
    names = list(systems) if number % 2 else list(reversed(systems))
    taken, left = {name: Taken() for name in names}, {name: systems[name].turns() for name in names}
    while left:
        for name in [name for name in names if name in left]:
            if not by_step:
                ranks.meet()
            if not taken[name].take(left[name], 1 if by_step else None):
                del left[name]
        names.append(names.pop(0))  # as often behind each other: its caches are those of the one before
    return taken


def measure(request, ranks):
    """Run all rounds and write the results."""
    names = list(request["systems"])
    systems = {name: SYSTEMS[name.split()[0]](name, request, ranks.rank, ranks.size) for name in names}
    rates, processor = {name: [] for name in names}, {name: [] for name in names}
    ends = StepEnds() if "attached" in names else None
    for r in range(request["rounds"] + 1):
        ranks.meet()
        for name, taken in round_of(systems, r, request.get("by_step"), ranks).items():
            if r:
                rates[name].append(systems[name].samples / taken.s)
                processor[name].append(taken.processor_s / systems[name].steps)
    for name, system in systems.items():
        ranks.check_alike(name, system.parameter)
    more = ends.told(ranks, request["rounds"] * systems["attached"].steps) if ends else {}
    if ranks.rank == 0:
        with open(request["out"], "w") as f:
            json.dump({"torch": torch.__version__, "samples_per_s": rates, "processor_s": processor, **more}, f)


def main():
    request = json.loads(sys.argv[1])
    ranks = Ranks(list(request["systems"]))
    measure(request, ranks)
    ranks.leave()


if __name__ == "__main__":
    main()
