# SPDX-License-Identifier: BSD-3-Clause
"""Records from torch's optimizers and clipping functions: rates, the time of the update, gradients before clipping, and their norm."""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable

from . import clipping, meshes, training
from .hooks import argument, guarded, hook, torch_version, with_argument

if TYPE_CHECKING:
    from .events import Events

# Functions of libraries that clip by a norm that they are given, with torch's epsilon, after the limit: module, name, argument.
CLIPPING_OF_LIBRARIES = (
    ("megatron.core.optimizer.optimizer", "clip_grad_by_total_norm_fp32", "total_norm"),
    ("deepspeed.runtime.bf16_optimizer", "clip_tensors_by_global_norm", "global_norm"),
)
KINDS = ("gradients", "applied", "rates", "actions")


def watch(record: Events, optimizer: Any) -> None:
    if not training.has_hooks(optimizer):
        return

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        now, not_recorded = record._now, record._not_recorded
        if now is None:
            return
        if not now.gradients_taken and record.clip_norm is not None and "gradients" not in not_recorded:
            words = (
                "the optimizer stepped, but no gradients were seen before clipping: call record.gradients() and "
                "record.norm(total_norm), or clip by torch.nn.utils.clip_grad_norm_"
            )
            not_recorded.add(("gradients", "norm"), f"step {now.number}: {words}")
        taken = not_recorded.attempt("gradients", record._gradients_of, optimizer)
        not_recorded.attempt("applied", record._applied_by, optimizer, taken or {})
        overflow = getattr(optimizer, "found_inf", None)  # set by GradScaler if the optimizer's own kernel skips the update
        now.stepped = now.stepped or overflow is None or not float(overflow)
        not_recorded.attempt("rates", now.apply_rates, optimizer)
        if now.update is None:  # one STEP for several optimizers, from the start of the first to the end of the last
            now.update = record._attempt_begin(min((stage.number for stage in record.stages), default=0), "STEP")

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if record._now is not None:
            record._attempt_end(record._now.update)

    for register, watching in ((optimizer.register_step_pre_hook, before), (optimizer.register_step_post_hook, after)):
        record._undo.append(register(guarded(record, KINDS, watching)).remove)


def watch_others(record: Events) -> None:
    """Observes optimizers that update recorded parameters but were not given to the record: made later, or wrapped by the one that was given."""
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
    if training.ids_of_parameters(optimizer) & {id(stage.master(one)) for stage in record.stages for one in stage.trained}:
        now.other_optimizer = type(optimizer).__name__


def watch_clipping(record: Events) -> None:
    """Records gradients and norm when torch.nn.utils.clip_grad_norm_ or clip_grads_with_norm_ is called, also as torch.nn.utils.clip_grad.*, and
    gives these functions the norm to clip by; likewise CLIPPING_OF_LIBRARIES. If the trainer has imported clip_grad_norm_ by name before, the
    functions that it calls are seen."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    norms, attempt = record._norms, record._not_recorded.attempt

    def called() -> bool:
        return norms.step is not None and norms.thread == threading.get_ident()  # other threads may train other ranks

    def judged() -> bool:
        if record.clip_norm is not None or norms.replay:
            return True
        record._not_recorded.note("the trainer clips, but Record lacks clip_norm=, so its norm is not judged")
        return False

    def take_gradients() -> None:
        if record.in_step:
            attempt("gradients", record.gradients)

    def of_type(name: str, place: int, before: Callable[[], None] = lambda: None) -> Callable[[Any, Any], Any]:
        def asked(args: Any, kwargs: Any) -> int | None:
            """The number of clipping calls before this one."""
            if not called():
                return None
            before()
            kind = argument(args, kwargs, place, "norm_type")
            if kind is not None and float(kind) != 2 and record.clip_norm is not None and "norm" not in record._not_recorded:
                words = f"{name} was called with norm_type={kind}: only norms of type 2 can be judged; Record(clip_norm=None) leaves the norm out"
                record._not_recorded.add("norm", words)
            return len(norms.calls)

        return asked

    def clip(norm: Any, args: Any, kwargs: Any) -> Any:
        limit = argument(args, kwargs, 1, "max_norm")
        return record._clip(norm, lambda norm: clipping.coefficient(meshes.local(norm), limit, clipping.TORCH_EPSILON))

    def clips_by(name: str, args: Any, kwargs: Any) -> Any:
        norm = argument(args, kwargs, 2, name)
        if not called() or norm is None:
            return None
        take_gradients()
        if not judged():
            return None
        call = attempt("norm", clip, norm, args, kwargs)
        return True if call is None or call.by is norm else with_argument(args, kwargs, 2, name, call.by)

    clips = functools.partial(clips_by, "total_norm")

    def clipped(before: int, result: Any, args: Any, kwargs: Any) -> Any:
        """After clip_grad_norm_, which has called clip_grads_with_norm_. Returns the norm that was clipped by."""
        if len(norms.calls) == before and judged():
            attempt("norm", clipped_alone, result, args, kwargs)
        return norms.calls[-1].by if len(norms.calls) > before and norms.calls[-1].replayed is not None else None

    def clipped_alone(result: Any, args: Any, kwargs: Any) -> None:
        if norms.replay:
            raise RuntimeError(f"torch {torch_version()} computes the norm and clips in one function, so no norm can be replayed")
        clip(result, args, kwargs)

    for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
        for name, before, after in (
            ("clip_grad_norm_", of_type("clip_grad_norm_", 2, take_gradients), clipped),
            ("clip_grads_with_norm_", clips, None),
            ("get_total_norm", of_type("get_total_norm", 1), None),
            ("_clip_grads_with_norm_", clips, None),
            ("_get_total_norm", of_type("get_total_norm", 1), None),
        ):
            if hasattr(owner, name):
                hook(record, owner, name, ("gradients", "norm"), before, after)
    for module, name, norm in CLIPPING_OF_LIBRARIES:
        if hasattr(sys.modules.get(module), name):
            hook(record, sys.modules[module], name, ("gradients", "norm"), functools.partial(clips_by, norm))
