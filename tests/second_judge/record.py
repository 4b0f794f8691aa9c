# SPDX-License-Identifier: BSD-3-Clause
"""A record as tables of texts in DuckDB, and the manifest's statements about their content (docs/record-format.md)."""

import csv
import json
import pathlib

import duckdb

from columns import TYPES


class Refused(Exception):
    """The record cannot be read: no verdict."""


class Record:
    """One run: the reference (side "r") or the candidate ("c")."""

    def __init__(self, db, side, folder):
        self.db, self.run, self.folder = db, side, pathlib.Path(folder)
        self.manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8-sig"))
        self.external = self.manifest["role"] == "external"
        self.first_step = self.manifest.get("first_step") or 0
        self.steps = range(self.first_step, self.manifest["steps"])
        self.stages = self.manifest["stages"]
        self.exits = {}
        for rank in range(self.manifest["world_size"]):
            path = self.folder / f"rank-{rank}" / "exit.json"
            self.exits[rank] = json.loads(path.read_text()) if path.exists() else {"status": "no exit.json"}
            for table in TYPES:
                file = self.folder / f"rank-{rank}" / f"{table}.csv"
                if file.exists():
                    self.load(rank, table, file)
        self.unseen = [(entry["what"], entry.get("from_step") or 0) for said in (self.manifest, *self.exits.values()) for entry in said.get("not_recorded") or []]

    def load(self, rank, table, file):
        """Replaces the rows of this rank's table with those of the file."""
        with open(file, encoding="utf-8-sig", newline="") as text:
            header = next(csv.reader(text), [])
        wanted = [f'"{name}"' if name in header else f"null::varchar as {name}" for name in TYPES[table]]
        columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in header) + "}"
        self.db.execute(f"delete from {table} where run = '{self.run}' and rank = {rank}")
        try:
            self.db.execute(
                f"insert into {table} select '{self.run}', {rank}, row_number() over (), {', '.join(wanted)} from "
                f"read_csv('{file}', header=true, auto_detect=false, columns={columns}, delim=',', quote='\"', escape='\"', nullstr='', null_padding=false)"
            )
        except duckdb.Error as error:
            raise Refused(f"{file}: {error}") from error

    def unit_of(self, parameter):
        """The unit of a parameter: the parameter's name starts with the unit's name and a dot; for a Llama, by Hugging Face's names."""
        units = [unit for stage in self.stages for unit in stage["units"]]
        for name in (parameter, parameter.removeprefix("model.")):
            owners = [unit for unit in units if name.startswith(unit + ".")]
            if owners:
                return max(owners, key=len)
        return None

    def crossings(self):
        """(direction, cut, from_stage, to_stage, side, rank, peer) of every row of a microbatch in boundaries.csv."""
        units = [unit for stage in self.stages for unit in stage["units"]]
        for below, above in zip(self.stages, self.stages[1:]):
            before = sum(len(stage["units"]) for stage in self.stages[: above["stage"]])
            if 0 < before < len(units):
                for direction, source, target in (("forward", below, above), ("backward", above, below)):
                    ends = (direction, units[before], source["stage"], target["stage"])
                    if source["rank"] == target["rank"]:
                        yield (*ends, "local", target["rank"], target["rank"])
                    else:
                        yield (*ends, "send", source["rank"], target["rank"])
                        yield (*ends, "receive", target["rank"], source["rank"])


class Tables:
    """A connection that caches the rows of each query until the next change of a table that the query names; a rollback undoes changes."""

    def __init__(self):
        self.db, self.kept, self.changed, self.rows = duckdb.connect(), {}, set(), []

    def execute(self, sql):
        tables = {table for table in TYPES if table in sql}
        if not sql.startswith(("select", "with")):
            self.changed = set() if sql == "rollback" else self.changed | tables
            self.db.execute(sql)
        elif tables & self.changed:
            self.rows = self.db.execute(sql).fetchall()
        else:
            self.rows = self.kept[sql] = self.kept[sql] if sql in self.kept else self.db.execute(sql).fetchall()
        return self

    def fetchall(self):
        return self.rows

    def fetchone(self):
        return self.rows[0]


def database():
    db = Tables()
    db.execute("set threads = 1")
    db.execute("pragma disable_optimizer")  # tables are small, so planning takes longer than running
    for table, columns in TYPES.items():
        db.execute(f"create table {table} (run varchar, rank int, line int, {', '.join(f'{name} varchar' for name in columns)})")
    return db
