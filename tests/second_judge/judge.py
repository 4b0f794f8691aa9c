# SPDX-License-Identifier: BSD-3-Clause
"""A second judge, written only from docs/record-format.md, docs/checks.md and docs/exactness.md: a verdict is one diff of facts.

judge.py REFERENCE CANDIDATE prints outcome and first divergence."""

import math
import sys
from dataclasses import dataclass, field

from columns import BACKWARD, COLUMNS, DATA, FORWARD, GRADIENTS, LOSS, NORM, RATE, REQUIRED, TYPES
from predicates import norms_part, predicates
from record import Record, Refused, database
from refusals import refuse


@dataclass
class Finding:
    order: tuple  # in execution order, begins with the step
    claim: str
    key: str
    rank: int | None
    words: str


@dataclass
class Verdict:
    outcome: str  # holds, differs, incomplete or refused
    findings: list = field(default_factory=list)
    why: str = ""


def bits(table, name):
    """Numbers by their bits: a longer decimal form of the same number is equal."""
    types = {"real32": "float", "size32": "float", "real": "double", "count": "hugeint"}
    kind = TYPES[table][name].rstrip("!")
    return f"{name}::{types[kind]}::varchar" if kind in types else name


def diff(db, column):
    """Keys that one side lacks, and values that differ: (step, key, rank, lacking side or None, what)."""
    names = column.value.split()
    select = ", ".join(f"{bits(column.table, name)} as {name}" for name in names)
    rows = f"select step::int as step, ({column.key})::varchar as k, rank, line, {select} from {column.table} where ({column.rows})"
    optional = ("nonzero_rows", "live_tokens", "data_digest", "updated")
    unlike = [f"r.{n} is distinct from c.{n}" + (f" and r.{n} is not null and c.{n} is not null" if n in optional else "") for n in names]
    what = " || ' ' || ".join(f"case when {one} then '{n}' else '' end" for n, one in zip(names, unlike))
    return db.execute(
        f"with r as ({rows} and run = 'r' qualify row_number() over (partition by step, k order by rank, line) = 1), c as ({rows} and run = 'c') "
        f"select coalesce(r.step, c.step), coalesce(r.k, c.k), c.rank, case when c.k is null then 'c' when r.k is null then 'r' end, {what} "
        f"from r full join c on r.step = c.step and r.k = c.k where r.k is null or c.k is null or {' or '.join(f'({one})' for one in unlike)}"
    ).fetchall()


class Judge:
    def __init__(self, db, reference, candidate):
        self.db, self.reference, self.candidate = db, reference, candidate
        self.sides = {"r": reference, "c": candidate}
        self.findings, self.missing = [], {}
        self.cuts = {unit: place for place, unit in enumerate(unit for stage in reference.stages for unit in stage["units"])}
        names = db.execute("select name from tensors where run = 'r' and step = '-1' and kind = 'parameter' order by rank, line").fetchall()
        self.names = {name: place for place, (name,) in enumerate(names)}
        for group in reference.manifest["tied"]:  # counts as one weight, in the place of its first name
            self.names.update(dict.fromkeys(group, min(self.names.get(name, 0) for name in group)))

    def align(self):
        """A resumed run starts with the reference's state after the previous step."""
        first = self.candidate.first_step
        if first > self.reference.first_step:
            before = f"run = 'r' and step::int = {first - 1} and kind in ('parameter', 'copy', 'moment1', 'moment2', 'buffer')"
            self.db.execute(f"delete from tensors where run = 'r' and step::int < {first} and not ({before})")
            self.db.execute(f"update tensors set step = '-1' where {before}")
            for table in TYPES:
                if table != "tensors":
                    self.db.execute(f"delete from {table} where run = 'r' and step::int < {first}")

    def add(self, step, phase, claim, key, rank, words):
        """Execution order: data; for each microbatch boundaries forward, loss, boundaries backward; gradients from the model's end; the rest."""
        word, _, rest = key.partition(" ")
        if phase == DATA:
            order = (DATA, int(key) if key.isdigit() else -1)
        elif phase in (FORWARD, BACKWARD):
            microbatch, _, cut = rest.partition(" ")
            order = (FORWARD, int(microbatch), phase, math.inf if cut not in self.cuts else self.cuts[cut] * (1 if phase == FORWARD else -1))
        elif phase == LOSS:
            order = (FORWARD, int(key) if key.isdigit() else 1 << 40, LOSS, 0)
        else:
            place = self.names.get(rest, len(self.names))
            order = (phase, -place if phase == GRADIENTS and rest in self.names else place)
        self.findings.append(Finding((step, *order), claim, key, rank, words))

    def excused(self, kind, step, side):
        return any(what == kind and step >= start for what, start in self.sides[side].unseen)

    def compare(self):
        for column in COLUMNS:
            for step, key, rank, lacks, what in diff(self.db, column):
                if lacks:
                    if column.table == "boundaries":
                        continue  # a reference has every boundary, a pipeline only those of partition()
                    if any(self.excused(kind, step, lacks) for kind in column.excuses.split()):
                        continue
                self.add(step, column.phase, column.claim, key, rank, f"missing in {lacks}" if lacks else f"unlike: {what.split()}")

    def partition(self):
        """Each crossing has its rows at both ends and in the reference; each parameter and moment is on the stage of its unit."""
        db, candidate = self.db, self.candidate
        if candidate.manifest["level"] not in ("full", "dump"):
            return
        there = db.execute("select step::int, microbatch::int, direction, cut, from_stage::int, to_stage::int, side, rank, peer::int from boundaries where run = 'c'")
        there = set(there.fetchall())
        single = candidate.manifest["world_size"] == 1 and candidate.external
        computed = set(db.execute("select step::int, microbatch::int, direction, cut from boundaries where run = 'r'").fetchall())
        expected = set()
        for step in candidate.steps:
            for microbatch in range(candidate.manifest["data"]["microbatches"]):
                expected |= {(step, microbatch, *crossing) for crossing in candidate.crossings()}
        for row in (expected - there) | {row for row in there - expected if not (single and row[6] == "computed")}:
            excuse = "sends" if row[6] == "send" else "receives"
            if row in expected and (self.excused(excuse, row[0], "c") or self.excused("boundaries", row[0], "c")):
                continue
            self.add(row[0], FORWARD if row[2] == "forward" else BACKWARD, "boundaries", f"{row[2]} {row[1]} {row[3]}", row[7], "no such row" if row in expected else "a row of no crossing")
        needed = {row[:4] for row in there}
        if not self.reference.external:  # every cut of the model
            numbers = range(candidate.manifest["data"]["microbatches"])
            needed |= {(step, m, direction, cut) for step in candidate.steps for m in numbers for direction in ("forward", "backward") for cut in list(self.cuts)[1:]}
        for row in needed - computed:
            if not self.excused("boundaries", row[0], "r"):
                self.add(row[0], FORWARD if row[2] == "forward" else BACKWARD, "boundaries", f"{row[2]} {row[1]} {row[3]}", None, "not computed by the reference")
        stage_of = {unit: stage["stage"] for stage in candidate.stages for unit in stage["units"]}
        for step, kind, name, stage, rank in db.execute("select step::int, kind, name, stage::int, rank from tensors where run = 'c' and kind <> 'buffer'").fetchall():
            if stage_of.get(candidate.unit_of(name)) != stage:
                self.add(-2, 0, "census", "", rank, f"step {step}: {kind} {name} on stage {stage}")

    def numbers_of_ranks(self):
        """Each rank has each step's rate; and norm and coefficient, except in an external record."""
        for record in (self.reference, self.candidate):
            wanted = [("learning_rate", "rates", RATE, "parameters")]
            if not record.external:
                wanted += [(name, "norm", NORM, "gradient_norm") for name in ("gradient_norm", "clip_coefficient")]
            for name, excuse, phase, claim in wanted:
                for step, rank in self.db.execute(f"select step::int, rank from steps where run = '{record.run}' and {name} is null and updated is distinct from 'false'").fetchall():
                    if not self.excused(excuse, step, record.run):
                        self.add(step, phase, claim, name, rank, "missing")

    def fed(self):
        """A rank digests every microbatch or none; ranks with embed_tokens or lm_head of a Llama do."""
        for record in (self.reference, self.candidate):
            ranks = {rank for (rank,) in self.db.execute(f"select rank from microbatches where run = '{record.run}' and data_digest is not null").fetchall()}
            ranks |= {stage["rank"] for stage in record.stages if {"embed_tokens", "lm_head"} & set(stage["units"])}
            for step, microbatch, rank in self.db.execute(f"select step::int, microbatch, rank from microbatches where run = '{record.run}' and data_digest is null").fetchall():
                if rank in ranks and not self.excused("inputs", step, record.run) and not self.excused("labels", step, record.run):
                    self.add(1 << 40, DATA, "data", microbatch, rank, f"no data_digest in step {step}")  # an error of a rank, counted at the end

    def completion(self):
        for record in (self.reference, self.candidate):
            for rank, ended in record.exits.items():
                if ended["status"] != "ok":
                    self.add(-3, 0, "completion", "", rank, f"{ended['status']}")

    def not_compared(self):
        """The required claims that both records lack in some recorded step."""
        for claim in REQUIRED:
            steps = set()
            for column in (c for c in COLUMNS if c.claim == claim and not c.partly):
                rows = f"select step::int as step from {column.table} where ({column.rows}) and run = "
                steps |= {s for (s,) in self.db.execute(f"{rows}'r' intersect {rows}'c'").fetchall()}
            if claim != "buffers" or self.db.execute("select 1 from tensors where kind = 'buffer'").fetchall():
                lacking = set(self.candidate.steps) - steps
                if lacking:
                    self.missing[claim] = min(lacking)

    def verdict(self):
        self.align()
        self.completion()
        self.compare()
        self.partition()
        self.numbers_of_ranks()
        self.fed()
        for found in predicates(self.db, self.reference, self.candidate):
            self.add(*found)
        end = norms_part(self.db, self.reference, self.candidate)
        if end is not None:  # norms are summed by rank, so nothing can be compared from this update on
            self.findings = [found for found in self.findings if found.order < (end, GRADIENTS + 1)]
            self.missing.update({claim: end for claim in ("gradients", "parameters", "loss")})
        self.not_compared()
        self.findings.sort(key=lambda found: found.order)
        return Verdict("differs" if self.findings else "incomplete" if self.missing else "holds", self.findings, str(self.missing or ""))


def judge(db, reference, candidate):
    try:
        refuse(db, (reference, candidate))
        return Judge(db, reference, candidate).verdict()
    except Refused as error:
        return Verdict("refused", why=str(error))


if __name__ == "__main__":
    tables = database()
    said = judge(tables, Record(tables, "r", sys.argv[1]), Record(tables, "c", sys.argv[2]))
    print(said.outcome, said.why, *said.findings[:5], sep="\n")
