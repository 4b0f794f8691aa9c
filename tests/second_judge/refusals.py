# SPDX-License-Identifier: BSD-3-Clause
"""What no reader accepts ("Readers refuse" in docs/record-format.md), as queries that must return no row."""

from columns import DTYPES, KEYS, TYPES
from record import Refused

WORDS = {
    "kind": ("gradient", "applied", "parameter", "buffer", "copy", "moment1", "moment2"),
    "dtype": tuple(DTYPES),
    "direction": ("forward", "backward"),
    "side": ("send", "receive", "local", "computed"),
    "flag": ("true", "false"),
}
REAL = r"^(-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|nan|-?inf)$"
FORM = {
    "whole": r"^(-1|\d{1,17})$",
    "count": r"^\d{1,17}$",
    "digest": "^[0-9a-f]{32}$",
    "shape": r"^\d+(x\d+)*$",
    "text": "^[^\\x00-\\x1f]+$",
    **{kind: REAL for kind in ("real", "real32", "time", "size", "size32")},
}
ELEMENTS = "coalesce(list_product(list_transform(string_split(shape, 'x'), lambda n: n::hugeint)), 1)"


def malformed(kind, name):
    """A condition on a cell that is not empty."""
    form = f"{name} not in {WORDS[kind]}" if kind in WORDS else f"not regexp_matches({name}, '{FORM[kind]}')"
    if kind in ("count", "whole"):
        form += f" or {name}::bigint > {2**56}"
    if kind in ("size", "size32"):
        form += f" or {name}::double < 0"
    if kind == "time":
        form += f" or {name}::double < 0 or not isfinite({name}::double)"
    return f"({name} is not null and ({form}))"


def conditions(table):
    for name, kind in TYPES[table].items():
        yield malformed(kind.rstrip("!"), name)
        if kind.endswith("!"):
            yield f"{name} is null"
    if table == "tensors":
        yield f"nonzero::hugeint > {ELEMENTS} or nan::hugeint + inf::hugeint > {ELEMENTS}"
        matrix = "shape similar to '[0-9]+x[0-9]+'"
        yield f"nonzero_rows is not null and (not {matrix} or nonzero_rows::hugeint > string_split(shape, 'x')[1]::hugeint)"
        yield "(isnan(l2::double) or isnan(max_abs::float)) and nan = '0' and inf = '0'"
    if table in ("steps", "microbatches", "evaluation"):
        yield "valid_tokens::bigint > tokens::bigint"
    if table == "steps":
        yield "live_tokens::bigint > tokens::bigint"
    if table == "microbatches":
        yield "tokens::bigint > sequence_length::bigint * batch::bigint"
    if table == "boundaries":
        size = " ".join(f"when '{name}' then {size}" for name, size in DTYPES.items())
        yield f"bytes::hugeint <> {ELEMENTS} * case dtype {size} end"
        yield " or ".join(f"(side = 'computed') <> ({name} is null)" for name in ("from_stage", "to_stage", "peer"))


def refuse(db, records):
    for table in TYPES:
        found = db.execute(f"select run, rank, {KEYS[table]} from {table} group by all having count(*) > 1").fetchall()
        found = found or db.execute(f"select run, rank, line from {table} where {' or '.join(f'({one})' for one in conditions(table))}").fetchall()
        if found:
            raise Refused(f"{table}.csv: {found[:3]}")
    for record in records:
        side, microbatches = record.run, record.manifest["data"]["microbatches"]
        start = ", ".join(map(str, (-1, *record.steps)))
        ranks = {stage["stage"]: stage["rank"] for stage in record.stages}
        held = " or ".join(f"(stage = '{stage}' and rank = {rank})" for stage, rank in ranks.items())
        moments = ", 'moment1', 'moment2'" if record.first_step else ""
        outside = {
            "steps": "step = '-1'" + ("" if record.external else " or seconds is null or live_tokens is null"),
            "microbatches": f"step = '-1' or microbatch::int >= {microbatches}",
            "tensors": f"not ({held}) or step = '-1' and kind not in ('parameter', 'buffer', 'copy'{moments})" + ("" if record.external else " or nonzero_rows is null and shape similar to '[0-9]+x[0-9]+'"),
            "boundaries": f"step = '-1' or microbatch::int >= {microbatches} or from_stage::int >= {len(ranks)} or to_stage::int >= {len(ranks)} or peer::int >= {record.manifest['world_size']}",
            "evaluation": f"step = '-1' or microbatch::int >= {(record.manifest.get('evaluation') or {}).get('microbatches', 0)}",
        }
        for table, condition in outside.items():
            found = db.execute(f"select rank, line from {table} where run = '{side}' and (step::bigint not in ({start}) or {condition})").fetchall()
            if found:
                raise Refused(f"{table}.csv: outside the run: {found[:3]}")
        for table in ("steps", "microbatches"):  # every rank has every row
            rows = len(record.steps) * (microbatches if table == "microbatches" else 1)
            for rank, ended in record.exits.items():
                (got,) = db.execute(f"select count(*) from {table} where run = '{side}' and rank = {rank}").fetchone()
                if got != rows and ended["status"] == "ok":
                    raise Refused(f"rank {rank}: {table}.csv has {got} of {rows} rows")
