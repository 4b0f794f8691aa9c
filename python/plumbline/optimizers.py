# SPDX-License-Identifier: BSD-3-Clause
"""Records from torch's optimisers and clipping functions: rates, the time of the update, gradients before clipping, and their norm."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

from . import clipping, meshes, training
from .hooks import argument, guarded, hook

if TYPE_CHECKING:
    from .events import Events

KINDS = ("gradients", "rates", "actions")


def watch(record: Events, optimizer: Any) -> None:
    if not training.has_hooks(optimizer):
        return

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        now, not_recorded = record._now, record._not_recorded
        if now is None:
            return
        if not now.gradients_taken and record.clip_norm is not None and "gradients" not in not_recorded:
            words = (
                "the optimiser stepped, but no gradients were seen before clipping: call record.gradients() and "
                "record.norm(total_norm), or clip by torch.nn.utils.clip_grad_norm_"
            )
            not_recorded.add(("gradients", "norm"), f"step {now.number}: {words}")
        not_recorded.attempt("gradients", record._gradients_of, optimizer)
        not_recorded.attempt("rates", now.apply_rates, optimizer)
        if now.update is None:  # one STEP for several optimisers, from the start of the first to the end of the last
            now.update = record._attempt_begin(min((stage.number for stage in record.stages), default=0), "STEP")

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if record._now is not None:
            record._attempt_end(record._now.update)

    for register, watching in ((optimizer.register_step_pre_hook, before), (optimizer.register_step_post_hook, after)):
        record._undo.append(register(guarded(record, KINDS, watching)).remove)


def watch_others(record: Events) -> None:
    """Observes optimisers that update recorded parameters but were not given to the record: made later, or held by the one that was given."""
    register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_pre_hook", None)
    if register is None:
        return
    watching = weakref.ref(record)  # torch's hooks outlive the record

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        observed = watching()
        if observed is not None:
            observed._not_recorded.attempt("rates", _note_other, observed, optimizer)

    handle = register(before)
    record._undo.append(handle.remove)
    weakref.finalize(record, handle.remove).atexit = False


def _note_other(record: Events, optimizer: Any) -> None:
    now = record._now
    if now is None or now.thread != threading.get_ident() or any(optimizer is one for one in record._optimizers):
        return
    if training.held_by(optimizer) & {id(stage.master(one)) for stage in record.stages for one in stage.trained}:
        now.other_optimizer = type(optimizer).__name__


def watch_clipping(record: Events) -> None:
    """Records gradients and norm when torch.nn.utils.clip_grad_norm_ or clip_grads_with_norm_ is called, also as
    torch.nn.utils.clip_grad.*. If the trainer has imported clip_grad_norm_ by name before, the functions that it calls are seen."""
    torch = sys.modules.get("torch")
    if torch is None:
        return

    def called() -> bool:
        return record._now is not None and record._now.thread == threading.get_ident()  # other threads may train other ranks

    def before(args: Any, kwargs: Any) -> Any:
        if not called():
            return None
        record._not_recorded.attempt("gradients", record.gradients)
        return True

    def of_norm(name: str, place: int, before: Callable[..., Any] = lambda *call: True) -> Callable[[Any, Any], Any]:
        def asked(args: Any, kwargs: Any) -> Any:
            kind = argument(args, kwargs, place, "norm_type")
            if called() and kind is not None and float(kind) != 2 and "norm" not in record._not_recorded:
                record._not_recorded.add("norm", f"{name} was called with norm_type={kind}: only norms of type 2 can be judged")
            return before(args, kwargs)

        return asked

    def seen(norm_is_given: bool) -> Callable[..., None]:
        def note(result: Any, args: Any, kwargs: Any) -> None:
            limit = argument(args, kwargs, 1, "max_norm")
            norm = meshes.local(argument(args, kwargs, 2, "total_norm") if norm_is_given else result)
            record.norm(norm, clipping.coefficient(norm, limit, clipping.TORCH_EPSILON))

        def after(begun: Any, result: Any, args: Any, kwargs: Any) -> None:
            record._not_recorded.attempt("norm", note, result, args, kwargs)

        return after

    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name, first, after in (
            ("clip_grad_norm_", of_norm("clip_grad_norm_", 2, before), seen(False)),
            ("clip_grads_with_norm_", before, seen(True)),
            ("get_total_norm", of_norm("get_total_norm", 1), None),
            ("_clip_grads_with_norm_", before, seen(True)),
            ("_get_total_norm", of_norm("get_total_norm", 1), None),
        ):
            if hasattr(owner, name):
                hook(record, owner, name, ("gradients", "norm"), first, after)  # gradients also where the norm is not recorded
