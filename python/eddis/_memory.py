# SPDX-License-Identifier: Apache-2.0
"""The end of a process whose memory was too small for a step's samples: its exit code lets eddis-run give this worker
fewer samples and start the job again."""

from __future__ import annotations

import os
import re
import sys
import threading
import types
from collections.abc import Callable

from . import _lib as L

# Messages of errors without a type of their own: of CUDA and its libraries, of NCCL, and of PyTorch's memory on CPUs
_LACKS = re.compile(r"(CUDA|HIP)( error:)? out of memory|'out of memory'|_STATUS_ALLOC_FAILED|Failed to CUDA \w*alloc|"
                    r"DefaultCPUAllocator: (can't allocate|not enough) memory")


def is_lack(error: BaseException | None) -> bool:
    """Return whether an exception, or one that is its cause (`raise ... from`), says that memory is too small: of the
    host or of a device, in PyTorch, CUDA's libraries or NCCL."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__):
            return True
        if isinstance(error, RuntimeError) and not isinstance(error, L.Error) and _LACKS.search(str(error)):
            return True
        error = error.__cause__
    return False


def exit_by_code(is_stepping: Callable[[], bool], abort: Callable[[int], None]) -> None:
    """Let the process exit with EXIT_MEMORY, behind the usual traceback, if an exception of is_lack ends it.  An
    exception that the script catches ends nothing, even if it calls sys.excepthook itself.  Hooks that the script has
    set are called as before.

    An exception that ends a thread ends no process.  If it is the thread that makes the steps, by is_stepping, called
    in that thread, the job would wait for ever, so `abort` is called with the code.
    """
    process = os.getpid()
    before, before_in_thread = sys.excepthook, threading.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
        before(kind, error, trace)
        # The interpreter calls it while no exception is handled, and in the main thread
        is_end = sys.exc_info()[1] is None and threading.current_thread() is threading.main_thread()
        if is_end and os.getpid() == process and is_lack(error):
            raise SystemExit(L.EXIT_MEMORY)  # the interpreter ends as usual, with this code

    def thread_hook(arguments: threading.ExceptHookArgs) -> None:
        try:
            before_in_thread(arguments)
        finally:
            if os.getpid() == process and is_stepping() and is_lack(arguments.exc_value):
                sys.stdout.flush()
                sys.stderr.flush()
                abort(L.EXIT_MEMORY)

    sys.excepthook, threading.excepthook = hook, thread_hook
