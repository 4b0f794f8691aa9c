# SPDX-License-Identifier: BSD-3-Clause
"""What is compared: the tables' columns with their types, and one row for each comparison of docs/checks.md."""

from dataclasses import dataclass

# For each table: column, type and, with "!", that every row must have it. real32 is compared as a float, real as a double.
TABLES = {
    "steps": "step:whole! loss:real32 gradient_norm:real clip_coefficient:real learning_rate:real updated:flag tokens:count! valid_tokens:count! live_tokens:count seconds:time recording_seconds:time",
    "microbatches": "step:whole! microbatch:count! sequence_length:count! batch:count! tokens:count! valid_tokens:count! loss:real32 data_digest:digest",
    "tensors": "step:whole! kind:kind! name:text! stage:count! dtype:dtype! shape:shape digest:digest! l2:size! max_abs:size32! nonzero:count! nonzero_rows:count nan:count! inf:count! learning_rate:real",
    "boundaries": "step:whole! microbatch:count! direction:direction! cut:text! from_stage:count to_stage:count side:side! peer:count dtype:dtype! shape:shape digest:digest! bytes:count!",
    "evaluation": "step:whole! microbatch:count tokens:count! valid_tokens:count! loss:real32! data_digest:digest",
}
TYPES = {table: {name: kind for name, kind in (column.split(":") for column in text.split())} for table, text in TABLES.items()}
KEYS = {"steps": "step", "microbatches": "step, microbatch", "tensors": "step, kind, name, stage", "boundaries": "step, microbatch, direction, cut, from_stage, to_stage, side", "evaluation": "step, microbatch"}
DTYPES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2, "int64": 8}


@dataclass
class Column:
    claim: str
    excuses: str  # entries of not_recorded that excuse an absent row
    table: str
    rows: str  # which rows
    key: str  # identifies a row within its step
    value: str  # columns that must be equal and that both records must have
    phase: int  # in execution order, see below
    partly: bool = False  # other columns belong to the claim too


DATA, FORWARD, LOSS, BACKWARD, GRADIENTS, NORM, RATE, APPLIED, UPDATE, EVALUATION = range(10)
TENSOR = "dtype shape digest max_abs nonzero nan inf nonzero_rows"
COLUMNS = [
    Column("data", "", "microbatches", "true", "microbatch", "sequence_length batch tokens valid_tokens", DATA, True),
    Column("data", "inputs labels", "microbatches", "data_digest is not null", "microbatch", "data_digest", DATA),
    Column("data", "", "steps", "true", "''", "tokens valid_tokens live_tokens", DATA, True),
    Column("boundaries", "boundaries", "boundaries", "direction = 'forward'", "direction || ' ' || microbatch || ' ' || cut", "dtype shape digest", FORWARD),
    Column("loss", "losses", "microbatches", "loss is not null", "microbatch", "loss", LOSS),
    Column("boundaries", "boundaries", "boundaries", "direction = 'backward'", "direction || ' ' || microbatch || ' ' || cut", "dtype shape digest", BACKWARD),
    Column("loss", "losses", "steps", "loss is not null", "'loss'", "loss", LOSS),
    Column("gradients", "gradients", "tensors", "kind = 'gradient'", "kind || ' ' || name", TENSOR, GRADIENTS),
    Column("gradient_norm", "norm", "steps", "gradient_norm is not null", "'gradient_norm'", "gradient_norm", NORM),
    Column("gradient_norm", "norm", "steps", "clip_coefficient is not null", "'clip_coefficient'", "clip_coefficient", NORM),
    Column("applied", "applied", "tensors", "kind = 'applied'", "kind || ' ' || name", TENSOR, APPLIED),
    Column("parameters", "", "steps", "true", "'update'", "updated", APPLIED, True),
    Column("parameters", "rates", "steps", "learning_rate is not null", "'learning_rate'", "learning_rate", RATE),
    Column("parameters", "parameters", "tensors", "kind in ('parameter', 'copy')", "kind || ' ' || name", TENSOR, UPDATE),
    Column("parameters", "moments", "tensors", "kind in ('moment1', 'moment2')", "kind || ' ' || name", TENSOR, UPDATE),
    Column("buffers", "buffers", "tensors", "kind = 'buffer'", "kind || ' ' || name", TENSOR, UPDATE),
    Column("evaluation", "", "evaluation", "true", "coalesce(microbatch, '')", "tokens valid_tokens loss data_digest", EVALUATION),
]
REQUIRED = ("data", "loss", "gradients", "parameters", "buffers")
