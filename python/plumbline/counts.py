# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of microbatches within a step, if a pipeline is called several times for one optimizer step."""

from __future__ import annotations

import re
from typing import Any, Hashable


class Counts:
    """Counts the events of one step. A microbatch number that occurs again belongs to the next call of the pipeline."""

    def __init__(self) -> None:
        self._times: dict[tuple[Hashable, int], int] = {}
        self._of_a_call: dict[Hashable, int] = {}  # microbatches in the first call

    def number(self, what: Hashable, microbatch: int | None, of_a_call: int | None = None) -> int:
        """The microbatch's number within the step, of an event of the kind `what`. `microbatch`: its number within the call; None: the next one.

        >>> counts = Counts()
        >>> [counts.number("send", m) for m in (0, 1, 0, 1)], [counts.number("receive", None) for _ in range(3)]
        ([0, 1, 2, 3], [0, 1, 2])
        """
        if microbatch is None:
            microbatch = self._of_a_call.get(what, 0)
        times = self._times.get((what, microbatch), 0)
        self._times[what, microbatch] = times + 1
        if times == 0:
            self._of_a_call[what] = max(self._of_a_call.get(what, 0), microbatch + 1)
        return microbatch + times * (of_a_call or self._of_a_call[what])

    def of(self, what: Hashable) -> int:
        """How many events of this kind there were."""
        return sum(times for (kind, _), times in self._times.items() if kind == what)


def shifted(action: str, by: int) -> str:
    """The compute action with its microbatch's number raised; other actions unchanged.

    >>> shifted("3F1", 4), shifted("0STEP", 4)
    ('3F5', '0STEP')
    """
    match: Any = re.fullmatch(r"(\d+[FBIW])(\d+)", action)
    return f"{match[1]}{int(match[2]) + by}" if match else action
