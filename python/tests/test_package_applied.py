# SPDX-License-Identifier: BSD-3-Clause
"""What the optimizer receives (kind `applied`), steps that it skips (`updated`), and buffers."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from importlib.util import find_spec
from unittest import mock

import numpy
import plumbline

if find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from torch import nn

STEPS = 3


class Statistics(nn.Module):
    """A model with buffers of all kinds, of which one is replaced in each call."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(2, dtype=torch.int32))
        self.register_buffer("seen", torch.zeros(2, dtype=torch.bool))
        self.register_buffer("filter", torch.ones(2, dtype=torch.complex64))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.register_buffer("none", None)

    def forward(self, x):
        self.count = self.count + 1
        self.seen[0] = True
        return self.norm(self.first(x))


class AppliedTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def train(self, update, name="one", make=lambda: nn.Linear(3, 2), optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5), watch={}, loss_of=None, **options):
        """`update(step, model, optimizer)` ends a step."""
        torch.manual_seed(3)
        model = make()
        optimizer = optimizer([one for one in model.parameters() if one.requires_grad])
        record = plumbline.Record(self.folder / name, **({"model": {}, "steps": STEPS, "microbatches": 1, "optimizer": optimizer} | options))
        plumbline.torch.watch_model(record, model, **watch)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for step in range(STEPS):
                inputs = torch.full((2, 3), 1.0 + step)
                inputs[0] = 0
                with record.step(inputs):
                    loss = (loss_of or (lambda model, x: model(x).square().sum()))(model, inputs)
                    record.loss(loss)
                    if loss.requires_grad:
                        loss.backward()
                    update(step, model, optimizer)
        self.said = said.getvalue()
        return model

    def rows(self, kind, name="one"):
        return {(row["step"], row["name"]): row for row in plumbline.read(self.folder / name).tensors if row["kind"] == kind}

    def digests(self, kind, name="one"):
        return {key: row["digest"] for key, row in self.rows(kind, name).items()}

    def updated(self, name="one"):
        return [row["updated"] for row in plumbline.read(self.folder / name).steps]

    def not_recorded(self, name="one"):
        return json.loads((self.folder / name / "rank-0" / "exit.json").read_text()).get("not_recorded")

    # -- applied ---------------------------------------------------------------------------------------------------

    def test_what_the_optimizer_receives_is_recorded_whoever_clips(self):
        received = {}

        def ended(clip):
            def update(step, model, optimizer):
                clip(model)
                received.update({(step, name): plumbline.digest(one.grad) for name, one in model.named_parameters()})
                optimizer.step(), optimizer.zero_grad()

            return update

        def by_own_code(model):
            for one in model.parameters():
                one.grad.mul_(0.25)

        for name, clip, clip_norm, alike in (
            ("not at all", lambda model: None, None, True),
            ("torch", lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.5), 0.5, False),
            ("own code", by_own_code, 0.5, None),
            ("never", lambda model: None, 0.5, None),
        ):
            with self.subTest(name):
                self.train(ended(clip), name, clip_norm=clip_norm)
                self.assertEqual(self.digests("applied", name), received)
                gradients = self.digests("gradient", name)
                self.assertEqual(gradients == received, bool(alike))
                lacking = {one["what"] for one in self.not_recorded(name) or ()}
                self.assertEqual(lacking, {"gradients", "norm"} if alike is None else set())
                self.assertEqual(bool(gradients), alike is not None)

    def test_a_gradient_that_nobody_clipped_is_digested_once(self):
        from plumbline import digests

        with mock.patch.object(digests, "measured", wraps=digests.measured) as counted:
            self.train(lambda step, model, optimizer: (optimizer.step(), optimizer.zero_grad()))
        parameters = 2 * (STEPS + 1)
        self.assertEqual(counted.call_count, parameters + 2 * STEPS)
        for key, row in self.rows("gradient").items():
            self.assertEqual(self.rows("applied")[key], row | {"kind": "applied"})

    def test_of_a_master_its_own_gradient_is_applied_in_the_parameters_shape(self):
        masters = {}

        def optimizer(parameters):
            masters.update({one: nn.Parameter(one.detach().double().reshape(-1)) for one in parameters})
            return torch.optim.SGD(masters.values(), lr=0.5)

        def update(step, model, optimizer):
            for one, master in masters.items():
                master.grad = one.grad.double().reshape(-1) / 2 if one.dim() == 2 or step else None
            optimizer.step()
            optimizer.zero_grad(), model.zero_grad()

        self.train(update, optimizer=optimizer, watch={"master_of": masters.get})
        applied, gradients = self.rows("applied"), self.rows("gradient")
        self.assertEqual(applied.keys(), gradients.keys())
        for (step, name), row in applied.items():
            has_own = name == "weight" or step > 0
            dtype, factor = ("float64", 0.5) if has_own else ("float32", 1)
            self.assertEqual((row["dtype"], row["shape"], row["l2"]), (dtype, gradients[step, name]["shape"], gradients[step, name]["l2"] * factor))

    def test_an_optimizer_that_holds_other_tensors_receives_no_gradient(self):
        held = []

        def optimizer(parameters):
            held.extend(nn.Parameter(one.detach().clone()) for one in parameters)
            return torch.optim.SGD(held, lr=0.5)

        self.train(lambda step, model, optimizer: optimizer.step(), optimizer=optimizer)
        self.assertIn("applied", {one["what"] for one in self.not_recorded()})
        self.assertEqual(self.rows("applied"), {})

    def test_a_second_step_of_the_optimizer_adds_no_rows(self):
        self.train(lambda step, model, optimizer: (optimizer.step(), optimizer.step(), optimizer.zero_grad()))
        self.assertEqual(len(self.rows("applied")), 2 * STEPS)

    def test_megatrons_gradients_are_found(self):
        def update(step, model, optimizer):
            for one in model.parameters():
                one.main_grad, one.grad = one.grad.double(), None
            torch.nn.utils.clip_grad_norm_([], 1.0)  # takes the gradients
            for one in model.parameters():
                one.grad = one.main_grad.float() * 0.5
            optimizer.step(), optimizer.zero_grad()

        self.train(update)
        self.assertEqual({row["dtype"] for row in self.rows("gradient").values()}, {"float64"})
        self.assertEqual({row["dtype"] for row in self.rows("applied").values()}, {"float32"})
        self.assertEqual(len(self.rows("gradient")), 2 * STEPS)

    # -- steps without an update -------------------------------------------------------------------------------------

    def test_a_skipped_step_is_recorded_as_one_and_the_next_ones_as_ever(self):
        def skips(drop, clip, at):
            def update(step, model, optimizer):
                if step != at:
                    if clip:
                        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                    optimizer.step()
                if step != at or drop is not None:
                    optimizer.zero_grad(**(drop or {}))

            return update

        for number, (drop, clip, at) in enumerate((drop, clip, at) for drop in ({}, {"set_to_none": False}) for clip in (False, True) for at in (0, 1, 2)):
            with self.subTest(drop=drop, clip=clip, at=at):
                name = str(number)
                self.train(skips(drop, clip, at), name, clip_norm=0.5 if clip else None, optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=0.5))
                self.assertIsNone(self.not_recorded(name))
                self.assertEqual(self.updated(name), [step != at for step in range(STEPS)])
                steps = {step for step, _ in self.rows("gradient", name)}
                self.assertEqual(steps, set(range(STEPS)) - ({at} if drop == {} else set()))
                self.assertEqual({step for step, _ in self.rows("applied", name)}, set(range(STEPS)) - {at})
                norms = [row["gradient_norm"] is not None for row in plumbline.read(self.folder / name).steps]
                self.assertEqual(norms, [clip and step != at for step in range(STEPS)])
                self.assertEqual(self.said.count("ended without an optimizer step"), 1)

    def test_gradients_that_are_there_at_the_end_of_a_skipped_step_are_recorded(self):
        kept = {}

        def update(step, model, optimizer):
            if step != 1:
                optimizer.step()
            else:
                kept.update({name: plumbline.digest(one.grad) for name, one in model.named_parameters()})
            if step != 1:
                optimizer.zero_grad()

        self.train(update)
        self.assertEqual({name: digest for (step, name), digest in self.digests("gradient").items() if step == 1}, kept)

    def test_a_gradscaler_that_skips_is_seen_also_within_the_optimizers_kernel(self):
        for name, fused in (("outside", False), ("within", True)):
            scaler = torch.amp.GradScaler("cpu", init_scale=2.0)

            def update(step, model, optimizer, scaler=scaler):
                if step == 0:
                    model.weight.grad[0, 0] = float("inf")
                scaler.scale(torch.ones(())), scaler.step(optimizer), scaler.update(), optimizer.zero_grad()

            self.train(update, name, optimizer=lambda parameters, fused=fused: torch.optim.AdamW(parameters, lr=0.5, fused=fused))
            self.assertEqual(self.updated(name), [False, True, True])
            self.assertIsNone(self.not_recorded(name))

    def test_whether_a_step_updated_is_unknown_where_nothing_is_watched_or_trained(self):
        self.train(lambda *step: None, "frozen", make=lambda: nn.Linear(3, 2).requires_grad_(False), optimizer=lambda parameters: None)
        self.assertEqual((self.updated("frozen"), self.not_recorded("frozen")), ([None] * STEPS, None))
        rate = {"name": "mine", "learning_rate": 0.5}
        self.train(lambda *step: None, "own", optimizer=lambda parameters: rate)
        self.assertEqual(self.updated("own"), [None] * STEPS)

    def test_what_is_not_recorded_from_a_step_on_says_which(self):
        def update(step, model, optimizer):
            if step < 2:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step(), optimizer.zero_grad()

        self.train(update, clip_norm=0.5)
        self.assertEqual([(one["what"], one["from_step"]) for one in self.not_recorded()], [("gradients", 2), ("norm", 2)])

    # -- buffers -----------------------------------------------------------------------------------------------------

    def test_persistent_buffers_are_recorded_at_the_start_and_after_each_step(self):
        model = self.train(lambda step, model, optimizer: (optimizer.step(), optimizer.zero_grad()), make=Statistics)
        rows = self.rows("buffer")
        names = ["count", "filter", "norm.num_batches_tracked", "norm.running_mean", "norm.running_var", "seen"]
        self.assertEqual(sorted(rows), [(step, name) for step in range(-1, STEPS) for name in names])
        forms = {name: (row["dtype"], row["shape"]) for (_, name), row in rows.items()}
        self.assertEqual([forms[name] for name in ("count", "filter", "seen", "norm.running_mean")], [("int64", "2"), ("float32", "2x2"), ("int64", "2"), ("float32", "4")])
        self.assertEqual([rows[step, "count"]["max_abs"] for step in range(-1, STEPS)], [0, 1, 2, 3])
        self.assertEqual(rows[STEPS - 1, "norm.running_var"]["digest"], plumbline.digest(model.norm.running_var))
        self.assertIsNone(self.not_recorded())

    def test_buffers_are_renamed_as_parameters_are(self):
        update = lambda step, model, optimizer: (optimizer.step(), optimizer.zero_grad())  # noqa: E731
        self.train(update, "renamed", make=Statistics, watch={"names": lambda stage, name: f"whole.{stage}.{name}"})
        self.assertIn((-1, "whole.0.norm.running_mean"), self.rows("buffer", "renamed"))
        known = {name: name for name, _ in Statistics().named_parameters()}
        self.train(update, "unknown", make=Statistics, watch={"names": lambda name: known[name]})
        self.assertEqual(self.not_recorded("unknown"), [{"what": "buffers", "why": "ValueError: names= fails for the buffer count: KeyError: 'count'"}])
        self.train(update, "same", make=Statistics, watch={"names": lambda name: name if name in known else "one"})
        self.assertEqual(self.not_recorded("same"), [{"what": "buffers", "why": "ValueError: two buffers of stage 0 are named one"}])

    def test_a_stage_of_ones_own_gives_its_buffers(self):
        start, now = numpy.zeros(2, "float32"), {"running": numpy.ones(2, "float32")}
        kept = numpy.zeros(2, "float32")
        for name, buffers in (("dict", now), ("list", [("running", kept)]), ("function", lambda: list(now.items()))):
            now["running"], kept[:] = start, 0
            record = plumbline.Record(self.folder / name, model={}, steps=1, microbatches=1, optimizer={"name": "mine", "learning_rate": 0.5})
            record.stage(0, ["first"], {"first.weight": numpy.ones(2)}, buffers=buffers)
            with record.step(numpy.ones((1, 2))):
                now["running"] = start + 1
                kept[:] = 1
                record.loss(1), record.learning_rate(0.5)
            self.assertEqual(list(self.digests("buffer", name).values()), [plumbline.digest(one) for one in (start, start + 1)])


if __name__ == "__main__":
    unittest.main()
