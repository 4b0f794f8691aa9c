# SPDX-License-Identifier: BSD-3-Clause
"""Writes the run record of docs/record-format.md: one rank, every cut `computed`."""

import csv
import datetime
import json
import math
import platform
import re
import sys
import time
import uuid

import numpy
import torch
import transformers
from safetensors.torch import save_file

from .digest import digest, dtype_name, hash_hex, shape_text
from .machine import environment, machine
from .run_file import InputError

COLUMNS = {
    "steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,live_tokens,seconds",
    "microbatches": "step,microbatch,sequence_length,batch,tokens,valid_tokens,loss,data_digest",
    "tensors": "step,kind,name,stage,dtype,shape,digest,l2,max_abs,nonzero,nonzero_rows,nan,inf",
    "boundaries": "step,microbatch,direction,cut,from_stage,to_stage,side,peer,dtype,shape,digest,bytes",
    "actions": "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns",
    "evaluation": "step,microbatch,tokens,valid_tokens,loss,data_digest",
    "memory": "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,process_peak_bytes",
}


def number(value):
    """The shortest text that reads back to the same bits; a loss is float32, all else float64."""
    if value is None:
        return ""
    value = value if isinstance(value, numpy.float32) else float(value)
    return str(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(float(value), "nan")


def onednn():
    """The library that multiplies matrices on a CPU: bits of bfloat16 products change with its version."""
    found = re.search(r"(?:MKL-DNN|oneDNN) v(\d+\.\d+\.\d+)", torch.__config__.show())
    return {"onednn": found[1]} if found else {}


class Recorder:
    def __init__(self, folder, run, units, batches):
        self.folder, self.level = folder, run.level
        if self.level not in ("summary", "full", "dump"):
            raise InputError(f"{run.path}: a record of level {self.level!r} is nothing to compare")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: is not empty, so it may hold another run; nothing was overwritten")
        self.rank = folder / "rank-0"
        self.rank.mkdir(parents=True)
        self.origin = time.monotonic_ns()
        schedule = ",".join(f"0F{m},0B{m}" for m in range(len(batches))) + "\n"
        (folder / "schedule.csv").write_text(schedule)
        manifest = self.manifest(run, units, batches, schedule)
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
        self.files, self.writers = {}, {}
        for table, columns in COLUMNS.items():
            if table in ("tensors", "boundaries") and self.level == "summary":
                continue
            if table == "evaluation" and not run.evaluation:
                continue
            self.files[table] = open(self.rank / f"{table}.csv", "w", newline="", encoding="utf-8")
            self.writers[table] = csv.writer(self.files[table], lineterminator="\n")
            self.writers[table].writerow(columns.split(","))
        self.dump, self.rows = {}, []
        self.index = 0
        self.last_action = ""
        self.data_digests = []  # of what was fed, in order

    @staticmethod
    def manifest(run, units, batches, schedule):
        tied = bool(run.config.get("tie_word_embeddings", False))
        evaluation = {"every": run.evaluate_every, "microbatches": len(run.evaluation.rows)} if run.evaluation else None
        return {
            "schema": "plumbline-record/2",
            "run_id": str(uuid.uuid4()),
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
            "versions": {
                "witness": "1",
                "torch": torch.__version__,
                **onednn(),
                "transformers": transformers.__version__,
                "python": platform.python_version(),
            },
            "machine": machine(),
            "environment": environment(),
            "clock_skew_ns": 0,
            "started": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def now(self):
        return time.monotonic_ns() - self.origin

    def action(self, step, name, microbatch, start_ns):
        """One that began at `start_ns` and ends now."""
        row = [step, self.index, name, 0, "" if microbatch is None else microbatch, start_ns, self.now(), 0]
        self.writers["actions"].writerow(row)
        self.index += 1
        self.last_action = name

    def tensor(self, step, kind, name, tensor):
        if self.level == "summary":
            return
        wide = tensor.detach().double()
        is_nan = wide.isnan()
        nonzero = wide != 0  # NaN counts as not zero
        nonzero_rows = int(nonzero.any(dim=1).sum()) if tensor.dim() == 2 else ""
        row = [step, kind, name, 0, dtype_name(tensor), shape_text(tensor.shape), digest(tensor)]
        largest = numpy.float32(wide.abs().max().item()) if tensor.numel() else numpy.float32(0)
        row += [number(wide.pow(2).sum().sqrt().item()), number(largest)]
        row += [int(nonzero.sum()), nonzero_rows, int(is_nan.sum()), int(wide.isinf().sum())]
        self.writers["tensors"].writerow(row)
        self.keep(f"{kind}/{name}", tensor)

    def boundary(self, step, microbatch, direction, cut, tensor):
        if self.level == "summary":
            return
        size = tensor.numel() * tensor.element_size()
        row = [step, microbatch, direction, cut, "", "", "computed", "", dtype_name(tensor), shape_text(tensor.shape)]
        self.writers["boundaries"].writerow([*row, digest(tensor), size])
        self.keep(f"boundary/{direction}/{microbatch}/{cut}/computed", tensor)

    def keep(self, key, tensor):
        if self.level == "dump":
            self.dump[key] = tensor.detach().clone().contiguous()

    def microbatch(self, step, index, microbatch, loss):
        rows, longest = microbatch.ids.shape
        row = [step, index, longest, rows, microbatch.tokens, microbatch.valid_tokens, number(loss)]
        self.writers["microbatches"].writerow([*row, microbatch.data_digest])
        self.data_digests.append(microbatch.data_digest)

    def evaluation(self, row):
        self.writers["evaluation"].writerow(row)

    def end_step(self, step, row=None):
        """`row`: of steps.csv, which is written after all others; none for the start."""
        if self.level == "dump":
            name = "initial" if step < 0 else str(step)
            (self.rank / "dumps").mkdir(exist_ok=True)
            save_file(self.dump, self.rank / "dumps" / f"step-{name}.safetensors")
            self.dump = {}
        if row is not None:
            self.writers["memory"].writerow([step] + [""] * 7)
            for table, file in self.files.items():
                if table != "steps":
                    file.flush()
            self.writers["steps"].writerow([step, *row])
        self.files["steps"].flush()
        self.index = 0

    def finish(self, status="ok", code=0):
        for file in self.files.values():
            file.close()
        ended = {"rank": 0, "status": status, "code": code, "signal": None, "last_action": self.last_action}
        ended["data_digest"] = hash_hex("".join(self.data_digests))
        (self.rank / "exit.json").write_text(json.dumps(ended) + "\n")
