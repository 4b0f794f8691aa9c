# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of records of small models, right and wrong, and the judge's expected verdict, check and place."""

from dataclasses import dataclass, replace

from trainer import Run

ADAMW = {"name": "adamw", "learning_rate": 0.05, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}
MOMENTUM = {"name": "sgd", "learning_rate": 0.2, "momentum": 0.9, "weight_decay": 0.01}
NESTEROV = {"name": "sgd", "learning_rate": 0.2, "momentum": 0.9, "weight_decay": 0.0, "nesterov": True}
SIGNS = {"name": "signs", "learning_rate": 0.5, "weight_decay": 0.0}

TWO, THREE, FIVE = [[0, 1], [2, 3, 4]], [[0], [1, 2], [3, 4]], [[0], [1], [2], [3], [4]]
LOOPED = {"stages": [[0], [1], [2, 3], [4]], "ranks": [0, 1, 0, 1]}
V_SHAPED = {"stages": [[0], [1], [2, 3], [4]], "ranks": [0, 1, 1, 0]}
RELAY = [[0, 1], [], [2, 3, 4]]
ONE_RUN = {"run_id": "3f0c2a4e-0d0b-4f6e-9a8b-0c9d6f1c2b3a"}
OWN = {"mesh": {"gradients": "own"}}


@dataclass
class Pair:
    name: str
    run: Run  # the pipeline's run; the reference's is the same on one device
    reference: dict  # changes of the reference's run
    check: str = ""  # the check that must fail; empty: the pair is right
    place: tuple = ()  # texts in the first divergence or in the refusal
    says: str = ""  # for a right pair: a text in the verdict


def right(name, stages=None, says="", reference=None, **changes):
    return Pair(name, Run(stages=stages, **changes), reference or {}, says=says)


def wrong(name, check, *place, stages=TWO, reference=None, **changes):
    return Pair(name, Run(stages=stages, wrong=name, **changes), reference or {}, check, place)


def habit(name, stages=TWO, says="", **changes):
    return right(name, stages, says, habits=(name,), **changes)


def bad_habit(name, check, *place, stages=TWO, **changes):
    return Pair(name, Run(stages=stages, habits=(name,), **changes), {}, check, place)


RIGHT = [
    right("two ranks", TWO),
    right("a rank for each unit", FIVE),
    right("rows without tokens", [[0], [1, 2], [3, 4]], model="rows", dtype="float64"),
    right("looped stages", **LOOPED, optimizer=ADAMW, clip=0.4),
    right("stages in a V", **V_SHAPED, dtype="float64", optimizer=MOMENTUM),
    right("an empty stage in the middle", RELAY),
    right("backward passes descending", TWO, order="descending"),
    right("gradients summed in a listed order", THREE, order="listed"),
    right("tied weights", TWO, tied=True, optimizer=ADAMW, clip=0.5),
    right("tied weights on one rank", **V_SHAPED, tied=True, optimizer=MOMENTUM),
    right("norm summed by rank", THREE, clip=0.4, norm_order="per_rank", epsilon=1e-6, optimizer=ADAMW, dtype="float64", seed=4, lengths=[3, 5, 1, 3, 4], says="INCOMPLETE: nothing differs, but loss, gradients, parameters were not compared from step"),
    right("loss scaled afterwards", TWO, scaling="after"),
    right("a frozen parameter", TWO, frozen=("up.bias",), optimizer=ADAMW),
    right("an optimizer without a name", TWO, optimizer=SIGNS),
    right("a declared schedule", THREE, schedule="GPipe", says="conformance        holds"),
    right("dumps of values", TWO, level="dump", optimizer=ADAMW, clip=0.4, dtype="float32"),
    right("three steps of seven microbatches", THREE, steps=3, lengths=[2, 4, 1, 3, 5, 2, 6], optimizer=ADAMW, clip=0.5),
    right("Windows line ends", TWO, line_end="\r\n"),
    right("extra keys, and no optional ones", TWO, extra={"frozen": None, "loss_scaling": None, "norm_order": None, "notes": ["a, \"b\"", 1]}),
    right("two replicas", TWO, replicas=2, says="each of 2 places"),
    right("three replicas, clipped", TWO, replicas=3, clip=0.2, optimizer=ADAMW),
    right("replicas that record their own gradients", TWO, replicas=2, extra=OWN, reference={"extra": OWN}, says="gradients of the places"),
    habit("mean of means"),
    habit("losses are summed"),
    habit("label smoothing"),
    habit("a gain that starts at zero", THREE),
    habit("a dead unit", THREE),
    habit("an unused parameter", says="never gets a gradient"),
    right("an unused parameter with its values", TWO, habits=("an unused parameter",), optimizer=ADAMW, level="dump"),
    right("an unused parameter of AdamW", TWO, habits=("an unused parameter",), optimizer=ADAMW, clip=0.4),
    habit("one weight in two blocks", [[0, 1], [2, 3, 4]], model="rows"),
    habit("gradients in double precision", optimizer=ADAMW),
    habit("a step that is skipped"),
    habit("a learning rate for each group", level="dump", optimizer=ADAMW | {"groups": 2}),
    right("Nesterov momentum", TWO, optimizer=NESTEROV, level="dump"),
    right("values without clipping", TWO, optimizer=ADAMW, level="dump"),
    habit("gradients in bfloat16", optimizer=ADAMW, clip=0.4, level="dump"),
    habit("a rate that warms up", optimizer=MOMENTUM),
    habit("rows in any order", THREE),
    habit("names with special characters"),
    habit("every rank records the loss"),
    habit("no actions"),
    habit("loss in double precision"),
    habit("files with a byte order mark"),
    right("a stage with nothing to train", THREE, frozen=("embed.weight",)),
    right("two stages with nothing to train", THREE, frozen=("embed.weight", "up.weight", "up.bias", "down.weight", "down.bias")),
    right("one step of one microbatch", TWO, steps=1, lengths=[4]),
    right("a clip limit that is never reached", TWO, clip=1e6, dtype="float64"),
]

WRONG = [
    wrong("labels of another microbatch", "loss", "loss", "step 0", "microbatch 0"),
    wrong("input of another step", "data", "step 1", "microbatch 0"),
    wrong("mean of means", "loss", "step 0"),
    wrong("loss recorded without its scale", "loss", "step 0", "microbatch 0"),
    wrong("loss not scaled", "boundaries", "backward", "boundary down", "step 0"),
    wrong("divided twice", "gradients", "gradient", "step 0", scaling="after"),
    wrong("forward received late", "boundaries", "forward", "boundary down", "step 1", "microbatch 1", "as received"),
    wrong("backward received late", "boundaries", "backward", "boundary down", "step 1", "microbatch 1", "as received"),
    wrong("forward one bit", "boundaries", "forward", "boundary down", "step 1", "microbatch 1", "as sent", dtype="float64"),
    wrong("backward one bit", "boundaries", "backward", "boundary down", "step 1", "microbatch 1", "as sent", dtype="float64", stages=TWO),
    wrong("gradient in half precision", "boundaries", "backward", "step 0"),
    wrong("receive not recorded", "boundaries", "step 1", "microbatch 1"),
    wrong("boundary with another microbatch's number", "boundaries", "forward", "step 1", "microbatch 0"),
    wrong("graph cut", "gradients", "gradient up.bias", "step 0"),
    wrong("microbatch dropped", "gradients", "gradient up.bias", "step 0"),
    wrong("not zeroed", "gradients", "gradient", "step 1"),
    wrong("order of accumulation", "gradients", "gradient", "step 0", dtype="float64"),
    wrong("one gradient zero", "gradients", "gradient down.weight", "step 1"),
    wrong("tied gradients not reduced", "gradients", "gradient embed.weight", "step 0", tied=True),
    wrong("tied weight counted twice", "gradient_norm", "step 0", tied=True, clip=0.4),
    wrong("tied copy not updated", "tied_weights", "parameter head.weight", "step 0", tied=True),
    wrong("norm of the own stage only", "gradient_norm", "step 0", clip=0.4),
    wrong("wrong norm on one rank", "gradient_norm", "step 0", "rank 1", clip=0.4),
    wrong("coefficient not limited", "gradient_norm", "step 0", clip=1e6),
    wrong("coefficient not applied", "parameters", "step 0", clip=0.1),
    wrong("no weight decay on one stage", "parameters", "parameter down.", "step 0", optimizer=ADAMW),
    wrong("another beta", "parameters", "down.", "step 0", optimizer=ADAMW),
    wrong("steps counted from 0", "parameters", "parameter", "step 1", optimizer=ADAMW),
    wrong("momentum forgotten", "parameters", "step 1", optimizer=MOMENTUM),
    wrong("another learning rate", "parameters", "step 1"),
    wrong("stage not updated", "parameters", "parameter down.", "step 1"),
    wrong("updated twice", "parameters", "parameter down.", "step 0"),
    wrong("another start", "parameters", "parameter down.weight", "start"),
    wrong("parameter not recorded", "census", "scale.gain"),
    wrong("parameter on two ranks", "census", "down.weight"),
    wrong("not a number", "loss", "step 1", "microbatch 0"),
    wrong("rank died", "completion", "rank 1"),
    wrong("rank failed", "completion", "rank 1"),
    wrong("actions in another order", "conformance", "step 0", stages=THREE, schedule="GPipe"),
    wrong("units in another order", "census", "not in the order of the model"),
    wrong("another seed", "data", "seed", reference={"seed": 2}),
    wrong("another run of the same name", "data", "of the same run", reference={"extra": ONE_RUN}, extra=ONE_RUN),
    wrong("another dtype", "data", "dtype is float32", extra={"dtype": "float64"}),
    wrong("an unknown dtype", "refused", "key dtype: 'float31' is not known", extra={"dtype": "float31"}),
    wrong("a stage on no rank", "refused", "stages", extra={"world_size": 1}),
    wrong("another limit", "data", "clip_norm", reference={"clip": 0.3}, clip=0.4),
    wrong("a replica skips its update", "replicas", "step 1, stage 0, parameter embed.weight", "in dp 1 it is unchanged by the step", replicas=2),
    wrong("a replica's gradient not reduced", "replicas", "step 0, stage 1, gradient down.weight", "dp 2 has other bits than dp 0 and dp 1", replicas=3),
    wrong("gradients not reduced", "replicas", "step 0, stage 1, gradient head.weight", replicas=2),
    wrong("replicas get the same data", "replicas", "step 0, data", "dp 1 is fed the same microbatches as dp 0", replicas=2),
    wrong("a replica with another start", "replicas", "the start, stage 1, parameter down.weight", replicas=2),
    wrong("a replica without a record", "refused", "replica-1", "does not exist", replicas=2),
    wrong("a replica with another's number", "refused", "replica-1", "is 0 in the folder of replica 1", replicas=2),
    wrong("replicas that disagree on the mesh", "refused", "replica-1", "key mesh: says", replicas=2),
    bad_habit("a gradient missing in both runs", "gradients", "reference: step 0, gradient of scale.gain"),
    bad_habit("a gradient missing in the pipeline", "gradients", "candidate: step 0, gradient of scale.gain"),
    bad_habit("skipped only in the pipeline", "parameters", "step 1"),
    bad_habit("a step skipped by the scaler", "gradients", "step 1", "infinite"),
    bad_habit("steps numbered from 1", "refused", "step"),
    bad_habit("microbatches numbered from 1", "refused", "microbatch"),
    bad_habit("names of a stage's own module", "census", "0.weight is not a parameter of this model"),
    bad_habit("losses with five digits", "loss", "step 0", "microbatch 0"),
    bad_habit("upper-case digests", "refused", "tensors.csv", "digest"),
    bad_habit("no clip coefficient", "gradient_norm", "coefficient", clip=0.4),
    bad_habit("a rank's folder of another run", "parameters", "the start, stage 1, rank 1, parameter down.weight"),
    wrong("another number of steps", "data", "steps is 3", reference={"steps": 3}),
    wrong("another number of microbatches", "data", "microbatches a step is 2", reference={"lengths": [6, 6]}),
    bad_habit("ranks record different losses", "loss", "one rank with the loss"),
    bad_habit("a duplicated table", "refused", "tensors.csv"),
    bad_habit("the loss of the step is a mean", "loss", "step 0"),
    wrong("another order is declared", "data", "accumulation", reference={"order": "descending"}),
]

PAIRS = RIGHT + WRONG


def reference_of(pair):
    """The same run on one device, adding in the pipeline's order."""
    alike = {"stages": None, "ranks": None, "wrong": pair.run.wrong if pair.run.replicas > 1 else "", "schedule": None, "line_end": "\n", "extra": {}}
    return replace(pair.run, **(alike | pair.reference))
