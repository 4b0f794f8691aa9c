# SPDX-License-Identifier: BSD-3-Clause
"""Writes exit.json, also if the program exits early. Keeps no reference to the record, so that the trainer's model can be freed."""

from __future__ import annotations

import atexit
import json
import pathlib
import traceback
from typing import TYPE_CHECKING

from .digests import hash_hex
from .not_recorded import NotRecorded, warn, words_of

if TYPE_CHECKING:
    from .rows import Rows

PACKAGE = str(pathlib.Path(__file__).parent)


class Ending:
    """The end of a record that has begun."""

    def __init__(self, rank: int, rows: Rows, not_recorded: NotRecorded, run_steps: int) -> None:
        self.rank, self.rows, self.not_recorded, self.run_steps = rank, rows, not_recorded, run_steps
        self.steps = 0  # finished steps of the run
        self.data_digests: list[str] = []
        self.written = False
        atexit.register(self.left)

    def write(self, status: str, code: int, where: str | None) -> None:
        atexit.unregister(self.left)
        self.written = True
        try:
            self.rows.close()
        except Exception as error:
            status, code, where = "error", 1, where or unusable_words(error)
            warn(where)
        ended = {"rank": self.rank, "status": status, "code": code, "signal": None, "last_action": self.rows.last_action or None}
        ended["data_digest"] = hash_hex("".join(self.data_digests)) if self.data_digests and all(self.data_digests) else None
        if where is not None:
            ended["where"] = where
        if self.not_recorded.entries:
            ended["not_recorded"] = self.not_recorded.entries
        if self.not_recorded.notes:
            ended["notes"] = self.not_recorded.notes
        (self.rows.folder / "exit.json").write_text(json.dumps(ended) + "\n")

    def left(self) -> None:
        if self.written:
            return
        try:
            self.write("error", 1, f"the program ended after {self.steps} of {self.run_steps} steps")
        except Exception as error:
            warn(f"{self.rows.folder}: no exit.json could be written: {words_of(error)}")


def unusable_words(error: BaseException) -> str:
    """Message of an error in the recorder itself, with its line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""
    return f"the recorder failed, so the record is unusable: {place}{words_of(error)}"


def place_of(error: BaseException) -> str:
    """The line that raised the error, and the line within the trainer's `with record.step(...)`."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(PACKAGE)]
    if not frames:
        return f"unknown: {words_of(error)}"
    inner, outer = (f"{frame.filename}:{frame.lineno}" for frame in (frames[-1], frames[0]))
    return f"{inner}: {words_of(error)}" + ("" if inner == outer else f" (from {outer})")
