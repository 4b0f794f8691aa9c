# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that places hold in parts: DTensors with any placements, tensors that Megatron marks, and parameters of Record(parts=).

A part is recorded under the parameter's name. Places with equal coordinates on the axes of the part hold the same one.
"""

from __future__ import annotations

import fnmatch
import json
import math
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from . import meshes


@dataclass(frozen=True)
class Part:
    axes: list[str]  # of the record's mesh, along which places hold different parts
    placements: str  # in words, equal in both records
    split: str = ""  # the placements of a DTensor
    cut: tuple[int, int, int] | None = None  # of a whole tensor (`slices=`): dimension, this place's coordinate, number of parts

    def manifest(self) -> dict[str, Any]:
        return {"axes": self.axes, "placements": self.placements}


def range_of(size: int, number: int, among: int) -> tuple[int, int]:
    """A range of torch.chunk: equal parts, the last ones smaller or empty.

    >>> [range_of(5, number, 4) for number in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    step = -(-size // among)
    return min(size, number * step), min(size, (number + 1) * step)


def placements_of(tensor: Any) -> str:
    """The placements that split a DTensor: "dp_shard: Shard(dim=0), tp: Shard(dim=1)"."""
    names = tensor.device_mesh.mesh_dim_names or range(len(tensor.placements))
    return ", ".join(f"{names[axis]}: {tensor.placements[axis]!r}" for axis in meshes.split_along(tensor))


def part_of(name: str, parameter: Any, mesh: dict[str, Any] | None) -> Part | None:
    """The part of a DTensor; None if it is whole on this rank. Raises ValueError if the mesh of the record does not show which ranks hold other parts."""
    split = meshes.split_along(parameter)
    if not split:
        return None
    words = f"{name} has the placements {placements_of(parameter)}"
    if any(parameter.placements[axis].is_partial() for axis in split):
        raise ValueError(f"{words}: an incomplete sum cannot be a parameter")
    if mesh is None:
        raise ValueError(f"{words}: give Record(mesh=) the DeviceMesh of all axes, also of the pipeline's, of size 1 without stages")
    own, here = parameter.device_mesh, parameter.device_mesh.get_coordinate()
    axes: set[str] = set()
    for axis in split:
        ranks = own.mesh[tuple(slice(None) if one == axis else here[one] for one in range(len(here)))].tolist()
        try:
            axes |= set(meshes.axes_of(ranks, mesh))
        except ValueError as error:
            raise ValueError(f"{words} over ranks {ranks}, but of the mesh that Record(mesh=) was given {error}: give the one of all axes") from None
    allowed = meshes.places_axes(mesh)
    if not axes <= set(allowed):
        raise ValueError(f"{words}, along the axis of the stages: a stage's parameters cannot be split over stages")
    return Part([one for one in allowed if one in axes], placements_of(parameter), placements_of(parameter))


class Parts:
    """The parameters of one rank that it holds in parts."""

    def __init__(self, mesh: dict[str, Any] | None, slices: str | pathlib.Path | None, by_name: Mapping[str, Sequence[str]]) -> None:
        self._mesh, self._by_name, self.found = mesh, by_name, {}
        for axis in by_name:
            if axis not in meshes.places_axes(mesh or {"axes": ()}):
                raise ValueError(f"parts={{{axis!r}: ...}}: is none of the axes of mesh= but the pipeline's")
        self._asked = {} if slices is None else _cut_as(slices, mesh)
        self.found: dict[str, Part]

    def add(self, named: Iterable[tuple[str, Any]], recorded_ranks: int = 1) -> None:
        """Raises ValueError for a part whose axes are unknown."""
        for name, parameter in named:
            split, marked = part_of(name, parameter, self._mesh), self._marked(name, parameter, recorded_ranks)
            part = split or marked or self._asked.get(name)
            if split and marked:  # FSDP of experts, or of what tensor parallelism by hand has split
                axes = [axis for axis in meshes.places_axes(self._mesh or {}) if axis in split.axes + marked.axes]
                part = Part(axes, f"{split.placements}, {marked.placements}", split.split)
            if part is not None:
                self.found[name] = part

    def _marked(self, name: str, parameter: Any, recorded_ranks: int) -> Part | None:
        """By Megatron's marks, which it also gives to tensors that are whole because the size of the axis is 1, or by Record(parts=)."""
        axes = {axis for axis, patterns in self._by_name.items() if any(fnmatch.fnmatchcase(name, one) for one in patterns)}
        words = [f"{axis}: by name" for axis in sorted(axes)]  # equal in all processes
        if getattr(parameter, "tensor_model_parallel", False):
            tensor = meshes.axes_of_kind(self._mesh, "tensor")
            if not tensor and meshes.tensor_parallel_size(recorded_ranks) != 1:
                raise ValueError(
                    f"this rank holds only a part of {name}: give Record(mesh=) a mesh with the axis of tensor parallelism, "
                    "record a run whose parameters are whole (a tensor parallel size of 1), or give record.stage the gathered tensors"
                )
            axes |= set(tensor)
            words += [f"{axis}: Shard(dim={getattr(parameter, 'partition_dim', None)})" for axis in tensor]
        if getattr(parameter, "allreduce", True) is False:  # Megatron's experts
            expert = meshes.axes_of_kind(self._mesh, "expert")
            axes |= set(expert)
            words += [f"{axis}: experts" for axis in expert]
        sizes = meshes.places_axes(self._mesh) if self._mesh else {}
        kept = [axis for axis in sizes if axis in axes and sizes[axis] > 1]
        return Part(kept, ", ".join(words)) if kept else None

    def manifest(self) -> dict[str, Any]:
        return {name: part.manifest() for name, part in self.found.items()}

    def own(self, name: str, tensor: Any) -> Any:
        """This place's part of a parameter, gradient or moment; None if it is empty. Raises ValueError for a DTensor that is split in
        another way than the parameter."""
        part = self.found.get(name)
        if part is None or not meshes.is_part(tensor):
            return _cut(part, meshes.local(tensor))
        if placements_of(tensor) != part.split:
            raise ValueError(f"{name} has the placements {part.split}, but its gradient or state {placements_of(tensor)}")
        part_here = meshes.local_part(tensor)
        return part_here if math.prod(part_here.shape) else None


def _cut(part: Part | None, tensor: Any) -> Any:
    if part is None or part.cut is None or len(tensor.shape) <= part.cut[0]:  # the last: a step count
        return tensor
    dimension, number, among = part.cut
    begin, end = range_of(tensor.shape[dimension], number, among)
    return tensor[(slice(None),) * dimension + (slice(begin, end),)] if begin < end else None


def _cut_as(slices: str | pathlib.Path, mesh: dict[str, Any] | None) -> dict[str, Part]:
    """The parts of a candidate, for a reference that holds whole parameters. Raises ValueError unless each is a shard along one axis."""
    found = json.loads(pathlib.Path(slices).read_text()).get("mesh") or {}
    if not found.get("parts"):
        raise ValueError(f"{slices}: is not the manifest of a record with parameters in parts")
    if mesh is None or meshes.places_axes(mesh) != meshes.places_axes(found):
        raise ValueError(f"{slices}: has other axes than mesh=: {meshes.places_axes(found)}")
    asked = {}
    for name, one in found["parts"].items():
        shard = re.fullmatch(r"[^:,]+: Shard\(dim=(\d+)\)", one["placements"])
        if len(one["axes"]) != 1 or shard is None:
            raise ValueError(
                f"{slices}: {name} has the placements {one['placements']} along {', '.join(one['axes'])}: whole parameters can be cut along one axis "
                "only; record the reference on the candidate's mesh with one pipeline rank, which splits them in the same way"
            )
        (axis,) = one["axes"]
        asked[name] = Part([axis], one["placements"], cut=(int(shard[1]), meshes.coordinates(mesh, mesh["replica"])[axis], meshes.places_axes(mesh)[axis]))
    return asked
