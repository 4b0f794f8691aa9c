# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of one rank, and at level dump the tensors. A step's rows are written at its end, steps.csv last."""

from __future__ import annotations

import csv
import io
import itertools
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator, TextIO

import numpy

from . import digests, position_sums
from .digests import number_text
from .dumps import write_dump
from .elements import INFINITY, Form, form_of, is_torch, plain, size_in_bytes
from .statistics import Statistics
from .meshes import held

COLUMNS = {
    "microbatches": "step,microbatch,sequence_length,batch,tokens,valid_tokens,loss,data_digest",
    "tensors": "step,kind,name,stage,dtype,shape,digest,l2,max_abs,nonzero,nonzero_rows,nan,inf,learning_rate",
    "boundaries": "step,microbatch,direction,cut,from_stage,to_stage,side,peer,dtype,shape,digest,bytes",
    "actions": "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns",
    "memory": "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,process_peak_bytes",
    "norms": "step,call,norm,replayed,coefficient",
    "steps": "step,loss,gradient_norm,clip_coefficient,updated,learning_rate,tokens,valid_tokens,seconds",
}

THREADS = 4  # each may hold a copy of elements.BLOCK_BYTES
FOR_THREADS = 16 << 20  # bytes of tensors that take longer than starting threads
IF_ANY = ("norms",)  # tables whose file is made by their first row


def _cells(form: Form, digest: str, found: Statistics) -> list[Any]:
    numbers = number_text(found.l2), number_text(found.max_abs), found.nonzero, found.nonzero_rows, found.nan, found.inf
    return [form.dtype, form.shape, digest, *numbers]


class Rows:
    def __init__(self, folder: pathlib.Path, level: str, columns: dict[str, str] = COLUMNS, digest: str = digests.NAME) -> None:
        """`columns`: by table; steps.csv must be the last. `digest`: of tensors. Makes the folder."""
        folder.mkdir()
        self.folder, self.level = folder, level
        self.last_action = ""
        self._columns = {table: names for table, names in columns.items() if level != "summary" or table not in ("tensors", "boundaries")}
        self._texts = {table: io.StringIO() for table in self._columns}  # rows of this step; lists of them would keep Python's garbage collector busy
        self._writers = {table: csv.writer(text, lineterminator="\n") for table, text in self._texts.items()}
        self._actions: list[list[Any]] = []  # rows that may still change
        self._files: dict[str, TextIO] = {}
        for table in self._columns:
            if table not in IF_ANY:
                self._open(table)
        self._origin = time.monotonic_ns()
        self._digests: Any = position_sums if digest == position_sums.NAME else digests
        self._results: dict[Any, Any] = {}  # device_kernel.Results, by device
        self._later: list[tuple[str, list[Any], Any, list[Any]]] = []  # rows that wait for results: table, cells before and after theirs
        self._dump: dict[str, Any] = {}

    def _open(self, table: str) -> None:
        self._files[table] = open(self.folder / f"{table}.csv", "w", newline="", encoding="utf-8")
        self._files[table].write(self._columns[table] + "\n")

    def add(self, table: str, *cells: Any) -> None:
        self._writers[table].writerow(cells)

    def begin_action(self, step: int, index: int, name: str, stage: int, microbatch: int | None) -> list[Any]:
        self.last_action = name
        began = self._clock()
        self._actions.append([step, index, name, stage, microbatch, began, began, 0])
        return self._actions[-1]

    def end_action(self, row: list[Any], waited: bool = False) -> None:
        row[6] = self._clock()
        if waited:
            row[7] = row[6] - row[5]

    def _clock(self) -> int:
        return time.monotonic_ns() - self._origin

    def measured(self, tensors: list[Any]) -> Iterator[Any]:
        """What `tensor` finds in each. Large ones on the host are measured by as many threads as torch computes with, at most THREADS."""
        if self.level == "summary":
            return itertools.repeat(None)
        threads = 1
        if sum(map(size_in_bytes, tensors)) >= FOR_THREADS and all(is_torch(one) and one.device.type == "cpu" for one in tensors):
            threads = min(THREADS, sys.modules["torch"].get_num_threads())
        return self._measured_by(threads, tensors) if threads > 1 else map(self._measured, tensors)

    def _measured_by(self, threads: int, tensors: list[Any]) -> Iterator[Any]:
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(self._measured, tensors)

    def _measured(self, tensor: Any) -> Any:
        return self._on_device(tensor, True) or _cells(*self._digests.measured(tensor))

    def tensor(self, step: int, kind: str, name: str, stage: int, tensor: Any, rate: float | None = None, found: Any = None) -> Any:
        """`rate`: the learning rate of a parameter's update. `found`: what is known of the tensor. Returns what is known of it now."""
        if self.level == "summary":
            return None
        found = self._measured(tensor) if found is None else found
        self._keep(f"{kind}/{name}", tensor)
        head, tail = [step, kind, name, stage], [number_text(rate)]
        if isinstance(found, list):
            self.add("tensors", *head, *found, *tail)
        else:
            self._later.append(("tensors", head, found, tail))
        return found

    def boundary(
        self, step: int, microbatch: int, direction: str, cut: str, from_stage: int | None, to_stage: int | None, side: str, peer: int | None, tensor: Any
    ) -> None:
        if self.level == "summary":
            return
        tensor = held(tensor)
        head = [step, microbatch, direction, cut, from_stage, to_stage, side, peer]
        later = self._on_device(tensor, False)
        if later is not None:
            self._later.append(("boundaries", head, later, [later.form.bytes]))
        else:
            form, digest = self._digests.digested(tensor)
            self.add("boundaries", *head, form.dtype, form.shape, digest, form.bytes)
        self._keep(f"boundary/{direction}/{microbatch}/{cut}/{side}", tensor)

    def _on_device(self, tensor: Any, counted: bool) -> Any:
        """The results for the tensor, known at the step's end, if a kernel computes them on its device; else None."""
        if self._digests is not position_sums or not is_torch(tensor) or tensor.device.type == "cpu" or form_of(tensor).dtype not in INFINITY:
            return None
        if tensor.device not in self._results:
            try:
                from .device_kernel import Results
            except ImportError:  # no Triton: through the host
                return None
            self._results[tensor.device] = Results(tensor.device)
        return self._results[tensor.device].add(tensor, counted)

    def _fetch(self) -> None:
        """Adds the rows that wait for results."""
        for results in self._results.values():
            results.fetch()
        later, self._later = self._later, []
        for table, head, one, tail in later:
            found = _cells(one.form, one.digest, one.statistics) if one.counted else [one.form.dtype, one.form.shape, one.digest]
            self.add(table, *head, *found, *tail)

    def _keep(self, key: str, tensor: Any) -> None:
        if self.level == "dump":
            tensor = plain(tensor)
            self._dump[key] = tensor.detach().to("cpu", copy=True) if hasattr(tensor, "detach") else numpy.array(tensor)

    def end_step(self, name: str) -> None:
        """Writes the added rows, and the dump `name`: the step's number, or `initial`."""
        if self.level == "dump":
            (self.folder / "dumps").mkdir(exist_ok=True)
            write_dump(self.folder / "dumps" / f"step-{name}.safetensors", self._dump)
            self._dump = {}
        self._fetch()
        for table in self._columns:
            self.write(table)

    def write(self, table: str) -> None:
        """Writes the added rows of a table."""
        if table == "actions":
            self._writers[table].writerows(self._actions)
            self._actions = []
        text = self._texts[table]
        if text.tell() and table not in self._files:
            self._open(table)
        if table in self._files:
            self._files[table].write(text.getvalue())
            self._files[table].flush()
        text.seek(0)
        text.truncate()

    def close(self) -> None:
        for file in self._files.values():
            file.close()
