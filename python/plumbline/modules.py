# SPDX-License-Identifier: BSD-3-Clause
"""Units and parameters of torch modules, and the tensors of a call.

A *unit* is a module between two stage boundaries. `units_of` finds them: the children of a model that have parameters; of a child that is a list of
modules, or holds one, its children instead, if the list has parameters also those with buffers alone. Pass `units` to choose others.

Names are the model's own, without what torch's wrappers add (`_orig_mod.`, `_checkpoint_wrapped_module.`, DistributedDataParallel's
`module.`).
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Iterable, Sequence

import torch

from .hooks import Unshared, if_offered, torch_version
from .meshes import local_part
from .not_recorded import words_of
from .record import Record

ALL_KINDS = ("sends", "receives", "boundaries", "actions", "losses", "labels", "inputs", "schedule", "parameters", "buffers", "gradients", "applied", "moments")  # of a stage
LISTS = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)
WRAPPED = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")  # by torch.compile, checkpoint_wrapper, FSDP
MODULE_WRAPPERS = {"DistributedDataParallel", "DataParallel", "FullyShardedDataParallel", "Float16Module", "DeepSpeedEngine"}  # as `module`
PEFT = {"PeftModel": "base_model", "BaseTuner": "model"}  # of the peft library: names without their only child's
Names = Callable[..., str]
LABELS = ("labels", "targets")  # parameters of models that compute their own loss
NamedParameters = list[tuple[str, torch.nn.Parameter]]


def wrapped_as(module: torch.nn.Module) -> str | None:
    """The name of the child that the module wraps; None if it is not a wrapper."""
    children = dict(module.named_children())
    for name in WRAPPED:
        if name in children:
            return name
    kinds = {kind.__name__ for kind in type(module).__mro__}
    inner = next((PEFT[kind] for kind in PEFT if kind in kinds), None)
    if inner is not None and list(children) == [inner]:
        return inner
    return "module" if MODULE_WRAPPERS & kinds and "module" in children else None


def core_of(module: torch.nn.Module) -> torch.nn.Module:
    while (name := wrapped_as(module)) is not None:
        module = module.get_submodule(name)
    return module


def is_compiled(module: torch.nn.Module) -> bool:
    """Whether the module is compiled as a whole, so that hooks on modules within it are traced."""
    while (name := wrapped_as(module)) is not None and name != "_orig_mod":
        module = module.get_submodule(name)
    return name is not None or getattr(module, "_compiled_call_impl", None) is not None


def plain_names(module: torch.nn.Module) -> dict[str, str]:
    """The name without wrappers of each inner module, by its full name."""
    plain: dict[str, str] = {}

    def walk(inner: torch.nn.Module, path: str, without: str) -> None:
        plain[path] = without
        wrapped = wrapped_as(inner)
        for name, child in inner.named_children():
            walk(child, f"{path}.{name}" if path else name, without if name == wrapped else f"{without}.{name}" if without else name)

    walk(module, "", "")
    return plain


def named_parameters_of(module: torch.nn.Module) -> tuple[NamedParameters, set[str]]:
    """Parameters by their names without wrappers, and the removed prefixes."""
    plain, named, stripped = plain_names(module), [], set()
    own: dict[str, str] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        path, _, leaf = name.rpartition(".")
        without = plain.get(path, path)
        short = f"{without}.{leaf}" if without else leaf
        if short in own and own[short] != name:
            raise ValueError(f"parameters {own[short]} and {name} are both {short} without the names of wrappers: give names= to distinguish them")
        own[short] = name
        if short != name:
            stripped |= {f"{part}." for part in path.split(".") if part in (*WRAPPED, "module", "base_model") and part not in without.split(".")}
        named.append((short, parameter))
    return named, stripped


def named_buffers_of(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """The current persistent buffers by their names without wrappers: a module may replace its buffers."""
    plain, named = plain_names(module), []
    for path, inner in module.named_modules(remove_duplicate=False):
        for name, buffer in inner._buffers.items():
            if buffer is not None and name not in inner._non_persistent_buffers_set:
                without = plain.get(path, path)
                named.append((f"{without}.{name}" if without else name, buffer))
    return named


def unit_modules(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """The units by their names, each with the wrappers that are around it."""

    def walk(module: torch.nn.Module, prefix: str) -> dict[str, torch.nn.Module]:
        found: dict[str, torch.nn.Module] = {}
        is_list = _is_list(module) and any(True for _ in module.parameters())
        for name, child in _children_of(module):
            path, core = prefix + name, core_of(child)
            holds_a_list = any(_is_list(core_of(inner)) for part, inner in core.named_children() if part != "parametrizations")
            if _is_list(core) or (holds_a_list and not prefix):
                found |= walk(core, path + ".")
            elif any(True for _ in child.parameters()) or (is_list and any(True for _ in child.buffers())):
                found[path] = child  # also a layer whose weights are all buffers, as frozen ones may be
        return found

    return walk(core_of(model), "")


def _children_of(module: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """In a list, also those that occur again."""
    if isinstance(module, LISTS):
        return [(name, child) for name, child in module._modules.items() if child is not None]
    return list(module.named_children())


def names_by_module(units: dict[str, torch.nn.Module]) -> list[tuple[torch.nn.Module, list[str]]]:
    """Each module once, with the names of its units: its first call in a microbatch is the first unit's, its second the next one's."""
    found: dict[int, tuple[torch.nn.Module, list[str]]] = {}
    for name, module in units.items():
        found.setdefault(id(module), (module, []))[1].append(name)
    return list(found.values())


def _is_list(module: torch.nn.Module) -> bool:
    """Also a list that was traced: a module whose children are numbered."""
    names = [name for name, _ in module.named_children()]
    return isinstance(module, LISTS) or (bool(names) and all(name.isdigit() for name in names))


def units_of(model: torch.nn.Module) -> list[str]:
    """The names of the model's units.

    >>> units_of(torch.nn.ModuleDict({"first": torch.nn.Linear(2, 2), "layers": torch.nn.ModuleList([torch.nn.Linear(2, 2)])}))
    ['first', 'layers.0']
    """
    return list(unit_modules(model))


def module_at(model: torch.nn.Module, unit: str) -> torch.nn.Module:
    """The module of this name, given with or without wrappers; the outermost wrapper of it. Raises AttributeError if it does not exist."""
    try:
        return model.get_submodule(unit)
    except AttributeError:
        paths = [path for path, plain in plain_names(model).items() if plain == unit]
        if not paths:
            raise
        return model.get_submodule(min(paths, key=len))


def renamed(names: Names | None, stage: int, name: str) -> str:
    """names(name) or names(stage, name), by the number of its parameters."""
    if names is None:
        return name
    try:
        asked = inspect.signature(names).parameters.values()
    except ValueError:  # a built-in function
        asked = ()
    places = [one for one in asked if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty]
    return str(names(stage, name) if len(places) > 1 else names(name))


def watch_stage(
    record: Record,
    number: int,
    module: torch.nn.Module,
    units: Sequence[str] | None = None,
    names: Names | None = None,
    gradient_of: Callable[[Any], Any] | None = None,
    master_of: Callable[[Any], Any] | None = None,
) -> dict[str, torch.nn.Module]:
    """Adds the units and parameters of a stage of a hand-written pipeline, whose trainer records boundary tensors itself (record.sent,
    record.received). `names(name)`, or `names(stage, name)`, returns the whole model's name of a parameter, for example if the stage counts its
    layers from 0; units are renamed alike. gradient_of, master_of: see watch_model. Returns the units' modules by their names in the record.
    Raises ValueError if two parameters get one name."""

    def named() -> NamedParameters:
        pairs, _ = named_parameters_of(module)
        return [(renamed(names, number, name), parameter) for name, parameter in pairs]

    def buffers() -> list[tuple[str, torch.Tensor]]:
        found: dict[str, torch.Tensor] = {}
        for name, buffer in named_buffers_of(module):
            try:
                new = renamed(names, number, name)
            except Exception as error:  # of the trainer's function
                raise ValueError(f"names= fails for the buffer {name}: {words_of(error)}") from None
            if new in found:
                raise ValueError(f"two buffers of stage {number} are named {new}")
            found[new] = buffer
        return list(found.items())

    found = if_offered(record, ALL_KINDS, unit_modules, module)
    parameters = if_offered(record, ALL_KINDS, named_parameters_of, module)
    if found is None or parameters is None:
        return {}
    pairs, stripped = parameters
    record.names_stripped |= stripped
    again = named()
    own: dict[str, str] = {}
    for (name, _), (new, _) in zip(pairs, again):
        if own.setdefault(new, name) != name:
            raise ValueError(f"names= gives {new} to both {own[new]} and {name}")
    if units is None:
        _note_beginning(record, number, core_of(module), list(found.values()))
        found = {_renamed_unit(names, number, unit, [name for name, _ in pairs]): inner for unit, inner in found.items()}
    else:
        chosen: dict[str, torch.nn.Module] = {}
        for unit in units:
            try:
                chosen[unit] = module_at(module, unit)
            except AttributeError:
                continue  # the name in the whole model, which the stage does not use
        found = chosen
    record.stage(number, list(found) if units is None else list(units), again, gradient_of, master_of, named, buffers)
    if not is_compiled(module):
        watch_order(record, number, found)
    return found


def _note_beginning(record: Record, number: int, stage: torch.nn.Module, units: list[torch.nn.Module]) -> None:
    """Notes if the stage's input goes through a module that is not a unit before the first unit: its boundary is then not the unit's."""
    first = next(stage.children(), None)
    if number == 0 or not isinstance(stage, torch.nn.Sequential) or not units or first is None or first is units[0] or any(True for _ in first.parameters()):
        return
    kind = type(core_of(first)).__name__
    record._not_recorded.note(f"stage {number} begins with {kind}, which is not a unit because it has no parameters: list it in units= of this stage, and of the model on one device")


def _renamed_unit(names: Names | None, stage: int, unit: str, parameters: list[str]) -> str:
    """The unit's new name, from its first parameter's."""
    first = next((name for name in parameters if name.startswith(unit + ".")), None)
    if names is None or first is None:
        return unit
    rest = first.removeprefix(unit)
    new = renamed(names, stage, first)
    return new.removesuffix(rest) if new.endswith(rest) else unit


def watch_order(record: Record, stage: int, units: dict[str, torch.nn.Module]) -> None:
    """Notes if the units run in another order than listed in the first step: modules may be registered in any order."""
    called: list[str] = []
    handles: list[Any] = []

    def in_turn(names: list[str]) -> Callable[..., None]:
        def called_first(*call: Any) -> None:
            try:
                unit = next((name for name in names if name not in called), None)
                if record.in_step and unit is not None:
                    called.append(unit)
                    if len(called) == len(units):
                        compare()
            except Exception:
                stop()

        return Unshared(called_first)

    def compare() -> None:
        stop()
        if called != list(units):
            listed = ", ".join(units)
            record._not_recorded.note(f"the units of stage {stage} run in the order {', '.join(called)}, but are listed as {listed}: give units={called!r}")

    def stop() -> None:
        while handles:
            handles.pop().remove()

    try:
        for module, names in names_by_module(units):
            if getattr(module, "_compiled_call_impl", None) is None:  # a module compiled in place would trace the hook
                handles.append(module.register_forward_pre_hook(in_turn(names)))
    except AttributeError as error:
        record._not_recorded.note(f"torch {torch_version()}: {words_of(error)}: the order of the units of stage {stage} is not checked")
    record._undo.append(stop)


def labels_in(module: torch.nn.Module, args: Any, kwargs: Any) -> tuple[str, torch.Tensor] | None:
    """The labels that a call gives to a model that computes its own loss, and the name of that parameter."""
    named: dict[str, Any] = {}
    if args:
        try:
            named = inspect.signature(core_of(module).forward).bind_partial(*args).arguments
        except (TypeError, ValueError):  # a built-in function, or arguments that do not fit
            pass
    return next(((name, value) for name in LABELS if isinstance(value := kwargs.get(name, named.get(name)), torch.Tensor)), None)


def as_one(tensors: Any) -> torch.Tensor:
    """One boundary tensor: several tensors of any shapes are concatenated, flattened and in order. Raises TypeError without a tensor."""
    if isinstance(tensors, torch.Tensor):
        return tensors
    several = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    if len(several) == 1:
        return several[0]
    if not several:
        raise TypeError("no tensor crosses the boundary")
    return torch.cat([local_part(tensor).reshape(-1) for tensor in several])


def tensors_in(values: Any) -> Iterable[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        for value in values.values():
            yield from tensors_in(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_in(value)
