# SPDX-License-Identifier: BSD-3-Clause
"""Digests of tensors and their statistics (docs/record-format.md, "Digests")."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Iterator

import numpy
import xxhash

from .meshes import local

OF_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
FLOATS = ("float32", "float64", "bfloat16", "float16")
CHUNK_BYTES = 16 << 20  # largest part of a GPU tensor copied to the host at a time
PART_ELEMENTS = 16 << 20  # of a tensor, widened to float64 at a time: a copy of a whole gradient of 128k x 8192 takes 8 GiB of a GPU that is full


def is_torch(tensor: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def dtype_name(tensor: Any) -> str:
    """Of a complex tensor that of its two parts."""
    name = str(tensor.dtype).removeprefix("torch.")
    return OF_PARTS.get(name, name)


def plain(tensor: Any) -> Any:
    """The tensor as the record has it: local, dense (of a sparse gradient the sum of its entries), real (of a complex one its parts, in a last
    dimension of 2), and of a dtype of the format: quantised ones, as int8 or float8 weights, have their values in int64 or float32."""
    tensor = local(tensor)
    if not is_torch(tensor):
        parts = numpy.stack([tensor.real, tensor.imag], axis=-1) if numpy.iscomplexobj(tensor) else tensor
        return parts.astype(numpy.int64) if parts.dtype.kind in "biu" else parts
    import torch

    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    if type(dense).dequantize is not torch.Tensor.dequantize:  # a quantised class of its own, as torchao's
        dense = dense.dequantize()
    if dense.is_complex():
        return torch.view_as_real(dense.resolve_conj())
    if dtype_name(dense) in (*FLOATS, "int64"):
        return dense
    return dense.float() if dense.is_floating_point() else dense.long()


def shape_text(shape: Any) -> str:
    return "x".join(str(size) for size in shape)


def size_in_bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size()) if is_torch(tensor) else int(tensor.nbytes)


def pieces(tensor: Any) -> Iterator[memoryview]:
    """The bytes of the elements in row-major order, little-endian. torch tensors are viewed as bytes, because numpy lacks bfloat16."""
    if not is_torch(tensor):
        yield numpy.ascontiguousarray(tensor).reshape(-1).view(numpy.uint8).data
        return
    import torch

    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if flat.device.type == "cpu":
        yield memoryview(flat.numpy())
        return
    yield from through_the_host(flat, CHUNK_BYTES)


def through_the_host(flat: Any, chunk_bytes: int) -> Iterator[memoryview]:
    """Pieces of a uint8 tensor on another device. Each is valid until the next one is requested."""
    import torch

    pinned = torch.empty(min(chunk_bytes, max(flat.numel(), 1)), dtype=torch.uint8, pin_memory=flat.device.type == "cuda")
    for begin in range(0, flat.numel(), chunk_bytes):
        part = flat[begin : begin + chunk_bytes]
        pinned[: part.numel()].copy_(part)
        yield memoryview(pinned[: part.numel()].numpy())


def hash_hex(data: bytes | str) -> str:
    return xxhash.xxh3_128_hexdigest(data.encode() if isinstance(data, str) else data)


def digest(tensor: Any) -> str:
    """XXH3-128 of a numpy array or torch tensor, with its dtype and shape.

    >>> digest(numpy.array([1, 2, 3], dtype="float32"))
    'e9ae472f8e0534b67486a13c09695146'
    """
    tensor = plain(tensor)
    state = xxhash.xxh3_128(f"{dtype_name(tensor)}|{shape_text(tensor.shape)}|".encode())
    for piece in pieces(tensor):
        state.update(piece)
    return state.hexdigest()


@dataclass(frozen=True)
class Statistics:
    l2: float
    max_abs: numpy.float32
    nonzero: int
    nonzero_rows: int | None
    nan: int
    inf: int


def statistics(tensor: Any) -> Statistics:
    """Statistics for a row of tensors.csv, of a numpy array or torch tensor of any shape and dtype; sums are in float64."""
    if is_torch(tensor):
        return _of_torch(tensor.detach())
    values = numpy.asarray(tensor, dtype=numpy.float64)
    marks = values != 0
    row_count = int(marks.any(axis=1).sum()) if values.ndim == 2 else None
    with numpy.errstate(over="ignore"):  # squares, and float64 values beyond float32
        l2 = math.sqrt(float(numpy.square(values).sum()))
        top = numpy.float32(float(numpy.abs(values).max()) if values.size else 0.0)
    return Statistics(
        l2,
        top,
        int(marks.sum()),
        row_count,
        int(numpy.isnan(values).sum()),
        int(numpy.isinf(values).sum()),
    )


def _of_torch(tensor: Any) -> Statistics:
    """In few passes, part by part: NaN and infinity are counted only if the part's norm is not finite."""
    import torch

    if tensor.numel() == 0:
        return Statistics(0.0, numpy.float32(0), 0, 0 if tensor.dim() == 2 else None, 0, 0)
    lines = tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() > 1 else tensor.reshape(-1)
    squares, largest = 0.0, numpy.float32(0)
    nonzero = rows = nan = inf = 0
    for part in lines.split(max(1, PART_ELEMENTS * len(lines) // tensor.numel())):
        wide = part.reshape(-1).double()
        square = float(torch.dot(wide, wide))
        squares += square
        marked = int(torch.count_nonzero(part))  # NaN counts as nonzero
        nonzero += marked
        if tensor.dim() == 2:  # most matrices have no zero
            rows += len(part) if marked == part.numel() else int((part != 0).any(dim=1).sum())
        least, most = torch.aminmax(part)
        with numpy.errstate(over="ignore"):  # float64 beyond float32
            largest = numpy.maximum(largest, numpy.float32(abs(float(torch.maximum(-least, most)))))
        if not math.isfinite(square):
            nan += int(part.isnan().sum())
            inf += int(part.isinf().sum())
    return Statistics(math.sqrt(squares), largest, nonzero, rows if tensor.dim() == 2 else None, nan, inf)


def number_text(value: Any) -> str:
    """The shortest text that reads back to the same bits: float32 for losses and max_abs, else float64."""
    if value is None:
        return ""
    if isinstance(value, (int, numpy.integer)) and not isinstance(value, bool):
        return str(int(value))
    value = value if isinstance(value, numpy.float32) else float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(value)
