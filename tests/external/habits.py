# SPDX-License-Identifier: BSD-3-Clause
"""How other people train and record. The reference has each habit too, and none is a mistake, except those that pairs.py lists as
wrong."""

import math
import shutil
from dataclasses import replace

from model import added, cross_entropy
from record import f32, xxh3
from trainer import Trainer


class Habitual(Trainer):
    def does(self, habit):
        return habit in self.run.habits

    def pipeline_does(self, habit):
        return not self.alone and self.does(habit)

    def __init__(self, run, replica=0):
        super().__init__(run, replica)
        if self.does("a gain that starts at zero"):
            self.set("scale.gain", self.weights["scale.gain"].zeros())
        if self.does("one weight in two blocks"):
            self.set("block2.weight", self.weights["block1.weight"])
        if self.does("a dead unit"):
            self.units[1].backward = self.dead(self.units[1].backward)

    @staticmethod
    def dead(backward):
        def nothing(kept, above):
            below, own = backward(kept, above)
            return below, {kind: value.zeros() for kind, value in own.items()}

        return nothing

    # -- losses

    def loss_of(self, x, labels, whole):
        if self.does("label smoothing"):
            return smoothed(x, labels, whole)
        return super().loss_of(x, labels, whole)

    def divisor(self, valid, whole, count):
        """A microbatch's own mean; the step's loss is the mean of these. Or a plain sum."""
        if self.does("mean of means"):
            return max(valid, 1) * count
        return 1 if self.does("losses are summed") else whole

    # -- gradients

    def summed(self, step, gradients, order):
        sums = super().summed(step, gradients, order)
        if self.does("gradients in bfloat16"):
            sums = {name: value and type(value)(value.shape, value.values, "bfloat16") for name, value in sums.items()}
        if self.does("an unused parameter"):
            sums["scale.gain"] = None
        if self.does("one weight in two blocks"):
            sums["block1.weight"] = sums["block2.weight"] = sums["block1.weight"].plus(sums["block2.weight"])
        if self.does("a step skipped by the scaler") and step == 1:
            first = sums["up.weight"]
            sums["up.weight"] = first.changed([math.inf, *first.values[1:]])
        return sums

    def row(self, step, kind, name, stage, values):
        value = values.get(name)
        lacks = self.does("a gradient missing in both runs") or self.pipeline_does("a gradient missing in the pipeline")
        if kind == "gradient" and name == "scale.gain" and lacks:
            return
        if kind == "gradient" and value is not None and self.does("gradients in double precision"):
            values = {name: type(value)(value.shape, value.values, "float64")}
        super().row(step, kind, name, stage, values)

    # -- the update

    def rate(self, step):
        return super().rate(step) * (step + 1 if self.does("a rate that warms up") else 1)

    def update(self, step, sums, coefficients):
        skips = self.does("a step skipped by the scaler") or self.does("a step that is skipped")
        if skips and step == 1 or self.pipeline_does("skipped only in the pipeline") and step == 1:
            return
        super().update(step, sums, coefficients)
        if self.does("one weight in two blocks"):
            self.set("block2.weight", self.weights["block1.weight"])

    def apply(self, name, gradient, rate, options, number):
        if self.does("a learning rate for each group") and name.endswith("bias"):
            rate *= 10
        if options.get("nesterov"):
            return self.nesterov(name, gradient, rate, options)
        super().apply(name, gradient, rate, options, number)

    def nesterov(self, name, gradient, rate, options):
        before = self.moments.get(name)
        buffer = gradient if before is None else before[0].times(options["momentum"]).plus(gradient)
        self.moments[name] = (buffer,)
        moving = gradient.plus(buffer.times(options["momentum"]))
        self.set(name, self.weights[name].plus(moving.times(-rate)))

    # -- what is recorded

    def rename(self, old, new):
        next(unit for unit in self.units if unit.name == old).name = new
        for rank in self.ranks:
            for row in rank.rows["tensors"]:
                row[2] = row[2].replace(old + ".", new + ".")
            for row in rank.rows["boundaries"]:
                row[3] = new if row[3] == old else row[3]

    def finish(self, folder):
        if self.does("names with special characters"):
            self.rename("down", 'a "down", <b> up & away')
        owner = self.ranks[self.on[-1]]
        for rank in self.ranks:
            tables = rank.rows
            if self.does("every rank records the loss"):
                for table, column in (("steps", 1), ("microbatches", 6)):
                    for row, theirs in zip(tables[table], owner.rows[table]):
                        row[column] = theirs[column]
                for row in tables["steps"]:
                    row[-1] = 0.01 * len(self.ranks)  # its duration; otherwise the rows would equal the reference's to the byte
            if self.does("rows in any order"):
                for table in ("tensors", "boundaries"):
                    tables[table].sort(key=lambda row: (row[0], digest_of_text(row)))
            if self.does("no clip coefficient"):
                for row in tables["steps"]:
                    row[3] = ""
            if self.pipeline_does("losses with five digits"):
                for row in tables["microbatches"]:
                    row[6] = row[6] and f"{float(row[6]):.5f}"
            if self.pipeline_does("upper-case digests"):
                for row in tables["tensors"]:
                    row[6] = row[6].upper()
            if self.pipeline_does("ranks record different losses") and rank is not owner:
                for row, theirs in zip(tables["microbatches"], owner.rows["microbatches"]):
                    row[6] = repr(2 * float(theirs[6]))
            if self.does("no actions"):
                tables["actions"], rank.last_action = [], None
            if self.pipeline_does("steps numbered from 1"):
                for rows in tables.values():
                    for row in rows:
                        row[0] += 1
            if self.pipeline_does("microbatches numbered from 1"):
                for row in tables["microbatches"]:
                    row[1] += 1
            if self.pipeline_does("names of a stage's own module"):
                for row in tables["tensors"]:
                    row[2] = row[2].replace("down.", "0.").replace("scale.", "1.").replace("head.", "2.")
            if self.pipeline_does("a duplicated table"):
                tables["tensors"] += tables["tensors"][-1:]
            if self.does("loss in double precision"):
                for row in tables["steps"]:
                    row[1] = row[1] and repr(added(float(one[6]) for one in owner.rows["microbatches"] if one[0] == row[0]) + 1e-12)
            if self.does("the loss of the step is a mean"):
                for row in tables["steps"]:
                    row[1] = row[1] and repr(f32(float(row[1]) / len(self.run.lengths)))
        super().finish(folder)
        if self.pipeline_does("a rank's folder of another run"):
            other = folder.parent / "other run"
            Habitual(replace(self.run, seed=2, habits=())).train(other)
            shutil.rmtree(folder / "rank-1")
            shutil.move(other / "rank-1", folder / "rank-1")
        if self.pipeline_does("files with a byte order mark"):
            for path in [folder / "manifest.json", folder / "rank-1" / "steps.csv"]:
                path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def digest_of_text(row):
    return xxh3(",".join(map(str, row)))


def smoothed(logits, labels, count, share=0.1):
    """Cross entropy against a mixture of the label and all classes equally."""
    total, gradient = cross_entropy(logits, labels, 1)
    width = logits.shape[1]
    values = list(gradient.values)
    for i, label in enumerate(labels.values):
        if label == -100:
            continue
        row = logits.values[i * width : (i + 1) * width]
        whole = added(math.exp(value) for value in row)
        total += share * (added(math.log(whole) - value for value in row) / width - (math.log(whole) - row[label]))
        for j in range(width):
            values[i * width + j] += share * ((1.0 if j == label else 0.0) - 1 / width)
    return total / count, logits.changed(values)
