# SPDX-License-Identifier: Apache-2.0
"""Local mode of models that torch.distributed combines: the end of a round.

libeddis agrees on rounds, plans and stops, and sends no models.  torch.distributed combines the models here, by the
equations of lib/sync/local.c.  So they stay on their devices, NCCL moves them, and a rank that has a part of a model of
fully_shard needs only the same part of the other groups.  With s the samples of a group in the round, x this rank's
elements and t those of the common model:

    d = sum s (t - x) / sum s       over the groups
    b = momentum b + d              only DiLoCo
    t = t - rate (d + momentum b)
    x = t

A parameter that every rank has whole is summed over all ranks.  Each rank gives its share of its group's d, so each
link between nodes carries the bytes of one model.  Parts are summed over the ranks of the same place in all groups.
16-bit parameters have a float32 t; d is how far they have come from the rounded t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import distributed
from torch.nn.modules.batchnorm import _NormBase

from .. import _lib as L
from .._checkpoint import Reading, note
from .._worker import Mark, worker
from ._collectives import broadcast_tensors
from ._combined import is_fsdp_module, is_sharded
from ._groups import is_local, members, own_members, same_places
from ._replicated import is_own

_PIECE = 1 << 24  # elements that are summed at once
_EXACT = {torch.float16: torch.float32, torch.bfloat16: torch.float32}  # types of common models
_STATISTICS = ("running_mean", "running_var")
ENTRY = "torch.outer"  # of checkpoints
_OF_LIBRARY = "eddis.outer"  # the entry in which libeddis keeps the momentum, see lib/worker/checkpoint_models.c
_COMPILED = "_orig_mod."  # what torch.compile puts into names
_FEW = 3  # parameters that a message names


class _Part:
    """What this rank has of a parameter, and the same of the common model."""

    def __init__(self, model: int, name: str, parameter: torch.nn.Parameter) -> None:
        self.model, self.name, self.parameter = model, name, parameter
        self.is_sharded = is_sharded(parameter)
        self.common: torch.Tensor | None = None
        self.momentum: torch.Tensor | None = None

    @property
    def place(self) -> tuple[Any, ...] | None:
        """What this rank has of a parameter of fully_shard, and where on which mesh; None: all of it."""
        if not self.is_sharded:
            return None
        mesh = self.parameter.device_mesh
        return (tuple(self.own.shape), tuple(mesh.shape), tuple(mesh.get_coordinate() or ()),
                tuple(map(str, self.parameter.placements)))

    @property
    def own(self) -> torch.Tensor:
        """This rank's elements."""
        whole = self.parameter.detach()
        return whole.to_local() if self.is_sharded else whole

    def begin(self, has_momentum: bool) -> None:
        """Make this rank's elements those of the common model, or those that it has already where they round to these,
        as from a checkpoint."""
        exact = _EXACT.get(self.own.dtype, self.own.dtype)
        given, self.common = self.common, self.own.to(exact, copy=True)
        if given is not None:
            given = given.to(self.common.device)
            self.common = torch.where(given.to(self.own.dtype) == self.own, given, self.common)
        if not has_momentum:
            self.momentum = None  # that of a checkpoint of diloco
        elif self.momentum is None:
            self.momentum = torch.zeros_like(self.common)
        else:
            self.momentum = self.momentum.to(self.common)

    def come(self, share: float) -> torch.Tensor:
        """Return d of this rank, times `share`, as one row: 0 also if the model holds NaN and the share is 0."""
        if not share:
            return torch.zeros_like(self.common).reshape(-1)
        return ((self.common.to(self.own.dtype).to(self.common.dtype) - self.own) * share).reshape(-1)

    def outer(self, d: torch.Tensor, rate: float, momentum: float) -> None:
        """Take the outer step along d [elements]."""
        d = d.view_as(self.common)
        if self.momentum is None:
            self.common.sub_(d, alpha=rate)
        else:
            self.momentum.mul_(momentum).add_(d)
            self.common.sub_(d, alpha=rate).sub_(self.momentum, alpha=rate * momentum)

    def adopt(self) -> None:
        """Make the common model this rank's."""
        self.own.copy_(self.common)


class Rounds:
    """The models of this process in local mode, and the samples of its group in the present round.  There is one.

    told: returns the sum of the group's weights in the present step; None: its samples are the weight.
    """

    def __init__(self, told: Callable[[], float] | None) -> None:
        self._told = told
        self._models: list[torch.nn.Module] = []
        self._parts: list[_Part] = []
        self._samples = 0.0
        self._has_begun = False
        worker.at_start.append(self._start)
        worker.at_round.append(self._end)
        worker.marks[Mark.BEGUN].append(self._begin)
        worker.marks[Mark.ENDS].append(self._count)

    def add(self, model: torch.nn.Module) -> None:
        """Combine the trained parameters and the running statistics of this model, too.  Raises TypeError for
        parameters that are no floating-point numbers, and ValueError for a model that is sharded in another way in
        other groups.  Collective among all workers if the model is sharded."""
        known = {part.parameter for part in self._parts}
        parts = [_Part(len(self._models), name.replace(_COMPILED, ""), p) for name, p in model.named_parameters()
                 if p.requires_grad and p not in known]
        for part in parts:
            if not part.own.dtype.is_floating_point:
                raise TypeError(f"parameter '{part.name}' is of type {part.own.dtype}: local mode combines "
                                "floating-point numbers")
        _compare([part for part in parts if part.is_sharded])
        self._parts += parts
        self._models.append(model)

    def _start(self) -> None:
        """Give all groups the same model at a start without checkpoint: rank 0's, of parts the first group's.
        Collective.  A callback at the start."""
        if len(members()) == 1:
            return
        self._reshard()
        with torch.no_grad():
            for model in self._models:
                for p in model.parameters():
                    if is_sharded(p):
                        _broadcast(p.detach().to_local(), same_places())
                    else:
                        _broadcast(p.detach(), None)
        # Of types and on devices that the process group may not have
        broadcast_tensors([b for model in self._models for b in model.buffers() if is_own(b)], 0)

    def _begin(self) -> None:
        """Keep the common model, as the first step begins.  A callback of Worker.marks."""
        if self._has_begun:
            return
        self._has_begun = True
        self._reshard()
        for part in self._parts:
            part.begin(worker.world.outer_momentum > 0)

    def _count(self) -> None:
        """Count the samples of the group's step, which ends.  A callback of Worker.marks."""
        self._samples += self._told() if self._told else worker.step.batch

    def _reshard(self) -> None:
        """Have the parameters of fully_shard be this rank's parts: after an evaluation some may be whole."""
        for model in self._models:
            for module in model.modules():
                if is_fsdp_module(module):
                    module.reshard()

    def _end(self) -> None:
        """Combine the models at the end of a round.  Collective among all workers.  Raises RuntimeError for a parameter
        that is trained since `attach`.  A callback at the end of a round."""
        self._begin()  # a group may have no step before the first round's end
        worker.set_phase(L.PHASE_WAIT)
        own, self._samples = self._samples, 0.0
        total = torch.tensor([0.0 if worker.world.group_rank else own], dtype=torch.float64, device="cpu")
        worker.collective(L.ALLREDUCE, total, 1, dtype=L.FLOAT64, op=L.SUM)
        self._reshard()
        self._refuse_new()
        with torch.no_grad():
            if total.item() > 0:
                self._combine(own / total.item())
                self._combine_statistics(own / total.item())
            for part in self._parts:
                part.adopt()

    def _refuse_new(self) -> None:
        """Raise RuntimeError for a parameter that requires a gradient since `attach`, which nothing would combine."""
        known = {part.parameter for part in self._parts}
        for model in self._models:
            for name, p in model.named_parameters():
                if p.requires_grad and p not in known:
                    raise RuntimeError(f"parameter '{name}' requires a gradient now, and did not when its model was "
                                       "given to eddis.torch.attach, so nothing combines it in local mode: let it "
                                       "require one there, and leave it out of the optimizer until then")

    def _combine(self, share: float) -> None:
        """Take the outer step of all parts.  share: the group's part of the round's samples."""
        for parts in _pieces(self._parts):
            is_part, are_several = parts[0].is_sharded, len(members()) > 1
            own = share / len(own_members()) if are_several and not is_part else share
            d = torch.cat([part.come(own) for part in parts])
            if are_several:
                distributed.all_reduce(d, group=same_places() if is_part else None)
            for part, row in zip(parts, d.split([part.common.numel() for part in parts])):
                part.outer(row, worker.world.outer_rate, worker.world.outer_momentum)

    def _combine_statistics(self, share: float) -> None:
        """Make running statistics of batch normalisation the mean over all workers, weighted by samples."""
        if len(members()) == 1:
            return
        for model in self._models:
            for module in model.modules():
                for name in _STATISTICS if isinstance(module, _NormBase) else ():
                    statistic = getattr(module, name)
                    if torch.is_tensor(statistic) and statistic.dtype.is_floating_point:
                        part = statistic * (share / len(own_members())) if share else torch.zeros_like(statistic)
                        distributed.all_reduce(part)
                        statistic.copy_(part)

    # ---- checkpoints

    @property
    def writes(self) -> bool:
        """Whether this rank writes a state of parts to a checkpoint, since they have one of their own: rank 0, and the
        others of its group if each has parts of a model."""
        has_state = worker.world.outer_momentum > 0 or any(part.own.dtype in _EXACT for part in self._parts)
        return has_state and 0 in own_members() and (worker.rank == 0 or any(part.is_sharded for part in self._parts))

    def _named(self, names: dict[torch.nn.Parameter, str]) -> dict[str, _Part]:
        """Return the parts by the names of their parameters.  Those that State has not, as of fully_shard, have the
        number of their model in the order of `attach`, among the models that State has not."""
        models = sorted({part.model for part in self._parts if part.parameter not in names})
        return {names.get(part.parameter) or f"{models.index(part.model)}.{part.name}": part for part in self._parts}

    def state(self, names: dict[torch.nn.Parameter, str]) -> dict[str, Any]:
        """Return that state by the parameters' names: the outer optimizer's momentum, and the float32 common model of
        16-bit parameters."""
        return {"ranks": list(own_members()),
                "parts": {name: {"momentum": part.momentum, "common": part.common if part.own.dtype in _EXACT else None,
                                 "place": part.place}
                          for name, part in self._named(names).items() if part.is_sharded or worker.rank == 0}}

    def load(self, entry: Callable[[int], Any], names: dict[torch.nn.Parameter, str], where: str) -> None:
        """Continue with the state of a checkpoint.  A parameter that was not trained there, or shared out otherwise,
        begins without momentum, and rank 0 says so.  Raises ValueError if a shape does not fit.

        entry: returns a rank's part of the state; names: of the parameters that State has."""
        theirs = entry(0)
        if not isinstance(theirs, dict) or "parts" not in theirs:
            raise ValueError(f"{where} is of another version of eddis.torch.State")
        own, kept, ranks = self._named(names), dict(theirs["parts"]), theirs["ranks"]
        place = own_members().index(worker.rank)
        if 0 < place < len(ranks):
            kept.update((entry(ranks[place]) or theirs)["parts"])
        is_divided = False
        for name, part in own.items():
            found = kept.get(name)
            if found and found["place"] != part.place:
                is_divided = True
                continue
            for what in ("momentum", "common") if found else ():
                if found[what] is not None and found[what].shape != part.own.shape:
                    raise ValueError(f"{where} has a {what} of another shape than parameter '{name}'")
                setattr(part, what, found[what])
        if is_divided:
            note(f"{where} has models of fully_shard in other parts, by groups of {len(ranks)} workers: the outer "
                 "optimizer begins without their momentum, and local mode with their rounded 16-bit values")
        if worker.world.outer_momentum > 0 and any(found["momentum"] is not None for found in kept.values()):
            _tell_unlike([*own], [*kept], where)


def load_rounds(checkpoint: Reading, loaded: Callable[[str, int], Any], names: dict[torch.nn.Parameter, str],
                where: str) -> None:
    """Continue with what a checkpoint has of the outer optimizer and of the common model of 16-bit parameters.  If
    something else combined the models there than here, the outer optimizer begins without momentum, and rank 0 says so.

    loaded: returns the value of an entry of a rank, None if there is none; names: of the parameters that State has."""
    has_ours, has_theirs = checkpoint.has(0, ENTRY), checkpoint.has(0, _OF_LIBRARY)
    if rounds and has_ours:
        rounds.load(lambda rank: loaded(ENTRY, rank), names, where)
    elif worker.world.outer_momentum > 0 and (has_theirs if rounds else has_ours):
        theirs, ours = ("DistributedOptimizer", "attach")[::1 if rounds else -1]
        note(f"{where} has the outer optimizer's momentum of models of eddis.torch.{theirs}, and this script's are of "
             f"eddis.torch.{ours}: it begins without momentum")


def _tell_unlike(ours: list[str], theirs: list[str], where: str) -> None:
    """Print by rank 0 which parameters have no momentum in the checkpoint, and whose momentum there is left out."""
    new, old = [name for name in ours if name not in theirs], [name for name in theirs if name not in ours]
    if new:
        note(f"{where} has no momentum of the outer optimizer for {_listed(new)}, not trained there: there it begins "
             "without")
    if old:
        note(f"{where} has momentum of the outer optimizer for {_listed(old)}, not trained here: it is left out")


def _listed(names: list[str]) -> str:
    """Return words for parameters in a message, of many the first ones and how many there are."""
    few = ", ".join(f"'{name}'" for name in names[:_FEW])
    return f"parameter{'s' * (len(names) > 1)} {few}" + f" and {len(names) - _FEW} more" * (len(names) > _FEW)


def _broadcast(tensor: torch.Tensor, group: Any) -> None:
    """Overwrite a tensor with that of the group's first rank; group None: rank 0.  Collective."""
    flat = tensor.contiguous()
    distributed.broadcast(flat, 0 if group is None else distributed.get_global_rank(group, 0), group=group)
    if flat is not tensor:
        tensor.copy_(flat)


def _pieces(parts: list[_Part]) -> Iterator[list[_Part]]:
    """Yield the parts in lists of up to _PIECE elements, or one part; those of a list have one device and one type, and
    are sharded or not."""
    piece: list[_Part] = []
    last: tuple[Any, ...] = ()
    n = 0
    for part in parts:
        kind = part.common.device, part.common.dtype, part.is_sharded
        if piece and (kind != last or n + part.common.numel() > _PIECE):
            yield piece
            piece, n = [], 0
        last = kind
        piece.append(part)
        n += part.common.numel()
    if piece:
        yield piece


def _compare(parts: list[_Part]) -> None:
    """Raise ValueError, on all workers alike, unless the ranks of each place have the same parts.  Collective."""
    if not parts or len(members()) == 1:
        return
    own = [(part.name, *part.place) for part in parts]
    same_places()  # which refuses unlike sizes
    of_all: list[Any] = [None] * worker.size
    distributed.all_gather_object(of_all, own)
    for ranks in members()[1:]:
        for place, rank in enumerate(ranks):
            first = members()[0][place]
            for ours, theirs in zip(of_all[first], of_all[rank]):
                if ours != theirs:
                    raise ValueError(f"rank {rank} has a part of {_told(theirs)}, and rank {first}, which has the same "
                                     f"place in its group, of {_told(ours)}: in local mode shard the model on equal "
                                     "meshes in all groups, as eddis.mesh() of eddis.torch gives them")
            if len(of_all[first]) != len(of_all[rank]):
                raise ValueError(f"rank {rank} shards {len(of_all[rank])} parameters, and rank {first} "
                                 f"{len(of_all[first])}: shard the model alike in all groups")


def _told(part: tuple[Any, ...]) -> str:
    """Return words for a part in a message."""
    name, shape, mesh, coordinate, placements = part
    return (f"{math.prod(shape)} elements of parameter '{name}' at {list(coordinate)} on a mesh of "
            f"{'x'.join(map(str, mesh))} ({', '.join(placements)})")


rounds: Rounds | None = None  # None: nothing is attached, or the mode is another


def add_to_rounds(model: torch.nn.Module, told: Callable[[], float] | None) -> None:
    """In local mode combine this model at the ends of rounds, see Rounds.add; else do nothing."""
    global rounds
    if not is_local():
        return
    rounds = rounds or Rounds(told)
    rounds.add(model)
