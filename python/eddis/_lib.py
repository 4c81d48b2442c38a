# SPDX-License-Identifier: Apache-2.0
"""Call libeddis by ctypes: the structs, constants and functions of lib/eddis.h, which documents them.

Calls release the interpreter's lock.  A call that fails raises Error with the library's message.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import pathlib
import shutil
from ctypes import CDLL, POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, \
    c_uint64, c_void_p
from typing import Any

SONAME = "libeddis.so.0"
SLICE_NS = 50_000_000  # longest single wait: Python runs signal handlers only between two calls

FLOAT32, FLOAT64, INT32, INT64, UINT8, FLOAT16, BFLOAT16 = range(1, 8)
SUM, MIN, MAX = range(1, 4)
ALL, GROUP, NODE = range(3)
ALLREDUCE, BROADCAST, ALLGATHER, BARRIER = range(1, 5)
PHASE_INPUT, PHASE_COMPUTE, PHASE_WAIT, PHASE_EVALUATE, PHASE_CHECKPOINT = range(1, 6)
ROUND_ENDED = 2
STEP_CHECKPOINT, STEP_STOP, STEP_END_OF_EPOCH, STEP_READS, STEP_WRITTEN, STEP_SUMS = 1, 2, 4, 8, 16, 32
WORLD_SEVERAL = 1
EXIT_FINISH = 2
EXIT_MEMORY = 79
MAX_DIMS = 8
IN_PLACE = 1  # result of an announcement: it is read where it is
ZERO = 2  # source of an announcement: the gradient is zero
WEIGHTED = 3  # source: the gradient is in the library's memory, multiplied by eddis_factor


class Error(RuntimeError):
    """An error of libeddis: a message of one sentence, and `code`, the negative errno value."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Message(Structure):
    _fields_ = [("code", c_int), ("text", c_char * 512)]


class _Sized(Structure):
    """A struct of lib/eddis.h whose first member is its own size, so that a newer library knows which members this
    version has."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self.size = ctypes.sizeof(self)


class Options(_Sized):
    _fields_ = [("size", c_size_t), ("samples", c_int64), ("epochs", c_int64), ("batch", c_int64), ("seed", c_uint64),
                ("bucket_bytes", c_int64), ("own_pace", c_int), ("measure", c_int), ("pieces", c_int),
                ("read_ahead", c_int), ("drop_last", c_int), ("min_count", c_int64), ("close_at_exit", c_int),
                ("gradients", c_char_p)]


class World(_Sized):
    _fields_ = [("size", c_size_t), ("rank", c_int), ("n_ranks", c_int), ("local_rank", c_int),
                ("n_local_ranks", c_int), ("generation", c_int), ("emulated", c_int), ("emulated_fixed_s", c_double),
                ("emulated_sample_s", c_double), ("seed", c_uint64), ("mode", c_char_p), ("algorithm", c_char_p),
                ("momentum", c_double), ("flags", c_uint), ("group", c_int), ("n_groups", c_int),
                ("group_rank", c_int), ("n_group_ranks", c_int), ("node", c_int), ("n_nodes", c_int),
                ("batch", c_int64), ("outer_rate", c_double), ("outer_momentum", c_double)]


class Parameter(_Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("dtype", c_int), ("n_dims", c_int),
                ("dims", c_int64 * MAX_DIMS), ("value", c_void_p), ("factored", c_int), ("result", c_void_p),
                ("state", c_int)]


class Step(_Sized):
    _fields_ = [("size", c_size_t), ("step", c_int64), ("epoch", c_int64), ("step_in_epoch", c_int64),
                ("steps_in_epoch", c_int64), ("first", c_int64), ("count", c_int64), ("batch", c_int64),
                ("weight", c_double), ("lr_factor", c_double), ("flags", c_uint), ("emulated_s", c_double),
                ("piece", c_int64), ("samples_before", c_int64)]


class Report(_Sized):
    _fields_ = [("size", c_size_t), ("has_loss", c_int), ("loss", c_double), ("overrun_ns", c_int64),
                ("compute_ns", c_int64), ("input_ns", c_int64), ("work", c_double), ("memory_bytes", c_int64),
                ("read_ns", c_int64), ("has_sums", c_int), ("sum", c_double), ("squares", c_double),
                ("precision", c_char_p), ("loss_age", c_int64)]


class ProgressReport(_Sized):
    _fields_ = [("size", c_size_t), ("step", c_int64), ("samples", c_int64), ("step_ns", c_int64),
                ("compute_ns", c_int64), ("wait_ns", c_int64)]


class Collective(_Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("scope", c_int), ("buffer", c_void_p), ("input", c_void_p),
                ("n", c_size_t), ("dtype", c_int), ("op", c_int), ("root", c_int)]


class CheckpointInfo(_Sized):
    _fields_ = [("size", c_size_t), ("step", c_int64), ("n_ranks", c_int), ("generation", c_int), ("own", c_int)]


# Arguments of eddis_NAME(..., struct eddis_error *), which returns a count or a negative errno value.
_CALLS = {
    "open": [POINTER(Options), POINTER(c_void_p)],
    "close": [c_void_p],
    "set_data": [c_void_p, c_int64, c_int64],
    "add_layer_to": [c_void_p, c_int, c_char_p, c_int],
    "add_parameter": [c_void_p, c_int, POINTER(Parameter)],
    "commit": [c_void_p],
    "set_value": [c_void_p, c_int, c_void_p],
    "broadcast_parameters": [c_void_p, c_int],
    "step_begin": [c_void_p, POINTER(Step)],
    "step_end": [c_void_p, POINTER(Report)],
    "finish": [c_void_p, c_int64],
    "plan_step": [c_void_p, c_int64, c_int64, POINTER(Step)],  # the time-out is not the last argument
    "sample_indices": [c_void_p, POINTER(Step), POINTER(c_int64)],
    "counts": [c_void_p, c_int64, POINTER(c_int64)],
    "set_weight": [c_void_p, c_double],
    "announce": [c_void_p, c_int, c_void_p, c_void_p],
    "wait": [c_void_p, c_int64],
    "wait_set": [c_void_p, c_int, c_int64],
    "wait_parameters": [c_void_p, c_int, POINTER(c_int), c_int64],
    "set_metric": [c_void_p, c_char_p, c_double],
    "progress": [c_int64, c_int64],
    "progress_report": [POINTER(ProgressReport)],
    "collective_start": [c_void_p, POINTER(Collective), POINTER(c_void_p)],
    "request_wait": [c_void_p, c_void_p, c_int64],
    "checkpoint_begin": [c_void_p, c_char_p, POINTER(c_void_p)],
    "checkpoint_put": [c_void_p, c_char_p, c_void_p, c_size_t],
    "checkpoint_commit": [c_void_p, c_int],
    "checkpoint_abandon": [c_void_p],
    "restore_begin": [c_void_p, c_char_p, POINTER(c_void_p)],
    "checkpoint_info": [c_void_p, POINTER(CheckpointInfo)],
    "checkpoint_get_from": [c_void_p, c_int, c_char_p, c_void_p, c_size_t],
    "restore_end": [c_void_p],
}
# Arguments and result of all other functions.
_OTHERS = {
    "checkpoint_size": ([c_void_p, c_int, c_char_p, POINTER(_Message)], c_int64),
    "checkpoint_folder": ([c_void_p], c_char_p),
    "gradient": ([c_void_p, c_int], c_void_p),
    "gradient_block": ([c_void_p, POINTER(c_size_t)], c_void_p),
    "result": ([c_void_p, c_int], c_void_p),
    "result_block": ([c_void_p, POINTER(c_size_t)], c_void_p),
    "factor": ([c_void_p, c_int], c_double),
    "world": ([c_void_p, POINTER(World)], c_int),
    "stop": ([c_void_p], c_int),
    "set_phase": ([c_void_p, c_int], None),
    "abort": ([c_void_p, c_int], None),
    "pass_slurm_signals": ([], None),
    "version": ([], c_char_p),
}


def _beside_program() -> str | None:
    """Return the path of the library that belongs to the eddis-run in PATH, installed or in a build folder; None: not
    found.  For scripts that are started without eddis-run."""
    program = shutil.which("eddis-run")
    if not program:
        return None
    prefix = pathlib.Path(program).resolve().parent.parent
    places = itertools.chain(prefix.glob(f"lib*/{SONAME}"), prefix.glob(f"lib/*/{SONAME}"))
    return next((str(place) for place in sorted(places)), None)


def _load() -> CDLL:
    """Load the library (EDDIS_LIBRARY, else the one of eddis-run in PATH, else the system's) and declare its functions.
    Raise ImportError if it is not found or lacks a function."""
    name = os.environ.get("EDDIS_LIBRARY") or _beside_program() or SONAME
    try:
        library = CDLL(name)
    except OSError as reason:
        raise ImportError(
            f"eddis' library cannot be loaded: {reason}\n"
            "Install eddis and have its bin folder in PATH, or start the script by eddis-run, or name the library's "
            "file in the variable EDDIS_LIBRARY") from None
    rows = {name: (arguments + [POINTER(_Message)], c_int) for name, arguments in _CALLS.items()} | _OTHERS
    for name, (arguments, result) in rows.items():
        try:
            function = getattr(library, "eddis_" + name)
        except AttributeError:
            raise ImportError(f"{library._name} is of another version of eddis: it has no eddis_{name}\n"
                              "Install the library and the Python package from one release") from None
        function.argtypes, function.restype = arguments, result
    return library


lib = _load()
_functions = {name: getattr(lib, "eddis_" + name) for name in _CALLS}


def version() -> str:
    """Return the version of the loaded library, such as "0.1.0"."""
    return lib.eddis_version().decode()


def _error(result: int, message: _Message) -> Error:
    """Return the Error for a negative result and its message."""
    return Error(result, message.text.decode(errors="replace") or os.strerror(-result))


def call(name: str, *arguments: Any) -> int:
    """Call eddis_<name>(*arguments, &error) and return its result, 0 or a count.  Raises Error."""
    message = _Message()
    result = _functions[name](*arguments, byref(message))
    if result < 0:
        raise _error(result, message)
    return result


def told(name: str, *arguments: Any) -> tuple[int, str]:
    """Call eddis_<name> as `call` does; return its result, and the message that the library may write on success ("":
    none)."""
    message = _Message()
    result = _functions[name](*arguments, byref(message))
    if result < 0:
        raise _error(result, message)
    return result, message.text.decode(errors="replace")


def repeat(name: str, *arguments: Any) -> int:
    """Call eddis_<name> as `call` does, again and again as long as it fails with -ETIMEDOUT."""
    while True:
        try:
            return call(name, *arguments)
        except Error as error:
            if error.code != -errno.ETIMEDOUT:
                raise


def wait(name: str, *arguments: Any) -> int:
    """Call eddis_<name>, whose last argument is a time-out, as often as it times out: wait in slices of SLICE_NS."""
    return repeat(name, *arguments, SLICE_NS)


def checkpoint_size(checkpoint: c_void_p, rank: int, name: bytes) -> int:
    """Return how many bytes this rank stored under this name in the checkpoint; -1: none, or there was no such rank.
    Raises Error."""
    message = _Message()
    n = lib.eddis_checkpoint_size(checkpoint, rank, name, byref(message))
    if n < 0 and n != -errno.ENOENT:
        raise Error(n, message.text.decode(errors="replace"))
    return n if n >= 0 else -1
