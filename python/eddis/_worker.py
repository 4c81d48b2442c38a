# SPDX-License-Identifier: Apache-2.0
"""This process as a worker: joining the job, its steps, collectives, and the ways out.  No framework.

The job is joined late, by the first call that needs it, so that what a loader knows (how far it reads ahead, whether
it drops the last samples) can be an option.  Before that `rank` and `size` come from the environment.

Ends: the library sees with which status the process exits, which Python does not tell.  With 0 it ends the steps that
are under way, waits for the others and closes; with another the job ends with that.  So nothing here looks at
exceptions, and the parameters' memory has to outlive the interpreter, see `_at_exit`.
"""

from __future__ import annotations

import atexit
import ctypes
import enum
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Union

from . import _lib as L

READ_AHEAD = 8  # steps: four processes of a loader that prefetches two batches each
MAX_READ_AHEAD = 64
READ_NONE = -1


class Mark(enum.Enum):
    """Places in a step, for clocks that are not the host's."""

    ASKED = enum.auto()  # the loop waits for samples,
    GOT = enum.auto()  # and has them
    BEGUN = enum.auto()
    WAITS = enum.auto()  # for the others' gradients
    GOES_ON = enum.auto()
    ENDS = enum.auto()


def _environment(*names: str, default: int) -> int:
    for name in names:
        if os.environ.get(name):
            return int(os.environ[name])
    return default


class HostTensor(Protocol):
    """Of any framework."""

    def data_ptr(self) -> int: ...


Memory = Union[HostTensor, ctypes.c_int64, ctypes.Array]


def _address(memory: Memory | None) -> int | None:
    if memory is None:
        return None
    return ctypes.addressof(memory) if isinstance(memory, (ctypes.c_int64, ctypes.Array)) else memory.data_ptr()


def _hold(objects: Iterable[Any]) -> None:
    """Never free them: the library uses their memory, and may do so behind the interpreter's end."""
    for it in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(it))


class Worker:
    """There is one in a process, `worker` below."""

    def __init__(self) -> None:
        self.handle: ctypes.c_void_p | None = None
        self.options: dict[str, int] = {}
        self.world = L.World()
        self.step = L.Step(flags=L.STEP_READS)  # the first one does, too
        self.committed = False
        self.in_step = False
        self.is_touched = False  # the script has done something with the step
        self.over = False  # there is no step any more
        self.rounds = 0  # of gradients, in the step
        self.weight = 0.0  # of this worker, in the step
        self.is_weight_open = False  # the library does not have it yet
        self.is_sum = False  # losses are sums over samples
        self.is_empty = False  # the step's batch holds no samples that count
        self.n_counting = 0  # workers of the group that have samples, in the step; 0: not asked yet
        self.loops = 0  # that the script has begun
        self.next_step = 0
        self.report = L.Report()
        self.before_commit: list[Callable[[], None]] = []  # registers parameters
        self.after_commit: list[Callable[[], None]] = []  # the group is known now
        self.before_values: list[Callable[[], None]] = []  # a call may read values: have them where it reads
        self.before_steps: list[Callable[[], None]] = []  # and may write them: say where they are
        self.after_values: list[Callable[[], None]] = []  # a call has written them
        self.before_end: list[Callable[[], None]] = []  # whether a step can end, of each optimizer
        self.at_start: list[Callable[[], None]] = []  # shares what else models hold
        self.before_restore: list[Callable[[], None]] = []  # the model is what the script has made
        self.marks: list[Callable[[Mark], None]] = []  # told of each
        self.restore: Callable[[], bool] | None = None  # go on from a checkpoint; False: there is none
        self.save: Callable[[], None] | None = None  # write a checkpoint, with all others
        self.is_told_unsaved = False  # that the script keeps nothing
        self.outliving: dict[int, Any] = {}  # what holds the memory of values that the library uses, by parameter

    # ---- joining and leaving

    def set_options(self, advice: str, **options: int) -> None:
        """Of eddis_open.  Raises RuntimeError with the advice when the job has been joined with others."""
        if self.handle and any(self.options.get(name, 0) != value for name, value in options.items()):
            raise RuntimeError(f"the job has been joined already, by a collective perhaps: {advice}")
        self.options.update(options)

    def open(self) -> None:
        """Join the job, unless that has been."""
        if self.handle:
            return
        self.options.setdefault("read_ahead", READ_AHEAD)
        handle = ctypes.c_void_p()
        L.call("open", L.Options(close_at_exit=L.EXIT_FINISH, **self.options), handle)
        self.handle = handle
        self.process = os.getpid()
        self.look()
        atexit.register(self._at_exit)

    def look(self) -> None:
        L.lib.eddis_world(self.handle, self.world)

    @property
    def mode(self) -> str:
        """"sync", "async" or "hybrid"; "auto" until the first step where the job leaves it open."""
        return self.world.mode.decode() if self.handle else os.environ.get("EDDIS_SYNC_MODE", "sync")

    @property
    def rank(self) -> int:
        return self.world.rank if self.handle else _environment("RANK", "OMPI_COMM_WORLD_RANK", default=0)

    @property
    def size(self) -> int:
        return self.world.n_ranks if self.handle else _environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", default=1)

    @property
    def local_rank(self) -> int:
        return self.world.local_rank if self.handle else _environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                                                      default=0)

    @property
    def local_size(self) -> int:
        return self.world.n_local_ranks if self.handle else _environment("LOCAL_WORLD_SIZE",
                                                                         "OMPI_COMM_WORLD_LOCAL_SIZE", default=1)

    @property
    def has_plan(self) -> bool:
        """Whether eddis-run says the batches."""
        return bool(os.environ.get("EDDIS_BOARD"))

    @property
    def n_joining(self) -> int:
        """How many workers MPI will find, as far as the environment tells before that."""
        return _environment("OMPI_COMM_WORLD_SIZE", *(["SLURM_STEP_NUM_TASKS"] if "PMIX_RANK" in os.environ else ()),
                            default=1)

    @property
    def is_several(self) -> bool:
        """Whether workers, or groups of them, train models of their own."""
        return bool(self.world.flags & L.WORLD_SEVERAL)

    def _at_exit(self) -> None:
        """What the library does behind the interpreter's end still uses these objects' memory."""
        if not self.handle or os.getpid() != self.process:
            return
        _hold(self.outliving.values())
        try:
            for prepare in self.before_values if not self.over else ():
                prepare()
        finally:
            _hold(self.outliving.values())

    def close(self) -> None:
        """End the steps, and leave.  Collective."""
        if not self.handle:
            return
        self.finish()
        handle, self.handle = self.handle, None
        L.call("close", handle)

    # ---- before the first step

    def set_data(self, samples: int, epochs: int) -> None:
        self.open()
        L.call("set_data", self.handle, samples, epochs)

    def commit(self) -> None:
        """All is registered.  Collective; the second time nothing."""
        if self.committed:
            return
        for register in self.before_commit:
            register()
        for prepare in self.before_values:
            prepare()
        try:
            L.repeat("commit", self.handle)
        except L.Error as error:
            if "read_ahead" not in str(error):
                raise
            raise L.Error(error.code, f"{error}: loaders read num_workers * prefetch_factor batches ahead, so say the "
                                      "most of all workers by eddis.torch.init(read_ahead=)") from None
        self.committed = True
        self.look()
        for settle in self.after_commit:
            settle()

    def begin_with(self) -> None:
        """One model on all workers: the checkpoint's, or rank 0's.  Collective."""
        if not self.restore and os.environ.get("EDDIS_RESUME_FROM"):
            raise RuntimeError("the job is to go on from a checkpoint, but the script has no eddis.torch.State, which "
                               "would read it: make one before the loop")
        for look in self.before_restore:
            look()
        if not (self.restore and self.restore()):
            L.call("broadcast_parameters", self.handle, 0)
            for take in self.after_values:
                take()
            for share in self.at_start:
                share()

    # ---- steps

    def mark(self, what: Mark) -> None:
        for told in self.marks:
            told(what)

    def plan_step(self, step: int) -> L.Step | None:
        """What this worker will have to do at that step; None: it is behind the last one."""
        told = L.Step()
        if self.over:
            return None
        return told if L.repeat("plan_step", self.handle, step, L.SLICE_NS, told) else None

    def sample_indices(self, step: L.Step) -> list[int]:
        index = (ctypes.c_int64 * max(1, step.count))()
        L.call("sample_indices", self.handle, step, index)
        return index[:step.count]

    def begin(self) -> bool:
        """Begin the next step; False: there is none."""
        if self.over:
            return False
        if self.step.flags & L.STEP_READS:
            for prepare in self.before_values:
                prepare()
        elif self.is_several and self.world.n_group_ranks > 1:  # the group's root hands the common model on
            for find in self.before_steps:
                find()
        self.in_step = L.call("step_begin", self.handle, self.step) == 1
        self.over = not self.in_step
        self.is_touched = not self.before_end  # what other optimizers do nobody sees
        self.rounds = 0
        self.weight, self.is_empty = float(self.step.count), not self.step.count
        self.is_weight_open, self.n_counting = False, 0
        if self.is_sum and self.in_step and self.step.count:
            self.weight, self.is_weight_open = 1.0, True
        self.report = L.Report()
        if self.is_several and self.over or self.step.flags & L.STEP_WRITTEN:
            for take in self.after_values:
                take()
        self.mark(Mark.BEGUN)
        return self.in_step

    def set_weight(self, weight: float) -> None:
        if not self.in_step:
            raise RuntimeError("a weight is set inside of the loop over eddis.torch.loader, before backward()")
        if self.is_sum:
            raise RuntimeError("every sample of a loss that is a sum counts alike, as eddis.torch.DistributedOptimizer "
                               "was told by loss='sum': leave eddis.torch.set_weight out")
        if not self.step.count:  # the loop has samples that are to count nothing
            return
        L.call("set_weight", self.handle, weight)
        self.is_touched, self.is_weight_open, self.is_empty = True, False, False
        self.weight = weight

    def hold(self, samples: int) -> None:
        """The step's batch has so many samples, which are its weight unless the script says another one."""
        self.is_empty = not samples
        if not self.is_sum:
            self.weight, self.is_weight_open = float(samples), True

    def fix_weight(self) -> None:
        """Before the step's first announcement."""
        if self.is_weight_open and self.in_step:
            self.is_weight_open = False
            L.call("set_weight", self.handle, self.weight)

    def n_with_samples(self) -> int:
        """How many workers of the group have samples in the step."""
        if not self.n_counting:
            counts = (ctypes.c_int64 * self.world.n_group_ranks)()
            L.call("counts", self.handle, self.step.step, counts)
            self.n_counting = sum(n > 0 for n in counts)
        return self.n_counting

    def compare_loops(self) -> None:
        """Raise RuntimeError where the workers of the group are in unlike loops.  Collective in the group."""
        rows = (ctypes.c_int64 * (2 * self.world.n_group_ranks))()
        own = (ctypes.c_int64 * 2)(self.rank, self.loops)
        self.collective(L.ALLGATHER, rows, ctypes.sizeof(own), scope=L.GROUP, input=own)
        loops = dict(zip(rows[::2], rows[1::2]))
        first, last = min(loops, key=loops.get), max(loops, key=loops.get)
        if loops[first] != loops[last]:
            raise RuntimeError(
                f"at step {self.step.step} rank {last} is in its loop {loops[last]} over eddis.torch.loader and rank "
                f"{first} still in loop {loops[first]}, so the one would end before the other: leave a loop on all "
                "workers at the same batch, by what eddis.torch.allreduce makes of their reasons, or end all by "
                "eddis.torch.stop")

    def stop(self) -> None:
        """Have all workers stop, a step or two from now."""
        if self.handle:
            L.lib.eddis_stop(self.handle)

    def wait_set(self, number: int) -> None:
        """Wait for a round of a set of parameters."""
        L.wait("wait_set", self.handle, number)
        self.rounds += 1

    def end(self, is_left: bool = False) -> None:
        """End the step, and write the checkpoint that was asked for.  is_left: the loop has gone before backward()."""
        if not self.in_step:
            return
        for check in self.before_end:
            check()
        if not is_left and not self.rounds and self.world.n_group_ranks > 1 and self.step.batch:
            self._refuse_no_round()
        self.mark(Mark.ENDS)
        L.wait("wait", self.handle)
        L.call("step_end", self.handle, self.report)
        self.in_step = False
        self.next_step = self.step.step + 1
        if self.step.flags & L.STEP_CHECKPOINT:
            self._checkpoint()

    def _refuse_no_round(self) -> None:
        if not self.before_end:
            raise RuntimeError("nothing combines the gradients of this script, so each worker would train a model of "
                               "its own: give its optimizer to eddis.torch.DistributedOptimizer before the loop")
        raise RuntimeError(
            f"step {self.step.step} ends without a backward pass that combines gradients, so this worker's model would "
            "no longer be that of the others: take every batch through backward(), with a loss times 0 where it is to "
            "count nothing, and the last of its passes outside of no_sync")

    def _checkpoint(self) -> None:
        if self.save:
            self.save()
        elif not self.is_told_unsaved and self.rank == 0:
            self.is_told_unsaved = True
            print("eddis: the job asks for a checkpoint, but the script has no eddis.torch.State: none is written",
                  file=sys.stderr, flush=True)

    def finish(self) -> None:
        """End all steps; in async and hybrid mode the parameters are the centre then.  Collective."""
        if not self.committed or self.over:
            return
        self.end()
        for prepare in self.before_values:
            prepare()
        while L.wait("finish", self.handle) == 1:
            if self.save:
                self.save()
        self.over = True
        for take in self.after_values:
            take()

    def set_metric(self, name: str, value: float) -> None:
        self.open()
        L.call("set_metric", self.handle, name.encode(), value)

    def set_phase(self, phase: int) -> None:
        L.lib.eddis_set_phase(self.handle, phase)

    # ---- collectives of any buffer

    def collective(self, kind: int, memory: Memory, n: int, *, scope: int = L.ALL, input: Memory | None = None,
                   dtype: int = 0, op: int = 0, root: int = 0) -> None:
        """eddis_collective, as long as it takes.  A signal's handler may raise meanwhile; the library goes on then, so
        the memory stays."""
        self.open()
        request = ctypes.c_void_p()
        wish = L.Collective(kind=kind, scope=scope, buffer=_address(memory), input=_address(input), n=n, dtype=dtype,
                            op=op, root=root)
        try:
            L.call("collective_start", self.handle, wish, request)
            L.wait("request_wait", self.handle, request)
        except BaseException:
            _hold((memory, input))
            raise

    def broadcast_bytes(self, data: bytes | None, root: int) -> bytes:
        """Of the root, to all.  Collective."""
        n = ctypes.c_int64(len(data) if data is not None else 0)
        self.collective(L.BROADCAST, n, 8, root=root)
        buffer = ctypes.create_string_buffer(data or b"", max(1, n.value))
        self.collective(L.BROADCAST, buffer, n.value, root=root)
        return buffer.raw[:n.value]


worker = Worker()
