# SPDX-License-Identifier: BSD-3-Clause
"""Reads a record's tables."""

from __future__ import annotations

import csv
import json
import pathlib
from dataclasses import dataclass, field
from typing import Any

WORDS = ("kind", "name", "dtype", "shape", "digest", "direction", "cut", "side", "action", "data_digest", "unit")


@dataclass
class RecordTables:
    """The tables of a record: rows as dicts, with the rank that wrote them; empty cells are None."""

    folder: pathlib.Path
    manifest: dict[str, Any]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    exits: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> list[dict[str, Any]]:
        tables = self.__dict__.get("tables", {})  # absent while an instance is copied
        if name not in tables:
            raise AttributeError(f"{self.__dict__.get('folder')}: no table {name}.csv; the record has {', '.join(sorted(tables))}")
        return tables[name]


def _value(column: str, text: str) -> Any:
    if text == "":
        return None
    if column in WORDS:
        return text
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


def read(folder: str | pathlib.Path) -> RecordTables:
    """Reads a record: `read("rec").tensors` is a list of rows. `plumbline record check` validates one. Raises ValueError for a folder of several."""
    path = pathlib.Path(folder)
    if (path / "replica-0").is_dir():
        raise ValueError(f"{path} holds a record for each of several pipelines; read one: {path / 'replica-0'}")
    record = RecordTables(path, json.loads((path / "manifest.json").read_text()))
    for rank in range(record.manifest["world_size"]):
        inside = path / f"rank-{rank}"
        for file in sorted(inside.glob("*.csv")):
            rows = record.tables.setdefault(file.stem, [])
            with open(file, newline="", encoding="utf-8") as lines:
                rows += [{"rank": rank} | {key: _value(key, cell) for key, cell in row.items()} for row in csv.DictReader(lines)]
        if (inside / "exit.json").exists():
            record.exits[rank] = json.loads((inside / "exit.json").read_text())
    return record
