# SPDX-License-Identifier: BSD-3-Clause
"""The digest for devices, `position-sum-128`: sums of mixed pairs of value and position, in any order (docs/record-format.md, "On a device").

Here in operations of torch, on any device: what the kernel of `device_kernel` computes in one read, together with the statistics.
"""

from __future__ import annotations

import struct
from typing import Any, Iterator

import numpy
import xxhash

from .elements import Form, blocks, dense, form_of
from .statistics import Statistics, Sums

NAME = "position-sum-128"
# Two sums: factors of value and position, then of the two products of the mixing. All are odd, so that each step is one to one.
LANES = (
    (0x1E3779B97F4A7C15, 0x3C6EF372FE94F82B, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB),
    (0x2545F4914F6CDD1D, 0x5851F42D4C957F2D, 0x369DEA0F31A53F85, 0x1CE4E5B9BF58476D),
)
SHIFTS = (32, 29, 32)
MOST = 1 << 18  # elements in one operation


def mixed(x: Any, third: int, fourth: int) -> Any:
    """int64 tensors, whose products and sums are modulo 2^64."""
    x = (x ^ _shifted(x, SHIFTS[0])) * third
    x = (x ^ _shifted(x, SHIFTS[1])) * fourth
    return x ^ _shifted(x, SHIFTS[2])


def _shifted(x: Any, by: int) -> Any:
    return (x >> by) & ((1 << (64 - by)) - 1)  # >> of a signed integer copies its sign


def sums_of(bits: Any, first: int) -> tuple[int, int]:
    """Both sums, of a flat integer tensor of elements' bits; `first`: the position of its first one."""
    import torch

    found = [0, 0]
    unsigned = (1 << (8 * bits.element_size())) - 1
    for begin in range(0, len(bits), MOST):
        part = bits[begin : begin + MOST].long()
        part = part if unsigned == 2**64 - 1 else part & unsigned
        places = torch.arange(first + begin + 1, first + begin + 1 + len(part), device=bits.device)
        for lane, (value, place, third, fourth) in enumerate(LANES):
            found[lane] += int(mixed(part * value + places * place, third, fourth).sum())
    return found[0] % 2**64, found[1] % 2**64


def text_of(form: Form, sums: tuple[int, int]) -> str:
    """The digest, of a tensor of this form with these sums."""
    return xxhash.xxh3_128_hexdigest(f"{NAME}|".encode() + form.prefix + struct.pack("<QQ", *(one % 2**64 for one in sums)))


def digested(tensor: Any) -> tuple[Form, str]:
    """Form and digest of a numpy array or torch tensor. Raises TypeError if its values cannot be read."""
    tensor = dense(tensor)
    form, found = form_of(tensor), [0, 0]
    for first, bits, _ in _numbered(tensor, form):
        found = [one + more for one, more in zip(found, sums_of(bits, first))]
    return form, text_of(form, (found[0], found[1]))


def measured(tensor: Any) -> tuple[Form, str, Statistics]:
    """The same, and statistics."""
    tensor = dense(tensor)
    form, found = form_of(tensor), [0, 0]
    sums = Sums(form)
    for first, bits, values in _numbered(tensor, form):
        found = [one + more for one, more in zip(found, sums_of(bits, first))]
        sums.add_all(bits.numpy(), values)
    return form, text_of(form, (found[0], found[1])), sums.found()


def _numbered(tensor: Any, form: Form) -> Iterator[tuple[int, Any, Any]]:
    """Position, bits and values of each block."""
    import torch

    first = 0
    for bits, values in blocks(tensor, form.row):
        writable = bits if bits.flags.writeable else numpy.array(bits)
        yield first, torch.from_numpy(writable), values
        first += len(bits)
