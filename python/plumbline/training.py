# SPDX-License-Identifier: BSD-3-Clause
"""What the manifest says of optimiser, model and libraries, read off the objects themselves."""

from __future__ import annotations

import datetime
import platform
import re
import sys
import uuid
from typing import Any, Iterable

from .version import __version__

SCALARS = (bool, int, float, str)
NEWEST_TRIED = "2.15"  # torch


def optimizer_of(optimizer: Any) -> dict[str, Any]:
    """Of a torch optimiser, by the names of the format; a dict is taken as it is."""
    if isinstance(optimizer, dict):
        return optimizer
    groups = getattr(optimizer, "param_groups", [])
    numbers = [_numbers(group) | {"lr": float(group.get("initial_lr", group["lr"]))} for group in groups]
    differ = any(one != numbers[0] for one in numbers)
    values = dict(optimizer.defaults)
    for one in numbers:  # torchtitan gives its numbers to a single group, and none to the optimiser
        values |= one
    if differ:
        values |= {key: max(one[key] for one in numbers) for key in ("lr", "weight_decay") if key in values}  # as many ranks as there are
    name = type(optimizer).__name__.lower()
    known: dict[str, Any] = {"name": name, "learning_rate": float(values.pop("lr"))}
    if name in ("adamw", "adam"):
        beta1, beta2 = values.pop("betas")
        known |= {"beta1": float(beta1), "beta2": float(beta2), "eps": float(values.pop("eps"))}
    if name in ("adamw", "adam", "sgd"):
        known["weight_decay"] = float(values.pop("weight_decay"))
    if name == "sgd":
        known["momentum"] = float(values.pop("momentum"))
    how = ("foreach", "fused", "capturable", "differentiable", "decoupled_weight_decay")  # not what is computed, but in which kernels
    form = form_of(optimizer)
    if form:
        known["implementation"] = form
    if differ:
        known["groups"] = len(groups)  # with numbers of their own
    known |= {key: value for key, value in values.items() if isinstance(value, SCALARS) and key not in how and value}
    return known


def optimizer_of_all(optimizers: list[Any]) -> dict[str, Any] | None:
    """Of one rank, or of none where it has no optimiser."""
    return together([optimizer_of(one) for one in optimizers if one is not None])


def together(optimizers: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Of several optimisers, or of all ranks', the same whoever holds which: where numbers differ they are groups of one, and the largest
    rate and decay are given for all; of several kinds the name has each."""
    every = [one for one in optimizers if one]
    if not every:
        return None
    first, names = every[0], sorted({str(one["name"]) for one in every})
    for one in every:  # what a rank that was given the numbers by hand does not say
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
    """Which of torch's forms of the step runs: they round at other places."""
    groups = getattr(optimizer, "param_groups", [])
    forms = {_form_of_group(group) for group in groups if "foreach" in group}
    return forms.pop() if len(forms) == 1 else "mixed" if forms else None


def _form_of_group(group: dict[str, Any]) -> str:
    if group.get("fused"):
        return "fused"
    foreach = group.get("foreach")
    if foreach is None and group.get("fused") is None:  # torch chooses by where the parameters lie
        from torch.optim import optimizer as torch_optimizer

        choose = getattr(torch_optimizer, "_default_to_fused_or_foreach", None)
        foreach = choose(group["params"], bool(group.get("differentiable")), use_fused=False)[1] if choose else False
    return "foreach" if foreach else "single_tensor"


def rates_of(optimizer: Any) -> dict[int, float]:
    """Of each parameter, by its id."""
    return {id(parameter): float(group["lr"]) for group in optimizer.param_groups for parameter in group["params"]}


def _numbers(group: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the step's formula, without the rate, which a scheduler sets."""
    return {key: value for key, value in group.items() if key not in ("params", "param_names", "initial_lr", "lr")}


def model_of(model: Any) -> dict[str, Any]:
    """A dict, or a configuration that can make one (transformers, dataclasses, plain objects)."""
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
            found["torch_note"] = f"newer than {NEWEST_TRIED}, the newest that this package was tried with"
    return found


def onednn_of(torch: Any) -> str | None:
    """The version of the library that multiplies matrices on a CPU: bits of bfloat16 products change with it."""
    match = re.search(r"(?:MKL-DNN|oneDNN) v(\d+\.\d+\.\d+)", torch.__config__.show())
    return match[1] if match else None


def is_newer(version: str) -> bool:
    """
    >>> is_newer("2.15.1+cpu"), is_newer("2.16.0.dev20261201"), is_newer("3.0.0"), is_newer("unknown")
    (False, True, True, False)
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) > tuple(map(int, NEWEST_TRIED.split(".")))


def new_run() -> dict[str, str]:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"run_id": str(uuid.uuid4()), "started": now}


def moments_of(optimizers: Iterable[Any], parameter: Any) -> list[tuple[str, Any]]:
    """exp_avg and exp_avg_sq, or the momentum buffer; whatever of them there is."""
    found = []
    for optimizer in optimizers:
        state = optimizer.state.get(parameter, {}) if hasattr(optimizer, "state") else {}
        for key, kind in (("exp_avg", "moment1"), ("momentum_buffer", "moment1"), ("exp_avg_sq", "moment2")):
            if state.get(key) is not None:
                found.append((kind, state[key]))
    return found
