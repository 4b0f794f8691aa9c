# SPDX-License-Identifier: BSD-3-Clause
"""The action lists of torch.distributed.pipelining's schedules."""

from __future__ import annotations

import re
from typing import Any

from .record import Record


def compute_rows(schedule: Any, ranks: int) -> list[list[str]] | None:
    """Each rank's compute actions from the schedule's list; None if the schedule executes no list. Schedules of one stage a rank execute none:
    torch 2.11's list of 1F1B names other microbatches than it runs."""
    order = getattr(schedule, "pipeline_order", None) if hasattr(schedule, "_stages") else None
    if not order or len(order) != ranks:
        return None
    kinds = {"FORWARD": "F", "FULL_BACKWARD": "B", "BACKWARD_INPUT": "I", "BACKWARD_WEIGHT": "W"}
    rows = []
    for rank in range(ranks):
        actions = [part for action in order[rank] if action is not None for part in (action.sub_actions or (action,))]
        computed = [(action, kinds[action.computation_type.name]) for action in actions if action.computation_type.name in kinds]
        rows.append([f"{action.stage_index}{kind}{action.microbatch_index}" for action, kind in computed])
    return rows


def accumulation_of(rows: list[list[str]] | None) -> dict[int, list[int]]:
    """By stage, the order in which its gradients are summed over microbatches."""
    order: dict[int, list[int]] = {}
    for action in (action for row in rows or [] for action in row):
        match = re.fullmatch(r"(\d+)([BW])(\d+)", action)
        if match:
            order.setdefault(int(match[1]), []).append(int(match[3]))
    return order


def declare_accumulation(record: Record) -> None:
    """Sets the order of summation from torch's list, which is the same on every rank."""
    orders = accumulation_of(record.schedule_rows).values()
    if any(one != sorted(one) for one in orders) and all(one == sorted(one, reverse=True) for one in orders):
        record.accumulation = "descending"
