# SPDX-License-Identifier: BSD-3-Clause
"""The run record of docs/record-format.md: one rank, every stage boundary `computed`. The package plumbline writes it."""

import contextlib
import json
import re
import sys

import torch
import transformers
from plumbline import machine, training
from plumbline.digests import hash_hex
from plumbline.ending import Ending, place_of
from plumbline.not_recorded import NotRecorded
from plumbline.manifest import make_folder
from plumbline.rows import COLUMNS, Rows

from .run_file import InputError

EVALUATION = {"evaluation": "step,microbatch,tokens,valid_tokens,loss,data_digest"}
STEPS = {"steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,live_tokens,seconds"}


class Recorder:
    def __init__(self, folder, run, units, batches):
        if run.level not in ("summary", "full", "dump"):
            raise InputError(f"{run.path}: a record of level {run.level!r} is nothing to compare")
        try:
            make_folder(folder)
        except FileExistsError as error:
            raise InputError(str(error)) from None
        schedule = ",".join(f"0F{m},0B{m}" for m in range(len(batches))) + "\n"
        (folder / "schedule.csv").write_text(schedule)
        (folder / "manifest.json").write_text(json.dumps(manifest(run, units, batches, schedule), indent=2) + "\n")
        columns = {table: names for table, names in COLUMNS.items() if table != "steps"}
        self.rows = Rows(folder / "rank-0", run.level, columns | (EVALUATION if run.evaluation else {}) | STEPS)
        self.ending = Ending(0, self.rows, NotRecorded(), run.steps)
        self.index = 0

    @contextlib.contextmanager
    def action(self, step, kind, microbatch=None):
        row = self.rows.begin_action(step, self.index, f"0{kind}{'' if microbatch is None else microbatch}", 0, microbatch)
        self.index += 1
        yield
        self.rows.end_action(row)

    def tensor(self, step, kind, name, tensor):
        self.rows.tensor(step, kind, name, 0, tensor)

    def boundary(self, step, microbatch, direction, cut, tensor):
        self.rows.boundary(step, microbatch, direction, cut, None, None, "computed", None, tensor)

    def microbatch(self, step, index, microbatch, loss):
        rows, longest = microbatch.ids.shape
        self.rows.add("microbatches", step, index, longest, rows, microbatch.tokens, microbatch.valid_tokens, loss, microbatch.data_digest)
        self.ending.data_digests.append(microbatch.data_digest)

    def end_step(self, step):
        """-1 is the start."""
        if step >= 0:
            self.rows.add("memory", step, *[""] * 7)
        self.rows.end_step("initial" if step < 0 else str(step))
        self.ending.steps, self.index = step + 1, 0

    def finish(self, error=None):
        self.ending.write(*(("ok", 0, None) if error is None else ("error", 1, place_of(error))))


def manifest(run, units, batches, schedule):
    tied = bool(run.config.get("tie_word_embeddings", False))
    evaluation = {"every": run.evaluate_every, "microbatches": len(run.evaluation.rows)} if run.evaluation else None
    mkl = re.search(r"^\s*- (Intel\(R\).*Math Kernel Library.*)$", torch.__config__.show(), re.MULTILINE)
    return {
        "schema": "plumbline-record/2",
        **training.new_run(),
        "role": "external",
        "command": ["plumbline-witness", *sys.argv[1:]],
        "model": run.config,
        "seed": run.seed,
        "dtype": run.dtype,
        "device": "cpu",
        "threads": run.threads,
        "recompute": run.recompute,
        **({"evaluation": evaluation} if evaluation else {}),
        "world_size": 1,
        "steps": run.steps,
        "data": {"source": ", ".join(map(str, run.data.sources)), "microbatches": len(batches)},
        "schedule": {
            "name": "sequential",
            "chunks_per_rank": 1,
            "microbatches": len(batches),
            "digest": hash_hex(schedule),
            "accumulation": "ascending",
            "accumulation_digest": None,
        },
        "stages": [{"stage": 0, "rank": 0, "units": units}],
        "tied": [["lm_head.weight", "model.embed_tokens.weight"]] if tied else [],
        "frozen": [],
        "loss_scaling": "before",
        "boundary_gradient_factor": 1,
        "optimizer": run.optimizer | {"implementation": "fused" if run.optimizer["name"] == "adamw" else "single_tensor"},
        "learning_rate_schedule": {
            "warmup_steps": run.warmup_steps,
            "start_factor": run.start_factor,
            "final_factor": run.final_factor,
            "total_steps": run.steps,
        },
        "clip_norm": run.clip_norm,
        "level": run.level,
        "versions": {"witness": "1", **training.versions(), "transformers": transformers.__version__},
        "machine": machine.machine() | {"mkl_version": mkl[1] if mkl else "MKL not found"},
        "environment": machine.environment(),
        "clock_skew_ns": 0,
    }
