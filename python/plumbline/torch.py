# SPDX-License-Identifier: BSD-3-Clause
"""Records models of torch on one device, without changing what they compute. Pipelines: `pipelining`."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, Callable, Iterator, Sequence

import torch

from .custom_stages import watch_stages
from .hooks import guarded, if_offered
from .modules import Names, as_one, is_compiled, labels_in, module_at, names_by_module, tensors_in, units_of, watch_stage
from .pipelining import watch_pipelining
from .record import Record
from .schedules import accumulation_of, compute_rows

__all__ = ["accumulation_of", "as_one", "compute_rows", "crossing_of", "units_of", "watch_model", "watch_pipelining", "watch_stage", "watch_stages"]


def crossing_of(unit: str, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors of a unit's call that a pipeline would send over the boundary before it: arguments (also in tuples) that require a gradient and
    are no parameters (no masks, no tables); if there are none, those within lists and dicts; else the first tensor. A tensor that is passed twice,
    as query and key, is sent once."""
    arguments = (*args, *kwargs.values())
    tensors = list({id(tensor): tensor for tensor in tensors_in(arguments)}.values())
    carrying = [tensor for tensor in tensors if tensor.requires_grad and not isinstance(tensor, torch.nn.Parameter)]
    replaceable = {id(tensor) for tensor in _replaceable(arguments)}
    return [tensor for tensor in carrying if id(tensor) in replaceable] or carrying or tensors[:1]


def watch_model(
    record: Record,
    model: torch.nn.Module,
    units: Sequence[str] | None = None,
    crossing: Callable[[str, Any, Any], list[torch.Tensor]] = crossing_of,
    names: Names | None = None,
    gradient_of: Callable[[Any], Any] | None = None,
    master_of: Callable[[Any], Any] | None = None,
) -> None:
    """Records a model on one device. Every call of the model with gradients is a microbatch, with a boundary before each unit but the first.

    `crossing(unit, args, kwargs)` returns the boundary tensors of the unit's call, of any shape and dtype; several are recorded as one. From
    the boundary on each is the output of a node of its own (_Boundary), whose gradient is what a pipeline sends back. The
    gradient of the tensor itself would include its uses before the boundary, the gradient of a view only uses within the unit.

    `names(name)` returns the record's name of a parameter, `gradient_of(parameter)` its gradient if that is not in .grad, and
    `master_of(parameter)` the tensor that the optimizer updates instead. Raises AttributeError for a unit that the model does not have.
    """
    for unit in units or ():
        module_at(model, unit)  # raises for a unit that the model does not have
    found = watch_stage(record, 0, model, units, names, gradient_of, master_of)
    record._calls = calls = _Calls(record, crossing, next(iter(found), None))
    kinds = ("actions", "boundaries")

    def add_hooks() -> None:
        record._undo.append(_around_calls(model, guarded(record, kinds, calls.begin), guarded(record, kinds, calls.end)))
        if is_compiled(model):
            record._not_recorded.add("boundaries", "the model is compiled as a whole, which hides its units: compile each of them instead (unit.compile())")
            return
        for module, names in names_by_module(found):
            if names == [calls.first]:
                continue
            at_cut = guarded(record, "boundaries", functools.partial(calls.at_cut, names))
            record._undo.append(_around_calls(module, at_cut))

    if_offered(record, kinds, add_hooks)


def _around_calls(module: torch.nn.Module, before: Callable[..., Any], after: Callable[..., Any] | None = None) -> Callable[[], Any]:
    """Adds a forward pre-hook with kwargs and a forward hook, of a module that is compiled in place outside of what its compiler traces. Returns their removal."""
    compiled = getattr(module, "_compiled_call_impl", None)
    if compiled is None:
        hooks = [module.register_forward_pre_hook(before, with_kwargs=True)]
        if after is not None:
            hooks.append(module.register_forward_hook(after))
        return lambda: [hook.remove() for hook in hooks]

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = before(module, args, kwargs) or (args, kwargs)
        output = compiled(*args, **kwargs)
        if after is not None:
            after(module, args, output)
        return output

    module._compiled_call_impl = call
    return lambda: setattr(module, "_compiled_call_impl", compiled)


class _Boundary(torch.autograd.Function):
    """The tensor itself, as the output of a new node: gradients of all its later uses, also of a residual connection around the unit, are summed
    there, in the order in which they were without it; then the node before adds the gradients of its earlier uses."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(tensor)
        ctx.set_materialize_grads(False)
        return tensor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor | None) -> torch.Tensor | None:
        return gradient


def _continued(tensor: torch.Tensor) -> bool:
    """Gives the tensor a new node, unless torch refuses it, for leaves, views, and tensors of another class, or the trainer retains the gradient of
    all its uses."""
    if type(tensor) is not torch.Tensor or tensor.is_leaf or tensor._is_view() or tensor.retains_grad:
        return False
    with torch.autograd._unsafe_preserve_version_counter(tensor):  # its values do not change, so that earlier functions may still use it
        _Boundary.apply(tensor)
    return True


class _Calls:
    """Counts and records the model's calls within a step."""

    def __init__(self, record: Record, crossing: Callable[[str, Any, Any], list[torch.Tensor]], first: str | None) -> None:
        """`first`: the model's first unit."""
        self.record, self.crossing, self.first, self.step, self.microbatch = record, crossing, first, -1, 0
        self.passed: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # of this call, by id: each boundary tensor, and what its last unit got: it or a view
        self.row: list[Any] | None = None
        self.inside = False
        self.cuts: set[str] = set()  # units that this call has reached: of one that is called again, the boundary is before its first call

    def begin(self, module: Any, args: Any, kwargs: Any) -> None:
        if not self.record.in_step or not torch.is_grad_enabled():
            return
        step = self.record._next_step
        self.microbatch = 0 if step != self.step else self.microbatch + 1
        self.step, self.inside = step, self.microbatch < self.record.microbatches
        if not self.inside:
            words = f"step {step}: the model is called more often than there are microbatches in the record, {self.record.microbatches}"
            self.record._not_recorded.add(("actions", "boundaries", "losses"), words)
            return
        self.cuts = set()
        self.record._attempt_labels(self.microbatch, labels_in, module, args, kwargs)
        self.row = self.record._attempt_begin(0, "F", self.microbatch)

    def end(self, module: Any, args: Any, output: Any) -> None:
        if not self.inside:
            return
        self.inside = False
        self.passed = {}
        self.record._attempt_end(self.row)
        first = next((tensor for tensor in tensors_in(output) if tensor.requires_grad), None)
        if first is not None:
            first.register_hook(guarded(self.record, "actions", functools.partial(self._backward, self.microbatch)))

    def _backward(self, microbatch: int, gradient: torch.Tensor) -> None:
        if not self.record._finished:  # without a duration: the end of the backward pass cannot be observed
            self.record._attempt_end(self.record._attempt_begin(0, "B", microbatch))

    def at_cut(self, units: list[str], module: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        """`units`: the module's, which may be called again; the first unit of the model has no boundary before it."""
        unit = next((one for one in units if one not in self.cuts), None)
        if not self.inside or unit is None:
            return None
        self.cuts.add(unit)
        if unit == self.first:
            return None
        tensors = self.crossing(unit, args, kwargs)
        if not tensors:
            raise TypeError(f"unit {unit} is called without a tensor for its boundary")
        microbatch = self.microbatch
        carrying = [tensor for tensor in tensors if tensor.requires_grad]
        replaceable = {id(tensor) for tensor in _replaceable((*args, *kwargs.values()))}
        if torch.is_grad_enabled() and any(id(tensor) not in replaceable for tensor in carrying):
            raise TypeError(f"unit {unit} takes a boundary tensor in a list or a dict: pass it as an argument, or select others by watch_model(..., crossing=)")
        self.record.computed(unit, "forward", microbatch, as_one(tensors))
        if not carrying:
            return None

        def record_gradients(gradients: Sequence[torch.Tensor | None]) -> None:
            self.record._not_recorded.attempt("boundaries", lambda: self.record.computed(unit, "backward", microbatch, as_one(gradients)))

        if not torch.is_grad_enabled():  # a reentrant checkpoint builds the graph later, without these nodes
            torch.autograd.graph.register_multi_grad_hook(carrying, record_gradients)
            return None
        once = Counter(id(tensor) for tensor in carrying)
        passed = [self._from_here(tensor, once[id(tensor)] == 1) for tensor in carrying]
        torch.autograd.graph.register_multi_grad_hook(passed, record_gradients)
        places: dict[int, list[torch.Tensor]] = {}
        for tensor, given in zip(carrying, passed):
            self.passed[id(tensor)] = (tensor, given)  # keeps the tensor alive, so that its id is not reused
            places.setdefault(id(tensor), []).append(given)
        return _replaced(args, places), {name: _replaced(value, places) for name, value in kwargs.items()}

    def _from_here(self, tensor: torch.Tensor, once: bool) -> torch.Tensor:
        """The unit's input: the tensor itself, with its own node from here on if possible. If it cannot and was a boundary tensor before
        (passed around a unit), or the call has it more than once, a view of what was passed last."""
        if once and (_continued(tensor) or id(tensor) not in self.passed):
            return tensor
        _, latest = self.passed.get(id(tensor), (tensor, tensor))
        return latest.view_as(latest)


def _replaceable(values: Any) -> Iterator[torch.Tensor]:
    """The tensors that _replaced reaches: not those in lists and dicts, which units share and change."""
    if isinstance(values, torch.Tensor):
        yield values
    elif _is_tuple(values):
        for value in values:
            yield from _replaceable(value)


def _is_tuple(values: Any) -> bool:
    """Also a named tuple, but not another class, which cannot be rebuilt."""
    return type(values) is tuple or (isinstance(values, tuple) and hasattr(values, "_make"))


def _replaced(values: Any, places: dict[int, list[torch.Tensor]]) -> Any:
    """`values` with the tensors of these ids replaced by what is passed for them; a tensor with several views gets another one at each occurrence."""
    if isinstance(values, torch.Tensor):
        views = places.get(id(values), [values])
        return views.pop(0) if len(views) > 1 else views[0]
    if not _is_tuple(values):
        return values
    rebuild = getattr(values, "_make", tuple)
    return rebuild(_replaced(value, places) for value in values)
