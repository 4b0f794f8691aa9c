"""Watches models and pipelines of torch: what they compute is recorded where they compute it, unchanged.

A *unit* is a module that stands between two cuts; `units_of` finds them: the children of a model, and in place of a
child that is a list of modules, or holds one, the children of that. Pass `units` to choose others.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterable, Sequence

import torch

from .record import Record

LISTS = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)
Names = Callable[[int, str], str]


def units_of(model: torch.nn.Module) -> list[str]:
    """
    >>> units_of(torch.nn.ModuleDict({"first": torch.nn.Linear(2, 2), "layers": torch.nn.ModuleList([torch.nn.Linear(2, 2)])}))
    ['first', 'layers.0']
    """

    def walk(module: torch.nn.Module, prefix: str) -> list[str]:
        found: list[str] = []
        for name, child in module.named_children():
            path = prefix + name
            holds_a_list = any(isinstance(inner, LISTS) for inner in child.children())
            if isinstance(child, LISTS) or (holds_a_list and not prefix):
                found += walk(child, path + ".")
            elif any(True for _ in child.parameters()):
                found.append(path)
        return found

    return walk(model, "")


def as_one(tensors: Any) -> torch.Tensor:
    """Of several tensors that cross a cut together, one: their elements behind each other."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    several = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    if len(several) == 1:
        return several[0]
    if not several:
        raise TypeError("no tensor crosses the cut")
    return torch.cat([tensor.reshape(-1) for tensor in several])


def crossing_of(unit: str, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """What of a unit's call a pipeline would send over the cut before it: the tensors that carry a gradient and are no parameters,
    so no masks and no tables; where none does, the first. One that is handed over twice, as query and as key say, is sent once."""
    tensors = list({id(tensor): tensor for tensor in _tensors((*args, *kwargs.values()))}.values())
    carrying = [tensor for tensor in tensors if tensor.requires_grad and not isinstance(tensor, torch.nn.Parameter)]
    return carrying or tensors[:1]


def watch_model(
    record: Record, model: torch.nn.Module, units: Sequence[str] | None = None, crossing: Callable[[str, Any, Any], list[torch.Tensor]] = crossing_of
) -> None:
    """Of a run on one device: every call of the model with gradients is a microbatch, its cuts are before its units.

    What stands at a cut is what `crossing(unit, args, kwargs)` gives of the unit's call; several tensors count as one, as where they
    are sent together. The unit is handed views of them, whose gradients are what a pipeline sends back: a tensor's own gradient would
    count its uses before the cut too.
    """
    names = list(units) if units is not None else units_of(model)
    record.stage(0, names, list(model.named_parameters(remove_duplicate=False)))
    calls = _Calls(record, crossing)
    model.register_forward_pre_hook(calls.begin)
    model.register_forward_hook(calls.end)
    for unit in names[1:]:
        module = model.get_submodule(unit)
        module.register_forward_pre_hook(functools.partial(calls.at_cut, unit), with_kwargs=True)


def watch_stage(record: Record, number: int, module: torch.nn.Module, units: Sequence[str] | None = None) -> None:
    """A stage of a pipeline written by hand, whose crossings the trainer tells itself (record.sent, record.received): its units, by the
    same rule as a whole model's, and its parameters."""
    named = list(module.named_parameters(remove_duplicate=False))
    record.stage(number, list(units) if units is not None else units_of(module), named)


class _Calls:
    """The model's calls within a step, counted."""

    def __init__(self, record: Record, crossing: Callable[[str, Any, Any], list[torch.Tensor]]) -> None:
        self.record, self.crossing, self.step, self.microbatch = record, crossing, -1, 0
        self.views: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # of this call: what has crossed a cut, and its latest view
        self.row: list[Any] = []
        self.inside = False

    def begin(self, module: Any, args: Any) -> None:
        if not self.record.in_step or not torch.is_grad_enabled():
            return
        step = self.record._next_step
        self.microbatch = 0 if step != self.step else self.microbatch + 1
        self.step, self.inside = step, True
        if self.microbatch >= self.record.microbatches:
            raise RuntimeError(f"step {step}: the model is called more than the {self.record.microbatches} times that microbatches were told")
        self.row = self.record._begin_action(0, "F", self.microbatch)

    def end(self, module: Any, args: Any, output: Any) -> None:
        if not self.inside:
            return
        self.inside = False
        self.views = {}
        self.record._end_action(self.row)
        first = next((tensor for tensor in _tensors(output) if tensor.requires_grad), None)
        if first is not None:
            first.register_hook(functools.partial(self._backward, self.microbatch))

    def _backward(self, microbatch: int, gradient: torch.Tensor) -> None:
        row = self.record._begin_action(0, "B", microbatch)
        self.record._end_action(row)  # of its issue: where the backward pass ends is not seen

    def at_cut(self, unit: str, module: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        if not self.inside:
            return None
        tensors = self.crossing(unit, args, kwargs)
        if not tensors:
            raise TypeError(f"unit {unit} is called without a tensor, so there is none at its cut")
        microbatch = self.microbatch
        self.record.computed(unit, "forward", microbatch, as_one(tensors))
        carrying = [tensor for tensor in tensors if tensor.requires_grad]
        if not carrying:
            return None

        def tell(gradients: Sequence[torch.Tensor | None]) -> None:
            self.record.computed(unit, "backward", microbatch, as_one(gradients))

        if not torch.is_grad_enabled():  # within a reentrant checkpoint, which builds the graph later: there are no views of it yet
            torch.autograd.graph.register_multi_grad_hook(carrying, tell)
            return None
        views = [self._view_of(tensor) for tensor in carrying]
        torch.autograd.graph.register_multi_grad_hook(views, tell)
        places: dict[int, list[torch.Tensor]] = {}
        for tensor, view in zip(carrying, views):
            self.views[id(tensor)] = (tensor, view)  # keeps the tensor, so that its id stays its own
            places.setdefault(id(tensor), []).append(view)
        return _replaced(args, places), _replaced(kwargs, places)

    def _view_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Of a tensor that crossed an earlier cut too, and was handed on past the unit there: a view of the one that stood there."""
        _, latest = self.views.get(id(tensor), (tensor, tensor))
        return latest.view_as(latest)


def _replaced(values: Any, places: dict[int, list[torch.Tensor]]) -> Any:
    """The same, with views in place of the tensors of these ids: where one stands several times and crosses as often, each
    time another."""
    if isinstance(values, torch.Tensor):
        views = places.get(id(values), [values])
        return views.pop(0) if len(views) > 1 else views[0]
    if isinstance(values, dict):
        return {key: _replaced(value, places) for key, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(_replaced(value, places) for value in values)
    return values


def _tensors(values: Any) -> Iterable[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        for value in values.values():
            yield from _tensors(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


def watch_pipelining(record: Record, schedule: Any, units: Callable[[int], Sequence[str]] | None = None, names: Names | None = None) -> None:
    """Any schedule of torch.distributed.pipelining: every boundary, loss and action of this rank's stages.

    `units(stage)` gives a stage's units where its module's children do not; `names(stage, name)` the whole model's name
    of a stage's parameter.
    """
    stages = schedule._stages if hasattr(schedule, "_stages") else [schedule._stage]
    record.schedule_name = type(schedule).__name__.removeprefix("Schedule")
    record.chunks_per_rank = max(1, -(-stages[0].num_stages // stages[0].group_size))
    if schedule._n_microbatches != record.microbatches:
        raise ValueError(f"the schedule has {schedule._n_microbatches} microbatches, the record {record.microbatches}")
    if getattr(schedule, "scale_grads", False) and record.microbatches > 1:
        record.loss_scaling = "after"
    record.schedule_rows = compute_rows(schedule, stages[0].group_size)
    for stage in stages:
        number = stage.stage_index
        own_units = list(units(number)) if units else units_of(stage.submod)
        named = stage.submod.named_parameters(remove_duplicate=False)
        record.stage(number, own_units, [(names(number, name) if names else name, parameter) for name, parameter in named])
        _watch_stage(record, stage, {one.stage_index for one in stages})
    _declare_accumulation(record, stages[0].num_stages)
    _watch_losses(record, schedule)
    _watch_data(record, schedule, stages)
    _watch_waits(record)


def _watch_waits(record: Record) -> None:
    """Whom a rank waits for stands on its progress page: torch's schedules begin transfers and wait for them in functions
    of their module."""
    from torch.distributed.pipelining import schedules

    begin, wait = schedules._batch_p2p, schedules._wait_batch_p2p
    peers: dict[int, int] = {}  # of transfers under way, by the object that is waited for

    @functools.wraps(begin)
    def batch_p2p(p2p_ops: list[Any], desc: str | None = None) -> list[Any]:
        works = begin(p2p_ops, desc)
        for work, op in zip(works, p2p_ops):
            peers[id(work)] = int(getattr(op, "group_peer", op.peer))
        return works

    @functools.wraps(wait)
    def wait_batch_p2p(work: list[Any]) -> None:
        for one in work:
            with record.waiting(peers.pop(id(one), -1)):
                wait([one])

    schedules._batch_p2p, schedules._wait_batch_p2p = batch_p2p, wait_batch_p2p


def compute_rows(schedule: Any, ranks: int) -> list[list[str]] | None:
    """Each rank's compute actions as the schedule lists them; nothing where it follows no list. Those of one stage a
    rank follow none: what torch 2.11 gives as the order of 1F1B names other microbatches than it runs."""
    order = schedule.pipeline_order if hasattr(schedule, "_stages") else None
    if not order or len(order) != ranks:
        return None
    rows = []
    for rank in range(ranks):
        actions = [part for action in order[rank] if action is not None for part in (action.sub_actions or (action,))]
        computed = [action for action in actions if action.computation_type.value in ("F", "B", "I", "W")]
        rows.append([f"{a.stage_index}{a.computation_type.value}{a.microbatch_index}" for a in computed])
    return rows


def accumulation_of(rows: list[list[str]] | None) -> dict[int, list[int]]:
    """The order in which each stage's weights receive the gradients of microbatches."""
    import re

    order: dict[int, list[int]] = {}
    for action in (action for row in rows or [] for action in row):
        match = re.fullmatch(r"(\d+)([BW])(\d+)", action)
        if match:
            order.setdefault(int(match[1]), []).append(int(match[3]))
    return order


def _declare_accumulation(record: Record, stages: int) -> None:
    """What torch's list makes of it; every rank has the same list."""
    order = accumulation_of(record.schedule_rows)
    if all(list(one) == sorted(one) for one in order.values()):
        return
    if order and all(list(one) == sorted(one, reverse=True) for one in order.values()):
        record.accumulation = "descending"


def _watch_stage(record: Record, stage: Any, here: set[int]) -> None:
    number = stage.stage_index
    before, after = number - 1, number + 1
    received: dict[tuple[str, int], list[Any]] = {}  # rows of receives that are under way

    def taken(kind: str, microbatch: int) -> None:
        """The receive has ended, now that its consumer starts."""
        row = received.pop((kind, microbatch), None)
        if row is not None:
            record._end_action(row, waited=True)

    def take(other: int, microbatch: int, tensors: Any) -> None:
        tell = record.handed_over if other in here else None
        if tell:
            tell(other, number, microbatch, as_one(tensors))
        else:
            record.received(number, other, microbatch, as_one(tensors))

    forward, backward, weights = stage.forward_one_chunk, stage.backward_one_chunk, stage.backward_weight_one_chunk

    @functools.wraps(forward)
    def forward_one_chunk(fwd_chunk_id: int, *args: Any, **kwargs: Any) -> Any:
        if not record.in_step:
            return forward(fwd_chunk_id, *args, **kwargs)
        taken("RECV_F", fwd_chunk_id)
        if not stage.is_first:
            take(before, fwd_chunk_id, stage._retrieve_recv_activations(fwd_chunk_id))
        row = record._begin_action(number, "F", fwd_chunk_id)
        output = forward(fwd_chunk_id, *args, **kwargs)
        record._end_action(row)
        return output

    @functools.wraps(backward)
    def backward_one_chunk(bwd_chunk_id: int, loss: Any = None, full_backward: bool = True, last_backward: bool = False) -> Any:
        if not record.in_step or not stage.has_backward:
            return backward(bwd_chunk_id, loss=loss, full_backward=full_backward, last_backward=last_backward)
        taken("RECV_B", bwd_chunk_id)
        if not stage.is_last:
            take(after, bwd_chunk_id, stage._retrieve_recv_grads(bwd_chunk_id))
        row = record._begin_action(number, "B" if full_backward else "I", bwd_chunk_id)
        result = backward(bwd_chunk_id, loss=loss, full_backward=full_backward, last_backward=last_backward)
        record._end_action(row)
        return result

    @functools.wraps(weights)
    def backward_weight_one_chunk(bwd_chunk_id: int, last_backward: bool = False) -> Any:
        if not record.in_step:
            return weights(bwd_chunk_id, last_backward=last_backward)
        row = record._begin_action(number, "W", bwd_chunk_id)
        result = weights(bwd_chunk_id, last_backward=last_backward)
        record._end_action(row)
        return result

    def watch_send(method: str, kind: str, other: int, what: Callable[[int], Any]) -> None:
        original = getattr(stage, method)

        @functools.wraps(original)
        def send(microbatch: int) -> Any:
            tensors = what(microbatch) if record.in_step and 0 <= other < stage.num_stages else None
            if tensors is not None and stage.has_backward:
                record.sent(number, other, microbatch, as_one(tensors))
            ops = original(microbatch)
            if record.in_step and ops:
                record._end_action(record._begin_action(number, kind, microbatch))  # waited for elsewhere: _watch_waits
            return ops

        setattr(stage, method, send)

    def watch_receive(method: str, kind: str, other: int) -> None:
        original = getattr(stage, method)

        @functools.wraps(original)
        def receive(microbatch: int) -> Any:
            ops = original(microbatch)
            if record.in_step and ops:
                received[kind, microbatch] = record._begin_action(number, kind, microbatch)
            return ops

        setattr(stage, method, receive)

    stage.forward_one_chunk = forward_one_chunk
    stage.backward_one_chunk = backward_one_chunk
    stage.backward_weight_one_chunk = backward_weight_one_chunk
    watch_send("get_fwd_send_ops", "SEND_F", after, lambda m: stage.fwd_cache[m][0])
    watch_send("get_bwd_send_ops", "SEND_B", before, lambda m: stage.bwd_cache[m])
    watch_receive("get_fwd_recv_ops", "RECV_F", before)
    watch_receive("get_bwd_recv_ops", "RECV_B", after)


def _watch_losses(record: Record, schedule: Any) -> None:
    original = schedule._maybe_compute_loss

    @functools.wraps(original)
    def maybe_compute_loss(stage: Any, output: Any, target_mbs: Any, mb_index: int) -> Any:
        result = original(stage, output, target_mbs, mb_index)
        if record.in_step and stage.is_last and schedule._internal_losses:
            record.loss(schedule._internal_losses[-1], mb_index)
        return result

    schedule._maybe_compute_loss = maybe_compute_loss


def _watch_data(record: Record, schedule: Any, stages: Sequence[Any]) -> None:
    """What the first and the last stage are fed counts, whatever the step was given."""
    original = schedule._step_microbatches
    first, last = any(stage.is_first for stage in stages), any(stage.is_last for stage in stages)

    @functools.wraps(original)
    def step_microbatches(arg_mbs: Any = None, kwarg_mbs: Any = None, target_mbs: Any = None, *args: Any, **kwargs: Any) -> Any:
        if record.in_step:
            for m in range(record.microbatches):
                inputs = next(iter(_tensors(arg_mbs[m])), None) if first and arg_mbs else None
                record.fed(m, inputs, target_mbs[m] if last and target_mbs else None)
        return original(arg_mbs, kwarg_mbs, target_mbs, *args, **kwargs)

    schedule._step_microbatches = step_microbatches
