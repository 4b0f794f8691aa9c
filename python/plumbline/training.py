# SPDX-License-Identifier: BSD-3-Clause
"""Optimizer, model and library versions for the manifest, from the trainer's objects."""

from __future__ import annotations

import datetime
import platform
import re
import sys
import uuid
from typing import Any, Iterable

from .version import __version__

SCALARS = (bool, int, float, str)
FORMULA = {"adamw": ("betas", "eps", "weight_decay"), "adam": ("betas", "eps", "weight_decay"), "sgd": ("momentum", "weight_decay")}
NEWEST_TESTED = "2.15"  # torch


def optimizer_of(optimizer: Any) -> dict[str, Any]:
    """The manifest's `optimizer` of a torch optimizer; a dict is returned unchanged."""
    if isinstance(optimizer, dict):
        return optimizer
    groups = getattr(optimizer, "param_groups", [])
    numbers = [_numbers(group) | {"lr": float(group.get("initial_lr", group["lr"]))} for group in groups]
    differ = any(one != numbers[0] for one in numbers)
    values = dict(getattr(optimizer, "defaults", {}))
    for one in numbers:  # torchtitan sets its values in a single group, not in the optimizer
        values |= one
    if differ:
        values |= {key: max(one[key] for one in numbers) for key in ("lr", "weight_decay") if key in values}  # the same on any number of ranks
    name = type(optimizer).__name__.lower()
    if not all(key in values for key in FORMULA.get(name, ())):  # another class of this name
        name = f"{type(optimizer).__module__}.{name}"
    known: dict[str, Any] = {"name": name, "learning_rate": float(values.pop("lr"))}
    if name in ("adamw", "adam"):
        beta1, beta2 = values.pop("betas")
        known |= {"beta1": float(beta1), "beta2": float(beta2), "eps": float(values.pop("eps"))}
    if name in ("adamw", "adam", "sgd"):
        known["weight_decay"] = float(values.pop("weight_decay"))
    if name == "sgd":
        known["momentum"] = float(values.pop("momentum"))
    how = ("foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay")  # select kernels, not the formula
    form = form_of(optimizer)
    if name in FORMULA and _has_stepped(optimizer):  # the record lacks moments from before its first step, so updates are not recomputed
        form = f"{form}, resumed" if form else "resumed"
    if form:
        known["implementation"] = form
    if differ:
        known["groups"] = len(groups)  # with their own values
    known |= {key: value for key, value in values.items() if isinstance(value, SCALARS) and key not in how and value}
    return known


def _has_stepped(optimizer: Any) -> bool:
    """Whether the optimizer has a state already: the trainer has loaded a checkpoint, or trained before."""
    states = optimizer.state.values() if isinstance(getattr(optimizer, "state", None), dict) else ()
    return any(float(state.get("step") or 0) > 0 or state.get("momentum_buffer") is not None for state in states if isinstance(state, dict))


def unwrapped(optimizer: Any) -> list[Any]:
    """The optimizers, also dicts, of one, of a list, or of None. In place of a wrapper without torch's hooks those within it, if they have them:
    its `chained_optimizers` (Megatron's ChainedOptimizer) or `optimizer`, which is None on a rank that trains nothing."""
    if isinstance(optimizer, (list, tuple)):
        return [inner for one in optimizer for inner in unwrapped(one)]
    if optimizer is None or isinstance(optimizer, dict) or has_hooks(optimizer):
        return [] if optimizer is None else [optimizer]
    for name in ("chained_optimizers", "optimizer"):
        if hasattr(optimizer, name):
            inner = unwrapped(getattr(optimizer, name))
            return inner if all(map(has_hooks, inner)) else [optimizer]
    return [optimizer]


def has_hooks(optimizer: Any) -> bool:
    """Not a wrapper that is of torch's class without its __init__, as accelerate's."""
    return hasattr(optimizer, "register_step_pre_hook") and hasattr(optimizer, "_optimizer_step_pre_hooks")


def require_rates(optimizers: list[Any]) -> None:
    """Raises ValueError for an optimizer without a rate in each of its groups of parameters, or without groups in its defaults; None, as in
    transformers' Adafactor, is not a rate."""
    for one in optimizers:
        groups = getattr(one, "param_groups", None) or [getattr(one, "defaults", {})]
        if not all(group.get("lr") is not None for group in groups):
            instead = "give optimizer= its name and rate instead, as {'name': 'mine', 'learning_rate': 0.1}"
            words = f"{instead}, and call record.gradients() and record.learning_rate() in each step"
            raise ValueError(f"{type(one).__name__} lacks param_groups with an 'lr', which optimizers of torch.optim have: {words}")


def optimizer_of_all(optimizers: list[Any]) -> dict[str, Any] | None:
    """The manifest's `optimizer` of one rank; None without an optimizer."""
    return together([optimizer_of(one) for one in optimizers if one is not None])


def together(optimizers: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Merges several optimizers, of one rank or of all, independently of which rank holds which. If values differ they count as groups of one
    optimizer, with the largest rate and decay; if kinds differ, the name lists all."""
    every = [one for one in optimizers if one]
    if not every:
        return None
    first, names = every[0], sorted({name for one in every for name in str(one["name"]).split("+")})
    for one in every:  # fills in what a rank's own dict lacks
        first = one | first
    if all(first | one == first for one in every):
        return first
    if len(names) > 1:
        first = {"name": "+".join(names), "learning_rate": first["learning_rate"]}
    for key in ("learning_rate", "weight_decay"):
        if key in first:
            first = first | {key: max(float(one.get(key, 0)) for one in every)}
    if len({str(one.get("implementation", "")) for one in every} - {""}) > 1:
        first = first | {"implementation": "mixed"}
    return first | {"groups": sum(int(one.get("groups", 1)) for one in every)}


def form_of(optimizer: Any) -> str | None:
    """The form of torch's step that runs; forms round in different places."""
    groups = getattr(optimizer, "param_groups", [])
    forms = {_form_of_group(group) for group in groups if "foreach" in group}
    return forms.pop() if len(forms) == 1 else "mixed" if forms else None


def _form_of_group(group: dict[str, Any]) -> str:
    if group.get("fused"):
        return "fused"
    foreach = group.get("foreach")
    if foreach is None and group.get("fused") is None:  # torch chooses by the parameters' device
        from torch.optim import optimizer as torch_optimizer

        choose = getattr(torch_optimizer, "_default_to_fused_or_foreach", None)
        foreach = choose(group["params"], bool(group.get("differentiable")), use_fused=False)[1] if choose else False
    return "foreach" if foreach else "single_tensor"


def ids_of_parameters(optimizer: Any) -> set[int]:
    """The ids of its parameters."""
    return {id(parameter) for group in getattr(optimizer, "param_groups", ()) for parameter in group["params"]}


def rates_of(optimizer: Any) -> dict[int, float]:
    """Learning rates by the parameter's id."""
    return {id(parameter): float(group["lr"]) for group in optimizer.param_groups for parameter in group["params"]}


def _numbers(group: dict[str, Any]) -> dict[str, Any]:
    """The values of the step's formula, without the rate, which a scheduler changes."""
    return {key: value for key, value in group.items() if key not in ("params", "param_names", "initial_lr", "lr")}


def model_of(model: Any) -> dict[str, Any]:
    """The model's configuration as a dict, from a dict or an object (transformers, dataclasses, plain objects)."""
    if isinstance(model, dict):
        return {key: value for key, value in model.items() if _is_json(value)}
    if hasattr(model, "to_diff_dict"):
        return model_of(dict(model.to_dict()))
    return model_of(dict(vars(model)))


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_json(inner) for inner in value)
    return value is None or isinstance(value, SCALARS)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "plumbline-python": __version__}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
        onednn = onednn_of(torch)
        if onednn is not None:
            found["onednn"] = onednn
        if is_newer(found["torch"]):
            found["torch_note"] = f"newer than {NEWEST_TESTED}, the newest that this package was tested with"
    return found


def onednn_of(torch: Any) -> str | None:
    """oneDNN's version, which determines the bits of bfloat16 products on a CPU."""
    match = re.search(r"(?:MKL-DNN|oneDNN) v(\d+\.\d+\.\d+)", torch.__config__.show())
    return match[1] if match else None


def is_newer(version: str) -> bool:
    """Whether this version of torch is newer than the newest tested one.

    >>> is_newer("2.15.1+cpu"), is_newer("2.16.0.dev20261201"), is_newer("3.0.0"), is_newer("unknown")
    (False, True, True, False)
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) > tuple(map(int, NEWEST_TESTED.split(".")))


def new_run() -> dict[str, str]:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"run_id": str(uuid.uuid4()), "started": now}


def moments_of(optimizers: Iterable[Any], parameter: Any) -> list[tuple[str, Any]]:
    """The parameter's existing moments: exp_avg, exp_avg_sq, momentum buffer."""
    found = []
    for optimizer in optimizers:
        state = optimizer.state.get(parameter, {}) if hasattr(optimizer, "state") else {}
        for key, kind in (("exp_avg", "moment1"), ("momentum_buffer", "moment1"), ("exp_avg_sq", "moment2")):
            if state.get(key) is not None:
                found.append((kind, state[key]))
    return found
