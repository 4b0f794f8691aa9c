# SPDX-License-Identifier: BSD-3-Clause
"""The inputs and labels of microbatches, as rows of microbatches.csv."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .digests import digest, hash_hex
from .elements import dtype_name, is_torch
from .meshes import local_part

IGNORED_LABEL = -100


@dataclass(frozen=True)
class Microbatch:
    batch: int
    sequence_length: int
    tokens: int
    valid_tokens: int
    digest: str


UNKNOWN = Microbatch(1, 1, 1, 1, "")


def parts(inputs: Any, targets: Any, microbatches: int, of_a_call: int) -> list[tuple[Any, Any]]:
    """(inputs, targets) of each microbatch. A whole batch is split into the calls of a pipeline, then into the microbatches of each call.
    Raises ValueError without inputs, or if a list has another length."""
    if inputs is None:
        raise ValueError("give the step its batch on every rank: each records its sizes")

    def of(batch: Any) -> list[Any]:
        if batch is None:
            return [None] * microbatches
        if isinstance(batch, (list, tuple)):
            split_up = list(batch)
        else:
            calls = split(local_part(batch), microbatches // of_a_call)
            split_up = [part for call in calls for part in split(call, of_a_call)]
        if len(split_up) != microbatches:
            raise ValueError(f"the step was given {len(split_up)} microbatches, but the record was made for {microbatches}")
        return split_up

    return list(zip(of(inputs), of(targets)))


def split(tensor: Any, parts: int) -> list[Any]:
    """Splits as torch.distributed.pipelining does: torch.tensor_split along the first dimension."""
    if is_torch(tensor):
        import torch

        return list(torch.tensor_split(tensor, parts))
    import numpy

    return list(numpy.array_split(tensor, parts))


def _ids_and_labels(inputs: Any, targets: Any) -> bool:
    return (
        targets is not None
        and dtype_name(inputs) == dtype_name(targets) == "int64"
        and len(inputs.shape) == 2
        and tuple(inputs.shape) == tuple(targets.shape)
    )


def microbatch(inputs: Any, targets: Any) -> Microbatch:
    """The row of microbatches.csv. The digest is of both tensors if they are int64 ids and labels of the same shape [rows, length], else of their
    digests."""
    inputs, targets = local_part(inputs), local_part(targets)
    batch = int(inputs.shape[0]) if len(inputs.shape) else 1
    if _ids_and_labels(inputs, targets):
        valid = int((targets != IGNORED_LABEL).sum())
        if is_torch(inputs):
            import torch

            both: Any = torch.stack([inputs.detach().cpu(), targets.detach().cpu()])
        else:
            import numpy

            both = numpy.stack([inputs, targets])
        length = int(inputs.shape[1])
        return Microbatch(batch, max(length, 1), batch * length, valid, digest(both))
    fed = [tensor for tensor in (inputs, targets) if tensor is not None]
    return Microbatch(batch, 1, batch, batch, hash_hex("".join(digest(tensor) for tensor in fed)))
