# SPDX-License-Identifier: BSD-3-Clause
"""Shows the faults of released trainers in docs/found.md, with the installed torch, DeepSpeed or OLMo-core.

    python judge.py torch --out build/found/torch        # torch 2.11.0 or 2.15.0
    python judge.py deepspeed --out build/found/deepspeed        # or olmo

Each fault is a pair that holds and one that fails. Ends with 1 if one is not as docs/found.md says.
"""

import argparse
import importlib.metadata
import pathlib
import sys

import plumbline

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from judging import Example, new_folder, verdict_words  # noqa: E402

# Changes of torch_pipelining's trainer: where InterleavedZeroBubble fails, and in which version. In the other version it holds.
TORCH = {
    "frozen": ("candidate: step 0, gradient of layers.5.down.weight (expected a gradient, got none)", "2.15.0"),
    "two_outputs": ("step 0, stage 3, rank 1, gradient layers.7.gate_up.weight: the bits differ", "2.11.0"),
    "used_twice": ("step 0, stage 3, rank 1, gradient layers.7.out.weight: the bits differ", "2.11.0"),
}
# The norm of all stages instead of the first one's: if the pipeline is the only parallelism, each rank counts.
STEPS = "    for microbatches in batches():\n"
UNDIVIDED = {"old": "    module.pre_train()\n", "new": "    module.pre_train()\n    module.train_pp_schedule.base_schedule.scale_grads = False\n"}
ALL_STAGES = {"old": STEPS, "new": "    engine.mpu.get_model_parallel_rank = lambda: 0\n" + STEPS}


class Trials:
    def __init__(self):
        self.unlike = 0

    def pair(self, name, one, two, red=None):
        """Compares two records; `red`: a part of the first divergence; None: they must hold."""
        found = plumbline.compare(one, two)
        said = found.first_divergence["words"] if found.first_divergence else str(found)
        as_expected = found.holds if red is None else not found.holds and red in said
        self.unlike += not as_expected
        words = verdict_words(found) if found.holds else f"red: {said}"
        print(f"{'' if as_expected else 'NOT AS EXPECTED: '}{name}: {words}", flush=True)


def with_torch(trials, out):
    version = importlib.metadata.version("torch").split("+")[0]
    example = Example(HERE.parent / "torch_pipelining")
    for name, (red, faulty) in TORCH.items():
        change = HERE / f"{name}.diff"
        one = example.train(out / name / "one", 1, change=change)
        for schedule in ("Interleaved1F1B", "InterleavedZeroBubble"):
            two = example.train(out / name / schedule, 2, "--schedule", schedule, change=change)
            expected = red if schedule == "InterleavedZeroBubble" and version == faulty else None
            trials.pair(f"torch {version}, {name}, {schedule}", one, two, expected)


def with_deepspeed(trials, out):
    example = Example(HERE / "deepspeed")
    one = example.train(out / "one", 1)
    free = example.train(out / "free-one", 1, "--clip", "0")
    trials.pair("DeepSpeed, 2 stages, no clipping", free, example.train(out / "free-two", 2, "--clip", "0"))
    trials.pair("DeepSpeed, 2 stages, clipping", one, example.train(out / "two", 2), "got 0.48")
    two = example.train(out / "all", 2, **ALL_STAGES)
    one = example.train(out / "one-all", 1, "--norms-from", str(two))
    trials.pair("DeepSpeed, 2 stages, clipping by the norm of all stages", one, two)


def with_olmo(trials, out):
    example = Example(HERE / "olmo")
    for name, change, red in (("", {}, "1/4 of the reference's"), (", gradients not divided again", UNDIVIDED, None)):
        two = example.train(out / f"two-{len(change)}", 2, **change)
        one = example.train(out / f"one-{len(change)}", 1, "--norms-from", str(two))
        trials.pair(f"OLMo-core, 2 stages, 4 microbatches{name}", one, two, red)


TRAINERS = {"torch": with_torch, "deepspeed": with_deepspeed, "olmo": with_olmo}


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("trainer", choices=TRAINERS)
    ask.add_argument("--out", type=new_folder, required=True)
    args = ask.parse_args()
    trials = Trials()
    TRAINERS[args.trainer](trials, args.out)
    print("all as docs/found.md says" if trials.unlike == 0 else f"{trials.unlike} not as docs/found.md says")
    return 1 if trials.unlike else 0


if __name__ == "__main__":
    sys.exit(main())
