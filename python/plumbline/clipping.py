"""Clipping by the global norm, as torch does it; its functions are watched while a step is under way."""

from __future__ import annotations

import functools
import math
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

from . import meshes

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


_steps = threading.local()  # records whose step is under way in this thread


def _recording() -> list[Record]:
    if not hasattr(_steps, "records"):
        _steps.records = []
    return _steps.records


def _tell_norm(record: Record, norm: Any, limit: float) -> None:
    norm = meshes.local(norm)
    record.norm(norm, coefficient(norm, limit, TORCH_EPSILON))


def _watch_torch(torch: Any) -> None:
    """Once and for good: outside of a step nothing is told to anybody."""
    if hasattr(torch.nn.utils.clip_grad_norm_, "told_by_plumbline"):
        return
    clip, clip_with = torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grads_with_norm_

    @functools.wraps(clip)
    def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        for record in _recording():
            record._lacks.attempt("gradients", record.gradients)
        norm = clip(parameters, max_norm, *args, **kwargs)
        for record in _recording():
            record._lacks.attempt("norm", _tell_norm, record, norm, max_norm)
        return norm

    @functools.wraps(clip_with)
    def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
        for record in _recording():
            record._lacks.attempt("gradients", record.gradients)
            record._lacks.attempt("norm", _tell_norm, record, total_norm, max_norm)
        return clip_with(parameters, max_norm, total_norm, *args, **kwargs)

    clip_grad_norm_.told_by_plumbline = True  # type: ignore[attr-defined]
    for place in (torch.nn.utils, torch.nn.utils.clip_grad):
        place.clip_grad_norm_, place.clip_grads_with_norm_ = clip_grad_norm_, clip_grads_with_norm_


@contextmanager
def watched(record: Record) -> Iterator[None]:
    """torch.nn.utils.clip_grad_norm_ and clip_grads_with_norm_ tell the record what they do, also where a script
    calls them as torch.nn.utils.clip_grad.*. A name that was imported before is not seen: record.gradients() says so."""
    torch = sys.modules.get("torch")
    if torch is not None:
        _watch_torch(torch)
    _recording().append(record)
    try:
        yield
    finally:
        _recording().remove(record)
