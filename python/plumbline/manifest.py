"""What all ranks tell each other before the first step, and the manifest that rank 0 writes of it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import lacks, training
from .digests import dtype_name, hash_hex

if TYPE_CHECKING:
    from .record import Record


@dataclass
class Told:
    """What one rank tells of itself."""

    settings: tuple[int, int, int, str]
    stages: list[tuple[int, list[str]]]  # number, units
    frozen: list[str]
    tied: list[list[str]]
    optimizer: dict[str, Any]
    not_recorded: list[dict[str, str]] = field(default_factory=list)


def told_by(record: Record) -> Told:
    named = _named(record)
    return Told(
        (record.run_steps, record.every, record.microbatches, record.level),
        [(stage.number, stage.units) for stage in record.stages],
        [name for name, parameter in named if not getattr(parameter, "requires_grad", True)],
        tied_in(named),
        training.optimizer_of_all(record._optimizers or [record._optimizer]),
        record._lacks.entries,
    )


def places_of(everyone: list[Told]) -> list[tuple[int, int, list[str]]]:
    """Of all stages in their order: number, rank, units."""
    for rank, told in enumerate(everyone):
        if told.settings != everyone[0].settings:
            raise ValueError(f"rank {rank} records (steps, every, microbatches, level) {told.settings}, rank 0 {everyone[0].settings}")
    places = sorted((number, rank, units) for rank, told in enumerate(everyone) for number, units in told.stages)
    numbers = [number for number, _, _ in places]
    if numbers != list(range(len(numbers))):
        raise ValueError(f"the ranks' stages together are {numbers}, not each number from 0 once")
    return places


def make_folder(record: Record, everyone: list[Told], places: list[tuple[int, int, list[str]]]) -> None:
    folder = record.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder}: is not empty, so it may hold another run; nothing was overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    schedule = None
    if record.schedule_rows is not None:
        schedule = "".join(",".join(row) + "\n" for row in record.schedule_rows)
        (folder / "schedule.csv").write_text(schedule)
    accumulation = None
    if record.accumulation == "listed":
        accumulation = "unit,microbatch\n" + "".join(f"{unit},{m}\n" for unit, m in record.accumulation_rows)
        (folder / "accumulation.csv").write_text(accumulation)
    text = json.dumps(_manifest(record, everyone, places, schedule, accumulation), indent=2) + "\n"
    beside = folder / "manifest.json.part"
    beside.write_text(text)
    beside.rename(folder / "manifest.json")


def _manifest(
    record: Record, everyone: list[Told], places: list[tuple[int, int, list[str]]], schedule: str | None, accumulation: str | None
) -> dict[str, Any]:
    first = next((parameter for _, parameter in _named(record)), None)
    started = training.new_run()
    not_recorded = lacks.merged(told.not_recorded for told in everyone)
    return {
        "schema": "plumbline-record/2",
        "run_id": started["run_id"],
        "role": "external",
        "command": list(sys.argv),
        "model": record._model,
        "seed": record.seed,
        "dtype": "float32" if first is None else dtype_name(first),
        "device": record.device or str(getattr(first, "device", "cpu")),
        "world_size": record.world_size,
        "steps": record.steps,
        "data": {"source": record.data_source, "microbatches": record.microbatches},
        "schedule": {
            "name": "by hand" if record.schedule_name == "sequential" and record.world_size > 1 else record.schedule_name,
            "chunks_per_rank": record.chunks_per_rank,
            "microbatches": record.microbatches,
            "digest": None if schedule is None else hash_hex(schedule),
            "accumulation": record.accumulation,
            "accumulation_digest": None if accumulation is None else hash_hex(accumulation),
        },
        "stages": [{"stage": number, "rank": rank, "units": units} for number, rank, units in places],
        "tied": _tied(record._tied, everyone),
        "frozen": [name for told in everyone for name in told.frozen],
        "loss_scaling": record.loss_scaling,
        "optimizer": _optimizer(everyone),
        "clip_norm": record.clip_norm,
        "norm_order": record.norm_order if record.clip_norm is not None else "canonical",
        "clip_epsilon": record.clip_epsilon if record.clip_norm is not None else 0,
        "level": record.level,
        **({"every": record.every} if record.every > 1 else {}),
        **({"mesh": record._mesh} if record._mesh else {}),
        **({"not_recorded": not_recorded} if not_recorded else {}),
        "versions": training.versions(),
        "started": started["started"],
    }


def _optimizer(everyone: list[Told]) -> dict[str, Any]:
    """Rank 0's; groups with numbers of their own may be another rank's alone."""
    groups = max(int(told.optimizer.get("groups", 0)) for told in everyone)
    return everyone[0].optimizer | ({"groups": groups} if groups else {})


def _tied(given: list[list[str]], everyone: list[Told]) -> list[list[str]]:
    """What the trainer said, and what ranks found beside it."""
    return given + [group for told in everyone for group in told.tied if not any(set(group) <= set(names) for names in given)]


def _named(record: Record) -> list[tuple[str, Any]]:
    return [pair for stage in record.stages for pair in stage.parameters]


def tied_in(named: list[tuple[str, Any]]) -> list[list[str]]:
    """Names of one parameter."""
    names: dict[int, list[str]] = {}
    for name, parameter in named:
        names.setdefault(id(parameter), []).append(name)
    return [group for group in names.values() if len(group) > 1]
