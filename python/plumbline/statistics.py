# SPDX-License-Identifier: BSD-3-Clause
"""Statistics of a tensor for its row of tensors.csv, from the bits of its elements (docs/record-format.md, "tensors.csv")."""

from __future__ import annotations

import contextlib
import math
import threading
from typing import Any, Callable, NamedTuple

import numpy

from .elements import INFINITY, Form

PIECE = 1 << 16  # elements that stay in a core's cache from the digest to the last sum


class _Room(threading.local):
    """A thread's buffers for one piece, allocated once: allocating for each piece costs as much as the sums."""

    def __init__(self) -> None:
        self.unsigned = numpy.empty(0, numpy.uint64)
        self.wide = numpy.empty(0, numpy.float64)

    def of(self, length: int) -> _Room:
        if len(self.wide) < length:
            self.unsigned, self.wide = numpy.empty(length, numpy.uint64), numpy.empty(length, numpy.float64)
        return self


_room = _Room()


class Statistics(NamedTuple):
    l2: float
    max_abs: numpy.float32
    nonzero: int
    nonzero_rows: int | None
    nan: int
    inf: int


class Sums:
    """Adds up the statistics of a tensor, piece by piece. Without its sign, the bits of a float ascend with its magnitude. So zeros, the largest
    value, NaN and infinity are seen in integers of any float type, without widening it."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.infinity = INFINITY.get(form.dtype)  # None: integers
        self.squares = 0.0
        self.largest = self.nonzero = self.rows = self.nan = self.inf = 0
        self.place = 0  # elements so far
        self.in_row = False  # whether the row that continues has a nonzero element, of rows longer than a piece

    def _add(self, bits: numpy.ndarray[Any, Any], values: Any) -> None:
        """A piece of the tensor, as bits and values: within one row, or whole rows, of a matrix."""
        if self.infinity is None:
            most, least, finite = int(bits.max()), int(bits.min()), True
            largest, zeros = max(most, -least), least <= 0 <= most
        else:
            kind = f"u{bits.itemsize}"
            bits = numpy.left_shift(bits.view(kind), 1, out=_room.of(len(bits)).unsigned.view(kind)[: len(bits)])  # without the sign
            largest, zeros = int(bits.max()) >> 1, int(bits.min()) == 0
            finite = largest < self.infinity
            if not finite:
                self.nan += int(numpy.count_nonzero(bits > 2 * self.infinity))
                self.inf += int(numpy.count_nonzero(bits == 2 * self.infinity))
        self.largest = max(self.largest, largest)
        self.squares += self._square(values, finite and bits.itemsize < 8)
        nonzero = int(numpy.count_nonzero(bits)) if zeros else len(bits)
        self.nonzero += nonzero
        self._count_rows(bits, zeros, nonzero)

    def _count_rows(self, bits: numpy.ndarray[Any, Any], zeros: bool, nonzero: int) -> None:
        row, self.place = self.form.row, self.place + len(bits)
        if 0 < row <= PIECE:
            self.rows += int(numpy.count_nonzero(bits.reshape(-1, row).any(axis=1))) if zeros and nonzero else len(bits) // row if nonzero else 0
        elif row:
            self.in_row = self.in_row or nonzero > 0
            if self.place % row == 0:
                self.rows, self.in_row = self.rows + self.in_row, False

    def _square(self, values: Any, quiet: bool) -> float:
        """`quiet`: no square overflows, so numpy does not warn."""
        if isinstance(values, numpy.ndarray):
            with contextlib.nullcontext() if quiet else numpy.errstate(all="ignore"):
                wide = _room.of(len(values)).wide[: len(values)]
                numpy.copyto(wide, values, casting="unsafe")
                return float(wide.dot(wide))
        import torch

        several = torch.from_numpy(_room.of(len(values)).wide)[: len(values)].copy_(values)
        return float(torch.dot(several, several))

    def add_all(self, bits: numpy.ndarray[Any, Any], values: Any, first: Callable[[Any], None] | None = None) -> None:
        """A block of elements.blocks. `first`: is given the bits of each piece before."""
        begin, length = 0, len(bits)
        while begin < length:
            end = self._end(begin, length)
            piece = bits[begin:end]
            if first is not None:
                first(piece)
            self._add(piece, values[begin:end])
            begin = end

    def _end(self, begin: int, length: int) -> int:
        """Where the piece ends that begins there, within a part of the tensor of this length."""
        row = self.form.row
        if row > PIECE:
            return min(begin + PIECE, begin + row - self.place % row, length)
        return min(begin + (row * (PIECE // row) if row else PIECE), length)

    def found(self) -> Statistics:
        rows = self.rows if self.form.shape.count("x") == 1 else None
        return Statistics(math.sqrt(self.squares), float32_of(self.form.dtype, self.largest), self.nonzero, rows, self.nan, self.inf)


def float32_of(dtype: str, bits: int) -> numpy.float32:
    """The number with these bits, or an integer itself."""
    if dtype == "float32":
        return numpy.uint32(bits).view(numpy.float32)
    if dtype == "bfloat16":
        return numpy.uint32(bits << 16).view(numpy.float32)
    value: Any = numpy.uint16(bits).view(numpy.float16) if dtype == "float16" else numpy.uint64(bits).view(numpy.float64) if dtype == "float64" else bits
    with numpy.errstate(over="ignore"):  # float64 beyond float32
        return numpy.float32(value)
