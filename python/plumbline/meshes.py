# SPDX-License-Identifier: BSD-3-Clause
"""One of several pipelines that train together: the folder of its record, and `mesh` of the manifest."""

from __future__ import annotations

import math
import sys
from typing import Any, Callable, Iterable


def place_of(mesh: Any, pipeline: str, group: Any) -> tuple[dict[str, Any] | None, Any]:
    """The manifest's `mesh`, and the group of this pipeline's ranks. Raises ValueError if the mesh has no axis of that name."""
    if mesh is None or isinstance(mesh, dict):
        return mesh, group
    if group is not None:
        raise ValueError("give mesh= or group=, not both: the mesh has the group of each pipeline")
    names = mesh.mesh_dim_names
    if not names or pipeline not in names:
        raise ValueError(f"the mesh has the axes {names}, but none is pipeline={pipeline!r}; name them with mesh_dim_names=")
    axis = names.index(pipeline)
    replicas = mesh.mesh.movedim(axis, -1).reshape(-1, mesh.size(axis)).tolist()
    this_rank = mesh.get_rank()
    described = {
        "axes": {name: mesh.size(number) for number, name in enumerate(names)},
        "pipeline": pipeline,
        "replicas": replicas,
        "replica": next(number for number, ranks in enumerate(replicas) if this_rank in ranks),
    }
    return described, mesh.get_group(pipeline)


def folder_of(mesh: dict[str, Any] | None) -> str:
    """
    >>> folder_of(None), folder_of({"replica": 1})
    ('', 'replica-1')
    """
    return "" if mesh is None else f"replica-{mesh['replica']}"


def refuse_marked(named: Iterable[tuple[str, Any]], recorded_ranks: int = 1) -> None:
    """Raises ValueError for parameters that Megatron marks as tensor parallel, because the mark does not say which part a rank holds. With a
    tensor parallel size of 1, where Megatron also marks them, none is refused."""
    marked = [name for name, parameter in named if getattr(parameter, "tensor_model_parallel", False)]
    if marked and tensor_parallel_size(recorded_ranks) != 1:
        raise ValueError(
            f"this rank holds only a part of {', '.join(marked)}, which cannot be judged: record a run "
            "whose parameters are whole (a tensor parallel size of 1), or give record.stage the gathered tensors"
        )


def refuse_parts_of_masters(named: Iterable[tuple[str, Any]], master_of: Callable[[Any], Any]) -> None:
    """Raises ValueError if `master_of` gives a part of a parameter's master, as optimizers do that divide masters among replicas."""
    for name, parameter in named:
        try:
            held, whole = math.prod(master_of(parameter).shape), math.prod(parameter.shape)
        except Exception:  # there may be no master, or none yet
            continue
        if held != whole and not hasattr(parameter, "to_local"):
            raise ValueError(
                f"master_of= gives {held} of the {whole} elements of {name}: parts of masters cannot be judged; "
                "leave master_of= out, then the parameters are recorded, and no moments"
            )


def tensor_parallel_size(recorded_ranks: int) -> int | None:
    """Megatron's value; else 1 if every rank of the run is a stage of a recorded pipeline (replicas must agree in their parameters), or None."""
    state = sys.modules.get("megatron.core.parallel_state")
    if state is not None and state.model_parallel_is_initialized():
        return int(state.get_tensor_model_parallel_world_size())
    distributed = initialized()
    return 1 if distributed is None or distributed.get_world_size() == recorded_ranks else None


def initialized() -> Any:
    """torch.distributed, if torch was built with it and the trainer has initialized it; otherwise None."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    return distributed if distributed is not None and distributed.is_available() and distributed.is_initialized() else None


def local(tensor: Any) -> Any:
    """The local tensor of a DTensor; anything else unchanged. Raises ValueError if the local tensor is only a part."""
    if not hasattr(tensor, "to_local"):
        return tensor
    if is_part(tensor):
        raise ValueError(f"this rank holds a part of a tensor of shape {tuple(tensor.shape)}: {tensor.placements}")
    whole = tensor.to_local()
    return whole.wait() if hasattr(whole, "wait") else whole


def is_part(tensor: Any) -> bool:
    """Whether a DTensor is a shard or an incomplete sum over an axis of several ranks."""
    mesh = getattr(tensor, "device_mesh", None)
    placements = enumerate(getattr(tensor, "placements", ()))
    return any(not one.is_replicate() and (mesh is None or mesh.size(axis) > 1) for axis, one in placements)
