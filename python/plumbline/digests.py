# SPDX-License-Identifier: BSD-3-Clause
"""Digests of tensors, and their statistics in the same pass (docs/record-format.md, "Digests")."""

from __future__ import annotations

import math
from typing import Any

import numpy
import xxhash

from . import native
from .elements import Form, blocks, dense, form_of
from .statistics import Statistics, Sums

NAME = "xxh3-128"


def hash_hex(data: bytes | str) -> str:
    return xxhash.xxh3_128_hexdigest(data.encode() if isinstance(data, str) else data)


def digest(tensor: Any) -> str:
    """XXH3-128 of a numpy array or torch tensor, with its dtype and shape.

    >>> digest(numpy.array([1, 2, 3], dtype="float32"))
    'e9ae472f8e0534b67486a13c09695146'
    """
    return digested(tensor)[1]


def digested(tensor: Any) -> tuple[Form, str]:
    """Form and digest of a numpy array or torch tensor of any shape and dtype. Raises TypeError if its values cannot be read."""
    tensor = dense(tensor)
    form = form_of(tensor)
    found = native.measured(tensor, form, counted=False)
    if found is not None:
        return form, found[0]
    state = xxhash.xxh3_128(form.prefix)
    for bits, _ in blocks(tensor):
        state.update(bits)
    return form, state.hexdigest()


def measured(tensor: Any) -> tuple[Form, str, Statistics]:
    """The same, and statistics, with sums in float64; each element is read from memory once."""
    tensor = dense(tensor)
    form = form_of(tensor)
    found = native.measured(tensor, form, counted=True)
    if found is not None:
        return form, *found
    state, sums = xxhash.xxh3_128(form.prefix), Sums(form)
    for bits, values in blocks(tensor, form.row):
        sums.add_all(bits, values, state.update)
    return form, state.hexdigest(), sums.found()


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
