# SPDX-License-Identifier: BSD-3-Clause
"""One of several pipelines that train together: where its record goes, and what the manifest says of the others."""

from __future__ import annotations

import sys
from typing import Any, Iterable


def place_of(mesh: Any, pipeline: str, group: Any) -> tuple[dict[str, Any] | None, Any]:
    """The manifest's `mesh`, and the group of this pipeline's ranks. Raises ValueError for a mesh that has no axis of that name."""
    if mesh is None or isinstance(mesh, dict):
        return mesh, group
    if group is not None:
        raise ValueError("give mesh= or group=: the mesh knows the group of each pipeline")
    names = mesh.mesh_dim_names
    if not names or pipeline not in names:
        raise ValueError(f"the mesh has the axes {names}, and none is pipeline={pipeline!r}; name them with mesh_dim_names=")
    axis = names.index(pipeline)
    replicas = mesh.mesh.movedim(axis, -1).reshape(-1, mesh.size(axis)).tolist()
    mine = mesh.get_rank()
    described = {
        "axes": {name: mesh.size(number) for number, name in enumerate(names)},
        "pipeline": pipeline,
        "replicas": replicas,
        "replica": next(number for number, ranks in enumerate(replicas) if mine in ranks),
    }
    return described, mesh.get_group(pipeline)


def folder_of(mesh: dict[str, Any] | None) -> str:
    """
    >>> folder_of(None), folder_of({"replica": 1})
    ('', 'replica-1')
    """
    return "" if mesh is None else f"replica-{mesh['replica']}"


def refuse_marked(named: Iterable[tuple[str, Any]], pipeline_ranks: int = 1) -> None:
    """Raises ValueError where Megatron marks a parameter of which a rank holds a part: it does not say which part. It marks every parameter,
    so with a tensor parallel size of 1 none is refused."""
    marked = [name for name, parameter in named if getattr(parameter, "tensor_model_parallel", False)]
    if marked and tensor_parallel_size(pipeline_ranks) != 1:
        raise ValueError(
            f"of {', '.join(marked)} this rank holds a part, and one device the whole: such a run is not judged; record one "
            "whose parameters are whole (a tensor parallel size of 1), or give record.stage the gathered tensors"
        )


def tensor_parallel_size(pipeline_ranks: int) -> int | None:
    """1 where all ranks of the run are this pipeline's, or Megatron says so; None where it is unknown."""
    state = sys.modules.get("megatron.core.parallel_state")
    if state is not None and state.model_parallel_is_initialized():
        return int(state.get_tensor_model_parallel_world_size())
    torch = sys.modules.get("torch")
    distributed = torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()
    if not distributed or torch.distributed.get_world_size() == pipeline_ranks:
        return 1
    return None


def local(tensor: Any) -> Any:
    """A DTensor's own tensor, where that is the whole; anything else as it is."""
    if not hasattr(tensor, "to_local"):
        return tensor
    if is_part(tensor):
        raise ValueError(f"this rank holds a part of a tensor of shape {tuple(tensor.shape)}: {tensor.placements}")
    whole = tensor.to_local()
    return whole.wait() if hasattr(whole, "wait") else whole


def is_part(tensor: Any) -> bool:
    """Only over an axis of several ranks can a tensor be a shard, or a sum that is not complete."""
    mesh = getattr(tensor, "device_mesh", None)
    placements = enumerate(getattr(tensor, "placements", ()))
    return any(not one.is_replicate() and (mesh is None or mesh.size(axis) > 1) for axis, one in placements)
