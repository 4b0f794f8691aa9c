# SPDX-License-Identifier: BSD-3-Clause
"""The elements of a tensor as the record has them, in row-major order: arrays of the host, without a copy of the whole tensor."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import Any, Iterator

import numpy

from .meshes import local

OF_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
INFINITY = {"float32": 0x7F800000, "float64": 0x7FF0 << 48, "bfloat16": 0x7F80, "float16": 0x7C00}  # as bits, of the floats of the format
BLOCK_BYTES = 8 << 20  # largest part of a tensor that is copied at a time, as it is recorded; larger than statistics.PIECE
SMALL = 8192  # elements that numpy widens sooner than torch


def is_torch(tensor: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(tensor, torch.Tensor)


def dtype_name(tensor: Any) -> str:
    """The dtype's name in a record; for a complex tensor, of its two parts."""
    return _name(tensor.dtype)


def address_of(tensor: Any) -> int | None:
    """Where the elements of a dense tensor are in the host's memory, if they are there as the record has them: in order, and of a dtype of the format."""
    there = is_torch(tensor) and tensor.is_cpu and tensor.is_contiguous() and not tensor.is_neg() and _is_plain(tensor.dtype)
    return int(tensor.data_ptr()) if there else None


@functools.lru_cache(maxsize=None)
def _name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return OF_PARTS.get(name, name)


def shape_text(shape: Any) -> str:
    return "x".join(map(str, shape))


def size_in_bytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size()) if is_torch(tensor) else int(tensor.nbytes)


def dense(tensor: Any) -> Any:
    """The local tensor; of a sparse one the sum of its entries, of a quantized one its values."""
    if is_torch(tensor):
        import torch

        if type(tensor) is not torch.Tensor and type(tensor) is not torch.nn.Parameter:
            tensor = local(tensor)
        tensor = tensor if tensor.layout is torch.strided else tensor.to_dense()
        return tensor if type(tensor).dequantize is torch.Tensor.dequantize else tensor.dequantize()  # a class of its own, as torchao's
    return local(tensor)


def plain(tensor: Any) -> Any:
    """A dense tensor as the record has it: real (of a complex one its parts, in a last dimension of 2), and of a dtype of the format: quantized
    values, as int8 or float8 weights, are int64 or float32."""
    tensor = dense(tensor)
    if not is_torch(tensor):
        parts = numpy.stack([tensor.real, tensor.imag], axis=-1) if numpy.iscomplexobj(tensor) else tensor
        return parts.astype(numpy.int64) if parts.dtype.kind in "biu" else parts
    import torch

    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if dtype_name(tensor) in INFINITY or tensor.dtype is torch.int64:
        return tensor
    try:
        return tensor.float() if tensor.is_floating_point() else tensor.long()
    except (NotImplementedError, RuntimeError):
        raise TypeError(f"torch cannot read single values of {tensor.dtype}: give the record unpacked values") from None


@dataclass(frozen=True)
class Form:
    """A tensor's dtype, shape and sizes, as the record has them."""

    dtype: str
    shape: str
    row: int  # elements of a row of a matrix; 0: no matrix
    count: int
    bytes: int
    prefix: bytes  # of its digest


def form_of(tensor: Any) -> Form:
    """The form of plain(tensor), of a dense tensor."""
    return _form(tensor.dtype, tuple(tensor.shape), is_torch(tensor))


@functools.lru_cache(maxsize=1 << 14)
def _form(dtype: Any, shape: tuple[int, ...], of_torch: bool) -> Form:
    if of_torch:
        import torch

        one = plain(torch.empty(0, dtype=dtype))
        size, several = one.element_size(), dtype.is_complex
    else:
        one = plain(numpy.empty(0, dtype=dtype))
        size, several = one.dtype.itemsize, numpy.dtype(dtype).kind == "c"
    shape = (*shape, 2) if several else shape
    name, text, count = dtype_name(one), shape_text(shape), math.prod(shape)
    return Form(name, text, shape[1] if len(shape) == 2 else 0, count, count * size, f"{name}|{text}|".encode())


Block = tuple[numpy.ndarray[Any, Any], Any]


def blocks(tensor: Any, row: int = 0) -> Iterator[Block]:
    """The elements of a dense tensor in parts: their bits as integers, and their values, as a flat array of numpy or torch. Each is valid until the
    next one is requested. Parts of a matrix have whole rows, if a row of `row` elements is no larger than a part."""
    if not is_torch(tensor):
        flat = numpy.ascontiguousarray(plain(numpy.asarray(tensor))).reshape(-1)
        yield flat.view(f"i{flat.itemsize}"), flat
        return
    import torch

    tensor = tensor.detach()
    if tensor.device.type == "cpu":
        for part in contiguous_parts(tensor, row):
            yield _of_torch(part.reshape(-1))
        return
    pinned = None
    for whole in contiguous_parts(tensor, row):
        for part in _split(whole.reshape(-1), row):
            if pinned is None:
                pinned = torch.empty(len(part), dtype=part.dtype, pin_memory=tensor.device.type == "cuda")  # the first is the largest
            yield _of_torch(pinned[: len(part)].copy_(part))


def _of_torch(flat: Any) -> Block:
    import torch

    if flat.dtype in (torch.float32, torch.float64, torch.int64):
        values = flat.numpy()
        return values.view(f"i{values.itemsize}"), values if len(values) <= SMALL else flat
    return flat.view(torch.int16).numpy(), flat


def contiguous_parts(tensor: Any, row: int) -> Iterator[Any]:
    """A dense torch tensor as plain, contiguous tensors in order: itself if it is one, else in copies of at most BLOCK_BYTES."""
    size = tensor.numel() * _recorded_bytes(tensor.dtype)
    if size <= BLOCK_BYTES or (tensor.is_contiguous() and not tensor.is_neg() and _is_plain(tensor.dtype)):
        yield plain(tensor).contiguous()
    elif tensor.is_contiguous():
        yield from (plain(part).contiguous() for part in _split(tensor.reshape(-1), row))
    elif (within := size // len(tensor)) > BLOCK_BYTES:
        for part in tensor.unbind(0):
            yield from contiguous_parts(part, row)
    else:
        for part in tensor.split(BLOCK_BYTES // within):
            yield plain(part).contiguous()


def _recorded_bytes(dtype: Any) -> int:
    """The bytes of an element."""
    return _form(dtype, (1,), True).bytes


def _split(flat: Any, row: int) -> Any:
    """Parts of at most BLOCK_BYTES, of whole rows if these are no longer."""
    most = BLOCK_BYTES // _recorded_bytes(flat.dtype)
    return flat.split(row * (most // row) if 0 < row <= most else most)


@functools.lru_cache(maxsize=None)
def _is_plain(dtype: Any) -> bool:
    return str(dtype).removeprefix("torch.") in (*INFINITY, "int64")
