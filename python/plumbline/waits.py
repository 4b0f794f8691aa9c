"""Whom a rank waits for stands on its progress page: torch's schedules begin transfers, and wait for them, in functions of their module."""

from __future__ import annotations

from typing import Any, Callable

from .hooks import hook
from .record import Record


def watch(record: Record, group: Any = None) -> None:
    """`group`: of the pipeline's ranks, in which a peer is counted."""
    from torch.distributed.pipelining import schedules

    peers: dict[int, int] = {}  # of transfers under way, by the object that is waited for

    def begun(works: list[Any], ops: list[Any]) -> None:
        if len({id(getattr(op, "group", None)) for op in ops}) > 1:
            return  # torch calls this function again for each group's
        peers.update((id(work), rank_of(op.peer, group)) for work, op in zip(works, ops))

    def begin(original: Callable[..., Any]) -> Callable[..., Any]:
        def batch_p2p(p2p_ops: list[Any], *args: Any, **kwargs: Any) -> Any:
            works = original(p2p_ops, *args, **kwargs)
            if record.in_step:
                record._lacks.attempt("waits", begun, works, p2p_ops)
            return works

        return batch_p2p

    def wait(original: Callable[..., Any]) -> Callable[..., Any]:
        def wait_batch_p2p(work: list[Any], *args: Any, **kwargs: Any) -> Any:
            if not record.in_step or "waits" in record._lacks:
                return original(work, *args, **kwargs)
            for one in work:
                with record.waiting(peers.pop(id(one), -1)):
                    original([one], *args, **kwargs)

        return wait_batch_p2p

    hook(record, schedules, "_batch_p2p", "waits", begin)
    hook(record, schedules, "_wait_batch_p2p", "waits", wait)


def rank_of(peer: int, group: Any) -> int:
    """Of a rank of the world, its number within the pipeline. `group_peer` of an operation is not it where each edge has a group of its own."""
    import torch

    return int(peer) if group is None else int(torch.distributed.get_group_rank(group, peer))
