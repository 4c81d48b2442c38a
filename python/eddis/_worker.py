# SPDX-License-Identifier: Apache-2.0
"""This process as a worker: it joins the job, makes steps and collective operations, and leaves.  No framework.

The job is joined late, by the first call that needs it, so that properties of a loader (how far it reads ahead, whether
it drops the last samples) can be options of joining.  Before that, `rank` and `size` come from the environment.

The end of the script: the library sees the process's exit status, which Python does not report.  With status 0 it ends
the steps in progress, waits for the other workers and closes; with another status the job fails with it.  So this
module looks at no exceptions but a lack of memory, which gets a status of its own (_memory.py), and the parameters'
memory must outlive the interpreter, see `_at_exit`.
"""

from __future__ import annotations

import atexit
import ctypes
import enum
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Union

from . import _lib as L
from ._memory import exit_by_code

READ_AHEAD = 8  # steps: enough for a loader with four processes that prefetch two batches each
MAX_READ_AHEAD = 64  # most steps that a loader may read ahead
READ_NONE = -1  # value of the option read_ahead for no step; 0 means the library's default


class Mark(enum.IntEnum):
    """Points in a step, at which clocks take the time."""

    ASKED = enum.auto()  # the loop begins to wait for a batch
    GOT = enum.auto()  # the batch has arrived
    BEGUN = enum.auto()  # the step has begun
    WAITS = enum.auto()  # the worker begins to wait for the other workers' gradients
    GOES_ON = enum.auto()  # the gradients are combined
    ENDS = enum.auto()  # the step ends


def _environment(*names: str, default: int) -> int:
    """Return the first of these environment variables that is set and not empty, as an integer; else the default."""
    for name in names:
        if os.environ.get(name):
            return int(os.environ[name])
    return default


class HostTensor(Protocol):
    """A tensor of any framework in the host's memory."""

    def data_ptr(self) -> int: ...


Memory = Union[HostTensor, ctypes.c_int64, ctypes.Array]


def _address(memory: Memory | None) -> int | None:
    """Return the address of a tensor, array or number; None for None."""
    if memory is None:
        return None
    return ctypes.addressof(memory) if isinstance(memory, (ctypes.c_int64, ctypes.Array)) else memory.data_ptr()


def _hold(objects: Iterable[Any]) -> None:
    """Keep these objects until the process ends: the library uses their memory, perhaps even after the interpreter has
    ended."""
    for it in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(it))


def run_all(callbacks: Iterable[Callable[[], None]]) -> None:
    """Call each of the callbacks, in their order."""
    for callback in callbacks:
        callback()


def say(text: str) -> None:
    """Print a message of this worker to standard error."""
    print(f"eddis: {text}", file=sys.stderr, flush=True)


class Worker:
    """This process as a worker of the job.  There is one, `worker` below."""

    def __init__(self) -> None:
        self.handle: ctypes.c_void_p | None = None
        self.options: dict[str, Any] = {}  # options of eddis_open, by name
        self.world = L.World()  # the job's state when `look` last read it
        self.step = L.Step(flags=L.STEP_READS)  # the library reads values at the first step, too
        self.committed = False  # all parameters are registered and the group is known
        self.in_step = False  # `step` has begun and not ended
        self.is_touched = False  # the script has used the step: a backward pass, a weight or an optimizer's step
        self.over = False  # no later step can begin
        self.has_finished = False  # `finish` was called
        self.rounds = 0  # rounds of gradients that were combined in the step
        self.weight = 0.0  # weight of this worker's gradients in the step
        self.is_weight_open = False  # the library does not know the weight yet
        self.is_sum = False  # losses are sums over samples, not means
        self.is_empty = False  # the step's batch has no samples that count, so its loss is no number
        self.n_counting = 0  # workers of the group with samples in the step; 0: n_with_samples has not asked yet
        self.paces_itself = False  # the script spends the step time of an emulated device
        self.stepper = 0  # threading.get_ident() of the thread that makes the steps; 0: no step has begun
        self.loops = 0  # loops over the loader that the script has begun
        self.next_step = 0  # number of the step after the present one
        self.begun_s = 0.0  # time.perf_counter() when the step began
        self.report = L.Report()  # what `end` reports of the step
        # Callbacks
        self.before_open: list[Callable[[], None]] = []  # set options that depend on the script's models
        self.before_commit: list[Callable[[], None]] = []  # register parameters with the library
        self.after_commit: list[Callable[[], None]] = []  # called once the group is known
        self.before_values: list[Callable[[], None]] = []  # put values where the library will read them
        self.before_steps: list[Callable[[], None]] = []  # give the library the values' present addresses
        self.after_values: list[Callable[[], None]] = []  # take values that the library has written
        # Called before a step ends: raise an error if it cannot, fill in its report.
        self.before_end: list[Callable[[], None]] = []
        self.before_close: list[Callable[[], None]] = []  # give back the library's memory
        # Share the models' tensors that are not registered, at a start without checkpoint.
        self.at_start: list[Callable[[], None]] = []
        # Called in local mode at the end of a round, if the program combines gradients itself: combine the models.
        self.at_round: list[Callable[[], None]] = []
        # Called before a checkpoint is read: examine the model as the script has made it.
        self.before_restore: list[Callable[[], None]] = []
        self.marks: dict[Mark, list[Callable[[], None]]] = {what: [] for what in Mark}  # called at each mark
        # Takes the step's weight if the program combines its gradients itself.
        self.on_weight: Callable[[float], None] | None = None
        self.restore: Callable[[], bool] | None = None  # continue from a checkpoint; returns False if there is none
        self.save: Callable[[], None] | None = None  # write a checkpoint, together with all other workers
        # Complete the checkpoint that the script has begun itself: at once, or else when it is ready on all workers.
        self.complete: Callable[[bool], None] | None = None
        self.is_told_unsaved = False  # the message that the script saves nothing was printed
        self.outliving: dict[int, Any] = {}  # owners of the values' memory that the library uses, by parameter

    # ---- joining and leaving

    def set_options(self, advice: str, **options: Any) -> None:
        """Set options of eddis_open.  If the job is already joined with other values, raise RuntimeError with this
        advice."""
        if self.handle and any(self.options.get(name, 0) != value for name, value in options.items()):
            raise RuntimeError(f"the job has been joined already, by a collective perhaps: {advice}")
        self.options.update(options)

    def open(self) -> None:
        """Join the job, unless this worker has already joined.  Collective."""
        if self.handle:
            return
        run_all(self.before_open)
        self.options.setdefault("read_ahead", READ_AHEAD)
        handle = ctypes.c_void_p()
        L.call("open", L.Options(close_at_exit=L.EXIT_FINISH, **self.options), handle)
        self.handle = handle
        self.process = os.getpid()
        self.look()
        atexit.register(self._at_exit)
        if self.has_plan:
            exit_by_code(lambda: threading.get_ident() == self.stepper,
                         lambda code: L.lib.eddis_abort(self.handle, code))

    def look(self) -> None:
        """Read the job's present state from the library into `world`."""
        L.lib.eddis_world(self.handle, self.world)

    @property
    def mode(self) -> str:
        """The training mode: "sync", "async", "hybrid" or "local"; "auto" until the first step if the job has none."""
        return self.world.mode.decode() if self.handle else os.environ.get("EDDIS_SYNC_MODE", "sync")

    @property
    def rank(self) -> int:
        """This worker's number, from 0; from the environment before the job is joined."""
        return self.world.rank if self.handle else _environment("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", default=0)

    @property
    def size(self) -> int:
        """The number of workers; from the environment before the job is joined."""
        return self.world.n_ranks if self.handle else _environment("WORLD_SIZE", default=self.n_joining)

    @property
    def local_rank(self) -> int:
        """This worker's number on its node, from 0; from the environment before the job is joined."""
        return self.world.local_rank if self.handle else _environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                                                      default=0)

    @property
    def local_size(self) -> int:
        """The number of workers on this node; from the environment before the job is joined."""
        return self.world.n_local_ranks if self.handle else _environment("LOCAL_WORLD_SIZE",
                                                                         "OMPI_COMM_WORLD_LOCAL_SIZE", default=1)

    @property
    def has_plan(self) -> bool:
        """True if eddis-run started this worker, whose plan then decides the batches."""
        return bool(os.environ.get("EDDIS_BOARD"))

    @property
    def n_joining(self) -> int:
        """The number of workers that MPI will find, as far as the environment shows before MPI starts; 1 by default."""
        return _environment("OMPI_COMM_WORLD_SIZE", *(["SLURM_STEP_NUM_TASKS"] if "PMIX_RANK" in os.environ else ()),
                            default=1)

    @property
    def is_several(self) -> bool:
        """True if workers, or groups of them, train models of their own (async, hybrid and local mode)."""
        return bool(self.world.flags & L.WORLD_SEVERAL)

    @property
    def only_joins(self) -> bool:
        """True if this worker writes a checkpoint only because others do, and has no step any more."""
        return self.has_finished or not self.step.batch

    def _at_exit(self) -> None:
        """At the interpreter's end: put values where the library reads them, and keep their memory, since the library
        still uses it afterwards.  A child made by fork does nothing."""
        if not self.handle or os.getpid() != self.process:
            return
        _hold(self.outliving.values())
        try:
            if not self.over:
                run_all(self.before_values)
        finally:
            _hold(self.outliving.values())

    def close(self) -> None:
        """End all steps and leave the job.  Collective."""
        if not self.handle:
            return
        self.finish()
        run_all(self.before_close)
        handle, self.handle = self.handle, None
        L.call("close", handle)

    # ---- before the first step

    def set_data(self, samples: int, epochs: int) -> None:
        """Join the job and give the library the number of samples in an epoch, and the number of epochs (0: unknown).
        """
        self.open()
        L.call("set_data", self.handle, samples, epochs)

    def commit(self) -> None:
        """End the registration of parameters, and read the group and the mode, which all workers then know.  Later
        calls do nothing.  Raises Error.  Collective."""
        if self.committed:
            return
        run_all(self.before_commit)
        run_all(self.before_values)
        try:
            L.repeat("commit", self.handle)
        except L.Error as error:
            if "read_ahead" not in str(error):
                raise
            raise L.Error(error.code, f"{error}: loaders read num_workers * prefetch_factor batches ahead, "
                          "so set the largest number of all workers with eddis.torch.init(read_ahead=)") from None
        self.committed = True
        self.look()
        run_all(self.after_commit)

    def begin_with(self) -> None:
        """Give all workers the same model: the checkpoint's, else rank 0's.  Raises RuntimeError if the job resumes but
        the script has no State.  Collective."""
        if not self.restore and os.environ.get("EDDIS_RESUME_FROM"):
            raise RuntimeError("the job resumes from a checkpoint, but the script has no eddis.torch.State, which "
                               "would read it: make one before the loop")
        run_all(self.before_restore)
        if not (self.restore and self.restore()):
            L.call("broadcast_parameters", self.handle, 0)
            run_all(self.after_values)
            run_all(self.at_start)

    # ---- steps

    def mark(self, what: Mark) -> None:
        """Call the callbacks of this mark."""
        for callback in self.marks[what]:
            callback()

    def plan_step(self, step: int) -> L.Step | None:
        """Return what the library plans for this worker in step number `step`, the present one or up to read_ahead
        later; None: there is no such step.  Waits for the plan.  Raises Error for any other step."""
        told = L.Step()
        if self.over:
            return None
        return told if L.repeat("plan_step", self.handle, step, L.SLICE_NS, told) else None

    def sample_indices(self, step: L.Step) -> list[int]:
        """Return the numbers of this worker's samples in the step, step.count of them."""
        index = (ctypes.c_int64 * max(1, step.count))()
        L.call("sample_indices", self.handle, step, index)
        return index[:step.count]

    def begin(self) -> bool:
        """Begin the next step and describe it in `step`, `weight` and the other members; return False if there is none.
        Takes values that the library has written.  Raises Error."""
        if self.over:
            return False
        if self.step.flags & L.STEP_READS:
            run_all(self.before_values)
        elif self.is_several and self.world.n_group_ranks > 1:  # the group's root may pass on the common model
            run_all(self.before_steps)
        self.stepper = threading.get_ident()
        while (begun := L.call("step_begin", self.handle, self.step)) == L.ROUND_ENDED:
            run_all(self.at_round)
        self.in_step = begun == 1
        self.over = not self.in_step
        self.is_touched = not self.before_end  # without a DistributedOptimizer nothing reports a step's use
        self.rounds = 0
        self.weight, self.is_empty = float(self.step.count), not self.step.count
        self.is_weight_open, self.n_counting = False, 0
        if self.is_sum and self.in_step and self.step.count:
            self.weight, self.is_weight_open = 1.0, True
        self.report = L.Report()
        self.begun_s = time.perf_counter()
        if self.is_several and self.over or self.step.flags & L.STEP_WRITTEN:
            run_all(self.after_values)
        self.mark(Mark.BEGUN)
        return self.in_step

    def set_weight(self, weight: float) -> None:
        """Set the weight of this worker's gradients in the step; ignored for a worker without samples.  Raises
        RuntimeError outside of a step, or if losses are sums."""
        if not self.in_step:
            raise RuntimeError("a weight can be set only inside the loop over eddis.torch.loader, before backward()")
        if self.is_sum:
            raise RuntimeError("every sample of a loss that is a sum counts alike, as eddis.torch.DistributedOptimizer "
                               "was told by loss='sum': leave eddis.torch.set_weight out")
        if self.on_weight:
            self.on_weight(weight if self.step.count else 0.0)
        self.is_touched = True
        if not self.step.count:  # the samples of this step only fill the batch and count nothing
            return
        if not self.on_weight:
            L.call("set_weight", self.handle, weight)
        self.is_weight_open, self.is_empty = False, False
        self.weight = weight

    def hold(self, samples: int) -> None:
        """Record that the step's batch holds `samples` samples.  Their number becomes the weight, unless losses are
        sums or the script sets a weight."""
        self.is_empty = not samples
        if not self.is_sum:
            self.weight, self.is_weight_open = float(samples), True

    def fix_weight(self) -> None:
        """Pass the weight to the library if the library does not have it yet.  To be called before the step's first
        announcement."""
        if self.is_weight_open and self.in_step:
            self.is_weight_open = False
            L.call("set_weight", self.handle, self.weight)

    def n_with_samples(self) -> int:
        """Return how many workers of the group have samples in the step.  Asks the library at the first call in a step.
        """
        if not self.n_counting:
            counts = (ctypes.c_int64 * self.world.n_group_ranks)()
            L.call("counts", self.handle, self.step.step, counts)
            self.n_counting = sum(n > 0 for n in counts)
        return self.n_counting

    def compare_loops(self) -> None:
        """Raise RuntimeError if workers of the group are in different loops over the loader, according to `loops`.
        Collective in the group."""
        rows = (ctypes.c_int64 * (2 * self.world.n_group_ranks))()
        own = (ctypes.c_int64 * 2)(self.rank, self.loops)
        self.collective(L.ALLGATHER, rows, ctypes.sizeof(own), scope=L.GROUP, input=own)
        loops = dict(zip(rows[::2], rows[1::2]))
        first, last = min(loops, key=loops.get), max(loops, key=loops.get)
        if loops[first] != loops[last]:
            raise RuntimeError(
                f"at step {self.step.step} rank {last} is in its loop {loops[last]} over eddis.torch.loader and rank "
                f"{first} still in loop {loops[first]}, so the one would end before the other: leave a loop on all "
                "workers at the same batch, as decided together with "
                "eddis.torch.allreduce, or end all loops with eddis.torch.stop")

    def stop(self) -> None:
        """Make all workers stop, a step or two from now.  Does nothing before the job is joined."""
        if self.handle:
            L.lib.eddis_stop(self.handle)

    def wait_set(self, number: int) -> None:
        """Wait until the present round of parameter set `number` is combined, and count it in `rounds`."""
        L.wait("wait_set", self.handle, number)
        self.rounds += 1

    def end(self, is_left: bool = False) -> None:
        """End the step, and write the checkpoint if the plan requests one, or complete the one that the script has
        begun.  Outside of a step do the latter only.  is_left: the loop was left before backward(), so the step needs
        no round of gradients.  Raises RuntimeError if the step had no backward pass that combines gradients."""
        if self.in_step:
            self.end_step(is_left)
            if self.step.flags & L.STEP_CHECKPOINT:
                self._checkpoint()
        if self.complete:
            self.complete(bool(self.step.flags & L.STEP_STOP))

    def end_step(self, is_left: bool = False) -> None:
        """End the step in progress, as `end` does, without a checkpoint."""
        run_all(self.before_end)
        if not is_left and not self.rounds and self.world.n_group_ranks > 1 and self.step.batch:
            self._refuse_no_round()
        self.mark(Mark.ENDS)
        L.wait("wait", self.handle)
        L.call("step_end", self.handle, self.report)
        self.in_step = False
        self.next_step = self.step.step + 1

    def _refuse_no_round(self) -> None:
        """Raise RuntimeError for a step that ends without a round of gradients; the message depends on the cause."""
        if not self.before_end:
            raise RuntimeError("nothing combines the gradients of this script, so each worker would train a model of "
                               "its own: call eddis.torch.attach(model), or give its optimizer to "
                               "eddis.torch.DistributedOptimizer, before the loop")
        raise RuntimeError(
            f"step {self.step.step} ends without a backward pass that combines gradients, so this worker's model would "
            "no longer be that of the others: take every batch through backward(), with the loss "
            "multiplied by 0 if it must not count, and the last of its passes outside of no_sync")

    def _checkpoint(self) -> None:
        """Write a checkpoint; if the script has no State, rank 0 prints once that none is written."""
        if self.save:
            self.save()
        elif not self.is_told_unsaved and self.rank == 0:
            self.is_told_unsaved = True
            say("the job asks for a checkpoint, but the script has no eddis.torch.State: none is written")

    def finish(self) -> None:
        """End all steps.  In async, hybrid and local mode the parameters are then the common model.  Until all groups
        have ended, join the checkpoints that other workers write, in local mode their rounds.  Collective."""
        if not self.committed or self.over:
            return
        self.end()
        self.has_finished = True
        if self.complete:
            self.complete(True)
        run_all(self.before_values)
        while left := L.wait("finish", self.handle):
            if left == L.ROUND_ENDED:
                run_all(self.at_round)
            elif self.save:
                self.save()
        self.over = True
        run_all(self.after_values)

    def set_metric(self, name: str, value: float) -> None:
        """Publish a result of the job under this name.  Joins the job.  Raises Error."""
        self.open()
        L.call("set_metric", self.handle, name.encode(), value)

    def set_phase(self, phase: int) -> None:
        """Report the present phase (PHASE_INPUT, PHASE_EVALUATE) to eddis-run."""
        L.lib.eddis_set_phase(self.handle, phase)

    # ---- collectives of any buffer

    def collective(self, kind: int, memory: Memory, n: int, **others: Any) -> None:
        """Run eddis_collective on `memory`, n elements or bytes, and wait for its end.  The result is in `memory`.
        others: as of `begin_collective`.  Joins the job.  Collective."""
        self.begin_collective(kind, memory, n, **others)()

    def begin_collective(self, kind: int, memory: Memory, n: int, *, scope: int = L.ALL, input: Memory | None = None,
                         dtype: int = 0, op: int = 0, root: int = 0) -> Callable[[], None]:
        """Begin a collective of eddis_collective.h on `memory`, n elements or bytes, and return a function that waits
        for its end, to be called once.  The result is then in `memory`.  Joins the job.  A signal handler may raise
        during the wait; the library then goes on with the operation, so the memory is kept until the process ends.
        Collective."""
        self.open()
        request = ctypes.c_void_p()
        asked = L.Collective(kind=kind, scope=scope, buffer=_address(memory), input=_address(input), n=n, dtype=dtype,
                             op=op, root=root)

        def hold_after_failure(call: Callable[..., int], *arguments: Any) -> None:
            """Make this call; if it raises, keep the memory."""
            try:
                call(*arguments)
            except BaseException:
                _hold((memory, input))
                raise

        def wait() -> None:
            """Wait for the end; with `attach` the clock of the step leaves this time out."""
            waits = self.in_step and bool(self.on_weight)
            if waits:
                self.mark(Mark.WAITS)
            hold_after_failure(L.wait, "request_wait", self.handle, request)
            if waits:
                self.mark(Mark.GOES_ON)

        hold_after_failure(L.call, "collective_start", self.handle, asked, request)
        return wait

    def broadcast_bytes(self, data: bytes | None, root: int) -> bytes:
        """Return the root's bytes on all workers; `data` is used on the root only.  Collective."""
        n = ctypes.c_int64(len(data) if data is not None else 0)
        self.collective(L.BROADCAST, n, 8, root=root)
        buffer = ctypes.create_string_buffer(data or b"", max(1, n.value))
        self.collective(L.BROADCAST, buffer, n.value, root=root)
        return buffer.raw[:n.value]


worker = Worker()
