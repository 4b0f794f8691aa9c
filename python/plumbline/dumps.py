# SPDX-License-Identifier: BSD-3-Clause
"""Writes tensors as safetensors files: length, JSON header, bytes."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

from .elements import blocks, dtype_name, size_in_bytes

DTYPES = {"float32": "F32", "float64": "F64", "bfloat16": "BF16", "float16": "F16", "int64": "I64"}


def write_dump(path: pathlib.Path, tensors: dict[str, Any]) -> None:
    header: dict[str, Any] = {}
    end = 0
    for key, tensor in tensors.items():
        begin, end = end, end + size_in_bytes(tensor)
        header[key] = {"dtype": DTYPES[dtype_name(tensor)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            for bits, _ in blocks(tensor):
                file.write(bits)
