# SPDX-License-Identifier: BSD-3-Clause
"""Which tensors a record has: Record(only=, ranks=)."""

from __future__ import annotations

import fnmatch
from typing import Iterable, Sequence


class Chosen:
    def __init__(self, only: Sequence[str] | str, ranks: Sequence[int] | None, rank: int, world_size: int) -> None:
        """Raises ValueError for a rank that the pipeline does not have, and for none."""
        self.patterns = [only] if isinstance(only, str) else list(only)
        if ranks is not None and not (ranks and set(ranks) <= set(range(world_size))):
            raise ValueError(f"ranks={list(ranks)}: give some of the pipeline's ranks 0 to {world_size - 1}")
        self._here = ranks is None or rank in ranks
        self._known: dict[str, bool] = {}
        self.words = " and ".join([f"only={self.patterns}"] * bool(self.patterns) + [f"ranks={list(ranks or ())}"] * (ranks is not None))

    def __contains__(self, name: str) -> bool:
        """True if tensors of this unit, parameter or buffer are recorded."""
        if name not in self._known:
            self._known[name] = self._here and (not self.patterns or any(_fits(name, one) for one in self.patterns))
        return self._known[name]

    def left_out(self, units: list[str], parameters: list[str], buffers: list[str]) -> list[dict[str, str]]:
        """Entries of `not_recorded`, for a rank with these."""
        kinds = {("boundaries",): units, ("gradients", "applied", "parameters", "moments"): parameters, ("buffers",): buffers}
        lacking = [kind for several, names in kinds.items() if any(name not in self for name in names) for kind in several]
        return [{"what": kind, "why": f"not requested, by {self.words}"} for kind in lacking]

    def unused(self, names: Iterable[str]) -> list[str]:
        """The patterns that fit none of these names."""
        names = list(names)
        return [pattern for pattern in self.patterns if not any(_fits(name, pattern) for name in names)]


def _fits(name: str, pattern: str) -> bool:
    """Whether the pattern is of the name, or of a unit that it begins with.

    >>> _fits("layers.1.weight", "layers.1"), _fits("layers.1", "layers.*"), _fits("layers.10.weight", "layers.1")
    (True, True, False)
    """
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, pattern + ".*")
