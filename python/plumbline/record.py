"""The record of one rank: what a trainer tells of itself, written as docs/record-format.md says."""

from __future__ import annotations

import atexit
import functools
import json
import math
import pathlib
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Sequence

import numpy

from . import clipping, data, meshes, training
from .digests import digest, dtype_name, hash_hex, number_text, shape_text, size_in_bytes, statistics
from .dumps import write_dump
from .progress import ProgressPage
from .tables import Tables

LEVELS = ("summary", "full", "dump")


@dataclass
class Stage:
    """A part of the model that this rank holds."""

    number: int
    units: list[str]
    parameters: list[tuple[str, Any]]  # by the names that the whole model gives them


@dataclass
class StepInHand:
    number: int
    began: float
    microbatches: list[data.Microbatch]
    losses: dict[int, Any] = field(default_factory=dict)
    gradients_taken: bool = False
    norm: float | None = None
    coefficient: float | None = None
    learning_rate: float | None = None
    index: int = 0  # of the next action
    fed: dict[int, list[Any]] = field(default_factory=dict)


def _within_a_recorded_step(tell: Callable[..., None]) -> Callable[..., None]:
    """What is told in a step that is passed over is not looked at."""

    @functools.wraps(tell)
    def told(self: Record, *args: Any, **kwargs: Any) -> None:
        if not self._passed_over:
            tell(self, *args, **kwargs)

    return told


class Record:
    """
    folder          made by rank 0; one that holds anything is refused
    model           the model's configuration: a dict, or an object of such values
    steps, microbatches
                    of the run, and of each step
    optimizer       of torch.optim, several of them, or the manifest's dict
    clip_norm       limit of the global gradient norm; None: nothing is clipped
    norm_order      "per_rank": squares are summed on each rank and then over ranks, as nearly every trainer does.
                    "canonical": the norm has the same bits however many ranks there are
    clip_epsilon    what is added to the norm before the limit is divided by it; torch adds 1e-6
    loss_scaling    "before" the backward pass, or "after" it (torch's schedules with scale_grads)
    tied            groups of parameter names that are one weight; those of one rank are found
    level           "full"; "summary" without tensors, "dump" with the tensors themselves
    every           record the first of so many steps only: step i of the record is then step i * every of the run, and what lies
                    between costs nothing. The record that it is held against has the same
    mesh            where several pipelines train side by side (data parallel, say): torch's DeviceMesh with names, or the manifest's
                    `mesh` as a dict. Each pipeline is a record of its own, in the folder's replica-0, replica-1, ...
    pipeline        the name of the mesh's axis along which the stages lie
    gather          of a world without torch.distributed: what gives the list of all ranks' objects for one's own
    """

    def __init__(
        self,
        folder: str | pathlib.Path,
        *,
        model: Any,
        steps: int,
        microbatches: int,
        optimizer: Any,
        clip_norm: float | None = None,
        norm_order: str = "per_rank",
        clip_epsilon: float = 1e-6,
        loss_scaling: str = "before",
        seed: int = 0,
        level: str = "full",
        every: int = 1,
        tied: Sequence[Sequence[str]] = (),
        data_source: str = "",
        device: str | None = None,
        accumulation: str = "ascending",
        rank: int | None = None,
        world_size: int | None = None,
        group: Any = None,
        mesh: Any = None,
        pipeline: str = "pp",
        gather: Callable[[Any], list[Any]] | None = None,
    ) -> None:
        if level not in LEVELS:
            raise ValueError(f"level is {level!r}; there are {', '.join(LEVELS)}")
        if steps < 1 or microbatches < 1:
            raise ValueError(f"a record has at least one step and one microbatch, not {steps} and {microbatches}")
        if every < 1:
            raise ValueError(f"every is {every}; 1 records each step, 10 the first of ten")
        if every > 1 and level == "dump":
            raise ValueError("values of an update are recomputed from those before it: at level dump record each step (every=1)")
        self._mesh, group = meshes.place_of(mesh, pipeline, group)
        self.folder = pathlib.Path(folder) / meshes.folder_of(self._mesh)
        self.run_steps, self.every, self.steps = steps, every, -(-steps // every)  # steps: of the record
        self.microbatches, self.level = microbatches, level
        self.clip_norm, self.norm_order, self.clip_epsilon = clip_norm, norm_order, clip_epsilon
        self.loss_scaling, self.seed, self.data_source, self.device = loss_scaling, seed, data_source, device
        self.accumulation = accumulation
        self.accumulation_rows: list[tuple[str, int]] = []  # where it is "listed": unit, microbatch
        self.schedule_name, self.chunks_per_rank = "sequential", 1
        self.schedule_rows: list[list[str]] | None = None  # compute actions of each rank
        self._model, self._optimizer = training.model_of(model), optimizer
        several = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        self._optimizers = [one for one in several if not isinstance(one, dict)]
        self._tied = [list(names) for names in tied]
        self._gather, self._group = gather, group
        self.rank, self.world_size = self._place(rank, world_size)
        self.stages: list[Stage] = []
        self._on_rank: dict[int, int] = {}  # stage: its rank
        self._cut_into: dict[int, str | None] = {}  # stage: the name of the cut before it
        self._now: StepInHand | None = None
        self._next_step = 0
        self._run_step = 0
        self._passed_over = False  # within a step of the run that is not recorded
        self._tables: Tables | None = None
        self._progress: ProgressPage | None = None
        self._origin = time.monotonic_ns()
        self._dump: dict[str, Any] = {}
        self._data_digests: list[str] = []
        self._last_action = ""
        self._finished = False
        self._watch_optimizers()
        atexit.register(self._left)

    # -- what it is told ------------------------------------------------------------------------------------------

    def stage(self, number: int, units: Sequence[str], parameters: Sequence[tuple[str, Any]] | dict[str, Any]) -> None:
        """A stage that this rank holds: its units in the model's order and its parameters by the model's names."""
        if self._tables is not None:
            raise RuntimeError("stages are told before the first step")
        named = list(parameters.items()) if isinstance(parameters, dict) else list(parameters)
        meshes.refuse_shards(named)
        self.stages.append(Stage(number, list(units), named))

    @contextmanager
    def step(self, inputs: Any, targets: Any = None) -> Iterator[None]:
        """One training step. `inputs` and `targets`: the whole batch, which is split as torch.distributed.pipelining
        splits it, or lists of as many as there are microbatches."""
        if inputs is None:
            raise ValueError("every rank gives the step its batch, also one that is fed none of it: sizes are told by all")
        if self._run_step >= self.run_steps:
            raise RuntimeError(f"the record was made for {self.run_steps} steps, and this is one more")
        if self._tables is None:
            self._begin()
        with self._recorded(inputs, targets) if self._run_step % self.every == 0 else self._unrecorded():
            yield
        self._run_step += 1
        if self._run_step == self.run_steps:
            self.finish()

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        assert self._progress is not None
        self._progress.tell(self._run_step, 0, "")
        self._passed_over = True
        try:
            yield
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._passed_over = False

    @contextmanager
    def _recorded(self, inputs: Any, targets: Any) -> Iterator[None]:
        fed_inputs, fed_targets = self._split(inputs), self._split(targets)
        both = [data.microbatch(*pair) for pair in zip(fed_inputs, fed_targets)]
        self._now = StepInHand(self._next_step, time.monotonic(), both)
        self._now.fed = {m: [*pair] for m, pair in enumerate(zip(fed_inputs, fed_targets))}
        assert self._progress is not None
        self._progress.tell(self._next_step, 0, "")
        try:
            with clipping.watched(self):
                yield
            self._end_step(self._now)
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            self._now = None
        self._next_step += 1

    @_within_a_recorded_step
    def loss(self, loss: Any, microbatch: int | None = None) -> None:
        """Of a microbatch; without its number, of the next one."""
        losses = self._in_step("loss").losses
        losses[len(losses) if microbatch is None else microbatch] = float(loss.detach() if hasattr(loss, "detach") else loss)

    @_within_a_recorded_step
    def fed(self, microbatch: int, inputs: Any = None, targets: Any = None) -> None:
        """What this rank was really fed, where that may be something else than the step was given."""
        pair = self._in_step("fed").fed[microbatch]
        pair[0] = pair[0] if inputs is None else inputs
        pair[1] = pair[1] if targets is None else targets

    @_within_a_recorded_step
    def sent(self, stage: int, to_stage: int, microbatch: int, tensor: Any) -> None:
        """Of a hand-written pipeline: what was given to the transport, an activation where to_stage is the later one."""
        self._crossed(stage, to_stage, microbatch, tensor, "send")

    @_within_a_recorded_step
    def received(self, stage: int, from_stage: int, microbatch: int, tensor: Any) -> None:
        """The same at the other end, told when its consumer starts and not when the transfer ends."""
        self._crossed(from_stage, stage, microbatch, tensor, "receive")

    @_within_a_recorded_step
    def handed_over(self, from_stage: int, to_stage: int, microbatch: int, tensor: Any) -> None:
        """Between two stages of this rank; told by the one that takes it."""
        self._crossed(from_stage, to_stage, microbatch, tensor, "local")

    @_within_a_recorded_step
    def computed(self, cut: str, direction: str, microbatch: int, tensor: Any) -> None:
        """Of a run on one device: the tensor before the unit `cut`, or its gradient."""
        self._boundary(microbatch, direction, cut, None, None, "computed", None, tensor)

    @_within_a_recorded_step
    def gradients(self) -> None:
        """All gradients are complete, and none is clipped yet. Told by itself where torch.nn.utils clips, or where
        nothing does."""
        now = self._in_step("gradients")
        if now.gradients_taken:
            return
        now.gradients_taken = True
        for stage in self.stages:
            for name, parameter in stage.parameters:
                if parameter.grad is not None:
                    self._tensor(now.number, "gradient", name, stage.number, parameter.grad)

    @_within_a_recorded_step
    def norm(self, norm: Any, coefficient: Any = None) -> None:
        """The global norm, and what gradients are multiplied by; without it, what torch makes of the norm."""
        now = self._in_step("norm")
        if not now.gradients_taken:
            raise RuntimeError("record.norm() came before record.gradients(), which is told before anything is clipped")
        now.norm = float(norm)
        if coefficient is None and self.clip_norm is not None:
            coefficient = clipping.coefficient(norm, self.clip_norm, self.clip_epsilon)
        now.coefficient = None if coefficient is None else float(coefficient)

    @contextmanager
    def action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> Iterator[None]:
        """One of F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, REDUCE, STEP."""
        if self._passed_over:
            yield
            return
        row = self._begin_action(stage, kind, microbatch, peer)
        yield
        self._end_action(row)

    @contextmanager
    def waiting(self, peer: int) -> Iterator[None]:
        """While this rank waits for a message from or to the rank `peer`: where a run hangs, its progress page tells whom
        it waited for."""
        now = self._now
        if now is None or self._progress is None or peer < 0:
            yield
            return
        self._progress.tell(now.number, now.index, self._last_action, peer)
        try:
            yield
        finally:
            self._progress.tell(now.number, now.index, self._last_action)

    def finish(self, status: str = "ok", code: int = 0, where: str | None = None) -> None:
        """Called by itself after the last step, and where an exception leaves a step."""
        if self._finished or self._tables is None:
            self._finished = True
            return
        self._finished = True
        self._tables.close()
        ended = {"rank": self.rank, "status": status, "code": code, "signal": None, "last_action": self._last_action or None}
        ended["data_digest"] = hash_hex("".join(self._data_digests)) if self._data_digests else None
        if where is not None:
            ended["where"] = where
        (self._rank_folder / "exit.json").write_text(json.dumps(ended) + "\n")

    # -- the beginning --------------------------------------------------------------------------------------------

    def _place(self, rank: int | None, world_size: int | None) -> tuple[int, int]:
        if rank is not None and world_size is not None:
            return rank, world_size
        torch = sys.modules.get("torch")
        if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(self._group), torch.distributed.get_world_size(self._group)
        return rank or 0, world_size or 1

    def _all(self, mine: Any) -> list[Any]:
        """Every rank's."""
        if self.world_size == 1:
            return [mine]
        if self._gather is not None:
            return self._gather(mine)
        import torch

        if not torch.distributed.is_initialized():
            raise RuntimeError("ranks must tell each other their stages: give gather=, or initialise torch.distributed")
        everyone: list[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(everyone, mine, group=self._group)
        return everyone

    @property
    def _rank_folder(self) -> pathlib.Path:
        return self.folder / f"rank-{self.rank}"

    def _begin(self) -> None:
        if not self.stages:
            raise RuntimeError("nothing is watched: call plumbline.torch.watch_model or watch_pipelining, or record.stage")
        settings = (self.run_steps, self.every, self.microbatches, self.level)
        told = self._all((settings, [(stage.number, stage.units) for stage in self.stages]))
        for rank, (theirs, _) in enumerate(told):
            if theirs != told[0][0]:
                raise ValueError(f"rank {rank} records (steps, every, microbatches, level) {theirs}, rank 0 {told[0][0]}")
        everywhere = sorted((number, rank, units) for rank, (_, stages) in enumerate(told) for number, units in stages)
        self._place_cuts(everywhere)
        wrong: OSError | None = None
        if self.rank == 0:
            try:
                self._make_folder(everywhere)
            except OSError as error:
                wrong = error
        for error in self._all(wrong):  # so that no rank waits for one that could not begin
            if error is not None:
                raise error
        self._rank_folder.mkdir()
        self._tables = Tables(self._rank_folder, self.level)
        self._progress = ProgressPage(self._rank_folder / "progress")
        for stage in self.stages:
            for name, parameter in stage.parameters:
                self._tensor(-1, "parameter", name, stage.number, parameter)
        self._write_dump("initial")
        self._tables.write()

    def _place_cuts(self, everywhere: list[tuple[int, int, list[str]]]) -> None:
        numbers = [number for number, _, _ in everywhere]
        if numbers != list(range(len(numbers))):
            raise ValueError(f"the ranks' stages together are {numbers}, not each number from 0 once")
        self._on_rank = {number: rank for number, rank, _ in everywhere}
        following: str | None = None
        for number, _, units in reversed(everywhere):
            following = units[0] if units else following
            self._cut_into[number] = following

    def _make_folder(self, everywhere: list[tuple[int, int, list[str]]]) -> None:
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise FileExistsError(f"{self.folder}: is not empty, so it may hold another run; nothing was overwritten")
        self.folder.mkdir(parents=True, exist_ok=True)
        schedule = None
        if self.schedule_rows is not None:
            schedule = "".join(",".join(row) + "\n" for row in self.schedule_rows)
            (self.folder / "schedule.csv").write_text(schedule)
        accumulation = None
        if self.accumulation == "listed":
            accumulation = "unit,microbatch\n" + "".join(f"{unit},{m}\n" for unit, m in self.accumulation_rows)
            (self.folder / "accumulation.csv").write_text(accumulation)
        text = json.dumps(self._manifest(everywhere, schedule, accumulation), indent=2) + "\n"
        beside = self.folder / "manifest.json.part"
        beside.write_text(text)
        beside.rename(self.folder / "manifest.json")

    def _manifest(self, everywhere: list[tuple[int, int, list[str]]], schedule: str | None, accumulation: str | None) -> dict[str, Any]:
        first = next((parameter for stage in self.stages for _, parameter in stage.parameters), None)
        device = self.device or str(getattr(first, "device", "cpu"))
        started = training.new_run()
        optimizer = training.optimizer_of(self._optimizers[0] if self._optimizers else self._optimizer)
        return {
            "schema": "plumbline-record/2",
            "run_id": started["run_id"],
            "role": "external",
            "command": list(sys.argv),
            "model": self._model,
            "seed": self.seed,
            "dtype": "float32" if first is None else dtype_name(first),
            "device": device,
            "world_size": self.world_size,
            "steps": self.steps,
            "data": {"source": self.data_source, "microbatches": self.microbatches},
            "schedule": {
                "name": "by hand" if self.schedule_name == "sequential" and self.world_size > 1 else self.schedule_name,
                "chunks_per_rank": self.chunks_per_rank,
                "microbatches": self.microbatches,
                "digest": None if schedule is None else hash_hex(schedule),
                "accumulation": self.accumulation,
                "accumulation_digest": None if accumulation is None else hash_hex(accumulation),
            },
            "stages": [{"stage": number, "rank": rank, "units": units} for number, rank, units in everywhere],
            "tied": self._tied or self._tied_here(),
            "frozen": [name for name, parameter in self._named() if not getattr(parameter, "requires_grad", True)],
            "loss_scaling": self.loss_scaling,
            "optimizer": optimizer,
            "clip_norm": self.clip_norm,
            "norm_order": self.norm_order if self.clip_norm is not None else "canonical",
            "clip_epsilon": self.clip_epsilon if self.clip_norm is not None else 0,
            "level": self.level,
            **({"every": self.every} if self.every > 1 else {}),
            **({"mesh": self._mesh} if self._mesh else {}),
            "versions": training.versions(),
            "started": started["started"],
        }

    def _named(self) -> list[tuple[str, Any]]:
        return [pair for stage in self.stages for pair in stage.parameters]

    def _tied_here(self) -> list[list[str]]:
        names: dict[int, list[str]] = {}
        for name, parameter in self._named():
            names.setdefault(id(parameter), []).append(name)
        return [group for group in names.values() if len(group) > 1]

    # -- within a step --------------------------------------------------------------------------------------------

    def _in_step(self, what: str) -> StepInHand:
        if self._now is None:
            raise RuntimeError(f"record.{what}() is told within `with record.step(...)`")
        return self._now

    @property
    def in_step(self) -> bool:
        return self._now is not None

    def _split(self, batch: Any) -> list[Any]:
        if batch is None:
            return [None] * self.microbatches
        parts = list(batch) if isinstance(batch, (list, tuple)) else data.split(batch, self.microbatches)
        if len(parts) != self.microbatches:
            raise ValueError(f"the step was given {len(parts)} microbatches, and the record was made for {self.microbatches}")
        return parts

    def _clock(self) -> int:
        return time.monotonic_ns() - self._origin

    def _begin_action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> list[Any]:
        now, tables = self._in_step("action"), self._tables
        assert tables is not None and self._progress is not None
        name = f"{stage}{kind}{'' if microbatch is None else microbatch}"
        self._progress.tell(now.number, now.index, name, peer, -1 if microbatch is None else microbatch)
        began = self._clock()
        row = tables.add("actions", now.number, now.index, name, stage, "" if microbatch is None else microbatch, began, began, 0)
        now.index += 1
        self._last_action = name
        return row

    def _end_action(self, row: list[Any], waited: bool = False) -> None:
        row[6] = self._clock()
        if waited:
            row[7] = row[6] - row[5]

    def _tensor(self, step: int, kind: str, name: str, stage: int, tensor: Any) -> None:
        if self.level == "summary" or self._tables is None:
            return
        found = statistics(tensor)
        rows = "" if found.nonzero_rows is None else found.nonzero_rows
        said = [number_text(found.l2), number_text(found.max_abs), found.nonzero, rows, found.nan, found.inf]
        self._tables.add("tensors", step, kind, name, stage, dtype_name(tensor), shape_text(tensor.shape), digest(tensor), *said)
        self._keep(f"{kind}/{name}", tensor)

    def _crossed(self, from_stage: int, to_stage: int, microbatch: int, tensor: Any, side: str) -> None:
        forward = to_stage > from_stage
        cut = self._cut_into[max(from_stage, to_stage)]
        peer = self._on_rank[to_stage if side == "send" else from_stage]
        if cut is None:  # behind the last unit nothing is handed on
            return
        self._boundary(microbatch, "forward" if forward else "backward", cut, from_stage, to_stage, side, peer, tensor)

    def _boundary(
        self, microbatch: int, direction: str, cut: str, from_stage: int | None, to_stage: int | None, side: str, peer: int | None, tensor: Any
    ) -> None:
        now = self._in_step("boundary")
        if self.level == "summary" or self._tables is None:
            return
        place = ["" if value is None else value for value in (from_stage, to_stage)]
        form = [dtype_name(tensor), shape_text(tensor.shape), digest(tensor), size_in_bytes(tensor)]
        self._tables.add("boundaries", now.number, microbatch, direction, cut, *place, side, "" if peer is None else peer, *form)
        self._keep(f"boundary/{direction}/{microbatch}/{cut}/{side}", tensor)

    def _keep(self, key: str, tensor: Any) -> None:
        if self.level == "dump":
            self._dump[key] = tensor.detach().clone().cpu() if hasattr(tensor, "detach") else numpy.array(tensor)

    def _write_dump(self, name: str) -> None:
        if self.level != "dump":
            return
        (self._rank_folder / "dumps").mkdir(exist_ok=True)
        write_dump(self._rank_folder / "dumps" / f"step-{name}.safetensors", self._dump)
        self._dump = {}

    def _watch_optimizers(self) -> None:
        """The rate that is applied, the time that it takes, and where nothing is clipped, the gradients."""
        for optimizer in self._optimizers:
            if not hasattr(optimizer, "register_step_pre_hook"):
                continue
            rows: list[list[Any]] = []

            def before(optimizer: Any, args: Any, kwargs: Any, rows: list[list[Any]] = rows) -> None:
                if self._now is None:
                    return
                if not self._now.gradients_taken and self.clip_norm is not None:
                    raise RuntimeError(
                        "the optimiser steps, and no gradients were seen before clipping: call record.gradients() and "
                        "record.norm(total_norm), or clip with torch.nn.utils.clip_grad_norm_ by that name"
                    )
                self.gradients()
                self._now.learning_rate = float(optimizer.param_groups[0]["lr"])
                rows.append(self._begin_action(min(stage.number for stage in self.stages), "STEP"))

            def after(optimizer: Any, args: Any, kwargs: Any, rows: list[list[Any]] = rows) -> None:
                if rows:
                    self._end_action(rows.pop())

            optimizer.register_step_pre_hook(before)
            optimizer.register_step_post_hook(after)

    @_within_a_recorded_step
    def learning_rate(self, rate: float) -> None:
        """That this step applies; read off an optimiser of torch."""
        self._in_step("learning_rate").learning_rate = float(rate)

    def _end_step(self, now: StepInHand) -> None:
        tables = self._tables
        assert tables is not None
        self._demand_all(now)
        for stage in self.stages:
            for name, parameter in stage.parameters:
                self._tensor(now.number, "parameter", name, stage.number, parameter)
                for kind, moment in training.moments_of(self._optimizers, parameter):
                    self._tensor(now.number, kind, name, stage.number, moment)
        total: Any = numpy.float32(0)
        for m in range(self.microbatches):
            fed = data.microbatch(*now.fed[m])
            self._data_digests.append(fed.digest)
            loss = numpy.float32(now.losses[m]) if now.losses else None
            total = None if loss is None else numpy.float32(total + loss)
            sizes = [fed.sequence_length, fed.batch, fed.tokens, fed.valid_tokens]
            tables.add("microbatches", now.number, m, *sizes, number_text(loss), fed.digest)
        tables.add("memory", now.number, *[""] * 7)
        tokens = [sum(getattr(one, key) for one in now.microbatches) for key in ("tokens", "valid_tokens")]
        numbers = [number_text(value) for value in (total, now.norm, now.coefficient, now.learning_rate)]
        tables.add("steps", now.number, *numbers, *tokens, number_text(time.monotonic() - now.began))
        self._write_dump(str(now.number))
        tables.write()

    def _demand_all(self, now: StepInHand) -> None:
        last = max(self._on_rank)
        if now.losses and sorted(now.losses) != list(range(self.microbatches)):
            raise RuntimeError(f"step {now.number}: losses of microbatches {sorted(now.losses)}, of {self.microbatches} that there are")
        if not now.losses and self._on_rank[last] == self.rank:
            raise RuntimeError(f"step {now.number}: no loss was told; call record.loss(loss) after each microbatch's")
        if self.clip_norm is not None and now.norm is None:
            raise RuntimeError(f"step {now.number}: clip_norm is {self.clip_norm}, yet no norm was seen; call record.norm(total_norm)")
        if now.learning_rate is None:
            raise RuntimeError(f"step {now.number}: no optimiser stepped; call record.learning_rate(rate) for one of your own")
        if not math.isfinite(now.learning_rate):
            raise RuntimeError(f"step {now.number}: the learning rate is {now.learning_rate}")

    # -- the end --------------------------------------------------------------------------------------------------

    def _failed(self, error: BaseException) -> None:
        """Says where; the exception itself goes on its way."""
        frames = traceback.extract_tb(error.__traceback__)
        own = str(pathlib.Path(__file__).parent)
        theirs = [frame for frame in frames if not frame.filename.startswith(own)] or list(frames)
        place = f"{theirs[0].filename}:{theirs[0].lineno}" if theirs else "unknown"
        self.finish("error", 1, f"{place}: {type(error).__name__}: {error}")

    def _left(self) -> None:
        if self._tables is not None and not self._finished:
            self.finish("error", 1, f"the program ended after {self._run_step} of {self.run_steps} steps")
