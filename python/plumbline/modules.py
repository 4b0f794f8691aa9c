"""Modules and tensors of torch: which modules are a model's units, and which tensors stand in a call.

A *unit* is a module that stands between two cuts; `units_of` finds them: the children of a model, and in place of a
child that is a list of modules, or holds one, the children of that. Pass `units` to choose others.
"""

from __future__ import annotations

from typing import Any, Iterable

import torch

from .meshes import local

LISTS = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.Sequential)


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
    return torch.cat([local(tensor).reshape(-1) for tensor in several])


def tensors_in(values: Any) -> Iterable[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, dict):
        for value in values.values():
            yield from tensors_in(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_in(value)
