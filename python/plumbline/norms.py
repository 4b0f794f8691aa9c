# SPDX-License-Identifier: BSD-3-Clause
"""The norms that a trainer clips by, as rows of norms.csv, and the replay of another record's norms."""

from __future__ import annotations

import csv
import json
import pathlib
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy

from . import meshes
from .clipping import number_of
from .digests import hash_hex, number_text
from .elements import is_torch
from .not_recorded import NotRecorded
from .rows import Rows


@dataclass
class Replay:
    """The norms of another record. Its ranks clip by the same norms; from the first step on in which they do not, none is replayed."""

    folder: pathlib.Path
    source: dict[str, Any]  # `norms_from` of the manifest
    norms: dict[tuple[int, int], float]  # by step of the run, and call within the step
    first_disagreement: tuple[int, str] | None = None  # step, words


def read_replay(norms_from: str | pathlib.Path, mesh: dict[str, Any] | None) -> Replay:
    """Reads a record's norms; of several pipelines this one's, or the first's. Raises ValueError if it is not a record, or has no norms."""
    folder = pathlib.Path(norms_from)
    if not (folder / "manifest.json").is_file():
        folder = folder / (meshes.folder_of(mesh) or "replica-0")
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        run_id, ranks = manifest["run_id"], range(manifest["world_size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"norms_from={norms_from}: is not a finished record ({type(error).__name__}: {error}); give the folder of the pipeline's record") from None
    files = {rank: folder / f"rank-{rank}" / "norms.csv" for rank in ranks}
    found = {rank: rows for rank, path in files.items() if path.is_file() and (rows := _norms_in(path))}
    if not found:
        advice = "if it has its own clipping code, let that use the result of record.norm(total_norm), and record it again"
        raise ValueError(f"norms_from={norms_from}: has no norms (no rank has rows in norms.csv), so there is nothing to replay; {advice}")
    source = min(found)
    replay = Replay(folder, {"run_id": run_id, "rank": source, "digest": hash_hex(files[source].read_bytes())}, found[source])
    every = {call: {rank: rows[call] for rank, rows in found.items() if call in rows} for call in sorted(set().union(*found.values()))}
    for (step, _), norms in every.items():
        if len(set(map(number_text, norms.values()))) > 1:
            by_rank = ", ".join(f"rank {rank} by {number_text(norm)}" for rank, norm in norms.items())
            replay.first_disagreement = step, f"the ranks of {norms_from} disagree on the norm of step {step} ({by_rank}): from this step on the trainer's own norms are used"
            break
    return replay


def _norms_in(path: pathlib.Path) -> dict[tuple[int, int], float]:
    """The norm that each call clipped by. A last line without a line break is ignored: the run was killed."""
    text = path.read_bytes().decode("utf-8", "replace")
    lines = text[: text.rfind("\n") + 1].splitlines()
    found: dict[tuple[int, int], float] = {}
    for number, row in enumerate(csv.DictReader(lines), start=2):
        try:
            found[int(row["step"]), int(row["call"])] = float(row["replayed"] or row["norm"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: line {number}: expected step, call, norm, replayed and coefficient ({error}); record the run again") from None
    return found


@dataclass
class Call:
    """A clipping call. Calls with the same object as their norm are one: each may clip a part of the parameters."""

    given: Any  # the trainer's own norm
    by: Any  # what was clipped by
    norm: float
    replayed: float | None
    coefficient: float = 1.0

    def has(self, norm: Any, number: float) -> bool:
        same = norm is self.given or norm is self.by
        return same and number_text(number) in (number_text(self.norm), number_text(self.replayed))


@dataclass
class Norms:
    """The clipping calls of a step, also of one that is not recorded."""

    replay: Replay | None
    not_recorded: NotRecorded
    step: int | None = None  # of the run; None between steps
    calls: list[Call] = field(default_factory=list)
    thread: int | None = None
    _lacking: bool = False  # whether a call was noted that only one of the two records has

    def begin(self, step: int) -> None:
        self.step, self.calls, self.thread = step, [], threading.get_ident()
        if self.replay and self.replay.first_disagreement and self.replay.first_disagreement[0] <= step:
            self.not_recorded.note(self.replay.first_disagreement[1])
            self.replay = None

    def end(self, rows: Rows | None = None) -> None:
        """Adds the calls to norms.csv."""
        step, calls = self.step, self.calls
        self.step, self.calls = None, []
        if rows is None or step is None:
            return
        if self.replay and (step, len(calls)) in self.replay.norms:
            seen = f"step {step}: {len(calls)} clipping calls were seen, but {self.replay.folder} has more"
            self._note_lacking(f"{seen}: code of your own must clip by what record.norm(total_norm) returns")
        for number, call in enumerate(calls):
            numbers = (call.norm, call.replayed, call.coefficient)
            rows.add("norms", step, number, *map(number_text, numbers))

    def clip(self, norm: Any) -> Call:
        """The call that clips by this norm."""
        number = number_of(meshes.local(norm))
        known = next((call for call in self.calls if call.has(norm, number)), None)
        if known is not None:
            return known
        value = self._replayed(len(self.calls))
        by = norm if value is None else norm_like(norm, value)
        self.calls.append(Call(norm, by, number, None if value is None else number_of(meshes.local(by))))
        return self.calls[-1]

    def only(self) -> tuple[float | None, float | None]:
        """The norm and coefficient of the step, if it has one call."""
        return (self.calls[0].norm, self.calls[0].coefficient) if len(self.calls) == 1 else (None, None)

    def _replayed(self, number: int) -> float | None:
        if self.replay is None or self.step is None:
            return None
        value = self.replay.norms.get((self.step, number))
        if value is None:
            self._note_lacking(f"step {self.step}: {self.replay.folder} lacks the norm of call {number}, so the trainer's own norm is used")
        return value

    def _note_lacking(self, words: str) -> None:
        if not self._lacking:
            self._lacking = True
            self.not_recorded.note(words)


def norm_like(norm: Any, value: float) -> Any:
    """The value in the type, dtype, shape and device of a norm.

    >>> norm_like(1.5, 0.1), norm_like(numpy.float32(1), 0.1)
    (0.1, np.float32(0.1))
    """
    if is_torch(norm):
        import torch

        with torch.no_grad():
            return torch.full_like(norm, value, requires_grad=False)
    return numpy.full_like(norm, value)[()] if hasattr(norm, "dtype") else value
