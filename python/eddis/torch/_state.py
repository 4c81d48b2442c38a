# SPDX-License-Identifier: Apache-2.0
"""State: the objects and values of a script that the job's checkpoints contain.

Entries of a checkpoint, each a file of torch.save that torch.load reads with weights_only:

    torch.parameters  of the models, by rank 0; in async and hybrid mode the center variable, in local mode
                      the common model, which the library has put in their place
    torch.outer       of the outer optimizer of local mode, by rank 0, if torch.distributed combines the models; of
                      models of fully_shard by each worker of its group
    torch.optimizers  by the first worker of each group
    torch.buffers     of the models, by each worker: running statistics differ between workers
    torch.worker      by each worker: all other objects, values, the loader's position, random states

A worker makes its entries without communication, since another worker may already have ended and make none.

A step's checkpoint is written after the loop's body has run.  So the loader resumes in that epoch, perhaps with no step
left in it, and code after the epoch, such as a scheduler's step, runs exactly once.
"""

from __future__ import annotations

import io
import pathlib
import random
from collections import Counter, OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import torch

from .. import _checkpoint
from .. import _lib as L
from .._worker import worker
from . import _draws
from ._attach import attached_engines, attached_parameters
from ._combined import is_sharded
from ._deepspeed import refuse_in_state
from ._due import Due, has_shards
from ._groups import folder_for_group
from ._loader import Loader, start, the_loader
from ._optimizer import distributed_optimizers
from . import _rounds

FORMAT = 1
_OWN_NAMES = ("due", "folder", "resume", "resumed", "wait_for")
_PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.Tensor, torch.nn.Parameter, torch.Size, torch.dtype,
          torch.device)
_MAPPINGS = (dict, OrderedDict, Counter)
_LISTS = (list, tuple, set)

_state: State | None = None


def the_state() -> State | None:
    """Return the State of this process; None if there is none."""
    return _state


class State:
    """The state with which the script continues when the job restarts or resumes: its objects, its own plain values,
    the loader's position, and the random states of every worker.  A checkpoint is written whenever the job requests
    one.

        state = eddis.State(model=model, optimizer=optimizer, scheduler=scheduler, best=0.0)
        for epoch in loader.epochs(20):
            for x, y in loader:
                ...
            scheduler.step()
            state.best = max(state.best, test(model))

    model, optimizer, scheduler, scaler: objects with state_dict() and load_state_dict(), or lists or dicts of them.
    Other such objects may have any name.  Any other named value becomes an attribute: numbers, texts, tensors, and
    lists and dicts of these.  A checkpoint contains the attribute's value at that time.  At the first step the
    attributes get the checkpoint's values, a tensor on the device of the tensor that it replaces, else on the CPU.
    loader: the one of eddis.loader, which is saved anyway.

    A model of fully_shard, and its optimizer, the script saves itself, in the folder of the checkpoint; likewise an
    engine of DeepSpeed, by its save_checkpoint and load_checkpoint:

        state = eddis.State(scheduler=scheduler, best=0.0)
        if state.resume():
            dcp.load(parts, checkpoint_id=state.folder / "dcp")
        for epoch in loader.epochs(20):
            for x, y in loader:
                ...
                if state.due():
                    dcp.save(parts, checkpoint_id=state.folder / "dcp")

    Every other model, and every optimizer of DistributedOptimizer, must be in it.  A process has one State, made before
    the first step.  Raises RuntimeError otherwise, and TypeError for a value that cannot be saved.  At the first step,
    a model or optimizer that each rank has a part of raises TypeError, a checkpoint of another script ValueError, a
    damaged one eddis.Error.
    """

    def __init__(self, *, model: Any = None, optimizer: Any = None, scheduler: Any = None, scaler: Any = None,
                 loader: Loader | None = None, **others: Any) -> None:
        global _state
        if worker.committed:
            raise RuntimeError("the first step has begun: make eddis.torch.State before the loop")
        if _state is not None:
            raise RuntimeError("there is an eddis.torch.State already: give it all that is to be kept")
        if loader is not None and not isinstance(loader, Loader):
            raise TypeError(f"loader is of type {_name_of(type(loader))}: give State what eddis.torch.loader returned")
        for name in _OWN_NAMES:
            if name in others:
                raise ValueError(f"'{name}' is a name of State's own: take another one")
        named = dict(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler)
        self._objects: dict[str, Any] = {}
        self._values: set[str] = set()
        self._resumed: pathlib.Path | None = None  # checkpoint that the first step continued from
        self._is_own = False  # this worker's group is in that checkpoint
        self._is_resuming = False  # `resume` was called
        self.leaves_models = False  # a framework saves models and optimizers in `folder`
        self._due = Due(self._entries, lambda: bool(self._left()))
        for name, thing in [*((n, t) for n, t in named.items() if t is not None), *others.items()]:
            self._keep(name, thing)
        worker.restore, worker.save = self._restore, self._save
        worker.before_commit.insert(0, self._check)  # before anything is registered
        _state = self

    @property
    def resumed(self) -> bool:
        """True if the first step, or `resume`, continued from a checkpoint."""
        return self._resumed is not None

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder of the checkpoint that `due` has begun, until the end of the loop's body; else that of the
        checkpoint that was continued from; None: none.  Files in subfolders are listed by their sizes; files beside
        them are read and summed by rank 0.  Names have letters, digits, '.', '_' and '-'.  In local mode each group has
        a subfolder of its own, since its optimizers are: save and load by process_group=eddis.group()."""
        return self._due.folder or (self._resumed and folder_for_group(self._resumed, self._is_own))

    def resume(self) -> bool:
        """Continue from the checkpoint now, and not as the first step begins, so that the script can load its own part
        from `folder`.  Return False if there is none.  No model, optimizer or loader can be added after it.  Give
        eddis.loader the number of epochs.  Raises as the first step does.  Collective."""
        self._is_resuming = True
        start()
        return self.resumed

    def due(self) -> bool:
        """Return whether the job asks for a checkpoint after this step.  If so, end the step and begin the checkpoint,
        into whose `folder` the script then saves.  It is committed with the state when the loop's body ends, or not at
        all: if a rank fails, or no complete file of a sharded model is there, rank 0 says why and training goes on.

        Call it on all ranks as the last thing in the loop's body; of a step in parts it is true in the last part only.
        State writes its checkpoints without it if it has all models.  In local mode the step is the last of a round,
        whose end combines the models first.  Raises RuntimeError outside of the loop, in async and hybrid mode, and in
        local mode without `attach`.  Collective.
        """
        return self._due.due()

    def wait_for(self, future: Future[Any]) -> None:
        """Commit the checkpoint that `due` has begun when this future of torch.distributed.checkpoint.async_save is
        done on all ranks; steps go on meanwhile, but in local mode.  Raises RuntimeError where `due` was not true."""
        self._due.wait_for(future)

    def _keep(self, name: str, thing: Any) -> None:
        """Add a named thing to the state: an object, a list or dict of objects, or else a plain value, as an attribute
        of this name.  Raises TypeError for a value that cannot be saved."""
        objects = list(_objects_of(name, thing))
        if objects:
            self._objects.update(objects)
        else:
            if name in ("model", "optimizer", "scheduler", "scaler"):
                raise TypeError(f"{name} is of type {_name_of(type(thing))}, which has no state_dict() and "
                                "load_state_dict()")
            plain(f"State's {name}", thing)
            self._values.add(name)
        setattr(self, name, thing)

    # ---- what is written to a checkpoint

    def _kinds(self) -> dict[str, str]:
        """Return the kind of each object and value by name, to compare with a checkpoint's."""
        kinds = {name: "Module" if isinstance(it, torch.nn.Module) else type(it).__name__
                 for name, it in self._objects.items()}
        return {**kinds, **{name: "value" for name in self._values}}

    def _of(self, kind: type) -> dict[str, Any]:
        """Return the objects of this type by name."""
        return {name: it for name, it in self._objects.items() if isinstance(it, kind)}

    def _parameters(self) -> set[torch.nn.Parameter]:
        """Return the parameters of all models."""
        return {p for module in self._of(torch.nn.Module).values() for p in module.parameters()}

    def _names(self) -> dict[torch.nn.Parameter, str]:
        """Return the name of each parameter of the models, as "model.fc.bias"."""
        return {p: f"{name}.{key}" for name, module in self._of(torch.nn.Module).items()
                for key, p in module.named_parameters()}

    def _left(self) -> str:
        """Return what the script has to save itself, since State does not keep it; "" if nothing."""
        if has_shards():
            return "a model of fully_shard"
        kept = self._parameters()
        is_left = any(p not in kept for engine in attached_engines() for p in engine.parameters())
        return "an engine of DeepSpeed" if is_left else ""

    def _parts_of_models(self, are_parameters: bool) -> dict[str, dict[str, Any]]:
        """Return {model: {name: value}}: the parameters of each model, or everything else of its state_dict()."""
        parts = {}
        for name, module in self._of(torch.nn.Module).items():
            parameters = {key for key, _ in module.named_parameters(remove_duplicate=False)}
            parts[name] = {key: plain(f"{name}.{key}", value) for key, value in module.state_dict().items()
                           if (key in parameters) == are_parameters}
        return parts

    def _gpus(self) -> list[torch.device]:
        """Return the CUDA devices of the models' parameters, by index."""
        devices = {p.device for module in self._of(torch.nn.Module).values() for p in module.parameters()}
        devices |= {p.device for _, p in attached_parameters()}
        return sorted((device for device in devices if device.type == "cuda"), key=lambda device: device.index)

    def _optimizers(self) -> dict[str, Any]:
        """Return the optimizers' states by name, as plain values."""
        return {name: plain(name, it.state_dict()) for name, it in self._of(torch.optim.Optimizer).items()}

    def _own(self) -> dict[str, Any]:
        """Return this worker's entry "torch.worker"."""
        loader = the_loader()
        others = {name: plain(name, it.state_dict()) for name, it in self._objects.items()
                  if not isinstance(it, (torch.nn.Module, torch.optim.Optimizer))}
        return {"format": FORMAT, "kinds": self._kinds(), "objects": others,
                "values": {name: plain(f"State's {name}", getattr(self, name)) for name in self._values},
                "epoch": loader.iterations - loader.is_inside, "is_inside": loader.is_inside,
                "random": _random_states(self._gpus())}

    def _save(self) -> None:
        """Write a checkpoint that the script has not begun.  Collective."""
        self._due.complete(True)
        if self.leaves_models:
            _checkpoint.tell_unwritten("the framework has not saved in this step")
        elif (left := self._left()) and worker.only_joins:
            self._due.join(f"rank {worker.rank} has ended its steps before the others, and cannot save its part of "
                           f"{left}")
        elif left:
            _checkpoint.tell_unwritten(f"{left} is saved by the script where state.due() is true, and it did not call "
                                       "state.due() in this step")
        else:
            _checkpoint.write(self._entries)

    def _entries(self) -> Iterator[tuple[str, io.BytesIO]]:
        """Yield this worker's entries of a checkpoint, pairs of name and bytes: only those that this worker has to
        write."""
        if worker.rank == 0:
            yield "torch.parameters", _saved(self._parts_of_models(True))
        if _rounds.rounds and _rounds.rounds.writes:
            yield _rounds.ENTRY, _saved(_rounds.rounds.state(self._names()))
        if worker.world.group_rank == 0:
            yield "torch.optimizers", _saved(self._optimizers())
        yield "torch.buffers", _saved(self._parts_of_models(False))
        yield "torch.worker", _saved(self._own())

    # ---- what is read from a checkpoint

    def _restore(self) -> bool:
        """Continue from the checkpoint; return False if there is none.  Raises RuntimeError if the script has to load a
        part of it, and has not called `resume` for that.  Collective."""
        is_resumed = _checkpoint.read(self._take)
        if is_resumed and not self._is_resuming and (left := self._left()):
            raise RuntimeError(f"the job resumes from a checkpoint, but {left} would begin anew: load it from "
                               "state.folder where state.resume() is true, before the loop")
        return is_resumed

    def _check(self) -> None:
        """Raise RuntimeError if something that is trained is not in State, and ValueError or TypeError if what State
        has cannot be saved and read again.  A callback before commit."""
        kept = self._of(torch.optim.Optimizer).values()
        for name, thing in self._objects.items():
            refuse_in_state(name, thing, attached_engines())
        whole = self._parameters()
        updated = {p for it in kept for group in it.param_groups for p in group["params"]}
        for what, parameters in (("a model", whole), ("an optimizer of a model", updated)):
            if any(is_sharded(p) for p in parameters):
                raise TypeError(f"{what} of fully_shard is in eddis.torch.State, of which each rank has a part: leave "
                                "it out, and save it by torch.distributed.checkpoint in state.folder, where "
                                "state.due() is true")
        saved_by_engines = {p for engine in attached_engines() for p in engine.parameters()}
        for name, parameter in attached_parameters():
            if not (parameter in whole or parameter in saved_by_engines or is_sharded(parameter) or self.leaves_models):
                raise RuntimeError(f"parameter '{name}' of a model that eddis.torch.attach was given is in no model of "
                                   "eddis.torch.State: give it as model=")
        for optimizer, named in distributed_optimizers():
            if not any(optimizer is it for it in kept):
                raise RuntimeError(f"an optimizer ({type(optimizer).__name__}) is not in eddis.torch.State, which "
                                   "would go on without its momentum: give it as optimizer=")
            for name, parameter in named:
                if parameter not in whole:
                    raise RuntimeError(f"parameter '{name}' is in no model of eddis.torch.State: give its module as "
                                       "model=, or put it into a torch.nn.ParameterList")
        for what, saved in (("an object or value", self._own()), ("a model's buffer", self._parts_of_models(False)),
                            ("an optimizer's state", self._optimizers())):
            _loaded(_saved(saved), f"{what} that eddis.torch.State is to keep")

    def _take(self, checkpoint: _checkpoint.Reading) -> None:
        """Load everything from the open checkpoint.  A worker that is not in it, for example because there are more
        workers now, takes rank 0's entries.  Raises ValueError if the checkpoint does not fit this script.  Collective
        in the group."""
        own = checkpoint.info.own == 1
        where = f"checkpoint '{checkpoint.folder}'"
        root = _root_of_group()

        def entry(name: str, rank: int) -> dict[str, Any]:
            """Return the value of this rank's entry `name`; that of rank 0 if this worker is new, is in another group
            than before, or stored no such entry."""
            data = checkpoint.get(rank, name) if own else None
            data = data or checkpoint.get(0, name)
            if data is None:
                raise ValueError(f"{where} is not of eddis.torch.State: it has no '{name}' of rank 0")
            return _loaded(data, f"'{name}' of {where}")

        mine = entry("torch.worker", worker.rank)
        _compare(mine, self._kinds(), where)
        self._load_models(entry("torch.parameters", 0), entry("torch.buffers", worker.rank), where)

        def loaded(name: str, rank: int) -> Any:
            """Return the value of this entry of this rank; None: there is none."""
            data = checkpoint.get(rank, name)
            return None if data is None else _loaded(data, f"'{name}' of {where}")

        _rounds.load_rounds(checkpoint, loaded, self._names(), where)
        self._load({**entry("torch.optimizers", root), **mine["objects"]}, where)
        for optimizer in self._of(torch.optim.Optimizer).values():
            optimizer._opt_called = True  # schedulers would warn that this process has not called the optimizer's step
        for name, value in mine["values"].items():
            setattr(self, name, placed(value, getattr(self, name)))
        self._place(mine, own)
        self._resumed, self._is_own = pathlib.Path(checkpoint.folder).absolute(), own

    def _load_models(self, parameters: dict[str, Any], buffers: dict[str, Any], where: str) -> None:
        """Load parameters and buffers into the models.  Raises ValueError if names or shapes differ."""
        for name, module in self._of(torch.nn.Module).items():
            theirs, ours = {**parameters[name], **buffers[name]}, module.state_dict()
            for key in [*ours, *theirs]:
                if key not in theirs or key not in ours or _shape(theirs[key]) != _shape(ours[key]):
                    raise ValueError(f"{where} is of another model: its {name} has {_told(key, theirs)}, this one "
                                     f"{_told(key, ours)}")
            module.load_state_dict(theirs)

    def _load(self, saved: dict[str, Any], where: str) -> None:
        """Load the states of all objects other than models.  Raises ValueError if a state does not fit its object."""
        for name, value in saved.items():
            try:
                self._objects[name].load_state_dict(value)
            except (ValueError, KeyError, TypeError, RuntimeError, AttributeError) as reason:
                raise ValueError(f"{where} does not fit this script's {name}: {_first_line(reason)}") from reason

    def _place(self, mine: dict[str, Any], own: bool) -> None:
        """Set the loader's position and this worker's random states.  Inside of an epoch the random states are set when
        the loader begins its loop, which draws a number that the checkpoint's process had already drawn."""
        loader = the_loader()
        loader.iterations = mine["epoch"]

        def draw() -> None:
            """Set the random states: those of the checkpoint, or new ones if this worker is new or is in another group.
            """
            if own:
                _set_random_states(mine["random"], self._gpus())
            else:
                _draw_anew()

        if mine["is_inside"]:
            loader.on_entry.append(draw)
        else:
            draw()


def _objects_of(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield, by name, the objects in `thing` that have a state of their own: `thing` itself, or all items of a list or
    dict.  Yield nothing if an item has no state."""
    if callable(getattr(thing, "state_dict", None)) and callable(getattr(thing, "load_state_dict", None)):
        yield name, thing
        return
    items = enumerate(thing) if type(thing) in (list, tuple) else thing.items() if type(thing) is dict else ()
    found = [list(_objects_of(f"{name}.{key}", it)) for key, it in items]
    if all(found):
        for objects in found:
            yield from objects


# ---- bytes

def plain(name: str, value: Any) -> Any:
    """Return the value in types that torch.load reads without executing code; NumPy's numbers become Python's. name is
    for the error.  Raises TypeError for other types."""
    kind = type(value)
    if isinstance(value, torch.Tensor):
        return value.detach()
    if kind in _PLAIN:
        return value
    if kind in _MAPPINGS:
        rows = {plain(f"{name}'s keys", key): plain(f"{name}[{key!r}]", it) for key, it in value.items()}
        return kind(rows)
    if kind in _LISTS:
        return kind(plain(f"{name}[{i}]", it) for i, it in enumerate(value))
    for plainer in (bool, int, float, complex, str, bytes, dict, list, tuple, set):
        if isinstance(value, plainer):  # an enumeration's member, numpy's float64, a named tuple
            return plain(name, plainer(value))
    if kind.__module__ == "numpy" and callable(getattr(value, "item", None)) and not getattr(value, "shape", None):
        return plain(name, value.item())
    raise TypeError(f"{name} is of type {_name_of(kind)}, which eddis.torch.State cannot keep: numbers, texts, "
                    "tensors, and lists and dicts of these it can")


def placed(value: Any, like: Any) -> Any:
    """Return the value with each tensor moved to the device of the tensor at the same position in `like`, if one is
    there."""
    if isinstance(value, torch.Tensor):
        return value.to(like.device) if isinstance(like, torch.Tensor) else value
    kind = type(value)
    if kind in _MAPPINGS and isinstance(like, dict):
        return kind({key: placed(it, like.get(key)) for key, it in value.items()})
    if kind in (list, tuple) and isinstance(like, (list, tuple)):
        return kind(placed(it, like[i] if i < len(like) else None) for i, it in enumerate(value))
    return value


def _name_of(kind: type) -> str:
    """Return a type's full name for messages."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _saved(value: Any) -> io.BytesIO:
    """Return the value as a file of torch.save in memory."""
    data = io.BytesIO()
    torch.save(value, data)
    return data


def _loaded(data: io.BytesIO, what: str) -> Any:
    """Return the value of a file of torch.save, with tensors on the CPU.  Raises ValueError if it cannot be read;
    `what` names it there."""
    data.seek(0)
    try:
        return torch.load(data, map_location="cpu", weights_only=True)
    except Exception as reason:  # several types each of pickle, zip and torch
        raise ValueError(f"{what} cannot be read: {_first_line(reason)}") from reason


def _first_line(reason: Exception) -> str:
    """Return the first line of an exception's message, or its type."""
    return str(reason).strip().split("\n")[0] or type(reason).__name__


# ---- comparing

def _compare(mine: Any, ours: dict[str, str], where: str) -> None:
    """Raise ValueError if a checkpoint's format or kinds of objects differ from this script's. where: the checkpoint,
    for messages."""
    if not isinstance(mine, dict) or mine.get("format") != FORMAT:
        raise ValueError(f"{where} is of another version of eddis.torch.State")
    theirs = mine["kinds"]
    for name, kind in ours.items():
        if name not in theirs:
            raise ValueError(f"{where} has no {name}, which this script's State keeps: leave it out, or begin anew")
        if theirs[name] != kind:
            raise ValueError(f"{where} has a {theirs[name]} as {name}, this script's State a {kind}")
    for name in theirs:
        if name not in ours:
            raise ValueError(f"{where} has {name}, which this script's State does not keep: give it {name}")


def _shape(value: Any) -> Any:
    """Return a tensor's shape; None for other values."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _told(key: str, values: dict[str, Any]) -> str:
    """Return words for a model's entry in a message: "'fc.bias' of 10", or "no 'fc.bias'"."""
    if key not in values:
        return f"no '{key}'"
    shape = _shape(values[key])
    return f"'{key}'" if shape is None else f"'{key}' of {'x'.join(map(str, shape)) or 'one number'}"


# ---- random numbers

def _random_states(gpus: list[torch.device]) -> dict[str, Any]:
    """Return the states of all random generators: PyTorch's, those of the gpus, Python's and NumPy's if it is imported.
    """
    states: dict[str, Any] = {"torch": torch.get_rng_state(), "own": _draws.own(),
                              "python": plain("random", random.getstate())}
    states["cuda"] = [torch.cuda.get_rng_state(gpu) for gpu in gpus]
    if (numpy := _draws.numpy()) is not None:
        name, numbers, *rest = numpy.random.get_state()
        states["numpy"] = [name, numbers.tolist(), *rest]
    return states


def _set_random_states(states: dict[str, Any], gpus: list[torch.device]) -> None:
    """Restore the states of all random generators."""
    torch.set_rng_state(states["torch"])
    random.setstate(states["python"])
    for gpu, state in zip(gpus, states["cuda"]):  # the devices' indices may differ from those in the checkpoint
        torch.cuda.set_rng_state(state, gpu)
    if "numpy" in states and (numpy := _draws.numpy()) is not None:
        numpy.random.set_state(tuple(states["numpy"]))
    _draws.keep(states["own"])  # the script may have seeded anew since


def _draw_anew() -> None:
    """Seed this worker's generators differently from every other worker's, since it is not in the checkpoint, or is in
    another group now."""
    _draws.seed(_draws.seed_of(worker.world.seed, worker.world.generation, worker.rank))
    _draws.keep()


def _root_of_group() -> int:
    """Return the rank of the first worker of this worker's group.  Collective in the group."""
    rank = torch.tensor([worker.rank], device="cpu")
    worker.collective(L.BROADCAST, rank, 8, scope=L.GROUP)
    return int(rank)
