# SPDX-License-Identifier: BSD-3-Clause
"""The lists of actions that schedules of torch.distributed.pipelining follow."""

from __future__ import annotations

import re
from typing import Any

from .record import Record


def compute_rows(schedule: Any, ranks: int) -> list[list[str]] | None:
    """Each rank's compute actions as the schedule lists them; nothing where it follows no list. Those of one stage a
    rank follow none: what torch 2.11 gives as the order of 1F1B names other microbatches than it runs."""
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
    """The order in which each stage's weights receive the gradients of microbatches."""
    order: dict[int, list[int]] = {}
    for action in (action for row in rows or [] for action in row):
        match = re.fullmatch(r"(\d+)([BW])(\d+)", action)
        if match:
            order.setdefault(int(match[1]), []).append(int(match[3]))
    return order


def declare_accumulation(record: Record) -> None:
    """As torch's list orders it; every rank has the same list."""
    orders = accumulation_of(record.schedule_rows).values()
    if any(one != sorted(one) for one in orders) and all(one == sorted(one, reverse=True) for one in orders):
        record.accumulation = "descending"
