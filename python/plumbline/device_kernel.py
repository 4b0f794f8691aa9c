# SPDX-License-Identifier: BSD-3-Clause
"""The digest `position-sum-128` and the statistics of a tensor on a device, in one read of it, by a kernel of Triton. The results stay on the device
until Results.fetch(), so that no step waits for the host."""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl

from .elements import INFINITY, contiguous_parts, dense, form_of
from .position_sums import LANES, SHIFTS, text_of
from .statistics import Statistics, float32_of

PROGRAMS = 512  # in a launch; each adds its squares in its own fixed order
TILE = 1024  # elements that a program reads at a time
LONGEST = 1 << 16  # a row that one program reads alone
CAPACITY = 256  # tensors for which results are allocated at a time
SUM, SECOND, LARGEST, NONZERO, ROWS, NAN, INF = range(7)  # columns of the results

_V1, _P1, _C1, _D1 = (tl.constexpr(one) for one in LANES[0])
_V2, _P2, _C2, _D2 = (tl.constexpr(one) for one in LANES[1])
_S1, _S2, _S3 = (tl.constexpr(one) for one in SHIFTS)


@triton.jit
def mixed(x, third: tl.constexpr, fourth: tl.constexpr):
    x = (x ^ (x >> _S1)) * tl.full([1], third, tl.uint64)
    x = (x ^ (x >> _S2)) * tl.full([1], fourth, tl.uint64)
    return x ^ (x >> _S3)


@triton.jit
def lane(bits, places, value: tl.constexpr, place: tl.constexpr, third: tl.constexpr, fourth: tl.constexpr):
    return mixed(bits * tl.full([1], value, tl.uint64) + places * tl.full([1], place, tl.uint64), third, fourth)


@triton.jit
def kernel(
    tensor, integers, squares, count, row, first, unsigned: tl.constexpr, floating: tl.constexpr, infinity: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr, counted: tl.constexpr
):
    """Adds to `integers` (seven numbers) and `squares` (one of each program) what it finds in a flat tensor of bits, `row` elements a row. `first`:
    the position of its first element. `unsigned`, `floating`: the types that the bits are read as; `counted`: with statistics."""
    program = tl.program_id(0)
    sign: tl.constexpr = 1 << (tensor.dtype.element_ty.primitive_bitwidth - 1)
    one = tl.zeros([rows, columns], tl.uint64)
    two = tl.zeros([rows, columns], tl.uint64)
    square = tl.zeros([rows, columns], tl.float64)
    largest = tl.zeros([rows, columns], tl.int64)
    nonzero = tl.zeros([rows, columns], tl.int64)
    nan = tl.zeros([rows, columns], tl.int64)
    inf = tl.zeros([rows, columns], tl.int64)
    of_rows = tl.zeros([rows], tl.int64)
    tiles = tl.cdiv(tl.cdiv(count, row), rows)
    for tile in range(program, tiles, tl.num_programs(0)):
        lines = tl.arange(0, rows).to(tl.int64) + tile * rows
        in_rows = tl.zeros([rows, columns], tl.int64)
        for begin in range(0, row, columns):
            within = begin + tl.arange(0, columns).to(tl.int64)
            place = lines[:, None] * row + within[None, :]
            there = (within[None, :] < row) & (place < count)
            raw = tl.load(tensor + place, mask=there, other=0)
            bits = raw.to(unsigned, bitcast=True).to(tl.uint64)
            places = (place + (first + 1)).to(tl.uint64)
            none = tl.zeros([rows, columns], tl.uint64)
            one += tl.where(there, lane(bits, places, _V1, _P1, _C1, _D1), none)
            two += tl.where(there, lane(bits, places, _V2, _P2, _C2, _D2), none)
            if counted:
                magnitude = (bits & tl.full([1], sign - 1, tl.uint64)).to(tl.int64)  # 0 past the last element
                if unsigned == tl.uint16 and floating == tl.float32:
                    wide = (magnitude << 16).to(tl.uint32).to(tl.float32, bitcast=True).to(tl.float64)
                else:
                    wide = raw.to(floating, bitcast=True).to(tl.float64)
                square += wide * wide
                largest = tl.maximum(largest, magnitude)
                in_rows += (magnitude > 0).to(tl.int64)
                nan += (magnitude > infinity).to(tl.int64)
                inf += (magnitude == infinity).to(tl.int64)
        nonzero += in_rows
        of_rows += (tl.sum(in_rows, axis=1) > 0).to(tl.int64)
    tl.atomic_add(integers, tl.sum(tl.sum(one, axis=1), axis=0).to(tl.int64, bitcast=True))
    tl.atomic_add(integers + 1, tl.sum(tl.sum(two, axis=1), axis=0).to(tl.int64, bitcast=True))
    if counted:
        tl.atomic_max(integers + 2, tl.max(tl.max(largest, axis=1), axis=0))
        tl.atomic_add(integers + 3, tl.sum(tl.sum(nonzero, axis=1), axis=0))
        tl.atomic_add(integers + 4, tl.sum(of_rows, axis=0))
        tl.atomic_add(integers + 5, tl.sum(tl.sum(nan, axis=1), axis=0))
        tl.atomic_add(integers + 6, tl.sum(tl.sum(inf, axis=1), axis=0))
        here = squares + program
        tl.store(here, tl.load(here) + tl.sum(tl.sum(square, axis=1), axis=0))


TYPES = {  # of the bits as read, and as a number: bfloat16 is the upper half of a float32
    "float32": (torch.int32, tl.uint32, tl.float32),
    "float64": (torch.int64, tl.uint64, tl.float64),
    "bfloat16": (torch.int16, tl.uint16, tl.float32),
    "float16": (torch.int16, tl.uint16, tl.float16),
}


def tile_of(row: int) -> tuple[int, int]:
    """Rows and columns of what a program reads at a time."""
    columns = min(TILE, triton.next_power_of_2(row))
    return TILE // columns, columns


class Later:
    """The results for a tensor, known after Results.fetch()."""

    def __init__(self, form: Any, counted: bool) -> None:
        self.form, self.counted = form, counted
        self.digest = ""
        self.statistics: Statistics | None = None


class Results:
    """Results for the tensors of one device since the last fetch(). Takes some 4 KiB of it for each tensor."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.parts: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.waiting: list[Later] = []

    def add(self, tensor: Any, counted: bool) -> Later:
        """Launches the kernel on a tensor with elements of a float type of the format, or one that is recorded as such."""
        tensor = dense(tensor).detach()
        later = Later(form_of(tensor), counted)
        number = len(self.waiting) % CAPACITY
        if number == 0:
            integers = torch.zeros(CAPACITY, 7, dtype=torch.int64, device=self.device)
            self.parts.append((integers, torch.zeros(CAPACITY, PROGRAMS, dtype=torch.float64, device=self.device)))
        self.waiting.append(later)
        integers, squares = (part[number] for part in self.parts[-1])
        first, whole_rows = 0, 0 < later.form.row <= LONGEST
        row = later.form.row if whole_rows else TILE
        bits, unsigned, floating = TYPES[later.form.dtype]
        rows, columns = tile_of(row)
        for part in contiguous_parts(tensor, later.form.row):
            flat = part.reshape(-1).view(bits)
            if len(flat):
                programs = min(PROGRAMS, -(-len(flat) // (row * rows)))
                kernel[(programs,)](flat, integers, squares, len(flat), row, first, unsigned, floating, INFINITY[later.form.dtype], rows, columns, counted)
            first += len(flat)
        if counted and later.form.row > LONGEST:
            integers[ROWS] = (torch.count_nonzero(tensor, dim=1) > 0).sum()
        return later

    def fetch(self) -> None:
        """Copies all results to the host at once, into pinned memory, and waits for them."""
        if not self.waiting:
            return
        tensors = [torch.cat([integers, squares.sum(dim=1).view(torch.int64)[:, None]], dim=1) for integers, squares in self.parts]
        found = torch.cat(tensors)[: len(self.waiting)]
        host = torch.empty(found.shape, dtype=found.dtype, pin_memory=self.device.type == "cuda").copy_(found)
        for later, numbers in zip(self.waiting, host.tolist()):
            form = later.form
            later.digest = text_of(form, (numbers[SUM], numbers[SECOND]))
            if later.counted:
                l2 = math.sqrt(torch.tensor(numbers[-1]).view(torch.float64).item())
                rows = numbers[ROWS] if form.shape.count("x") == 1 else None
                later.statistics = Statistics(l2, float32_of(form.dtype, numbers[LARGEST]), numbers[NONZERO], rows, numbers[NAN], numbers[INF])
        self.parts, self.waiting = [], []
