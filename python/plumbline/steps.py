# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a record. The first begins the record, each writes rows, the last or a failure ends the record.

Errors of the set-up are raised when the first step begins, or before. After that the record never ends or changes the training: what it cannot
write is listed in `not_recorded`.
"""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy

from . import machine, manifest, optimizers, training
from .current_step import CurrentStep
from .digests import number_text
from .ending import Ending, place_of, unusable_words
from .events import Events
from .not_recorded import warn, words_of
from .omissions import note_omissions, updated
from .progress import ProgressPage
from .rows import Rows
from .stages import require_updated


FLAGS = {True: "true", False: "false", None: ""}  # as cells


class Steps(Events):
    _next_step = 0  # number within the record
    _ending: Ending | None = None
    _ranks: list[manifest.RankSummary]  # set by the first step

    def _watch_optimizers(self) -> None:
        for one in self._optimizers:
            optimizers.watch(self, one)

    def finish(self, status: str = "ok", code: int = 0, where: str | None = None) -> None:
        """Removes all hooks and writes exit.json. Called after the last step, and when an exception leaves a step."""
        self._not_recorded.step = None
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except Exception as error:
                warn(f"a hook on the trainer could not be removed: {words_of(error)}")
        self._now, finished, self._finished = None, self._finished, True
        self._norms.end()
        if finished or self._ending is None:
            return
        try:
            self._ending.write(status, code, where)
        except Exception as error:
            warn(f"{self.folder}: no exit.json could be written, so the record is unusable: {words_of(error)}")

    # -- the beginning --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self.stages and not self._not_recorded.entries:
            raise RuntimeError("nothing is watched: call plumbline.torch.watch_model or watch_pipelining, or record.stage")
        self._ranks = self._of_all_ranks(manifest.summary_of(self))
        unused = [one for one in self._chosen.patterns if all(one in rank.unused for rank in self._ranks)]
        if unused:
            units = ", ".join(unit for rank in self._ranks for _, names in rank.stages for unit in names)
            raise ValueError(f"only={unused} is of no unit and no parameter; the units are {units}")
        self._frozen = {name for stage in self.stages for name, one in stage.parameters if not getattr(one, "requires_grad", True)}
        places = manifest.places_of(self._ranks)
        for name in manifest.tied_nowhere(self._tied, self._ranks) if self.rank == 0 else ():
            words = "each copy must be a separate parameter, also on one device, with the sum of both gradients"
            self._not_recorded.note(f"tied= lists {name}, which is a parameter of no stage: {words}")
        self._on_rank = {number: rank for number, rank, _ in places}
        self._boundary_before, following = {}, None
        for number, _, units in reversed(places):
            self._boundary_before[number] = following = units[0] if units else following
        wrong: Exception | None = None
        try:
            if self.rank == 0:
                manifest.make_folder(self.folder)
                manifest.write(self, self._ranks)
        except Exception as error:
            wrong = error
        for one in self._of_all_ranks(wrong):  # all ranks raise, so that none waits for one that could not begin
            if one is not None:
                raise one
        self._rows = Rows(self.folder / f"rank-{self.rank}", self.level, digest=self.digest)
        self._ending = Ending(self.rank, self._rows, self._not_recorded, self.run_steps)
        self._progress = ProgressPage(self._rows.folder / "progress")
        try:
            machine.write(self._rows.folder, training.versions())
        except Exception as error:
            self._not_recorded.note(f"machine and environment of rank {self.rank} are not recorded: {words_of(error)}")
        self._not_recorded.attempt("norm", optimizers.watch_clipping, self)
        optimizers.watch_others(self)
        self._not_recorded.attempt("parameters", self._parameters, -1)
        self._not_recorded.attempt("buffers", self._buffers, -1)
        self._guarded(self._rows.end_step, "initial")

    # -- each step ------------------------------------------------------------------------------------------------

    def _enter(self, inputs: Any, targets: Any) -> bool:
        if self._finished or self._now is not None:
            done = self._run_step >= self.run_steps
            why = f"the record was made for {self.run_steps} steps" if done else "the record has ended" if self._finished else "a step has not ended"
            self._not_recorded.warn_once(f"{why}: this step is not recorded")
            return False
        if self._rows is None:
            return False
        self._progress.write(self._run_step, 0, "")
        self._not_recorded.step = self._next_step
        self._norms.begin(self._run_step)
        self._passed_over = self._run_step % self.every != 0
        if not self._passed_over:
            self._notice_replaced(f"after step {self._next_step - 1}" if self._next_step else "before step 0")
            self._notice_unfrozen(self._next_step)
            self._now = CurrentStep(self._next_step, time.monotonic(), inputs, targets)
            self._feed(self._now)
        return True

    def _feed(self, now: CurrentStep) -> None:
        self._not_recorded.attempt(("inputs", "labels"), now.feed, self.microbatches, self.microbatches_of_a_call)

    def _leave(self) -> None:
        if self._now is not None:
            self._end_step(self._now)
            self._next_step += 1
        elif self._rows is not None:
            self._norms.end(self._rows)
            self._rows.write("norms")
        self._now, self._passed_over = None, False
        self._run_step += 1
        assert self._ending is not None
        self._ending.steps = self._run_step
        if self._run_step == self.run_steps:
            self.finish()

    def _end_step(self, now: CurrentStep) -> None:
        rows, ending = self._rows, self._ending
        assert rows is not None and ending is not None
        if now.number == 0:
            self._settle_microbatches(now)
        if not now.microbatches or len(now.microbatches) != self.microbatches:
            self._feed(now)
        self._not_recorded.attempt("labels", now.feed_labels)
        note_omissions(self, now, owns_loss=bool(self._on_rank) and self._on_rank[max(self._on_rank)] == self.rank)
        self._not_recorded.attempt("parameters", self._parameters, now.number)
        self._not_recorded.attempt("buffers", self._buffers, now.number)
        self._not_recorded.attempt("moments", self._moments, now.number)
        whole = sorted(now.losses) == list(range(self.microbatches))
        total: Any = numpy.float32(0)
        fed = [self._not_recorded.attempt("inputs", now.really_fed, m) or now.microbatch(m) for m in range(self.microbatches)]
        for m, one in enumerate(fed):
            ending.data_digests.append(one.digest)
            loss = numpy.float32(now.losses[m]) if whole else None
            total = None if loss is None else numpy.float32(total + loss)
            sizes = [one.sequence_length, one.batch, one.tokens, one.valid_tokens]
            rows.add("microbatches", now.number, m, *sizes, number_text(loss), one.digest)
        rows.add("memory", now.number, *[""] * 7)
        tokens = [sum(getattr(now.microbatch(m), key) for m in range(self.microbatches)) for key in ("tokens", "valid_tokens")]
        clipping = map(number_text, self._norms.only())
        self._norms.end(rows)
        rate, seconds = number_text(now.learning_rate), number_text(time.monotonic() - now.began)
        rows.add("steps", now.number, number_text(total), *clipping, FLAGS[updated(self, now)], rate, *tokens, seconds)
        rows.end_step(str(now.number))

    def _settle_microbatches(self, now: CurrentStep) -> None:
        """The first step shows how often a step calls the pipeline, and so how many microbatches it has."""
        ran = max((now.counts.of((stage.number, "F")) for stage in self.stages), default=0)
        if self.microbatches_of_a_call < self.microbatches and 0 < ran < self.microbatches:
            calls = f"{ran} microbatches ({ran // self.microbatches_of_a_call} calls of the schedule, of {self.microbatches_of_a_call})"
            self._not_recorded.note(f"step 0 ran {calls}, but the record was made for {self.microbatches}: the record has {ran}")
            self.microbatches = ran
        if self.microbatches != self._ranks[0].settings[2] and self.rank == 0:
            manifest.write(self, self._ranks)

    def _parameters(self, step: int) -> None:
        for stage in self.stages:
            self._write_tensors(step, stage.parameter_rows({} if self._now is None else self._now.rates))

    def _buffers(self, step: int) -> None:
        for stage in self.stages:
            self._write_tensors(step, stage.buffer_rows())

    def _moments(self, step: int) -> None:
        require_updated(self.stages, self._optimizers)
        for stage in self.stages:
            self._write_tensors(step, stage.moment_rows(self._optimizers))

    # -- failures -------------------------------------------------------------------------------------------------

    def _guarded(self, work: Callable[..., Any], *args: Any) -> Any:
        """Returns work(*args). If it raises, the record is marked as unusable, and the training continues."""
        try:
            return work(*args)
        except Exception as error:
            where = unusable_words(error)
            if not self._finished:
                warn(f"{where}; the training continues")
            self._abort(where)
            return None

    def _failed(self, error: BaseException) -> None:
        """Ends the record with the trainer's own exception, which is passed on."""
        self._abort(place_of(error))

    def _abort(self, where: str) -> None:
        self._now, self._passed_over = None, False
        self.finish("error", 1, where)
