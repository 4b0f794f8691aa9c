# SPDX-License-Identifier: BSD-3-Clause
"""Clipping by the global norm, as torch does it; its functions are watched while a step is under way."""

from __future__ import annotations

import functools
import math
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

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
_users: weakref.WeakSet[Record] = weakref.WeakSet()  # that have torch's functions watched
_undo: list[Callable[[], None]] = []


def _recording() -> list[Record]:
    if not hasattr(_steps, "records"):
        _steps.records = []
    return _steps.records


def _tell_norm(record: Record, norm: Any, limit: float) -> None:
    norm = meshes.local(norm)
    record.norm(norm, coefficient(norm, limit, TORCH_EPSILON))


def _watch_torch(torch: Any) -> None:
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

    def put(place: Any, name: str, new: Any) -> None:
        original = getattr(place, name, None)  # torch's module has one of the two
        setattr(place, name, new)

        def undo() -> None:
            if getattr(place, name, None) is not new:
                return  # somebody has wrapped it in turn; without a record ours only calls the original
            delattr(place, name) if original is None else setattr(place, name, original)

        _undo.append(undo)

    for place in (torch.nn.utils, torch.nn.utils.clip_grad):
        put(place, "clip_grad_norm_", clip_grad_norm_)
        put(place, "clip_grads_with_norm_", clip_grads_with_norm_)


def _release(user: weakref.ref[Record]) -> None:
    """The last record that ends gives torch its own functions back."""
    record = user()
    if record is not None:
        _users.discard(record)
    while _undo and not _users:
        _undo.pop()()


def watch(record: Record) -> Callable[[], None]:
    """torch.nn.utils.clip_grad_norm_ and clip_grads_with_norm_ tell the record what they do until the function is called that this one gives,
    also where a script calls them as torch.nn.utils.clip_grad.*. A name that was imported before is not seen: record.gradients() says so."""
    torch = sys.modules.get("torch")
    if torch is not None and record not in _users:
        if not _undo:
            _watch_torch(torch)
        _users.add(record)
        record._undo.append(functools.partial(_release, weakref.ref(record)))
    recording = _recording()
    recording.append(record)
    return lambda: recording.remove(record) if record in recording else None
