# SPDX-License-Identifier: BSD-3-Clause
"""Replicas: each has its own trainer and record, and gradients are averaged over all of them."""

from habits import Habitual
from trainer import Trainer


def trained(run, folder):
    return train_replicas(run, folder) if run.replicas > 1 else Habitual(run).train(folder)


def train_replicas(run, folder):
    """The reference has the mistake too, as in reality: it is the same program on other ranks."""
    replicas = [Replica(run, number) for number in range(run.replicas)]
    for replica in replicas:
        replica.begin()
    for step in range(run.steps):
        found = [replica.summed_gradients(step) for replica in replicas]
        sums = averaged([sums for _, _, _, sums in found])
        for replica, (batches, losses, whole, own) in zip(replicas, found):
            replica.applied = replica.reduced(sums, own)
            replica.end_step(step, batches, losses, whole, own if replica.records_own else replica.applied)
    folder.mkdir()
    for replica in replicas:
        replica.finish(folder / f"replica-{replica.replica}")
    return folder


def averaged(sums):
    whole = {}
    for name, first in sums[0].items():
        total = first
        for other in sums[1:]:
            total = None if total is None else total.plus(other[name])
        whole[name] = None if total is None else total.times(1 / len(sums))
    return whole


class Replica(Trainer):
    def __init__(self, run, number):
        super().__init__(run, number)
        stages = len(self.ranks)
        ranks = [[first + stage * run.replicas for stage in range(stages)] for first in range(run.replicas)]
        axes = [{"name": "dp", "size": run.replicas, "kind": "replicate"}, {"name": "pp", "size": stages, "kind": "pipeline"}]
        mesh = {"axes": axes, "replicas": ranks, "replica": number}
        if self.has("a replica with another's number"):
            mesh["replica"] = 0
        if self.has("replicas that disagree on the mesh") and number == 1:
            mesh["replicas"] = [[2 * first + stage for stage in range(stages)] for first in range(run.replicas)]
        mesh.update(run.extra.get("mesh", {}))
        self.records_own = mesh.get("gradients") == "own"
        run = type(run)(**{**run.__dict__, "extra": {**run.extra, "mesh": mesh}})
        self.run = run

    def has(self, wrong):
        return self.run.wrong == wrong

    def reduced(self, sums, own):
        last = self.replica == self.run.replicas - 1
        if self.has("a replica's gradient not reduced") and last:
            return {**sums, "down.weight": own["down.weight"]}
        return own if self.has("gradients not reduced") else sums

    def update(self, step, sums, coefficients):
        if not (self.has("a replica skips its update") and (self.replica, step) == (1, 1)):
            super().update(step, self.applied, coefficients)

    def begin(self):
        if self.has("a replica with another start") and self.replica == 1:
            self.set("down.weight", self.weights["down.weight"].times(1.5))
        super().begin()

    def finish(self, folder):
        if not (self.has("a replica without a record") and self.replica == 1):
            super().finish(folder)
