# SPDX-License-Identifier: BSD-3-Clause
"""The record of one rank: what a trainer tells of itself, written as docs/record-format.md says.

What is wrong with a record's set-up is raised where it is set up, at the latest where the first step begins. From then on the record ends no
training and changes none: what it cannot write it lacks, and says so.
"""

from __future__ import annotations

import pathlib
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy

from . import clipping, data, machine, manifest, meshes, optimizers, training
from .blocks import ActionBlock, StepBlock, WaitingBlock
from .digests import number_text
from .ending import Ending, place_of, unusable_words
from .lacks import Lacks, tell, words_of
from .progress import ProgressPage
from .rows import Rows
from .shards import Shards
from .steps import StepInHand, say_what_is_missing, told

LEVELS = ("summary", "full", "dump")
Named = list[tuple[str, Any]]


@dataclass
class Stage:
    """A part of the model that this rank holds."""

    number: int
    units: list[str]
    parameters: Named  # by the names that the whole model gives them
    gradient_of: Callable[[Any], Any] | None = None
    master_of: Callable[[Any], Any] | None = None
    again: Callable[[], Named] | None = None  # the parameters as they are now
    found: Named | None = None  # what that gave last

    def master(self, parameter: Any) -> Any:
        """What the optimiser updates in the parameter's place; the parameter itself where nothing does."""
        master = self.master_of(parameter) if self.master_of else None
        return parameter if master is None else master

    def gradient(self, parameter: Any) -> Any:
        if self.gradient_of:
            return self.gradient_of(parameter)
        gradient = getattr(parameter, "grad", None)
        return getattr(self.master(parameter), "grad", None) if gradient is None else gradient

    def replaced(self) -> bool:
        """Whether other objects stand in the parameters' place; these are recorded from now on."""
        if self.again is None or self.parameters is not self.found:  # a list of the trainer's own
            return False
        now = self.again()
        if [(name, id(one)) for name, one in now] == [(name, id(one)) for name, one in self.parameters]:
            return False
        self.parameters = self.found = now
        return True


class Record:
    """
    folder          made by rank 0; one that holds anything is refused
    model           the model's configuration: a dict, or an object of such values
    steps, microbatches
                    of the run, and of each step
    optimizer       of torch.optim, several of them, or the manifest's dict; None on a rank that trains nothing
    clip_norm       limit of the global gradient norm; None: nothing is clipped
    norm_order      "per_rank": squares are summed on each rank and then over ranks, as nearly every trainer does.
                    "canonical": the norm has the same bits however many ranks there are
    clip_epsilon    what is added to the norm before the limit is divided by it; torch adds 1e-6
    loss_scaling    "before" the backward pass, or "after" it (torch's schedules with scale_grads)
    tied            groups of parameter names that are one weight; those of one rank are found
    schedule        the name of a pipeline's schedule that is written by hand, as a sweep asks for it ("1F1B")
    level           "full"; "summary" without tensors, "dump" with the tensors themselves
    every           record the first of so many steps only: step i of the record is then step i * every of the run, and what lies
                    between costs nothing. The record that it is held against has the same
    mesh            where several pipelines train side by side (data parallel, say): torch's DeviceMesh with names, or the manifest's
                    `mesh` as a dict. Each pipeline is a record of its own, in the folder's replica-0, replica-1, ...
    pipeline        the name of the mesh's axis along which the stages lie
    slices          a manifest.json of a candidate whose replicas hold parts of parameters (FSDP2): of a reference that holds them whole
                    the same parts are recorded. A trainer's own shards are found
    gather          of a world without torch.distributed: what gives the list of all ranks' objects for one's own

    `with plumbline.Record(...) as record:` undoes at its end all that watches the trainer, as record.finish() does.
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
        schedule: str | None = None,
        data_source: str = "",
        device: str | None = None,
        accumulation: str = "ascending",
        rank: int | None = None,
        world_size: int | None = None,
        group: Any = None,
        mesh: Any = None,
        pipeline: str = "pp",
        gather: Callable[[Any], list[Any]] | None = None,
        slices: str | pathlib.Path | None = None,
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
        self.shards = Shards(self._mesh, slices)
        self.folder = pathlib.Path(folder) / meshes.folder_of(self._mesh)
        self.run_steps, self.every, self.steps = steps, every, -(-steps // every)  # steps: of the record
        self.microbatches, self.level = microbatches, level
        self.microbatches_of_a_call = microbatches  # as it was told, where a pipeline is called several times a step
        self.clip_norm, self.norm_order, self.clip_epsilon = clip_norm, norm_order, clip_epsilon
        self.loss_scaling, self.seed, self.data_source, self.device = loss_scaling, seed, data_source, device
        self.accumulation = accumulation
        self.accumulation_rows: list[tuple[str, int]] = []  # where it is "listed": unit, microbatch
        self.schedule_name = schedule or "sequential"
        self.chunks_per_rank = 1
        self.schedule_rows: list[list[str]] | None = None  # compute actions of each rank, in one call of the schedule
        self.names_stripped: set[str] = set()  # of wrappers
        self._model, self._optimizer = training.model_of(model), optimizer
        several = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        self._optimizers = [one for one in several if one is not None and not isinstance(one, dict)]
        self._tied = [list(names) for names in tied]
        self._gather, self._group = gather, group
        self.rank, self.world_size = self._place(rank, world_size)
        self.stages: list[Stage] = []
        self._everyone: list[manifest.Told] = []
        self._places: list[tuple[int, int, list[str]]] = []
        self._on_rank: dict[int, int] = {}  # stage: its rank
        self._cut_into: dict[int, str | None] = {}  # stage: the name of the cut before it
        self._now: StepInHand | None = None
        self._next_step = 0
        self._run_step = 0
        self._passed_over = False  # within a step of the run that is not recorded
        self._rows: Rows | None = None  # from the first step on
        self._ending: Ending | None = None
        self._progress: ProgressPage | None = None
        self._finished = False
        self._lacks = Lacks()  # what could not be recorded: it ends no training
        self._undo: list[Callable[[], None]] = []  # takes away what watches the trainer
        for one in self._optimizers:
            optimizers.watch(self, one)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None:
            self._guarded(self._failed, error)
        elif not self._finished:
            self.finish("error", 1, f"the record's block ended after {self._run_step} of {self.run_steps} steps")

    # -- what it is told ------------------------------------------------------------------------------------------

    def stage(
        self,
        number: int,
        units: Sequence[str],
        parameters: Sequence[tuple[str, Any]] | dict[str, Any],
        gradient_of: Callable[[Any], Any] | None = None,
        master_of: Callable[[Any], Any] | None = None,
        again: Callable[[], Named] | None = None,
    ) -> None:
        """A stage that this rank holds: its units in the model's order and its parameters by the model's names.
        `gradient_of(parameter)` gives a gradient that lies elsewhere than in .grad, `master_of(parameter)` what the optimiser updates in
        the parameter's place; `again()` the parameters as they are now, where their objects may be replaced."""
        if self._rows is not None:
            raise RuntimeError("stages are told before the first step")
        named = list(parameters.items()) if isinstance(parameters, dict) else list(parameters)
        meshes.refuse_marked(named, self.world_size)
        self.shards.add(named)
        self.stages.append(Stage(number, list(units), named, gradient_of, master_of, again, named))

    def step(self, inputs: Any, targets: Any = None) -> StepBlock:
        """One training step. `inputs` and `targets`: the whole batch, which is split as torch.distributed.pipelining
        splits it, or lists of as many as there are microbatches."""
        return StepBlock(self, inputs, targets)

    @told("losses")
    def loss(self, loss: Any, microbatch: int | None = None) -> None:
        """Of a microbatch; without its number, of the next one."""
        self._set_loss(loss, self._counted("loss", microbatch))

    def _set_loss(self, loss: Any, microbatch: int) -> None:
        loss = meshes.local(loss)
        self._in_step("loss").losses[microbatch] = float(loss.detach() if hasattr(loss, "detach") else loss)
        self._heartbeat(microbatch)

    @told("inputs", "labels")
    def fed(self, microbatch: int, inputs: Any = None, targets: Any = None) -> None:
        """What this rank was really fed, where that may be something else than the step was given."""
        for what, place, tensor in (("inputs", 0, inputs), ("targets", 1, targets)):
            if tensor is not None:
                self._set_fed(self._counted(what, microbatch), place, tensor)

    def _set_fed(self, microbatch: int, place: int, tensor: Any) -> None:
        self._in_step("fed").fed.setdefault(microbatch, [None, None])[place] = tensor

    @told("sends")
    def sent(self, stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Of a hand-written pipeline: what was given to the transport, an activation where to_stage is the later one. Without its number,
        record.sent(stage, to_stage, tensor), it is the next microbatch's."""
        self._counted_crossing(stage, to_stage, microbatch, tensor, "send", stage)

    @told("receives")
    def received(self, stage: int, from_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """The same at the other end, told when its consumer starts and not when the transfer ends."""
        self._counted_crossing(from_stage, stage, microbatch, tensor, "receive", stage)

    @told("receives")
    def handed_over(self, from_stage: int, to_stage: int, microbatch: Any = None, tensor: Any = None) -> None:
        """Between two stages of this rank; told by the one that takes it."""
        self._counted_crossing(from_stage, to_stage, microbatch, tensor, "local", to_stage)

    @told("boundaries")
    def computed(self, cut: str, direction: str, microbatch: int, tensor: Any) -> None:
        """Of a run on one device: the tensor before the unit `cut`, or its gradient."""
        self._boundary(microbatch, direction, cut, None, None, "computed", None, tensor)

    @told("gradients")
    def gradients(self) -> None:
        """All gradients are complete, and none is clipped yet. Told by itself where torch.nn.utils clips, or where
        nothing does."""
        now = self._in_step("gradients")
        if now.gradients_taken:
            return
        assert self._rows is not None
        now.gradients_taken = True
        self._notice_replaced(f"in step {now.number}")
        for stage in self.stages:
            for name, parameter in stage.parameters:
                gradient = stage.gradient(parameter)
                if gradient is not None:
                    self._tensor(now.number, "gradient", name, stage.number, gradient)

    @told("norm")
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

    @told("rates")
    def learning_rate(self, rate: float) -> None:
        """That this step applies; read off an optimiser of torch."""
        self._in_step("learning_rate").learning_rate = float(rate)

    def action(self, stage: int, kind: str, microbatch: int | None = None, peer: int = -1) -> ActionBlock:
        """One of F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B, REDUCE, STEP."""
        return ActionBlock(self, stage, kind, microbatch, peer)

    def waiting(self, peer: int) -> WaitingBlock:
        """While this rank waits for a message from or to the rank `peer`: where a run hangs, its progress page tells whom
        it waited for."""
        return WaitingBlock(self, peer)

    def finish(self, status: str = "ok", code: int = 0, where: str | None = None) -> None:
        """Called by itself after the last step, and where an exception leaves a step. Nothing of the trainer is watched any longer."""
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except Exception as error:
                tell(f"what watched the trainer could not be taken away: {words_of(error)}")
        self._now, finished, self._finished = None, self._finished, True
        if finished or self._ending is None:
            return
        try:
            self._ending.write(status, code, where)
        except Exception as error:
            tell(f"{self.folder}: no exit.json could be written, so the record is unusable: {words_of(error)}")

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
        self._everyone = self._all(manifest.told_by(self))
        self._places = places = manifest.places_of(self._everyone)
        self._place_cuts(places)
        wrong: Exception | None = None
        try:
            if self.rank == 0:
                manifest.make_folder(self, self._everyone, places)
        except Exception as error:
            wrong = error
        for one in self._all(wrong):  # so that no rank waits for one that could not begin
            if one is not None:
                raise one
        self._rows = Rows(self.folder / f"rank-{self.rank}", self.level)
        self._ending = Ending(self.rank, self._rows, self._lacks, self.run_steps)
        self._progress = ProgressPage(self._rows.folder / "progress")
        try:
            machine.write(self._rows.folder, training.versions())
        except Exception as error:
            self._lacks.note(f"machine and environment of rank {self.rank} are not recorded: {words_of(error)}")
        self._lacks.attempt("norm", clipping.watch, self)
        self._lacks.attempt("parameters", self._parameters, -1)
        self._guarded(self._rows.end_step, "initial")

    def _place_cuts(self, places: list[tuple[int, int, list[str]]]) -> None:
        self._on_rank = {number: rank for number, rank, _ in places}
        following: str | None = None
        for number, _, units in reversed(places):
            following = units[0] if units else following
            self._cut_into[number] = following

    # -- within a step --------------------------------------------------------------------------------------------

    def _enter(self, inputs: Any, targets: Any) -> bool:
        if self._finished or self._now is not None:
            done = self._run_step >= self.run_steps
            why = f"the record was made for {self.run_steps} steps" if done else "the record has ended" if self._finished else "a step is under way"
            self._lacks.tell_once(f"{why}, and this is one more: it is not recorded")
            return False
        if self._rows is None or self._progress is None:
            return False
        self._progress.tell(self._run_step, 0, "")
        self._passed_over = self._run_step % self.every != 0
        if self._passed_over:
            return True
        self._notice_replaced(f"after step {self._next_step - 1}" if self._next_step else "before step 0")
        self._now = StepInHand(self._next_step, time.monotonic(), inputs, targets)
        self._lacks.attempt(("inputs", "labels"), self._feed, self._now)
        return True

    def _feed(self, now: StepInHand) -> None:
        now.given = data.parts(now.inputs, now.targets, self.microbatches, self.microbatches_of_a_call)
        now.microbatches = [data.microbatch(*pair) for pair in now.given]  # now, since a batch may be written over

    def _leave(self) -> None:
        if self._now is not None:
            self._end_step(self._now)
            self._next_step += 1
        self._now, self._passed_over = None, False
        self._run_step += 1
        assert self._ending is not None
        self._ending.steps = self._run_step
        if self._run_step == self.run_steps:
            self.finish()

    def _in_step(self, what: str) -> StepInHand:
        if self._now is None:
            raise RuntimeError(f"record.{what}() is told within `with record.step(...)`")
        return self._now

    @property
    def in_step(self) -> bool:
        return self._now is not None

    def _counted(self, what: Any, microbatch: int | None, of_a_call: int | None = None) -> int:
        """The number within the step. A record that was told the microbatches of one call learns in its first step how many there are."""
        now = self._in_step("microbatch")
        number = now.counts.number(what, microbatch, of_a_call)
        if number >= self.microbatches:
            if now.number > 0 or number >= self.microbatches + self.microbatches_of_a_call:
                raise ValueError(f"step {now.number} has a microbatch {number}, and the record was made for {self.microbatches}")
            self.microbatches += self.microbatches_of_a_call
        return number

    def _heartbeat(self, microbatch: int = -1) -> None:
        if self._now is not None and self._rows is not None and self._progress is not None:
            self._progress.tell(self._run_step, self._now.index, self._rows.last_action, -1, microbatch)

    def _waits_for(self, peer: int) -> None:
        if self._now is not None and self._rows is not None and self._progress is not None:
            self._progress.tell(self._run_step, self._now.index, self._rows.last_action, peer)

    def _begin_counted_action(self, stage: int, kind: str, microbatch: int | None, peer: int) -> list[Any]:
        number = None if microbatch is None else self._counted((stage, kind), microbatch)
        return self._begin_action(stage, kind, number, peer)

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

    def _counted_crossing(self, from_stage: int, to_stage: int, microbatch: Any, tensor: Any, side: str, here: int) -> None:
        if tensor is None:
            microbatch, tensor = None, microbatch
        number = self._counted((side, from_stage, to_stage), microbatch)
        self._crossed(from_stage, to_stage, number, tensor, side)
        self._heartbeat(number)

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

    def _end_step(self, now: StepInHand) -> None:
        rows, ending = self._rows, self._ending
        assert rows is not None and ending is not None
        if now.number == 0 and self.microbatches != self.microbatches_of_a_call and self.rank == 0:
            manifest.write_again(self, self._everyone, self._places)
        if not now.microbatches or len(now.microbatches) != self.microbatches:
            self._lacks.attempt(("inputs", "labels"), self._feed, now)
        owns_loss = bool(self._on_rank) and self._on_rank[max(self._on_rank)] == self.rank
        say_what_is_missing(self, now, owns_loss)
        self._lacks.attempt("parameters", self._parameters, now.number)
        self._lacks.attempt("moments", self._moments, now.number)
        whole = sorted(now.losses) == list(range(self.microbatches))
        total: Any = numpy.float32(0)
        fed = [self._lacks.attempt("inputs", now.really_fed, m) or now.microbatch(m) for m in range(self.microbatches)]
        for m, one in enumerate(fed):
            ending.data_digests.append(one.digest)
            loss = numpy.float32(now.losses[m]) if whole else None
            total = None if loss is None else numpy.float32(total + loss)
            sizes = [one.sequence_length, one.batch, one.tokens, one.valid_tokens]
            rows.add("microbatches", now.number, m, *sizes, number_text(loss), one.digest)
        rows.add("memory", now.number, *[""] * 7)
        tokens = [sum(getattr(now.microbatch(m), key) for m in range(self.microbatches)) for key in ("tokens", "valid_tokens")]
        numbers = [number_text(value) for value in (total, now.norm, now.coefficient, now.learning_rate)]
        rows.add("steps", now.number, *numbers, *tokens, number_text(time.monotonic() - now.began))
        rows.end_step(str(now.number))

    def _parameters(self, step: int) -> None:
        rates = {} if self._now is None else self._now.rates
        for stage in self.stages:
            for name, parameter in stage.parameters:
                master = stage.master(parameter)
                self._tensor(step, "parameter", name, stage.number, master, rates.get(id(master)))
                if manifest.has_copy(parameter, master):
                    self._tensor(step, "copy", name, stage.number, parameter)

    def _moments(self, step: int) -> None:
        held = set().union(*(training.rates_of(one) for one in self._optimizers if hasattr(one, "param_groups")))
        updated = [stage.master(parameter) for stage in self.stages for _, parameter in stage.parameters if getattr(parameter, "requires_grad", True)]
        if held and updated and not held & set(map(id, updated)):
            raise LookupError("no optimiser holds a parameter of this rank; where it updates others in their place, give master_of=")
        for stage in self.stages:
            for name, parameter in stage.parameters:
                for kind, moment in training.moments_of(self._optimizers, stage.master(parameter)):
                    self._tensor(step, kind, name, stage.number, moment)

    def _tensor(self, step: int, kind: str, name: str, stage: int, tensor: Any, rate: float | None = None) -> None:
        part = self.shards.own_part(name, tensor)
        if part is not None and self._rows is not None:
            self._rows.tensor(step, kind, self.shards.name_of(name), stage, part, rate)

    def _notice_replaced(self, when: str) -> None:
        """What is recorded is what the model computes with; whether the optimiser holds the same is for the trainer to say."""
        for stage in self.stages:
            if self._lacks.attempt("parameters", stage.replaced):
                self._lacks.note(f"the parameter objects changed {when} (as load_state_dict(assign=True) does): an optimiser made before holds the old ones")

    # -- the end --------------------------------------------------------------------------------------------------

    def _guarded(self, work: Callable[..., Any], *args: Any) -> Any:
        """What fails here leaves a record that cannot be used, and a trainer that goes on."""
        try:
            return work(*args)
        except Exception as error:
            where = unusable_words(error)
            if not self._finished:
                tell(f"{where}; the training goes on")
            self._stop_watching()
            self.finish("error", 1, where)
            return None

    def _stop_watching(self) -> None:
        self._now, self._passed_over = None, False

    def _failed(self, error: BaseException) -> None:
        """Says where; the exception itself goes on its way."""
        self._stop_watching()
        self.finish("error", 1, place_of(error))
