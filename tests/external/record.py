# SPDX-License-Identifier: BSD-3-Clause
"""Writes a run record, from docs/record-format.md only, in plain Python: tables as lists of rows, kept until the end."""

import csv
import io
import json
import math
import pathlib
import struct
import uuid

import xxhash

CODES = {"float32": "f", "float64": "d", "int64": "q"}
COLUMNS = {
    "steps": "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,seconds",
    "microbatches": "step,microbatch,sequence_length,batch,tokens,valid_tokens,loss,data_digest",
    "tensors": "step,kind,name,stage,dtype,shape,digest,l2,max_abs,nonzero,nan,inf",
    "boundaries": "step,microbatch,direction,cut,from_stage,to_stage,side,peer,dtype,shape,digest,bytes",
    "actions": "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns",
    "memory": "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,process_peak_bytes",
}


def xxh3(data):
    return xxhash.xxh3_128_hexdigest(data if isinstance(data, bytes) else data.encode())


def bytes_of(tensor):
    if tensor.dtype == "bfloat16":  # the upper halves of float32, to which model.py has rounded
        return b"".join(struct.pack("<f", value)[2:] for value in tensor.values)
    return struct.pack(f"<{len(tensor.values)}{CODES[tensor.dtype]}", *tensor.values)


def shape_text(tensor):
    return "x".join(map(str, tensor.shape))


def digest(tensor):
    return xxh3(f"{tensor.dtype}|{shape_text(tensor)}|".encode() + bytes_of(tensor))


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def text(value):
    """The shortest text that reads back to the same bits; nan, inf and -inf are the same words in Python."""
    return "" if value is None else repr(float(value)) if isinstance(value, float) else str(value)


class Rank:
    def __init__(self, rank):
        self.rank, self.rows = rank, {table: [] for table in COLUMNS}
        self.fed, self.dumps = [], {}
        self.status, self.last_action = "ok", None

    def tensor(self, step, kind, name, stage, tensor):
        finite = [v for v in tensor.values if math.isfinite(v)]
        nan, inf = sum(map(math.isnan, tensor.values)), sum(map(math.isinf, tensor.values))
        strange = math.nan if nan else math.inf if inf else None
        l2 = math.sqrt(sum(v * v for v in finite)) if strange is None else strange
        top = max(map(abs, finite), default=0.0) if strange is None else strange
        nonzero = sum(v != 0 for v in tensor.values)
        said = [tensor.dtype, shape_text(tensor), digest(tensor), text(l2), text(f32(top)), nonzero, nan, inf]
        self.rows["tensors"].append([step, kind, name, stage, *said])
        self.dumps.setdefault("initial" if step < 0 else str(step), {})[f"{kind}/{name}"] = tensor

    def boundary(self, step, microbatch, direction, cut, ends, side, peer, tensor):
        size = len(bytes_of(tensor))
        place = [step, microbatch, direction, cut, *("" if end is None else end for end in ends), side, "" if peer is None else peer]
        self.rows["boundaries"].append([*place, tensor.dtype, shape_text(tensor), digest(tensor), size])
        self.dumps.setdefault(str(step), {})[f"boundary/{direction}/{microbatch}/{cut}/{side}"] = tensor

    def action(self, step, kind, stage, microbatch=None):
        index = sum(row[0] == step for row in self.rows["actions"])
        name = f"{stage}{kind}{'' if microbatch is None else microbatch}"
        start = 1_000_000 * step + 1000 * index + self.rank
        self.rows["actions"].append([step, index, name, stage, "" if microbatch is None else microbatch, start, start + 900, 0])
        self.last_action = name

    def write(self, folder, level, line_end):
        folder = folder / f"rank-{self.rank}"
        folder.mkdir()
        for table, columns in COLUMNS.items():
            if level == "summary" and table in ("tensors", "boundaries"):
                continue
            with open(folder / f"{table}.csv", "w", newline="") as out:
                csv.writer(out, lineterminator=line_end).writerows([columns.split(","), *self.rows[table]])
        if level == "dump":
            (folder / "dumps").mkdir()
            for step, tensors in self.dumps.items():
                (folder / "dumps" / f"step-{step}.safetensors").write_bytes(safetensors(tensors))
        if self.status is not None:
            ended = {"rank": self.rank, "status": self.status, "code": 0 if self.status == "ok" else 1, "last_action": self.last_action}
            ended["data_digest"] = xxh3("".join(self.fed)) if self.fed else None
            (folder / "exit.json").write_text(json.dumps(ended))


def safetensors(tensors):
    names = {"float32": "F32", "float64": "F64", "int64": "I64", "bfloat16": "BF16"}
    header, data = {}, io.BytesIO()
    for name, tensor in tensors.items():
        begin = data.tell()
        data.write(bytes_of(tensor))
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, data.tell()]}
    said = json.dumps(header).encode()
    said += b" " * (-len(said) % 8)
    return struct.pack("<Q", len(said)) + said + data.getvalue()


def write(folder, manifest, ranks, schedule=None, accumulation=None, line_end="\n"):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    manifest = {"schema": "plumbline-record/2", "run_id": str(uuid.uuid4()), "role": "external", **manifest}
    for name, rows, key in (("schedule.csv", schedule, "digest"), ("accumulation.csv", accumulation, "accumulation_digest")):
        if rows is not None:
            lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
            (folder / name).write_text(lines)
            manifest["schedule"][key] = xxh3(lines)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    for rank in ranks:
        rank.write(folder, manifest["level"], line_end)
