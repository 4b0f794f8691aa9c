# SPDX-License-Identifier: BSD-3-Clause
"""What recording at level full costs a trainer on one device: the same trainer's steps without and with a record in turn.

    PYTHONPATH=python python benchmarks/record_cost.py --widths 32 256 1024 --rounds 5
    PYTHONPATH=python python benchmarks/record_cost.py --widths 256 --profile      # where the recorder's time goes
    PYTHONPATH=python python benchmarks/record_cost.py --widths 256 --debug-mode   # torch's DebugMode with tensor hashes beside it

The model is that of examples/torch_pipelining (8 layers, from width 512 on 2, at 4096 one; vocabulary 4096; 8 microbatches of 2 x 128 tokens), on one
thread. Prints medians of the processor time of a step, because neighbors on the machine spoil the clock, and of the differences within the rounds.
"""

import argparse
import cProfile
import pathlib
import pstats
import statistics
import sys
import tempfile
import time

import plumbline
import torch

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "torch_pipelining"
sys.path.insert(0, str(EXAMPLE))
import train  # noqa: E402

# What a function called by the recorder is counted as, by the first of these words in its name or file; the rest is Python for each tensor and call.
GROUPS = {
    "compiled pass": ("native.py measured",),  # digest and statistics together, by plumbline-measure.so
    "hash": ("xxhash", "_xxhash", "'update'", "xxh3"),
    "CSV": ("writerows", "flush", "_csv", "csv.py", "io.open"),
    "waiting": ("lock", "wait", "result"),
    "copies": ("copy", "contiguous", "'to'", "cpu", "stack"),
    "statistics": (
        *("numpy", "reduce", "'max'", "'min'", "'any'", "'all'", "aminmax", "maximum", "count_nonzero", "'dot'", "'double'", "isnan", "isinf"),
        *("'split'", "split_with_sizes", "'sum'", "built-in method torch", "TensorBase"),
    ),
}


def sized(width):
    """The example's model at this width."""
    train.VOCABULARY, train.HIDDEN, train.HEADS, train.LENGTH = 4096, width, max(4, width // 64), 128
    train.LAYERS = 8 if width < 512 else 2 if width < 4096 else 1


class Trainer:
    """The example's step on one device."""

    def __init__(self, folder, steps):
        torch.manual_seed(1)
        self.model = train.Llama()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.1)
        config, microbatches = {"hidden": train.HIDDEN}, train.MICROBATCHES
        self.record = plumbline.Record(
            folder, model=config, steps=steps, microbatches=microbatches, optimizer=self.optimizer, clip_norm=1.0, loss_scaling="after"
        )
        plumbline.torch.watch_model(self.record, self.model)

    def work(self, inputs, labels):
        for ids, targets in zip(inputs.chunk(train.MICROBATCHES), labels.chunk(train.MICROBATCHES)):
            loss = train.loss_of(self.model(ids), targets)
            if self.record.in_step:
                self.record.loss(loss)
            loss.backward()
        for parameter in self.model.parameters():
            parameter.grad.div_(train.MICROBATCHES)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def recorded(self, inputs, labels):
        with self.record.step(inputs, labels):
            self.work(inputs, labels)

    def hashed(self, inputs, labels):
        """A step under torch's DebugMode, which hashes the results of each operation."""
        from torch.utils._debug_mode import DebugMode

        with DebugMode() as mode, DebugMode.log_tensor_hashes():
            self.work(inputs, labels)
        return mode


def seconds(step, *batch):
    began = time.process_time()
    step(*batch)
    return time.process_time() - began


def costs(width, rounds, debug_mode):
    """Processor time of a step in each way, by round."""
    sized(width)
    train.STEPS = rounds + 1
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(pathlib.Path(folder) / "record", train.STEPS)
        ways = {"without": trainer.work, "recorded": trainer.recorded} | ({"DebugMode": trainer.hashed} if debug_mode else {})
        took = {way: [] for way in ways}
        for number, batch in enumerate(train.batches()):
            for way in list(ways)[:: 1 if number % 2 else -1]:
                took[way].append(seconds(ways[way], *batch))
    return {way: times[1:] for way, times in took.items()}  # the first step warms up, and records the start


def profile(width, rounds):
    """Seconds of the recorder in a step, by group."""
    sized(width)
    train.STEPS = rounds + 1
    with tempfile.TemporaryDirectory() as folder:
        trainer, profiler = Trainer(pathlib.Path(folder) / "record", train.STEPS), cProfile.Profile()
        for number, batch in enumerate(train.batches()):
            if number == 0:
                trainer.recorded(*batch)
            else:
                profiler.runcall(trainer.recorded, *batch)
    found = dict.fromkeys((*GROUPS, "Python"), 0.0)
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profiler).stats.items():
        ours = own if is_ours(file) else sum(one[2] for (caller, _, _), one in callers.items() if is_ours(caller))
        words = name if file == "~" else f"{file} {name}" if "/plumbline/" not in file or file.endswith("native.py") else ""
        group = next((group for group, parts in GROUPS.items() if any(part in words for part in parts)), "Python")
        found[group] += ours / rounds
    return found


def is_ours(file):
    return "/plumbline/" in file or "/numpy/" in file or "xxhash" in file  # the trainer uses neither of the two


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--widths", type=int, nargs="+", default=[32, 256, 1024])
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--profile", action="store_true")
    ask.add_argument("--debug-mode", action="store_true")
    args = ask.parse_args()
    torch.set_num_threads(1)
    if args.profile:
        print("| width |", " | ".join((*GROUPS, "Python")), "| ms a step in all |")
    for width in args.widths:
        if args.profile:
            found = profile(width, args.rounds)
            print(f"| {width} |", " | ".join(f"{1e3 * one:.1f}" for one in found.values()), f"| {1e3 * sum(found.values()):.1f} |", flush=True)
            continue
        took = costs(width, args.rounds, args.debug_mode)
        base = took.pop("without")
        print(f"width {width}: {statistics.median(base):.3f} s a step without a record", flush=True)
        for way, times in took.items():
            added = statistics.median(one - other for one, other in zip(times, base)) / statistics.median(base)
            print(f"  {way}: {statistics.median(times):.3f} s, +{added:.1%}", flush=True)


if __name__ == "__main__":
    main()
