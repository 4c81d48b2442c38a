# SPDX-License-Identifier: Apache-2.0
"""accelerate with the plan's batches: unequal shares, and gradients that torch.distributed combines.

    import eddis.torch as eddis
    from eddis.accelerate import Accelerator

    accelerator = Accelerator()
    loader = eddis.loader(DataLoader(dataset, batch_size=16, shuffle=True))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in loader.epochs(3):
        for x, y in loader:
            accelerator.backward(loss_of(model(x), y))
"""

from __future__ import annotations

from typing import Any

import accelerate
import torch

from .torch import _attach, _weighted
from .torch._parts import parts

__all__ = ["Accelerator"]


class Accelerator(accelerate.Accelerator):
    """accelerate.Accelerator with the plan's batches: `prepare` attaches the models that are trained, and `backward`
    weights the loss, a mean over the samples of the loop's batch.

    arguments, options: as of accelerate.Accelerator.  step_scheduler_with_optimizer is False if it is not given, so
    schedulers make one step for each of the plan.  With gradient_accumulation_steps=k, give eddis.torch.loader
    pieces=k.

    Make it before len(loader) and collectives of eddis: afterwards it raises RuntimeError.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        _attach.expect()
        options.setdefault("step_scheduler_with_optimizer", False)
        super().__init__(*arguments, **options)

    def prepare(self, *objects: Any, **options: Any) -> Any:
        """Prepare the objects as accelerate does, and attach each model that has parameters to train."""
        prepared = super().prepare(*objects, **options)
        for one in prepared if isinstance(prepared, tuple) else (prepared,):
            if isinstance(one, torch.nn.Module) and any(p.requires_grad for p in one.parameters()):
                _attach.attach(one)
        return prepared

    def backward(self, loss: torch.Tensor, **options: Any) -> None:
        """Make the backward pass of the weighted loss.  Raises RuntimeError if accelerate accumulates another number of
        batches than the loader's parts of a step."""
        if parts.n not in (1, self.gradient_accumulation_steps):
            raise RuntimeError(f"accelerate accumulates {self.gradient_accumulation_steps} batches, but the loader "
                               f"divides each step into {parts.n}: give Accelerator "
                               f"gradient_accumulation_steps={parts.n}")
        super().backward(_weighted.weighted(loss) * parts.n, **options)  # accelerate divides by their number
