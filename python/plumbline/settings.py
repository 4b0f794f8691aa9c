# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a record: the run, this rank's place in it, and its stages."""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Mapping, Sequence

from . import digests, meshes, position_sums, training
from .chosen import Chosen
from .norms import Norms, read_replay
from .not_recorded import NotRecorded
from .parts import Parts
from .stages import Stage

LEVELS = ("summary", "full", "dump")
DIGESTS = (digests.NAME, position_sums.NAME)


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
        only: Sequence[str] = (),
        ranks: Sequence[int] | None = None,
        digest: str = digests.NAME,
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
        axes: Mapping[str, str] | None = None,
        parts: Mapping[str, Sequence[str]] | None = None,
        gather: Callable[[Any], list[Any]] | None = None,
        slices: str | pathlib.Path | None = None,
        norms_from: str | pathlib.Path | None = None,
    ) -> None:
        """
        folder          created by rank 0; must be new or empty
        model           the model's configuration: a dict, or an object of such values
        steps, microbatches
                        number of steps of the run, of microbatches of each step
        optimizer       of torch.optim, a list of several, or the manifest's dict; None on a rank that trains nothing
        clip_norm       limit of the global gradient norm; None: no clipping
        norm_order      "per_rank": squares are summed on each rank and then over ranks, as most trainers do.
                        "canonical": the norm has the same bits on any number of ranks
        clip_epsilon    added to the norm before the limit is divided by it; torch adds 1e-6
        loss_scaling    "before" the backward pass, or "after" it (torch's schedules with scale_grads)
        tied            groups of parameter names that are one weight; groups within one rank are found
        schedule        the name of a hand-written pipeline's schedule, as a sweep requests it ("1F1B")
        level           "full"; "summary" without tensors, "dump" with the tensors themselves
        every           10 records the first of every ten steps: step i of the record is step i * 10 of the run. Must be the same in both
                        records
        only, ranks     record only tensors of these units and parameters, by patterns of their names (["layers.0", "layers.7*"]), only on
                        these ranks; default: all. Losses, data and norms always are. The verdict lists the rest as not requested
        digest          of tensors: "xxh3-128", or "position-sum-128" for tensors on a GPU, which one kernel of Triton reads there once, without
                        waiting for the host within the step. Must be the same in both records
        mesh            if several pipelines train together: torch's DeviceMesh of all ranks, with names, or a dict such as {"axes": {"dp": 2,
                        "pp": 2}, "replicas": [[0, 1], [2, 3]], "replica": 1}: the ranks of each place, and which one this is. Each place
                        writes a record of its own, into the folder's replica-0, replica-1, ...
        pipeline        the name of the mesh's axis of stages, which has size 1 in the reference
        axes            what axes do whose names are not torchtitan's: {"model": "tensor"}; replicate, shard, tensor, context or expert
        parts           plain tensors that places along an axis hold in different parts: {"ep": ["*.experts.*"]}, patterns
                        of names. DTensors, and what Megatron marks, are found
        slices          the manifest.json of a candidate whose places hold shards of parameters along one axis (FSDP2): a reference that holds
                        them whole then records the same parts
        norms_from      on one device, the record of the pipeline: its gradient norms are replayed, so that both clip by the same bits. torch's
                        clipping functions get them; code of your own clips by what record.norm(total_norm) returns. "" or None: no replay
        gather          for ranks without torch.distributed: a function that returns the list of all ranks' objects, given this rank's

        Raises ValueError for an unknown level or digest, counts below 1, ranks that do not exist, an optimizer without rates, a mesh without the axis or with one of an unknown kind,
        `slices` that do not fit, and
        `norms_from` that is no record or has no norms.
        """
        if level not in LEVELS:
            raise ValueError(f"level is {level!r}; it must be one of {', '.join(LEVELS)}")
        if steps < 1 or microbatches < 1:
            raise ValueError(f"a record needs at least one step and one microbatch, not {steps} and {microbatches}")
        if digest not in DIGESTS:
            raise ValueError(f"digest is {digest!r}; it must be one of {', '.join(DIGESTS)}")
        if digest == position_sums.NAME and level == "dump":
            raise ValueError(f"at level dump the digest must be {digests.NAME}: the judge computes it again from the tensors")
        if every < 1:
            raise ValueError(f"every is {every}; it must be at least 1: 1 records each step, 10 the first of ten")
        if (only or ranks is not None) and level == "dump":
            raise ValueError("at level dump all tensors must be recorded (without only= and ranks=): the judge recomputes updates and norms from them")
        if every > 1 and level == "dump":
            raise ValueError("at level dump every step must be recorded (every=1): the judge recomputes each update from the step before")
        self._mesh, self._group = meshes.place_of(mesh, pipeline, axes or {}, group)
        self._gather = gather
        self.rank, self.world_size = self._place(rank, world_size)
        self._chosen = Chosen(only, ranks, self.rank, self.world_size)
        self.parts = Parts(self._mesh, slices, parts or {})
        self.folder = pathlib.Path(folder) / meshes.folder_of(self._mesh)
        self.run_steps, self.every, self.steps = steps, every, -(-steps // every)  # self.steps: of the record
        self.microbatches, self.level, self.digest = microbatches, level, digest
        self.microbatches_of_a_call = microbatches  # fewer if a step calls the pipeline several times
        self.clip_norm, self.norm_order, self.clip_epsilon = clip_norm, norm_order, clip_epsilon
        self.loss_scaling, self.seed, self.data_source, self.device = loss_scaling, seed, data_source, device
        self.accumulation = accumulation
        self.accumulation_rows: list[tuple[str, int]] = []  # if accumulation is "listed": unit, microbatch
        self.schedule_name = schedule or "sequential"
        self.chunks_per_rank = 1
        self.schedule_rows: list[list[str]] | None = None  # by rank, compute actions of one call of the schedule
        self.names_stripped: set[str] = set()  # prefixes that wrappers add
        self._model, several = training.model_of(model), training.unwrapped(optimizer)
        self._optimizers = [one for one in several if not isinstance(one, dict)]
        self._optimizer_dicts = [one for one in several if isinstance(one, dict)]
        training.require_rates(self._optimizers)
        self._tied = [list(names) for names in tied]
        self.stages: list[Stage] = []
        self._not_recorded = NotRecorded()  # what could not be recorded, with the reason
        self._norms = Norms(read_replay(norms_from, self._mesh) if norms_from else None, self._not_recorded)
        self._norms_from = self._norms.replay.source if self._norms.replay else None
        self._undo: list[Callable[[], None]] = []  # each removes a hook
        self._watch_optimizers()

    def _watch_optimizers(self) -> None:
        """Called before the trainer adds its own hooks, which then run later."""

    def _place(self, rank: int | None, world_size: int | None) -> tuple[int, int]:
        if rank is not None and world_size is not None:
            return rank, world_size
        distributed = meshes.initialized()
        if distributed is not None:
            return distributed.get_rank(self._group), distributed.get_world_size(self._group)
        return rank or 0, world_size or 1

    def _of_all_ranks(self, local: Any) -> list[Any]:
        if self.world_size == 1:
            return [local]
        if self._gather is not None:
            return self._gather(local)
        distributed = meshes.initialized()
        if distributed is None:
            raise RuntimeError("ranks must exchange their stages: give gather=, or initialize torch.distributed")
        everyone: list[Any] = [None] * self.world_size
        distributed.all_gather_object(everyone, local, group=self._group)
        return everyone
