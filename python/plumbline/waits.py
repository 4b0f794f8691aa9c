# SPDX-License-Identifier: BSD-3-Clause
"""Shows in the heartbeat which rank a rank waits for, by hooks on the functions in which torch's schedules start and await transfers."""

from __future__ import annotations

from typing import Any

from .hooks import first_argument, hook, torch_version
from .record import Record


def watch(record: Record, group: Any = None) -> None:
    """`group`: of the pipeline's ranks, which number the peers."""
    try:
        from torch.distributed.pipelining import schedules
    except ImportError:
        record._not_recorded.add("waits", f"torch {torch_version()} has no torch.distributed.pipelining.schedules")
        return
    peers: dict[int, int] = {}  # of pending transfers, by the id of their work object

    def begun(started: Any, works: list[Any], args: Any, kwargs: Any) -> None:
        ops = first_argument(args, kwargs)
        if len({id(getattr(op, "group", None)) for op in ops}) == 1:  # otherwise torch calls this function again for each group
            peers.update((id(work), rank_of(op.peer, group)) for work, op in zip(works, ops))

    def waits(args: Any, kwargs: Any) -> Any:
        work = first_argument(args, kwargs)
        waited_for = [peers.pop(id(one), -1) for one in work]
        known = [peer for peer in waited_for if peer >= 0]
        if not known or not record.in_step:
            return None
        record._heartbeat(peer=known[0])
        return known

    def waited(known: Any, result: Any, args: Any, kwargs: Any) -> None:
        record._heartbeat()

    def begins(args: Any, kwargs: Any) -> Any:
        ops = first_argument(args, kwargs)
        return True if record.in_step and ops else None

    hook(record, schedules, "_batch_p2p", "waits", begins, begun)
    hook(record, schedules, "_wait_batch_p2p", "waits", waits, waited)


def rank_of(peer: int, group: Any) -> int:
    """The number within the pipeline of a rank of the world. An operation's `group_peer` differs if each edge has its own group."""
    import torch

    return int(peer) if group is None else int(torch.distributed.get_group_rank(group, peer))
