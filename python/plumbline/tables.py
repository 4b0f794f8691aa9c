# SPDX-License-Identifier: BSD-3-Clause
"""The CSV tables of one rank: rows of a step are written at its end, those of steps.csv after all others."""

from __future__ import annotations

import csv
import pathlib
from typing import Any, TextIO

COLUMNS = {
    "microbatches": "step,microbatch,sequence_length,batch,tokens,valid_tokens,loss,data_digest",
    "tensors": "step,kind,name,stage,dtype,shape,digest,l2,max_abs,nonzero,nonzero_rows,nan,inf,learning_rate",
    "boundaries": "step,microbatch,direction,cut,from_stage,to_stage,side,peer,dtype,shape,digest,bytes",
    "actions": "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns",
    "memory": "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,process_peak_bytes",
    "steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,seconds",
}


class Tables:
    def __init__(self, folder: pathlib.Path, level: str) -> None:
        self.rows: dict[str, list[list[Any]]] = {}
        self._files: dict[str, TextIO] = {}
        for table, columns in COLUMNS.items():
            if level == "summary" and table in ("tensors", "boundaries"):
                continue
            self.rows[table] = []
            self._files[table] = open(folder / f"{table}.csv", "w", newline="", encoding="utf-8")
            self._files[table].write(columns + "\n")

    def add(self, table: str, *cells: Any) -> list[Any]:
        row = list(cells)
        if table in self.rows:
            self.rows[table].append(row)
        return row

    def write(self) -> None:
        """What has been added since the last time."""
        for table, file in self._files.items():  # steps.csv comes last in COLUMNS
            csv.writer(file, lineterminator="\n").writerows(self.rows[table])
            file.flush()
            self.rows[table] = []

    def close(self) -> None:
        for file in self._files.values():
            file.close()
