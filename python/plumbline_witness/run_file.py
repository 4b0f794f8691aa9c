# SPDX-License-Identifier: BSD-3-Clause
"""Reads the part of a run file that one process needs. An unknown key is an error."""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path


class InputError(Exception):
    """Bad input: one line on stderr, exit code 2."""


TABLES = {
    "model": {"config", "weights"},
    "data": {"text", "tokens", "validation", "token_type", "seed", "shuffle", "lengths", "batch", "microbatches", "masked", "ignore", "validation_ignore"},
    "train": {
        "steps", "seed", "precision", "dtype", "optimizer", "learning_rate", "beta1", "beta2", "eps", "weight_decay", "momentum",
        "warmup_steps", "start_factor", "final_factor", "curve", "decay_steps", "clip_norm", "recompute", "threads", "decay",
    },
    "evaluate": {"every", "microbatches"},
    "record": {"level"},
}  # fmt: skip


@dataclass
class Data:
    sources: list  # a text, a folder of texts, or names and patterns of files of ids
    is_text: bool
    token_type: str | None
    shuffle: str
    seed: int
    rows: list  # of each microbatch, the lengths of its rows
    masked: set = field(default_factory=set)
    ignore: list = field(default_factory=list)  # files with a byte for each token


@dataclass
class Run:
    path: Path
    config: dict
    weights: Path | None
    data: Data
    steps: int
    seed: int
    dtype: str
    optimizer: dict  # as in the manifest
    warmup_steps: int
    start_factor: float
    final_factor: float
    curve: str
    decay_steps: int
    recompute: str
    threads: int
    evaluation: Data | None
    evaluate_every: int
    clip_norm: float | None
    level: str


def refuse(path, what):
    raise InputError(f"{path}: {what}")


def read_data(path, table):
    """`table`: [data] of the run file at `path`."""
    if ("text" in table) == ("tokens" in table):
        refuse(path, "[data] must name either text or tokens")
    for key, known in (("token_type", ("uint16", "uint32")), ("shuffle", ("none", "windows"))):
        if table.get(key, known[0]) not in known:
            refuse(path, f"data.{key} {table[key]!r} is unknown here")
    batch = table.get("batch", 1)
    given = []
    for entry in table["lengths"]:
        entry = [entry] if isinstance(entry, int) else list(entry)
        given.append(entry * batch if len(entry) == 1 else entry)
        if len(given[-1]) != batch or min(given[-1]) < 1:
            refuse(path, f"data.lengths: {entry} must give {batch} rows of at least one token")
    count = table.get("microbatches", len(given))
    masked = set(table.get("masked", []))
    if count < len(given) or not masked < set(range(count)):
        refuse(path, "data.microbatches or data.masked does not fit data.lengths")
    paths = lambda named: [path.parent / each for each in ([named] if isinstance(named, str) else named)]
    return Data(
        sources=paths(table.get("text", table.get("tokens"))),
        is_text="text" in table,
        token_type=table.get("token_type"),
        shuffle=table.get("shuffle", "none"),
        seed=table.get("seed", 1),
        rows=[given[m % len(given)] for m in range(count)],
        masked=masked,
        ignore=paths(table.get("ignore", [])),
    )


def read_optimizer(path, train):
    name = train.get("optimizer", "adamw")
    defaults = {
        "adamw": {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0},
        "sgd": {"learning_rate": 1e-3, "momentum": 0.0, "weight_decay": 0.0},
    }
    if name not in defaults:
        refuse(path, f"train.optimizer {name!r} is unknown; known are adamw and sgd")
    decay = train.get("decay", "all")
    if decay not in ("all", "matrices"):
        refuse(path, f"train.decay {decay!r} is unknown; known are all and matrices")
    return {"name": name, **{key: float(train.get(key, value)) for key, value in defaults[name].items()}, "decay": decay}


def read_evaluation(path, run):
    """docs/data.md, "Evaluation": step 0 of a run with the validation data, neither shuffled nor masked."""
    if "validation" not in run["data"]:
        if "evaluate" in run:
            refuse(path, "[evaluate] needs data.validation")
        return None
    table = {key: value for key, value in run["data"].items() if key not in ("validation", "shuffle", "masked", "ignore")}
    table["text" if "text" in table else "tokens"] = run["data"]["validation"]
    table["ignore"] = table.get("validation_ignore", [])
    data = read_data(path, table)
    count = run.get("evaluate", {}).get("microbatches", len(data.rows))
    data.rows = [data.rows[m % len(data.rows)] for m in range(count)]
    return data


def read_run(path):
    path = Path(path)
    try:
        with open(path, "rb") as file:
            run = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        refuse(path, error)
    run.pop("pipeline", None)  # one process has no stages
    for name, table in run.items():
        unknown = sorted(set(table) - TABLES[name]) if name in TABLES else [name]
        if unknown:
            refuse(path, f"the key {unknown[0]!r} of {name!r} is unknown")
    model, train = run["model"], run["train"]
    dtype = train.get("precision", train.get("dtype", "float32"))
    if {"precision", "dtype"} <= set(train):
        refuse(path, "train.precision and train.dtype, its older name, are both given")
    recompute = train.get("recompute", "none")
    if recompute not in ("none", "layer"):
        refuse(path, f"train.recompute {recompute!r} is unknown here; known are none and layer")
    config_path = path.parent / model["config"]
    try:
        config = json.loads(config_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        refuse(config_path, error)
    return Run(
        path=path,
        config=config,
        weights=path.parent / model["weights"] if "weights" in model else None,
        data=read_data(path, run["data"]),
        steps=train["steps"],
        seed=train.get("seed", 1),
        dtype=dtype,
        optimizer=read_optimizer(path, train),
        warmup_steps=train.get("warmup_steps", 0),
        start_factor=float(train.get("start_factor", 1.0)),
        final_factor=float(train.get("final_factor", 0.0)),
        curve=train.get("curve", "cosine"),
        decay_steps=train.get("decay_steps", 0),
        recompute=recompute,
        threads=train.get("threads", 1),
        evaluation=read_evaluation(path, run),
        evaluate_every=run.get("evaluate", {}).get("every", 0),
        clip_norm=float(train["clip_norm"]) if "clip_norm" in train else None,
        level=run.get("record", {}).get("level", "full"),
    )
