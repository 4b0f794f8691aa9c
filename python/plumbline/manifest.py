# SPDX-License-Identifier: BSD-3-Clause
"""The data that ranks exchange before the first step, and the manifest that rank 0 writes from it."""

from __future__ import annotations

import contextlib
import json
import pathlib
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

from . import machine, training
from .counts import shifted
from .digests import NAME as XXH3
from .digests import hash_hex
from .elements import INFINITY, dtype_name
from .not_recorded import merged
from .stages import tied_in

if TYPE_CHECKING:
    from .settings import Settings


@dataclass
class RankSummary:
    """One rank's contribution to the manifest."""

    settings: tuple[int, int, int, str, str]
    stages: list[tuple[int, list[str]]]  # number, units
    frozen: list[str]
    tied: list[list[str]]
    optimizer: dict[str, Any] | None
    names_of_tied: list[str] = field(default_factory=list)  # of the parameters that the trainer gave as tied, those that the rank holds
    names_stripped: list[str] = field(default_factory=list)
    not_recorded: list[dict[str, Any]] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)
    has_copies: bool = False  # Stage.has_copy of any parameter
    unused: list[str] = field(default_factory=list)  # patterns of Record(only=) that are of nothing on the rank


def summary_of(record: Settings) -> RankSummary:
    named = [pair for stage in record.stages for pair in stage.parameters]
    units = [unit for stage in record.stages for unit in stage.units]
    buffers = record._not_recorded.attempt("buffers", lambda: [row[1] for stage in record.stages for row in stage.buffer_rows()])
    return RankSummary(
        (record.run_steps, record.every, record.microbatches, record.level, record.digest),
        [(stage.number, stage.units) for stage in record.stages],
        [name for name, parameter in named if not getattr(parameter, "requires_grad", True)],
        tied_in(named),
        training.optimizer_of_all(record._optimizers or record._optimizer_dicts),
        [name for name, _ in named if any(name in group for group in record._tied)],
        sorted(record.names_stripped),
        record._chosen.left_out(units, [name for name, _ in named], buffers or []) + record._not_recorded.entries,
        record.parts.manifest(),
        any(stage.has_copy(parameter) for stage in record.stages for _, parameter in stage.parameters),
        record._chosen.unused([*units, *(name for name, _ in named)]),
    )


def places_of(ranks: list[RankSummary]) -> list[tuple[int, int, list[str]]]:
    """(number, rank, units) of all stages in order. Raises ValueError if ranks disagree, or a stage is missing or occurs twice."""
    for rank, one in enumerate(ranks):
        if one.settings != ranks[0].settings:
            raise ValueError(f"rank {rank} records (steps, every, microbatches, level, digest) {one.settings}, rank 0 {ranks[0].settings}")
    places = sorted((number, rank, units) for rank, one in enumerate(ranks) for number, units in one.stages)
    numbers = [number for number, _, _ in places]
    if numbers != list(range(len(numbers))):
        raise ValueError(f"the ranks' stages are {numbers}; each number from 0 on must occur once")
    return places


def tied_nowhere(given: list[list[str]], ranks: list[RankSummary]) -> list[str]:
    """The names among the groups that the trainer gave that are a parameter of no rank."""
    known = {name for one in ranks for name in one.names_of_tied}
    return [name for group in given for name in group if name not in known]


def make_folder(folder: pathlib.Path) -> None:
    """Raises FileExistsError if the folder is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: is not empty, so it may hold another run; nothing was overwritten")
    folder.mkdir(parents=True, exist_ok=True)


def write(record: Settings, ranks: list[RankSummary], more: dict[str, Any] | None = None) -> None:
    """`more`: additional or replaced keys. Called again when the first step has shown how often a step calls the pipeline; run_id, started
    and frozen are then kept."""
    folder, path = record.folder, record.folder / "manifest.json"
    schedule = None
    if record.schedule_rows is not None:
        starts = range(0, record.microbatches, record.microbatches_of_a_call)
        rows = [[shifted(action, start) for start in starts for action in row] for row in record.schedule_rows]
        schedule = "".join(",".join(row) + "\n" for row in rows)
        (folder / "schedule.csv").write_text(schedule)
    accumulation = None
    if record.accumulation == "listed":
        accumulation = "unit,microbatch\n" + "".join(f"{unit},{m}\n" for unit, m in record.accumulation_rows)
        (folder / "accumulation.csv").write_text(accumulation)
    manifest = _manifest(record, ranks, schedule, accumulation) | (more or {})
    if not path.exists():
        _replace(path, manifest)
        return
    with _alone(folder):
        earlier = json.loads(path.read_text())
        _replace(path, manifest | {key: earlier[key] for key in ("run_id", "started", "frozen")})


LOCK_ATTEMPTS = 1000  # 10 s, after which the manifest is written without the lock: writing the file takes much less


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Excludes other ranks that change the manifest, by a lock on a file that rank 0 has made."""
    with open(folder / "rank-0" / "progress", "r+b") as shared:
        with contextlib.suppress(ImportError, OSError):  # not every system and file system has locks
            import fcntl

            for _ in range(LOCK_ATTEMPTS):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.01)
        yield


def _replace(path: pathlib.Path, manifest: dict[str, Any]) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(manifest, indent=2) + "\n")
    part.rename(path)


def unfreeze(folder: pathlib.Path, names: set[str]) -> None:
    """Removes parameters of any rank from `frozen`. Several ranks may do so at once."""
    path = folder / "manifest.json"
    with _alone(folder):
        manifest = json.loads(path.read_text())
        _replace(path, manifest | {"frozen": [name for name in manifest["frozen"] if name not in names]})


def _manifest(
    record: Settings, ranks: list[RankSummary], schedule: str | None, accumulation: str | None
) -> dict[str, Any]:
    recorded = [(stage, parameter) for stage in record.stages for _, parameter in stage.parameters]
    first = recorded[0][0].master(recorded[0][1]) if recorded else None
    dtypes = (dtype_name(stage.master(parameter)) for stage, parameter in recorded)  # frozen weights may be quantised
    dtype = "mixed" if any(one.has_copies for one in ranks) else next((one for one in dtypes if one in INFINITY), "float32")
    stripped = sorted({name for one in ranks for name in one.names_stripped})
    started = training.new_run()
    parts = {name: part for one in ranks for name, part in one.parts.items()}
    not_recorded = merged(one.not_recorded for one in ranks)
    return {
        "schema": "plumbline-record/2",
        "run_id": started["run_id"],
        "role": "external",
        "command": list(sys.argv),
        "model": record._model,
        "seed": record.seed,
        "dtype": dtype,
        "device": record.device or str(getattr(first, "device", "cpu")),
        "world_size": record.world_size,
        "steps": record.steps,
        "data": {"source": record.data_source, "microbatches": record.microbatches},
        "schedule": {
            "name": "by hand" if record.schedule_name == "sequential" and record.world_size > 1 else record.schedule_name,
            "chunks_per_rank": max([record.chunks_per_rank, *(len(one.stages) for one in ranks)]),
            "microbatches": record.microbatches,
            "digest": None if schedule is None else hash_hex(schedule),
            "accumulation": record.accumulation,
            "accumulation_digest": None if accumulation is None else hash_hex(accumulation),
        },
        "stages": [{"stage": number, "rank": rank, "units": units} for number, rank, units in places_of(ranks)],
        "tied": _tied(record._tied, ranks),
        "frozen": [name for one in ranks for name in one.frozen],
        "loss_scaling": record.loss_scaling,
        "optimizer": training.together([one.optimizer for one in ranks]) or {"name": "none", "learning_rate": 0.0},
        "clip_norm": record.clip_norm,
        **({"norms_from": record._norms_from} if record._norms_from else {}),
        "norm_order": record.norm_order if record.clip_norm is not None else "canonical",
        "clip_epsilon": record.clip_epsilon if record.clip_norm is not None else 0,
        "level": record.level,
        **({"every": record.every} if record.every > 1 else {}),
        **({"digest": record.digest} if record.digest != XXH3 else {}),
        **({"mesh": record._mesh | ({"parts": parts} if parts else {})} if record._mesh else {}),
        **({"not_recorded": not_recorded} if not_recorded else {}),
        **({"names_stripped": stripped} if stripped else {}),
        "machine": machine.machine(),
        "environment": machine.environment(),
        "versions": training.versions(),
        "started": started["started"],
    }


def _tied(given: list[list[str]], ranks: list[RankSummary]) -> list[list[str]]:
    """The groups that the trainer gave, and others that ranks found, each name in one group.

    >>> rank = RankSummary((1, 1, 1, "full", "xxh3-128"), [], [], [["a", "b"], ["c", "d"]], None)
    >>> _tied([["b", "e"]], [rank, rank])
    [['b', 'e', 'a'], ['c', 'd']]
    """
    groups: list[list[str]] = []
    for found in given + [group for one in ranks for group in one.tied]:
        group = next((known for known in groups if set(known) & set(found)), [])
        groups += [] if group else [group]
        group += [name for name in found if name not in group]
    return groups
