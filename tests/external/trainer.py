# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small model on one device or as a pipeline, and records it: right, or wrong in one of many ways.

The pipeline's ranks run one after another for each microbatch; only the order in which gradients are added and norms are summed
follows the schedule. A mistake is selected by its name.
"""

import math
import random
from dataclasses import dataclass, field

from model import Dense, Embedding, Gain, Tensor, added, cross_entropy, squared_loss
from record import Rank, digest, f32, write, xxh3


@dataclass
class Run:
    model: str = "tokens"  # or rows
    tied: bool = False
    dtype: str = "float32"
    stages: list = None  # units of each stage by number: [[0, 1], [2, 3, 4]]; None: one device
    ranks: list = None  # the rank of each stage; None: one rank for each
    seed: int = 1
    steps: int = 2
    lengths: list = field(default_factory=lambda: [3, 5, 1, 3])
    order: str = "ascending"  # order of backward passes; or descending, or listed
    optimizer: dict = field(default_factory=lambda: {"name": "sgd", "learning_rate": 0.3, "momentum": 0.0, "weight_decay": 0.0})
    clip: float = None
    norm_order: str = "canonical"
    epsilon: float = 0.0
    scaling: str = "before"
    frozen: tuple = ()
    level: str = "full"
    schedule: str = None  # if named, schedule.csv is written too
    replicas: int = 1  # number of pipelines
    habits: tuple = ()  # names in habits.py; the reference has them too
    extra: dict = field(default_factory=dict)  # keys for the manifest; None removes one
    line_end: str = "\n"
    wrong: str = ""


def units_of(run):
    seed = run.seed
    if run.model == "rows":
        return [Dense(f"block{i}", 3, 3, seed, run.dtype) for i in range(4)] + [Dense("head", 3, 2, seed, run.dtype, head=True)]
    made = [Embedding("embed", 7, 4, seed, run.dtype), Dense("up", 4, 6, seed, run.dtype), Dense("down", 6, 4, seed, run.dtype)]
    made += [Gain("scale", 4, seed, run.dtype), Dense("head", 4, 7, seed, run.dtype, head=True)]
    if run.tied:
        made[-1].parameters["weight"] = made[0].parameters["weight"]
    return made


class Trainer:
    def __init__(self, run, replica=0):
        self.run, self.units = run, units_of(run)
        self.replica = replica  # number of this pipeline (replicas.py)
        self.numbers = list(range(len(self.units)))
        self.stages = run.stages or [self.numbers]
        self.on = run.ranks or list(range(len(self.stages)))
        self.alone = len(self.stages) == 1
        self.ranks = [Rank(rank) for rank in range(max(self.on) + 1)]
        self.stage_of = {unit: stage for stage, units in enumerate(self.stages) for unit in units}
        self.cut_into = {}
        following = None
        for stage in reversed(range(len(self.stages))):
            following = self.units[self.stages[stage][0]].name if self.stages[stage] else following
            self.cut_into[stage] = following
        self.weights = {}  # by name, in the model's order; a tied weight under both names
        for unit in self.units:
            for kind, value in unit.parameters.items():
                self.weights[f"{unit.name}.{kind}"] = value
        self.moments = {}
        self.left = {}  # gradients that were not zeroed

    def has(self, wrong):
        return not self.alone and self.run.wrong == wrong

    def rank_of(self, name):
        return self.on[self.place(name)]

    def place(self, name):
        return next(self.stage_of[i] for i, unit in enumerate(self.units) if name.startswith(unit.name + "."))

    # -- data

    def batch(self, step, m):
        """The input, the labels, and how many of them are valid."""
        run, length = self.run, self.run.lengths[m]
        fed = 0 if self.has("replicas get the same data") else self.replica
        draw = random.Random(f"data {run.seed} {step} {m}" + (f" {fed}" if fed else ""))
        if run.model == "rows":
            fed = Tensor((length, 3), [draw.uniform(-1, 1) for _ in range(3 * length)], run.dtype)
            return fed, Tensor((length, 2), [draw.uniform(-1, 1) for _ in range(2 * length)], run.dtype), length
        ids, labels = [draw.randrange(7) for _ in range(length)], [draw.randrange(7) for _ in range(length)]
        labels = [-100] * length if m == 3 else [-100 if i == 2 else label for i, label in enumerate(labels)]
        return Tensor((1, length), ids, "int64"), Tensor((1, length), labels, "int64"), sum(label >= 0 for label in labels)

    # -- one step

    def summed_gradients(self, step):
        """Forward and backward of all microbatches; returns what the rest of the step needs."""
        run, wrong = self.run, self.has
        count = len(run.lengths)
        batches = [self.batch(step, m) for m in range(count)]
        whole = sum(valid for _, _, valid in batches)
        order = {"ascending": list(range(count)), "descending": list(reversed(range(count)))}.get(run.order, [1, 0, *range(2, count)])
        if wrong("order of accumulation"):
            order = order[::-1]
        gradients, losses = {}, {}
        for m in range(count):
            kept, out, losses[m] = self.forward(step, m, batches[m], whole, count)
            gradients[m] = self.backward(step, m, kept, out, batches[m][2], whole)
        return batches, losses, whole, self.summed(step, gradients, order)

    def end_step(self, step, batches, losses, whole, sums):
        for stage, units in enumerate(self.stages):
            for unit in units:
                for kind in self.units[unit].parameters:
                    self.row(step, "gradient", f"{self.units[unit].name}.{kind}", stage, sums)
        norms, coefficients = self.norms(sums)
        self.update(step, sums, coefficients)
        self.record_step(step, batches, losses, norms, coefficients, whole)

    def cross(self, step, m, direction, stage, tensor):
        """Between the stages below and above: each end records its digest. Returns what arrives."""
        low, high = stage - 1, stage
        ends = (low, high) if direction == "forward" else (high, low)
        giver, taker = self.on[ends[0]], self.on[ends[1]]
        cut = self.cut_into[high]
        here = (step, m, direction, cut, ends)
        arrives = tensor
        struck = (step, m) == (1, 1)
        if self.has(f"{direction} received late") and struck:
            arrives = tensor.changed([value + 1 for value in tensor.values])
        if self.has(f"{direction} one bit") and struck:
            tensor = arrives = tensor.changed([math.nextafter(tensor.values[0], 9) if tensor.dtype == "float64" else tensor.values[0] * (1 + 2**-23), *tensor.values[1:]])
        if self.has("gradient in half precision") and direction == "backward":
            import struct
            halves = struct.unpack(f"<{len(tensor.values)}e", struct.pack(f"<{len(tensor.values)}e", *tensor.values))
            tensor = arrives = tensor.changed(list(halves))
        if giver == taker:
            self.ranks[taker].boundary(*here, "local", taker, arrives)
            return arrives
        self.ranks[giver].boundary(*here, "send", taker, tensor)
        if not (self.has("receive not recorded") and struck):
            self.ranks[taker].boundary(*here, "receive", giver, arrives)
        return arrives

    def forward(self, step, m, batch, whole, count):
        x, labels, valid = batch
        if self.has("labels of another microbatch") and m in (0, 3):
            labels = self.batch(step, 3 - m)[1]
        if self.has("input of another step") and step == 1:
            x = self.batch(0, m)[0]
        kept = {}
        for stage, units in enumerate(self.stages):
            if stage > 0:
                x = self.cross(step, m, "forward", stage, x)
            for unit in units:
                if self.alone and unit > 0:
                    self.ranks[0].boundary(step, m, "forward", self.units[unit].name, (None, None), "computed", None, x)
                x, kept[unit] = self.units[unit].forward(x)
        if self.has("mean of means"):
            whole = max(valid, 1) * count
        loss, gradient = self.loss_of(x, labels, self.divisor(valid, whole, count))
        if self.has("loss recorded without its scale") and step == 0:
            loss *= 2
        if self.has("not a number") and (step, m) == (1, 0):
            loss = math.nan
        return kept, gradient, f32(loss)

    def loss_of(self, x, labels, divisor):
        return (squared_loss if self.run.model == "rows" else cross_entropy)(x, labels, divisor)

    def divisor(self, valid, whole, count):
        """The divisor of a microbatch's summed loss."""
        return whole

    def backward(self, step, m, kept, above, valid, whole):
        factor = 1.0 if self.run.scaling == "after" else 1.0 / self.divisor(valid, whole, len(self.run.lengths))
        if self.has("loss not scaled"):
            factor = 1.0
        above, found = above.times(factor), {}
        for stage in reversed(range(len(self.stages))):
            for unit in reversed(self.stages[stage]):
                above, own = self.units[unit].backward(kept[unit], above)
                found |= {f"{self.units[unit].name}.{kind}": value for kind, value in own.items()}
                if self.alone and unit > 0:
                    self.ranks[0].boundary(step, m, "backward", self.units[unit].name, (None, None), "computed", None, above)
            if stage > 0:
                above = self.cross(step, m, "backward", stage, above)
                if self.has("graph cut") and stage == 1:
                    above = above.zeros()
        return found

    def summed(self, step, gradients, order):
        sums = {}
        for name in self.weights:
            total = self.weights[name].zeros()
            for m in order:
                if self.has("microbatch dropped") and (step, m) == (0, 1) and self.place(name) == 0:
                    continue
                total = total.plus(gradients[m][name])
            sums[name] = total
        if self.run.tied:
            both = sums["embed.weight"].plus(sums["head.weight"])
            if not self.has("tied gradients not reduced"):
                sums["embed.weight"] = both
            sums["head.weight"] = both
        if self.run.scaling == "after":
            whole = sum(self.batch(step, m)[2] for m in range(len(self.run.lengths)))
            sums = {name: value.changed([v / (2 * whole if self.has("divided twice") else whole) for v in value.values]) for name, value in sums.items()}
        for name in self.run.frozen:
            sums[name] = None
        if self.has("not zeroed"):
            for name, value in self.left.items():
                sums[name] = sums[name].plus(value)
            self.left = dict(sums)
        if self.has("one gradient zero") and step == 1:
            sums["down.weight"] = sums["down.weight"].zeros()
        return sums

    def row(self, step, kind, name, stage, values):
        value = values.get(name)
        if value is None or (self.has("parameter not recorded") and name == "scale.gain"):
            return
        self.ranks[self.on[stage]].tensor(step, kind, name, stage, value)

    def distinct(self, sums):
        return [name for name, value in sums.items() if value is not None and not (self.run.tied and name == "head.weight")]

    def norms(self, sums):
        """For each rank: the norm, and the factor for the gradients."""
        run, norms = self.run, []
        if run.clip is None:
            return [None] * len(self.ranks), [None] * len(self.ranks)
        names = self.distinct(sums)
        if self.has("tied weight counted twice"):
            names = [name for name, value in sums.items() if value is not None]
        for rank in range(len(self.ranks)):
            if run.norm_order == "per_rank":
                parts = [added(sums[name].square_sum() for name in names if self.rank_of(name) == one) for one in range(len(self.ranks))]
                norm = math.sqrt(added(parts))
            elif self.has("norm of the own stage only"):
                norm = math.sqrt(added(sums[name].square_sum() for name in names if self.rank_of(name) == rank))
            else:
                norm = math.sqrt(added(math.sqrt(sums[name].square_sum()) ** 2 for name in names))
            norms.append(norm)
        if self.has("wrong norm on one rank"):
            norms[1] *= 1 + 2**-40
        coefficients = [min(1.0, run.clip / (norm + run.epsilon)) for norm in norms]
        if self.has("coefficient not limited"):
            coefficients = [run.clip / norm for norm in norms]
        return norms, coefficients

    def rate(self, step):
        rate = self.run.optimizer["learning_rate"]
        return rate * 0.5 if self.has("another learning rate") and step == 1 else rate

    def update(self, step, sums, coefficients):
        run, options = self.run, self.run.optimizer
        for name in list(self.weights):
            gradient = sums[name]
            if gradient is None or (run.tied and name == "head.weight"):
                continue
            coefficient = coefficients[self.rank_of(name)]
            if coefficient is not None and not self.has("coefficient not applied"):
                gradient = gradient.times(coefficient)
            last = self.place(name) == len(self.stages) - 1
            if self.has("stage not updated") and last and step == 1:
                continue
            for _ in range(2 if self.has("updated twice") and step == 0 and last else 1):
                self.apply(name, gradient, self.rate(step), options, step + 1)
        if run.tied:
            self.set("head.weight", self.weights["embed.weight"])
            if self.has("tied copy not updated") and step == 0:
                self.copy = self.start

    def set(self, name, value):
        self.weights[name] = value
        unit, kind = name.split(".")
        next(one for one in self.units if one.name == unit).parameters[kind] = value

    def apply(self, name, gradient, rate, options, number):
        weight, decay = self.weights[name], options["weight_decay"]
        last = self.place(name) == len(self.stages) - 1
        if self.has("no weight decay on one stage") and last:
            decay = 0.0
        zeros = weight.zeros()
        if options["name"] == "adamw":
            beta1, beta2 = options["beta1"], options["beta2"]
            if self.has("another beta") and last:
                beta2 = 0.9
            if self.has("steps counted from 0") and number == 2:
                number = 1
            first, second = self.moments.get(name, (zeros, zeros))
            first = weight.changed([beta1 * m + (1 - beta1) * g for m, g in zip(first.values, gradient.values)])
            second = weight.changed([beta2 * v + (1 - beta2) * g * g for v, g in zip(second.values, gradient.values)])
            self.moments[name] = (first, second)
            one, two = 1 - beta1**number, 1 - beta2**number
            moved = [
                p * (1 - rate * decay) - rate * (m / one) / (math.sqrt(v / two) + options["eps"])
                for p, m, v in zip(weight.values, first.values, second.values)
            ]
        elif options["name"] == "signs":  # an optimizer that the record format does not know
            moved = [p - rate * math.copysign(1.0, g) * 0.01 for p, g in zip(weight.values, gradient.values)]
        else:
            moving = [g + decay * p for g, p in zip(gradient.values, weight.values)]
            if options["momentum"]:
                before = self.moments.get(name, (zeros,))[0]
                if self.has("momentum forgotten"):
                    before = zeros
                buffer = weight.changed([options["momentum"] * b + g for b, g in zip(before.values, moving)])
                self.moments[name] = (buffer,)
                moving = buffer.values
            moved = [p - rate * g for p, g in zip(weight.values, moving)]
        self.set(name, weight.changed(moved))

    # -- what is recorded

    def record_step(self, step, batches, losses, norms, coefficients, whole):
        run = self.run
        counts = [fed.shape[0] if run.model == "rows" else fed.shape[1] for fed, _, _ in batches]
        for stage, units in enumerate(self.stages):
            for unit in units:
                for kind in self.units[unit].parameters:
                    name = f"{self.units[unit].name}.{kind}"
                    stale = self.has("tied copy not updated") and name == "head.weight" and step == 0
                    self.row(step, "parameter", name, stage, {name: self.start["head.weight"]} if stale else self.weights)
                    twin = "embed.weight" if run.tied and name == "head.weight" else name
                    for moment, value in zip(("moment1", "moment2"), self.moments.get(twin, ())):
                        self.row(step, moment, name, stage, {name: value})
        if self.has("parameter on two ranks"):
            self.ranks[0].tensor(step, "parameter", "down.weight", 0, self.weights["down.weight"])
        total = 0.0
        for m in range(len(batches)):
            total = f32(total + losses[m])
        for rank in self.ranks:
            owner = rank.rank == self.on[-1]
            for m, (fed, labels, valid) in enumerate(batches):
                if self.has("input of another step") and step == 1:
                    fed, labels, _ = self.batch(0, m)
                if run.model == "rows":
                    said, size = xxh3(digest(fed) + digest(labels)), [1, counts[m]]
                else:
                    said, size = digest(Tensor((2, 1, counts[m]), fed.values + labels.values, "int64")), [counts[m], 1]
                rank.fed.append(said)
                rank.rows["microbatches"].append([step, m, *size, counts[m], valid, repr(losses[m]) if owner else "", said])
            norm, coefficient = norms[rank.rank], coefficients[rank.rank]
            said = [repr(total) if owner else "", norm, coefficient, self.rate(step)]
            rank.rows["steps"].append([step, *("" if value is None else value for value in said), sum(counts), whole, 0.01])
            rank.rows["memory"].append([step, *[""] * 7])
            for action in self.actions(rank.rank):
                rank.action(step, *action)
            mine = [stage for stage, on in enumerate(self.on) if on == rank.rank]
            rank.action(step, "STEP", min(mine))

    def actions(self, rank):
        """GPipe: all forward passes, then all backward passes."""
        mine = [stage for stage, on in enumerate(self.on) if on == rank]
        order = range(len(self.run.lengths))
        found = [("F", stage, m) for stage in mine for m in order]
        found += [("B", stage, m) for stage in reversed(mine) for m in (reversed(order) if self.run.order == "descending" else order)]
        if self.has("actions in another order") and rank == 1:
            found[-1], found[-2] = found[-2], found[-1]
        return found

    def train(self, folder):
        self.begin()
        for step in range(self.run.steps):
            self.end_step(step, *self.summed_gradients(step))
        self.finish(folder)
        return folder

    def begin(self):
        self.start = dict(self.weights)
        if self.has("another start"):
            self.set("down.weight", self.weights["down.weight"].times(1.5))
        for stage, units in enumerate(self.stages):
            for unit in units:
                for kind in self.units[unit].parameters:
                    self.row(-1, "parameter", f"{self.units[unit].name}.{kind}", stage, self.weights)
        if self.has("parameter on two ranks"):
            self.ranks[0].tensor(-1, "parameter", "down.weight", 0, self.weights["down.weight"])

    def finish(self, folder):
        run = self.run
        planned = [[f"{stage}{kind}{m}" for kind, stage, m in Trainer(run).planned(rank.rank)] for rank in self.ranks]
        self.damage()
        listed = [[self.units[unit].name, m] for unit in self.numbers for m in [1, 0, *range(2, len(run.lengths))]]
        manifest = {
            "model": {"kind": run.model, "units": len(self.units)},
            "seed": run.seed,
            "dtype": run.dtype,
            "device": "cpu",
            "world_size": len(self.ranks),
            "steps": run.steps,
            "data": {"source": "drawn", "microbatches": len(run.lengths)},
            "schedule": {
                "name": run.schedule or ("sequential" if self.alone else "by hand"),
                "chunks_per_rank": max(self.on.count(rank) for rank in self.on),
                "microbatches": len(run.lengths),
                "digest": None,
                "accumulation": run.order,
            },
            "stages": [
                {"stage": stage, "rank": self.on[stage], "units": [self.units[unit].name for unit in units]}
                for stage, units in enumerate(self.stages)
            ],
            "tied": [["embed.weight", "head.weight"]] if run.tied else [],
            "frozen": list(run.frozen),
            "loss_scaling": run.scaling,
            "optimizer": run.optimizer,
            "clip_norm": run.clip,
            "norm_order": run.norm_order,
            "clip_epsilon": run.epsilon,
            "level": run.level,
            "started": "2026-01-01T00:00:00Z",
        }
        for key, value in run.extra.items():
            manifest[key] = value
        manifest = {key: value for key, value in manifest.items() if not (key in run.extra and value is None)}
        if self.has("units in another order"):
            manifest["stages"][0]["units"].reverse()
        accumulation = [["unit", "microbatch"], *listed] if run.order == "listed" else None
        schedule = planned if run.schedule and not self.alone else None
        write(folder, manifest, self.ranks, schedule, accumulation, run.line_end)

    def planned(self, rank):
        self.run = Run(**{**self.run.__dict__, "wrong": ""})
        return self.actions(rank)

    def damage(self):
        """Faults at the end of a run and in the recorder."""
        last = self.ranks[-1]
        if self.has("rank died"):
            last.status = None
            for table in last.rows:
                last.rows[table] = [row for row in last.rows[table] if row[0] < self.run.steps - 1]
        if self.has("rank failed"):
            last.status = "error"
        if self.has("boundary with another microbatch's number"):
            for row in last.rows["boundaries"]:
                if row[0] == 1 and row[1] in (0, 1) and row[2] == "forward":
                    row[1] = 1 - row[1]
