# SPDX-License-Identifier: Apache-2.0
"""loader(workers="auto"): a loader whose worker waits for data gets more processes at its next epoch.

The number doubles while the waits are a part of the steps that matters, up to the processors of this worker, and stays
where the last change has not made the waits shorter.  Waits are compared per sample, since the plan changes shares.
The plan chooses the samples in this process, so each batch has the same samples with any number of processes.
"""

from __future__ import annotations

import os
import pathlib
import time

from torch.utils import data

from .._worker import MAX_READ_AHEAD, Mark, say, worker
from ._parts import parts

AHEAD = 32  # steps that the processes may read ahead if the script does not set read_ahead: equal on all workers
PREFETCH = 2  # batches that PyTorch lets each process prefetch if the script does not set prefetch_factor
BOUND = 0.05  # part of the step time that a worker may wait for data
SHORTER = 0.9  # a wait for a sample is shorter if it is less than this part of the wait before
MEASURED = 4  # fewest steps by which a number of processes is judged


def words(n: int) -> str:
    """Return words for a number of processes."""
    return f"{n} process{'' if n == 1 else 'es'}"


def _launcher() -> int:
    """Return the id of the process that has started this worker and has not bound itself: the parent of eddis-rank,
    which binds itself and then runs the script; without eddis-run the parent of this process."""
    pid = os.getppid()
    while worker.has_plan and pid > 1:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        parent = int(stat.rpartition(")")[2].split()[1])
        if "(eddis-rank)" in stat:
            return parent
        pid = parent
    return os.getppid()


def processors() -> int:
    """Return how many processors this worker has.  Workers that are not bound to processors of their own share the
    node's equally."""
    own = os.sched_getaffinity(0)
    try:
        all_of_node = os.sched_getaffinity(_launcher())
    except (OSError, ValueError):
        all_of_node = own
    is_bound = own < all_of_node
    return max(1, len(own) if is_bound else len(own) // max(1, worker.local_size))


class Processes:
    """The number of processes of a loader, and how long this worker has waited for their batches since it is so."""

    def __init__(self, made_from: data.DataLoader, own_ahead: int) -> None:
        """own_ahead: batches that the class of made_from may take ahead itself."""
        self.n = made_from.num_workers
        self._prefetch = made_from.prefetch_factor or PREFETCH
        self._own_ahead = own_ahead
        self._n_before = 0
        self._before_ns = float("inf")  # wait for a sample with the number of processes before
        self._is_settled = False  # the number stays, and this was said
        self._asked_ns = self._got_ns = 0  # when the loop asked for the newest batch, and got it; 0: in no step
        self._is_first = True  # the newest batch is the first of its loop, for which the processes started
        self._forget()
        for what, callback in (Mark.ASKED, self._ask), (Mark.GOT, self._get):
            worker.marks[what].append(callback)

    def _forget(self) -> None:
        """Begin to measure anew."""
        self._n_steps = self._n_samples = self._waited_ns = self._total_ns = 0

    def _get(self) -> None:
        """Note that a batch has arrived.  A callback of Worker.marks."""
        self._got_ns = time.perf_counter_ns()

    def _ask(self) -> None:
        """Count the step that has ended, as the loop asks for the next batch.  A callback of Worker.marks."""
        now_ns = time.perf_counter_ns()
        if self._got_ns and worker.step.count:
            if not self._is_first:
                waited_ns = self._got_ns - self._asked_ns
                # A device may still have computed meanwhile: its clock has the time for which it had nothing to do.
                self._waited_ns += min(waited_ns, worker.report.input_ns or waited_ns)
                self._total_ns += now_ns - self._asked_ns
                self._n_samples += worker.step.count
                self._n_steps += 1
            self._is_first = False
        self._asked_ns, self._got_ns = now_ns, 0

    def _most(self) -> tuple[int, str]:
        """Return the largest number of processes, and what limits it, for the message."""
        has, ahead = processors(), max(0, worker.options["read_ahead"])
        may = max(0, ahead - self._own_ahead) * parts.n // self._prefetch
        if may < has:
            advice = f": call eddis.torch.init(read_ahead=), up to {MAX_READ_AHEAD}" if ahead < MAX_READ_AHEAD else ""
            return may, f"more would read over {ahead} steps ahead{advice}"
        return has, f"this worker has {has} processor{'' if has == 1 else 's'}"

    def begin(self) -> bool:
        """As an epoch begins, raise the number of processes if this worker has waited for data, and say so.  Return
        True if it has changed."""
        self._got_ns, self._is_first = 0, True
        if self._is_settled or self._n_steps < MEASURED:
            return False
        part, wait_ns = self._waited_ns / max(1, self._total_ns), self._waited_ns / self._n_samples
        self._forget()
        if part <= BOUND:
            return False
        told = f"rank {worker.rank} waited for data for {100 * part:.0f} % of the last epoch: its loader"
        most, limit = self._most()
        if wait_ns >= SHORTER * self._before_ns:
            limit = f"it waited as long with {self._n_before}"
        elif self.n < most:
            # The first process only works beside the script: the wait may be as long with slow data.
            self._n_before, self._before_ns = self.n, wait_ns if self.n else float("inf")
            self.n = min(most, max(1, 2 * self.n))
            say(f"{told} has {words(self.n)} from now on, not {self._n_before}")
            return True
        self._is_settled = True
        say(f"{told} keeps {words(self.n) if self.n else 'no process'}, since {limit}")
        return False
