# SPDX-License-Identifier: BSD-3-Clause
"""Digest and statistics of a tensor in one pass of compiled code: plumbline-measure.so, in the wheel, or next to the program `plumbline`.
Without it numpy computes the same, more slowly."""

from __future__ import annotations

import ctypes
import functools
import pathlib
from typing import Any

import numpy

from .elements import Form, address_of, blocks
from .statistics import Statistics
from .verdicts import program_path

NAME = "plumbline-measure.so"
_FORM = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int)  # dtype, row, prefix, whether with statistics
_ELEMENTS = (ctypes.c_void_p, ctypes.c_size_t)


class _Found(ctypes.Structure):
    _fields_ = [
        ("l2", ctypes.c_double),
        *((name, ctypes.c_uint64) for name in ("nonzero", "nonzero_rows", "nan", "inf")),
        ("max_abs", ctypes.c_float),
        ("digest", ctypes.c_char * 33),
    ]


@functools.lru_cache(maxsize=None)
def functions() -> tuple[Any, Any, Any, Any] | None:
    """begin, add, end and whole; None if the library is not there, or is not this version's."""
    places = [pathlib.Path(__file__).parent]
    try:
        places.append(pathlib.Path(program_path()).resolve().parent)
    except FileNotFoundError:
        pass
    for place in places:
        try:
            library = ctypes.CDLL(str(place / NAME))
            begin, add, end, whole = (getattr(library, f"plumbline_measure1_{name}") for name in ("begin", "add", "end", "whole"))
        except (OSError, AttributeError):
            continue
        begin.restype, begin.argtypes = ctypes.c_void_p, _FORM
        add.restype, add.argtypes = None, (ctypes.c_void_p, *_ELEMENTS)
        end.restype, end.argtypes = None, (ctypes.c_void_p, ctypes.POINTER(_Found))
        whole.restype, whole.argtypes = ctypes.c_int, (*_FORM, *_ELEMENTS, ctypes.POINTER(_Found))
        return begin, add, end, whole
    return None


def measured(tensor: Any, form: Form, counted: bool) -> tuple[str, Statistics] | None:
    """Digest and statistics (without `counted` zeros) of a dense tensor of this form. None without the library."""
    there = functions()
    if there is None:
        return None
    begin, add, end, whole = there
    of_form = form.dtype.encode(), form.row, form.prefix, counted
    found, address = _Found(), address_of(tensor)
    if address is None:
        measure = begin(*of_form)
        if not measure:
            raise MemoryError
        try:
            for bits, _ in blocks(tensor, form.row):
                add(measure, bits.__array_interface__["data"][0], bits.nbytes)
        finally:
            end(measure, found)
    elif whole(*of_form, address, form.bytes, found):
        raise MemoryError
    rows = found.nonzero_rows if form.shape.count("x") == 1 else None
    return found.digest.decode(), Statistics(found.l2, numpy.float32(found.max_abs), found.nonzero, rows, found.nan, found.inf)
