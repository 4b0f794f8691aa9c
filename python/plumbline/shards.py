# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of which each replica holds a part (FSDP2). A part is recorded under the parameter's name and its range: "weight[0:3]"."""

from __future__ import annotations

import json
import math
import pathlib
from dataclasses import asdict, dataclass
from typing import Any, Iterable

from . import meshes


@dataclass(frozen=True)
class Sharding:
    """Replica i holds the range parts[i] (begin, end; may be empty) of `size` along `dimension`."""

    dimension: int
    size: int
    parts: list[list[int]]

    def name_of(self, name: str, replica: int) -> str:
        """The name of a replica's part in the record.

        >>> Sharding(1, 5, [[0, 3], [3, 5]]).name_of("weight", 1)
        'weight[:,3:5]'
        """
        begin, end = self.parts[replica]
        return f"{name}[{':,' * self.dimension}{begin}:{end}]"


def parts_of(size: int, among: int) -> list[list[int]]:
    """The ranges of torch.chunk: equal parts, the last ones smaller or empty.

    >>> parts_of(5, 4)
    [[0, 2], [2, 4], [4, 5], [5, 5]]
    """
    step = -(-size // among)
    return [[min(size, number * step), min(size, (number + 1) * step)] for number in range(among)]


def coordinates(mesh: dict[str, Any], axis: str) -> list[int]:
    """Each replica's coordinate along an axis. Replicas are numbered with the last axis fastest, without the pipeline's axis.

    >>> coordinates({"axes": {"a": 2, "pp": 4, "b": 3}, "pipeline": "pp", "replicas": [[]] * 6}, "b")
    [0, 1, 2, 0, 1, 2]
    """
    others = [name for name in mesh["axes"] if name != mesh["pipeline"]]
    later = math.prod(mesh["axes"][name] for name in others[others.index(axis) + 1 :])
    return [replica // later % mesh["axes"][axis] for replica in range(len(mesh["replicas"]))]


def sharding_of(name: str, parameter: Any, mesh: dict[str, Any] | None) -> Sharding | None:
    """None for a parameter that is whole on this rank. Raises ValueError if the place of its parts is unknown."""
    if not meshes.is_part(parameter):
        return None
    axes = [(axis, one) for axis, one in enumerate(parameter.placements) if not one.is_replicate() and parameter.device_mesh.size(axis) > 1]
    placement = axes[0][1]
    if len(axes) > 1 or type(placement).__name__ != "Shard":
        raise ValueError(f"{name} has the placements {parameter.placements}: only parameters that are split along one axis of the mesh can be recorded")
    axis = (parameter.device_mesh.mesh_dim_names or [None] * (axes[0][0] + 1))[axes[0][0]]
    if mesh is None or axis not in mesh["axes"] or axis == mesh["pipeline"]:
        raise ValueError(f"{name} is split along the mesh's axis {axis!r}: give Record(mesh=) the whole DeviceMesh, in which that axis has this name")
    dimension = placement.dim % len(parameter.shape)
    where, size = coordinates(mesh, axis), parameter.shape[dimension]
    parts = parts_of(size, mesh["axes"][axis])
    sharding = Sharding(dimension, size, [parts[one] for one in where])
    begin, end = sharding.parts[mesh["replica"]]
    here = parameter.to_local().shape[dimension]
    if where[mesh["replica"]] != parameter.device_mesh.get_local_rank(axis) or here != end - begin:
        raise ValueError(f"{name}: replica {mesh['replica']} holds {here} of {size} along dimension {dimension}, not the range {begin}:{end}")
    return sharding


class Shards:
    """The sharded parameters of one rank."""

    def __init__(self, mesh: dict[str, Any] | None, slices: str | pathlib.Path | None) -> None:
        self._mesh = mesh
        self._asked: dict[str, Sharding] = {}  # by name, from `slices=`
        self.found: dict[str, Sharding] = {}
        if slices is None:
            return
        sharded = json.loads(pathlib.Path(slices).read_text()).get("mesh", {}).get("sharded")
        if not sharded:
            raise ValueError(f"{slices}: is not the manifest of a record with sharded parameters")
        if mesh is None or len(mesh["replicas"]) != len(next(iter(sharded.values()))["parts"]):
            raise ValueError(f"{slices}: has another number of replicas than mesh=")
        self._asked = {name: Sharding(**one) for name, one in sharded.items()}

    def add(self, named: Iterable[tuple[str, Any]]) -> None:
        for name, parameter in named:
            sharding = sharding_of(name, parameter, self._mesh) or self._asked.get(name)
            if sharding is not None:
                self.found[name] = sharding

    def manifest(self) -> dict[str, Any]:
        return {name: asdict(one) for name, one in self.found.items()}

    def name_of(self, name: str) -> str:
        sharding = self.found.get(name)
        return name if sharding is None or self._mesh is None else sharding.name_of(name, self._mesh["replica"])

    def own_part(self, name: str, tensor: Any) -> Any:
        """This replica's part of a parameter, gradient or moment; None if it is empty."""
        sharding = self.found.get(name)
        if sharding is None or self._mesh is None or len(tensor.shape) <= sharding.dimension:  # the last: a step count
            return meshes.local(tensor)
        begin, end = sharding.parts[self._mesh["replica"]]
        if begin == end:
            return None
        if not meshes.is_part(tensor):
            return meshes.local(tensor)[(slice(None),) * sharding.dimension + (slice(begin, end),)]
        if any(one.is_partial() for one in tensor.placements):
            raise ValueError(f"{name}: is an incomplete sum over the mesh: {tensor.placements}")
        return tensor.to_local()
