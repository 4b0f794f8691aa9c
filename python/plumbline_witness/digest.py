# SPDX-License-Identifier: BSD-3-Clause
"""Hashes of texts and tensors (docs/record-format.md, "Digests"; docs/data.md, hash64)."""

import torch
import xxhash


def hash_hex(data):  # bytes, or a text in UTF-8
    return xxhash.xxh3_128_hexdigest(data.encode() if isinstance(data, str) else data)


def hash64(text):
    """The low 64 bits of XXH3-128."""
    return xxhash.xxh3_128_intdigest(text.encode()) & 0xFFFF_FFFF_FFFF_FFFF


def dtype_name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def shape_text(shape):
    return "x".join(map(str, shape))


def raw_bytes(tensor):
    """Elements in row-major order, little-endian; numpy knows no bfloat16, hence the view."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def digest(tensor):
    return hash_hex(f"{dtype_name(tensor)}|{shape_text(tensor.shape)}|".encode() + raw_bytes(tensor))
