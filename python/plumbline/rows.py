# SPDX-License-Identifier: BSD-3-Clause
"""The rows of one rank's tables, and at level dump the tensors themselves."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import numpy

from .digests import digest, dtype_name, number_text, shape_text, size_in_bytes, statistics
from .dumps import write_dump
from .meshes import local
from .tables import Tables


def _cell(value: Any) -> Any:
    return "" if value is None else value


class Rows:
    def __init__(self, folder: pathlib.Path, level: str) -> None:
        folder.mkdir()
        self.folder, self.level = folder, level
        self.last_action = ""
        self._tables = Tables(folder, level)
        self._origin = time.monotonic_ns()
        self._dump: dict[str, Any] = {}

    def add(self, table: str, *values: Any) -> None:
        self._tables.add(table, *values)

    def begin_action(self, step: int, index: int, name: str, stage: int, microbatch: int | None) -> list[Any]:
        self.last_action = name
        began = self._clock()
        return self._tables.add("actions", step, index, name, stage, _cell(microbatch), began, began, 0)

    def end_action(self, row: list[Any], waited: bool) -> None:
        row[6] = self._clock()
        if waited:
            row[7] = row[6] - row[5]

    def _clock(self) -> int:
        return time.monotonic_ns() - self._origin

    def tensor(self, step: int, kind: str, name: str, stage: int, tensor: Any, rate: float | None = None) -> None:
        """`rate`: of a parameter, that its group was updated by."""
        if self.level == "summary":
            return
        tensor = local(tensor)
        found = statistics(tensor)
        said = [number_text(found.l2), number_text(found.max_abs), found.nonzero, _cell(found.nonzero_rows), found.nan, found.inf]
        self.add("tensors", step, kind, name, stage, dtype_name(tensor), shape_text(tensor.shape), digest(tensor), *said, number_text(rate))
        self._keep(f"{kind}/{name}", tensor)

    def boundary(
        self, step: int, microbatch: int, direction: str, cut: str, from_stage: int | None, to_stage: int | None, side: str, peer: int | None, tensor: Any
    ) -> None:
        if self.level == "summary":
            return
        tensor = local(tensor)
        form = [dtype_name(tensor), shape_text(tensor.shape), digest(tensor), size_in_bytes(tensor)]
        self.add("boundaries", step, microbatch, direction, cut, _cell(from_stage), _cell(to_stage), side, _cell(peer), *form)
        self._keep(f"boundary/{direction}/{microbatch}/{cut}/{side}", tensor)

    def _keep(self, key: str, tensor: Any) -> None:
        if self.level == "dump":
            self._dump[key] = tensor.detach().clone().cpu() if hasattr(tensor, "detach") else numpy.array(tensor)

    def end_step(self, name: str) -> None:
        """Writes what has come together; `name` is the dump's: the step's number, or `initial`."""
        if self.level == "dump":
            (self.folder / "dumps").mkdir(exist_ok=True)
            write_dump(self.folder / "dumps" / f"step-{name}.safetensors", self._dump)
            self._dump = {}
        self._tables.write()

    def close(self) -> None:
        self._tables.close()
