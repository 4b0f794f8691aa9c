# SPDX-License-Identifier: BSD-3-Clause
"""What a record is given before its first step: the run, this rank's place in it, and the stages that it holds."""

from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable, Sequence

from . import meshes, training
from .not_recorded import NotRecorded
from .shards import Shards
from .stages import Stage

LEVELS = ("summary", "full", "dump")


class Settings:
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
        every           10 records the first of every ten steps: step i of the record is step i * 10 of the run, and the others cost nothing.
                        The record that it is compared with has the same
        mesh            where several pipelines train together (data parallel, say): torch's DeviceMesh with names, or the manifest's
                        `mesh` as a dict. Each pipeline is a record of its own, in the folder's replica-0, replica-1, ...
        pipeline        the name of the mesh's axis along which the stages lie
        slices          a manifest.json of a candidate whose replicas hold parts of parameters (FSDP2): a reference, which holds them whole,
                        records the same parts. A trainer's own shards are found
        gather          for ranks without torch.distributed: a function that returns the list of all ranks' objects, given this rank's

        Raises ValueError for a level that does not exist, for counts below 1, for a mesh without the axis, and for `slices` that do not fit.
        """
        if level not in LEVELS:
            raise ValueError(f"level is {level!r}; there are {', '.join(LEVELS)}")
        if steps < 1 or microbatches < 1:
            raise ValueError(f"a record has at least one step and one microbatch, not {steps} and {microbatches}")
        if every < 1:
            raise ValueError(f"every is {every}; 1 records each step, 10 the first of ten")
        if every > 1 and level == "dump":
            raise ValueError("values of an update are recomputed from those before it: at level dump record each step (every=1)")
        self._mesh, self._group = meshes.place_of(mesh, pipeline, group)
        self._gather = gather
        self.rank, self.world_size = self._place(rank, world_size)
        self.shards = Shards(self._mesh, slices)
        self.folder = pathlib.Path(folder) / meshes.folder_of(self._mesh)
        self.run_steps, self.every, self.steps = steps, every, -(-steps // every)  # steps: of the record
        self.microbatches, self.level = microbatches, level
        self.microbatches_of_a_call = microbatches  # fewer where a pipeline is called several times a step
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
        self.stages: list[Stage] = []
        self._not_recorded = NotRecorded()  # what could not be recorded: it ends no training
        self._undo: list[Callable[[], None]] = []  # each takes away what watches the trainer
        self._watch_optimizers()

    def _watch_optimizers(self) -> None:
        """Before the first step, so that hooks that the trainer adds later run later."""

    def _place(self, rank: int | None, world_size: int | None) -> tuple[int, int]:
        if rank is not None and world_size is not None:
            return rank, world_size
        torch = sys.modules.get("torch")
        if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(self._group), torch.distributed.get_world_size(self._group)
        return rank or 0, world_size or 1

    def _of_all_ranks(self, mine: Any) -> list[Any]:
        if self.world_size == 1:
            return [mine]
        if self._gather is not None:
            return self._gather(mine)
        import torch

        if not torch.distributed.is_initialized():
            raise RuntimeError("ranks exchange what stages they hold: give gather=, or initialise torch.distributed")
        everyone: list[Any] = [None] * self.world_size
        torch.distributed.all_gather_object(everyone, mine, group=self._group)
        return everyone
