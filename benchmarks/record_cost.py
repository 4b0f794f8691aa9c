# SPDX-License-Identifier: BSD-3-Clause
"""What the Python package costs a trainer on one device: its steps without a record, recorded each, and recorded every k-th, in turn.

    PYTHONPATH=python python benchmarks/record_cost.py --rounds 3 --every 10

The model is that of examples/torch_pipelining at hidden 256 (8 layers, vocabulary 4096, 8 microbatches of 2 x 128 tokens).
Prints seconds a step, of the clock and of the processor, and what recording adds to them. An even share of a cycle of k steps
counts for the last.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import plumbline
import torch

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "torch_pipelining"
sys.path.insert(0, str(EXAMPLE))
import train  # noqa: E402

train.VOCABULARY, train.HIDDEN, train.HEADS, train.LAYERS, train.LENGTH = 4096, 256, 4, 8, 128


class Trainer:
    """The example's step on one device, recorded or not."""

    def __init__(self, folder, steps, every):
        torch.manual_seed(1)
        self.model = train.Llama()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.1)
        self.record = None
        if every:
            config = {"hidden": train.HIDDEN}
            microbatches = train.MICROBATCHES
            self.record = plumbline.Record(
                folder, model=config, steps=steps, microbatches=microbatches, optimizer=self.optimizer, clip_norm=1.0, every=every, loss_scaling="after"
            )
            plumbline.torch.watch_model(self.record, self.model)

    def work(self, inputs, labels):
        losses = []
        for ids, targets in zip(inputs.chunk(train.MICROBATCHES), labels.chunk(train.MICROBATCHES)):
            losses.append(train.loss_of(self.model(ids), targets))
            if self.record is not None:
                self.record.loss(losses[-1])
            losses[-1].backward()
        for parameter in self.model.parameters():
            parameter.grad.div_(train.MICROBATCHES)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self, inputs, labels):
        began = time.perf_counter(), time.process_time()
        if self.record is None:
            self.work(inputs, labels)
        else:
            with self.record.step(inputs, labels):
                self.work(inputs, labels)
        return time.perf_counter() - began[0], time.process_time() - began[1]


def main():
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--rounds", type=int, default=3, help="each of as many steps as --every says")
    ask.add_argument("--every", type=int, default=10)
    args = ask.parse_args()
    torch.set_num_threads(1)
    train.STEPS = args.rounds * args.every + 1
    with tempfile.TemporaryDirectory() as folder:
        ways = {"without": 0, "each step": 1, f"every {args.every}th": args.every}
        trainers = {way: Trainer(pathlib.Path(folder) / str(every), train.STEPS, every) for way, every in ways.items()}
        took = {way: [] for way in ways}
        for inputs, labels in train.batches():
            for way, trainer in trainers.items():
                took[way].append(trainer.step(inputs, labels))
    base = None
    for way, steps in took.items():
        steps = steps[1:]  # the first one warms up, and records the start
        if way.startswith("every"):  # means of whole cycles, each with one recorded step
            steps = [tuple(map(statistics.mean, zip(*steps[i : i + args.every]))) for i in range(0, len(steps), args.every)]
        clock, processor = (statistics.median(times) for times in zip(*steps))
        base = base or (clock, processor)
        print(f"{way}: {clock:.3f} s a step, {processor:.3f} s of the processor: +{clock / base[0] - 1:.1%}, +{processor / base[1] - 1:.1%}", flush=True)


if __name__ == "__main__":
    main()
