# SPDX-License-Identifier: BSD-3-Clause
"""Stages that are not torch's: two threads with a schedule of their own against one device."""

import importlib.util
import pathlib
import queue
import tempfile
import threading
import unittest

import plumbline
from test_package_record import judge

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch

MICROBATCHES, STEPS, WIDTH = 3, 2, 4
SEEDED = threading.Lock()  # threads share one generator


class Layers(torch.nn.Module):
    def __init__(self, first, last):
        super().__init__()
        with SEEDED:
            torch.manual_seed(3)
            every = {f"layer{number}": torch.nn.Linear(WIDTH, WIDTH) for number in range(4)}
        for name in list(every)[first:last]:
            self.add_module(name, every[name])

    def forward(self, x):
        for layer in self.children():
            x = torch.tanh(layer(x))
        return x


class Stage:
    """As a framework may write its own."""

    def __init__(self, number, stages, wires, wrong=None):
        self.rank_in_model, self.last, self.wires, self.wrong, self.kept = number, number == stages - 1, wires, wrong, {}
        self.body = Layers(4 // stages * number, 4 // stages * (number + 1))

    def run(self, microbatch_id, inputs, targets):
        if self.rank_in_model:
            inputs = self.wires["forward", self.rank_in_model].get(timeout=30).requires_grad_()
        output = self.body(inputs)
        if self.last:
            output = torch.nn.functional.mse_loss(output, targets) / MICROBATCHES
            self.losses = [*getattr(self, "losses", ()), output.detach()]
        else:
            self.wires["forward", self.rank_in_model + 1].put(output.detach() * (1.0001 if self.wrong == "wire" else 1))
        self.kept[microbatch_id] = inputs, output

    def run_back(self, microbatch_id):
        inputs, output = self.kept.pop(microbatch_id)
        output.backward(None if self.last else self.wires["backward", self.rank_in_model].get(timeout=30))
        if self.rank_in_model:
            self.wires["backward", self.rank_in_model - 1].put(inputs.grad)


def batches():
    draw = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        yield torch.randn(2, 2 * MICROBATCHES, WIDTH, generator=draw)


def record_of(folder, optimizer, **more):
    return plumbline.Record(folder, model={}, steps=STEPS, microbatches=MICROBATCHES, optimizer=optimizer, **more)


@unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
class StagesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def pipeline(self, name, ranks, each=1, wrong=None, given=True):
        """`each`: stages of a rank, which holds every ranks-th one."""
        wires = {(direction, stage): queue.Queue() for direction in ("forward", "backward") for stage in range(ranks * each)}
        barrier, gathered, errors = threading.Barrier(ranks), [None] * ranks, []

        def gather(rank, mine):
            gathered[rank] = mine
            barrier.wait()
            everyone = list(gathered)
            barrier.wait()
            return everyone

        def train(rank):
            stages = [Stage(number, ranks * each, wires, wrong) for number in range(rank, ranks * each, ranks)]
            optimizer = torch.optim.SGD([one for stage in stages for one in stage.body.parameters()], lr=0.5)
            record = record_of(self.folder / name, optimizer, rank=rank, world_size=ranks, gather=lambda mine: gather(rank, mine), schedule="mine")
            plumbline.torch.watch_stages(record, stages, forward="run", backward="run_back", number="rank_in_model", module="body")
            for inputs, targets in batches():
                with record.step(torch.zeros_like(inputs) if given and rank == 0 else inputs, targets):
                    parts = list(zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)))
                    for stage in stages:
                        for number, part in enumerate(parts):
                            stage.run(number, *part)
                    for number, loss in enumerate(getattr(stages[-1], "losses", ())):
                        record.loss(loss, number)
                    stages[-1].losses = []
                    for stage in reversed(stages):
                        for number in range(MICROBATCHES):
                            stage.run_back(number)
                    optimizer.step()
                optimizer.zero_grad()

        def guarded(rank):
            try:
                train(rank)
            except BaseException as error:
                errors.append(error)
                barrier.abort()

        threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        return self.folder / name

    def one_device(self):
        model = Layers(0, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = record_of(self.folder / "one", optimizer)
        plumbline.torch.watch_model(record, model)
        for inputs, targets in batches():
            with record.step(inputs, targets):
                for x, y in zip(inputs.chunk(MICROBATCHES), targets.chunk(MICROBATCHES)):
                    loss = torch.nn.functional.mse_loss(model(x), y) / MICROBATCHES
                    record.loss(loss)
                    loss.backward()
                optimizer.step()
            optimizer.zero_grad()
        return self.folder / "one"

    def test_they_hold_with_every_boundary_and_what_they_were_fed(self):
        one = self.one_device()
        for ranks, each, name in ((2, 1, "two"), (1, 2, "local"), (2, 2, "four")):
            with self.subTest(name):
                found = plumbline.compare(one, self.pipeline(name, ranks, each))
                self.assertTrue(found, str(found))
                self.assertLessEqual({"loss", "boundaries", "gradients", "parameters", "data"}, {one.name for one in found.checks.values() if one.outcome == "holds"})
                rows = plumbline.read(self.folder / name).boundaries
                crossings = STEPS * MICROBATCHES * 2 * (ranks * each - 1)
                self.assertEqual(sum(row["side"] in ("receive", "local") for row in rows), crossings)

    def test_a_changed_message_is_red_where_it_is_received(self):
        found = plumbline.compare(self.one_device(), self.pipeline("wrong", 2, wrong="wire"))
        self.assertIn("forward boundary layer2, stage 0 -> 1: the bits differ as received", found.first_divergence["words"])

    def test_a_stage_without_these_names_is_refused(self):
        stage = Stage(0, 1, {})
        record = record_of(self.folder / "none", torch.optim.SGD(stage.body.parameters(), lr=0.5))
        for more in ({}, {"number": "rank_in_model"}, {"number": "rank_in_model", "module": "body"}, {"number": "rank_in_model", "module": "body", "forward": "run"}):
            with self.subTest(more), self.assertRaises(AttributeError):
                plumbline.torch.watch_stages(record, [stage], **more)


if __name__ == "__main__":
    unittest.main()
