# SPDX-License-Identifier: BSD-3-Clause
"""Names what is not recorded, and why, in the record and as one line on stderr. The training continues."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterable


def warn(words: str) -> None:
    """Prints one line on stderr. Raises nothing."""
    try:
        print(f"plumbline: {words}", file=sys.stderr, flush=True)
    except Exception:
        pass


def words_of(error: BaseException) -> str:
    """One line: the error's class and first line with text, then the same of its causes."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__
    lines = [(type(one).__name__, next((line.strip() for line in str(one).splitlines() if line.strip()), "")) for one in causes]
    return " from ".join(f"{kind}: {line}" for kind, line in lines)


class NotRecorded:
    """One rank's. `entries`: `not_recorded` of exit.json; the manifest merges all ranks'."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.step: int | None = None  # of the record; what is added is not recorded from this step on; None: in all steps
        self.notes: list[str] = []  # `notes` of exit.json
        self._warned: set[str] = set()

    def __contains__(self, what: str) -> bool:
        return what in self.kinds()

    def kinds(self) -> set[str]:
        return {entry["what"] for entry in self.entries}

    def add(self, what: str | Iterable[str], why: str) -> None:
        """Stops recording these kinds, and prints why."""
        kinds = [what] if isinstance(what, str) else list(what)
        known = {(entry["what"], entry["why"]) for entry in self.entries}
        new = [kind for kind in dict.fromkeys(kinds) if (kind, why) not in known]
        if not new:
            return
        self.entries += [{"what": kind, "why": why} | ({"from_step": self.step} if self.step else {}) for kind in new]
        listed = ", ".join(new[:-1]) + " and " + new[-1] if len(new) > 1 else new[0]
        uncounted = len(new) == 1 and not new[0].endswith("s")
        warn(f"{why}: {listed} {'is' if uncounted else 'are'} not recorded")

    def warn_once(self, words: str) -> None:
        """Prints a line once; nothing is missing in the record."""
        if words not in self._warned:
            self._warned.add(words)
            warn(words)

    def note(self, words: str) -> None:
        """Prints a line once and adds it to the record."""
        if words not in self.notes:
            self.notes.append(words)
            warn(words)

    def attempt(self, what: str | tuple[str, ...], work: Callable[..., Any], *args: Any) -> Any:
        """Returns work(*args). If it raises, these kinds are not recorded from then on, and the result is None."""
        if ({what} if isinstance(what, str) else set(what)) <= self.kinds():
            return None
        try:
            return work(*args)
        except Exception as error:
            self.add(what, words_of(error))
            return None


def merged(lists: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """All entries, each once.

    >>> merged([[{"what": "sends", "why": "x"}], [{"what": "sends", "why": "x"}]])
    [{'what': 'sends', 'why': 'x'}]
    """
    every: list[dict[str, Any]] = []
    for entries in lists:
        every += [entry for entry in entries if entry not in every]
    return every
