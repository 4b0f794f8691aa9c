# SPDX-License-Identifier: BSD-3-Clause
"""Writes the run record with the package plumbline: one rank, every stage boundary `computed`."""

import contextlib
import re
import sys

import torch
import transformers
from plumbline import machine, manifest, training
from plumbline.ending import Ending, place_of
from plumbline.not_recorded import NotRecorded
from plumbline.rows import COLUMNS, Rows
from plumbline.settings import Settings
from plumbline.stages import Stage

from .run_file import InputError

EVALUATION = {"evaluation": "step,microbatch,tokens,valid_tokens,loss,data_digest"}
STEPS = {"steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,live_tokens,seconds"}


class Recorder:
    def __init__(self, folder, run, units, batches):
        if run.level not in ("summary", "full", "dump"):
            raise InputError(f"{run.path}: a record of level {run.level!r} cannot be compared")
        try:
            manifest.make_folder(folder)
        except FileExistsError as error:
            raise InputError(str(error)) from None
        write_manifest(folder, run, units, batches)
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
        """`step` -1: the start."""
        if step >= 0:
            self.rows.add("memory", step, *[""] * 7)
        self.rows.end_step("initial" if step < 0 else str(step))
        self.ending.steps, self.index = step + 1, 0

    def finish(self, error=None):
        self.ending.write(*(("ok", 0, None) if error is None else ("error", 1, place_of(error))))


def write_manifest(folder, run, units, batches):
    tied = [["lm_head.weight", "model.embed_tokens.weight"]] if run.config.get("tie_word_embeddings", False) else []
    form = "fused" if run.optimizer["name"] == "adamw" else "single_tensor"
    settings = Settings(
        folder, model=run.config, steps=run.steps, microbatches=len(batches), optimizer=run.optimizer | {"implementation": form}, seed=run.seed,
        clip_norm=run.clip_norm, norm_order="canonical", clip_epsilon=0, level=run.level, tied=tied, data_source=", ".join(map(str, run.data.sources)),
    )  # fmt: skip
    settings.schedule_rows = [[f"0{kind}{m}" for m in range(len(batches)) for kind in "FB"]]
    settings.stages.append(Stage(0, units, []))
    evaluation = {"every": run.evaluate_every, "microbatches": len(run.evaluation.rows)} if run.evaluation else None
    mkl = re.search(r"^\s*- (Intel\(R\).*Math Kernel Library.*)$", torch.__config__.show(), re.MULTILINE)
    more = {
        "command": ["plumbline-witness", *sys.argv[1:]],
        "dtype": run.dtype,
        "threads": run.threads,
        "recompute": run.recompute,
        **({"evaluation": evaluation} if evaluation else {}),
        "boundary_gradient_factor": 1,
        "learning_rate_schedule": {
            "warmup_steps": run.warmup_steps,
            "start_factor": run.start_factor,
            "final_factor": run.final_factor,
            "total_steps": run.steps,
            **({"curve": run.curve} if run.curve != "cosine" else {}),
            **({"decay_steps": run.decay_steps} if run.curve == "wsd" else {}),
        },
        "versions": {"witness": "1", **training.versions(), "transformers": transformers.__version__},
        "machine": machine.machine() | {"mkl_version": mkl[1] if mkl else "MKL not found"},
        "clock_skew_ns": 0,
    }
    manifest.write(settings, [manifest.summary_of(settings)], more)
