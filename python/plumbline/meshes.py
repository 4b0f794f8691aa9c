# SPDX-License-Identifier: BSD-3-Clause
"""The place of a rank's pipeline in a run of several: the folder of its record, and `mesh` of the manifest.

A place is a coordinate on all axes but the pipeline's. Places are numbered with the last axis fastest.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Callable, Iterable, Mapping

KINDS = ("replicate", "shard", "tensor", "context", "expert")
KNOWN_AXES = {
    **dict.fromkeys(("dp", "ddp", "dp_replicate", "replicate"), "replicate"),
    **dict.fromkeys(("dp_shard", "fsdp", "efsdp", "shard"), "shard"),
    **dict.fromkeys(("tp", "etp"), "tensor"),
    "cp": "context",
    "ep": "expert",
}


def place_of(mesh: Any, pipeline: str, axes: Mapping[str, str], group: Any) -> tuple[dict[str, Any] | None, Any]:
    """The manifest's `mesh`, and the group of this pipeline's ranks. Raises ValueError if the mesh has no axis of stages, or an axis of several ranks
    whose kind is unknown."""
    if mesh is None:
        return None, group
    if isinstance(mesh, dict):
        return mesh | {"axes": _described(mesh["axes"].items(), pipeline, axes)}, group
    if group is not None:
        raise ValueError("give mesh= or group=, not both: the mesh has the group of each pipeline")
    names = mesh.mesh_dim_names or ()
    described = _described([(name, mesh.size(number)) for number, name in enumerate(names)], pipeline, axes)
    replicas = mesh.mesh.movedim(names.index(pipeline), -1).reshape(-1, mesh.size(names.index(pipeline))).tolist()
    distributed = initialized()
    ranks, world = sum(map(len, replicas)), distributed.get_world_size() if distributed else None
    if world not in (None, ranks):
        sizes = ", ".join(f"{one['name']} {one['size']}" for one in described)
        raise ValueError(f"the mesh's axes, {sizes}, have {ranks} ranks, but the run has {world}: give mesh= the DeviceMesh of all axes")
    this_rank = mesh.get_rank()
    place = next(number for number, ranks in enumerate(replicas) if this_rank in ranks)
    return {"axes": described, "replicas": replicas, "replica": place}, mesh.get_group(pipeline)


def _described(sizes: Iterable[tuple[str, int]], pipeline: str, axes: Mapping[str, str]) -> list[dict[str, Any]]:
    """
    >>> _described([("tp", 2), ("pp", 1)], "pp", {})
    [{'name': 'tp', 'size': 2, 'kind': 'tensor'}, {'name': 'pp', 'size': 1, 'kind': 'pipeline'}]
    """
    sizes = list(sizes)
    names = [name for name, _ in sizes]
    if names.count(pipeline) != 1:
        raise ValueError(f"the mesh has the axes {names}, but one must be pipeline={pipeline!r}, of size 1 without stages; name them with mesh_dim_names=")
    if len(set(names)) < len(names):
        raise ValueError(f"the mesh has two axes of one name: {names}")
    for name, kind in axes.items():
        if name not in names or name == pipeline or kind not in KINDS:
            raise ValueError(f"axes={{{name!r}: {kind!r}}}: the names are of {[one for one in names if one != pipeline]}, the kinds {', '.join(KINDS)}")
    kinds = {pipeline: "pipeline", **KNOWN_AXES, **axes}
    for name, size in sizes:
        if size > 1 and name not in kinds:
            raise ValueError(f"what does the mesh's axis {name!r} do? Say so: Record(axes={{{name!r}: 'tensor'}}), or one of {', '.join(KINDS)}")
    return [{"name": name, "size": size, "kind": kinds.get(name, "replicate")} for name, size in sizes]


def places_axes(mesh: dict[str, Any]) -> dict[str, int]:
    """The sizes of the axes that places differ along, by name."""
    return {one["name"]: one["size"] for one in mesh["axes"] if one["kind"] != "pipeline"}


def coordinates(mesh: dict[str, Any], place: int) -> dict[str, int]:
    """A place's coordinate on each axis but the pipeline's.

    >>> axes = [{"name": "a", "size": 2, "kind": "shard"}, {"name": "pp", "size": 4, "kind": "pipeline"}, {"name": "b", "size": 3, "kind": "tensor"}]
    >>> coordinates({"axes": axes}, 4)
    {'a': 1, 'b': 1}
    """
    found = {}
    for name, size in reversed(places_axes(mesh).items()):
        place, found[name] = divmod(place, size)
    return dict(reversed(found.items()))


def axes_of(ranks: Iterable[int], mesh: dict[str, Any]) -> list[str]:
    """The axes along which these ranks of the run differ. Raises ValueError for a rank that the mesh lacks."""
    names = [one["name"] for one in mesh["axes"]]
    pipeline = next(one["name"] for one in mesh["axes"] if one["kind"] == "pipeline")
    found: dict[str, set[int]] = {name: set() for name in names}
    for rank in ranks:
        place = next((number for number, one in enumerate(mesh["replicas"]) if rank in one), None)
        if place is None:
            raise ValueError(f"rank {rank} is not in it")
        for name, coordinate in {**coordinates(mesh, place), pipeline: mesh["replicas"][place].index(rank)}.items():
            found[name].add(coordinate)
    return [name for name in names if len(found[name]) > 1]


def axes_of_kind(mesh: dict[str, Any] | None, kind: str) -> list[str]:
    """The names of the axes of this kind that have several ranks."""
    return [one["name"] for one in (mesh or {"axes": ()})["axes"] if one["kind"] == kind and one["size"] > 1]


def folder_of(mesh: dict[str, Any] | None) -> str:
    """
    >>> folder_of(None), folder_of({"replica": 1})
    ('', 'replica-1')
    """
    return "" if mesh is None else f"replica-{mesh['replica']}"


def refuse_parts_of_masters(named: Iterable[tuple[str, Any]], master_of: Callable[[Any], Any]) -> None:
    """Raises ValueError if `master_of` gives a part of a parameter's master, as optimizers do that divide masters among replicas."""
    for name, parameter in named:
        try:
            given, whole = math.prod(master_of(parameter).shape), math.prod(parameter.shape)
        except Exception:  # the master may not exist, or not yet
            continue
        if given != whole and not hasattr(parameter, "to_local"):
            raise ValueError(
                f"master_of= gives only {given} of the {whole} elements of {name}, but parts of masters cannot be judged; "
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
        raise ValueError(f"this rank holds a part of a tensor of shape {tuple(tensor.shape)}, {tensor.placements}: give its full_tensor()")
    return local_part(tensor)


def local_part(tensor: Any) -> Any:
    """This rank's part of a DTensor; anything else unchanged."""
    if not hasattr(tensor, "to_local"):
        return tensor
    part = tensor.to_local()
    return part.wait() if hasattr(part, "wait") else part


def split_along(tensor: Any) -> list[int]:
    """The axes of a DTensor's own mesh along which this rank holds a shard or an incomplete sum."""
    mesh = getattr(tensor, "device_mesh", None)
    placements = enumerate(getattr(tensor, "placements", ()))
    return [axis for axis, one in placements if not one.is_replicate() and (mesh is None or mesh.size(axis) > 1)]


def is_part(tensor: Any) -> bool:
    """Whether a DTensor is a shard or an incomplete sum over an axis of several ranks."""
    return bool(split_along(tensor))
