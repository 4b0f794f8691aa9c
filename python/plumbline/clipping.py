# SPDX-License-Identifier: BSD-3-Clause
"""Clipping by the global norm, as torch computes it."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy

TORCH_EPSILON = 1e-6  # what torch adds to the norm


def number_of(norm: Any) -> float:
    """The value of a number, or of a tensor or array with one element.

    >>> number_of(2), number_of(numpy.float32([[0.5]]))
    (2.0, 0.5)
    """
    return float(norm.item() if hasattr(norm, "item") else norm)


def coefficient(norm: Any, limit: float, epsilon: float) -> float:
    """limit / (norm + epsilon), at most 1; in the norm's precision if it is a tensor."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(norm, torch.Tensor):
        return float(torch.clamp(limit / (norm + epsilon), max=1.0))
    divisor = number_of(norm) + epsilon
    if divisor == 0:  # as for a tensor, for which limit / 0 is infinite
        return 1.0
    return divisor if math.isnan(divisor) else min(1.0, limit / divisor)
