# SPDX-License-Identifier: BSD-3-Clause
"""Clipping by the global norm, as torch does it, and the observation of torch's functions for it."""

from __future__ import annotations

import math
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable

from . import meshes
from .hooks import hook

if TYPE_CHECKING:
    from .record import Record


TORCH_EPSILON = 1e-6  # what torch adds to the norm


def coefficient(norm: Any, limit: float, epsilon: float) -> float:
    """limit / (norm + epsilon), at most 1: in the norm's own precision where it is a tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(norm, torch.Tensor):
        return float(torch.clamp(limit / (norm + epsilon), max=1.0))
    divisor = float(norm) + epsilon
    if divisor == 0:  # limit / 0 is infinite where it is a tensor
        return 1.0
    return divisor if math.isnan(divisor) else min(1.0, limit / divisor)


def watch(record: Record) -> None:
    """torch.nn.utils.clip_grad_norm_ and clip_grads_with_norm_ tell the record what they do, also where a script calls them as
    torch.nn.utils.clip_grad.*. A name that was imported before is not seen: record.gradients() says so."""
    torch = sys.modules.get("torch")
    if torch is None:
        return

    def before(args: Any, kwargs: Any) -> Any:
        if record._now is None or record._now.thread != threading.get_ident():  # other threads may train other ranks
            return None
        record._lacks.attempt("gradients", record.gradients)
        return True

    def norm_from(place: int) -> Callable[..., None]:
        def after(begun: Any, result: Any, args: Any, kwargs: Any) -> None:
            limit = args[1] if len(args) > 1 else kwargs["max_norm"]
            norm = meshes.local(result if place < 0 else args[place] if len(args) > place else kwargs["total_norm"])
            record.norm(norm, coefficient(norm, limit, TORCH_EPSILON))

        return after

    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name, after in (("clip_grad_norm_", norm_from(-1)), ("clip_grads_with_norm_", norm_from(2))):
            if hasattr(owner, name):
                hook(record, owner, name, "norm", before, after)
