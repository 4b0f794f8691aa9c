"""The record of one rank: what a trainer tells of itself, written as docs/record-format.md says."""

from __future__ import annotations

import atexit
import json
import pathlib
import sys
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

import numpy

from . import clipping, data, manifest, meshes, optimizers, training
from .digests import hash_hex, number_text
from .lacks import Lacks
from .progress import ProgressPage
from .rows import Rows
from .steps import StepInHand, demand_all, within_a_recorded_step

LEVELS = ("summary", "full", "dump")


@dataclass
class Stage:
    """A part of the model that this rank holds."""

    number: int
    units: list[str]
    parameters: list[tuple[str, Any]]  # by the names that the whole model gives them


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
        self._rows: Rows | None = None  # from the first step on
        self._progress: ProgressPage | None = None
        self._data_digests: list[str] = []
        self._finished = False
        self._lacks = Lacks()  # what could not be recorded: it ends no training
        self._undo: list[Callable[[], None]] = []  # takes away what watches the trainer
        for one in self._optimizers:
            optimizers.watch(self, one)
        atexit.register(self._left)

    # -- what it is told ------------------------------------------------------------------------------------------

    def stage(self, number: int, units: Sequence[str], parameters: Sequence[tuple[str, Any]] | dict[str, Any]) -> None:
        """A stage that this rank holds: its units in the model's order and its parameters by the model's names."""
        if self._rows is not None:
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
        if self._rows is None:
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
        self._progress.tell(self._run_step, 0, "")
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

    @within_a_recorded_step
    def loss(self, loss: Any, microbatch: int | None = None) -> None:
        """Of a microbatch; without its number, of the next one."""
        losses = self._in_step("loss").losses
        loss = meshes.local(loss)
        losses[len(losses) if microbatch is None else microbatch] = float(loss.detach() if hasattr(loss, "detach") else loss)

    @within_a_recorded_step
    def fed(self, microbatch: int, inputs: Any = None, targets: Any = None) -> None:
        """What this rank was really fed, where that may be something else than the step was given."""
        pair = self._in_step("fed").fed[microbatch]
        pair[0] = pair[0] if inputs is None else inputs
        pair[1] = pair[1] if targets is None else targets

    @within_a_recorded_step
    def sent(self, stage: int, to_stage: int, microbatch: int, tensor: Any) -> None:
        """Of a hand-written pipeline: what was given to the transport, an activation where to_stage is the later one."""
        self._crossed(stage, to_stage, microbatch, tensor, "send")

    @within_a_recorded_step
    def received(self, stage: int, from_stage: int, microbatch: int, tensor: Any) -> None:
        """The same at the other end, told when its consumer starts and not when the transfer ends."""
        self._crossed(from_stage, stage, microbatch, tensor, "receive")

    @within_a_recorded_step
    def handed_over(self, from_stage: int, to_stage: int, microbatch: int, tensor: Any) -> None:
        """Between two stages of this rank; told by the one that takes it."""
        self._crossed(from_stage, to_stage, microbatch, tensor, "local")

    @within_a_recorded_step
    def computed(self, cut: str, direction: str, microbatch: int, tensor: Any) -> None:
        """Of a run on one device: the tensor before the unit `cut`, or its gradient."""
        self._boundary(microbatch, direction, cut, None, None, "computed", None, tensor)

    @within_a_recorded_step
    def gradients(self) -> None:
        """All gradients are complete, and none is clipped yet. Told by itself where torch.nn.utils clips, or where
        nothing does."""
        now = self._in_step("gradients")
        if now.gradients_taken:
            return
        assert self._rows is not None
        now.gradients_taken = True
        for stage in self.stages:
            for name, parameter in stage.parameters:
                if parameter.grad is not None:
                    self._rows.tensor(now.number, "gradient", name, stage.number, parameter.grad)

    @within_a_recorded_step
    def norm(self, norm: Any, coefficient: Any = None) -> None:
        """The global norm, and what gradients are multiplied by; without it, what torch makes of the norm."""
        now = self._in_step("norm")
        if not now.gradients_taken:
            raise RuntimeError("record.norm() came before record.gradients(), which is told before anything is clipped")
        norm = meshes.local(norm)
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
        if now is None or self._rows is None or self._progress is None or peer < 0:
            yield
            return
        self._progress.tell(self._run_step, now.index, self._rows.last_action, peer)
        try:
            yield
        finally:
            self._progress.tell(self._run_step, now.index, self._rows.last_action)

    def finish(self, status: str = "ok", code: int = 0, where: str | None = None) -> None:
        """Called by itself after the last step, and where an exception leaves a step. Nothing of the trainer is watched any longer."""
        while self._undo:
            self._undo.pop()()
        if self._finished or self._rows is None:
            self._finished = True
            return
        self._finished = True
        self._rows.close()
        ended = {"rank": self.rank, "status": status, "code": code, "signal": None, "last_action": self._rows.last_action or None}
        ended["data_digest"] = hash_hex("".join(self._data_digests)) if self._data_digests else None
        if where is not None:
            ended["where"] = where
        if self._lacks.entries:
            ended["not_recorded"] = self._lacks.entries
        (self._rows.folder / "exit.json").write_text(json.dumps(ended) + "\n")

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

    def _begin(self) -> None:
        if not self.stages and not self._lacks.entries:
            raise RuntimeError("nothing is watched: call plumbline.torch.watch_model or watch_pipelining, or record.stage")
        everyone = self._all(manifest.told_by(self))
        places = manifest.places_of(everyone)
        self._place_cuts(places)
        wrong: OSError | None = None
        if self.rank == 0:
            try:
                manifest.make_folder(self, everyone, places)
            except OSError as error:
                wrong = error
        for error in self._all(wrong):  # so that no rank waits for one that could not begin
            if error is not None:
                raise error
        self._rows = Rows(self.folder / f"rank-{self.rank}", self.level)
        self._progress = ProgressPage(self._rows.folder / "progress")
        self._lacks.attempt("parameters", self._parameters, -1)
        self._rows.end_step("initial")

    def _place_cuts(self, places: list[tuple[int, int, list[str]]]) -> None:
        self._on_rank = {number: rank for number, rank, _ in places}
        following: str | None = None
        for number, _, units in reversed(places):
            following = units[0] if units else following
            self._cut_into[number] = following

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

    def _begin_action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> list[Any]:
        now, rows = self._in_step("action"), self._rows
        assert rows is not None and self._progress is not None
        name = f"{stage}{kind}{'' if microbatch is None else microbatch}"
        self._progress.tell(self._run_step, now.index, name, peer, -1 if microbatch is None else microbatch)
        row = rows.begin_action(now.number, now.index, name, stage, microbatch)
        now.index += 1
        return row

    def _end_action(self, row: list[Any], waited: bool = False) -> None:
        assert self._rows is not None
        self._rows.end_action(row, waited)

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
        if self._rows is not None:
            self._rows.boundary(now.number, microbatch, direction, cut, from_stage, to_stage, side, peer, tensor)

    @within_a_recorded_step
    def learning_rate(self, rate: float) -> None:
        """That this step applies; read off an optimiser of torch."""
        self._in_step("learning_rate").learning_rate = float(rate)

    def _end_step(self, now: StepInHand) -> None:
        rows = self._rows
        assert rows is not None
        owns_loss = bool(self._on_rank) and self._on_rank[max(self._on_rank)] == self.rank
        demand_all(now, self.microbatches, owns_loss, self.clip_norm, self._lacks)
        self._lacks.attempt("parameters", self._parameters, now.number)
        self._lacks.attempt("moments", self._moments, now.number)
        whole = sorted(now.losses) == list(range(self.microbatches))
        total: Any = numpy.float32(0)
        for m in range(self.microbatches):
            fed = self._lacks.attempt("inputs", data.microbatch, *now.fed[m]) or now.microbatches[m]
            self._data_digests.append(fed.digest)
            loss = numpy.float32(now.losses[m]) if whole else None
            total = None if loss is None else numpy.float32(total + loss)
            sizes = [fed.sequence_length, fed.batch, fed.tokens, fed.valid_tokens]
            rows.add("microbatches", now.number, m, *sizes, number_text(loss), fed.digest)
        rows.add("memory", now.number, *[""] * 7)
        tokens = [sum(getattr(one, key) for one in now.microbatches) for key in ("tokens", "valid_tokens")]
        numbers = [number_text(value) for value in (total, now.norm, now.coefficient, now.learning_rate)]
        rows.add("steps", now.number, *numbers, *tokens, number_text(time.monotonic() - now.began))
        rows.end_step(str(now.number))

    def _parameters(self, step: int) -> None:
        assert self._rows is not None
        for stage in self.stages:
            for name, parameter in stage.parameters:
                self._rows.tensor(step, "parameter", name, stage.number, parameter)

    def _moments(self, step: int) -> None:
        assert self._rows is not None
        for stage in self.stages:
            for name, parameter in stage.parameters:
                for kind, moment in training.moments_of(self._optimizers, parameter):
                    self._rows.tensor(step, kind, name, stage.number, moment)

    # -- the end --------------------------------------------------------------------------------------------------

    def _failed(self, error: BaseException) -> None:
        """Says where; the exception itself goes on its way."""
        frames = traceback.extract_tb(error.__traceback__)
        own = str(pathlib.Path(__file__).parent)
        theirs = [frame for frame in frames if not frame.filename.startswith(own)] or list(frames)
        place = f"{theirs[0].filename}:{theirs[0].lineno}" if theirs else "unknown"
        self.finish("error", 1, f"{place}: {type(error).__name__}: {error}")

    def _left(self) -> None:
        if self._rows is not None and not self._finished:
            self.finish("error", 1, f"the program ended after {self._run_step} of {self.run_steps} steps")
