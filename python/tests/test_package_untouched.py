# SPDX-License-Identifier: BSD-3-Clause
"""A trainer that is recorded is the trainer that it was: no failure of the recorder's reaches it, its own exceptions pass, and nothing stays behind."""

import contextlib
import copy
import gc
import importlib.util
import io
import json
import pathlib
import pickle
import tempfile
import traceback
import unittest
import weakref
from unittest import mock

import plumbline
from plumbline.rows import Rows

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch

STEPS, MICROBATCHES = 3, 2


def raising(*args, **kwargs):
    raise OSError("no space left")


class Trainer:
    """Two layers and Adam; `spoil(step, self)` stands where a trainer has its own faults."""

    def __init__(self, spoil=lambda step, trainer: None):
        torch.manual_seed(3)
        self.model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.record, self.spoil = None, spoil

    def recorded(self, folder, **more):
        self.record = plumbline.Record(folder, **({"model": {}, "steps": STEPS, "microbatches": MICROBATCHES, "optimizer": self.optimizer} | more))
        plumbline.torch.watch_model(self.record, self.model)
        return self

    def train(self):
        for step in range(STEPS):
            inputs = torch.arange(4.0 * MICROBATCHES).reshape(-1, 2) + step
            with self.record.step(inputs) if self.record else contextlib.nullcontext():
                for x in inputs.chunk(MICROBATCHES):
                    loss = self.model(x).square().mean()
                    if self.record:
                        self.record.loss(loss)
                    loss.backward()
                if self.spoil(step, self) != "no update":
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                self.optimizer.zero_grad()
        return [plumbline.digest(parameter) for parameter in self.model.parameters()]


class UntouchedTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.said = io.StringIO()

    def quietly(self, work):
        with contextlib.redirect_stderr(self.said):
            return work()

    def ended(self, name="one"):
        return json.loads((self.folder / name / "rank-0" / "exit.json").read_text())

    # Of the record, what fails; of the rows that it writes; what the exit file says then (None: there is none).
    UNUSABLE = [("_enter", None, "error"), ("_leave", None, "error"), ("_end_step", None, "error"), (None, "end_step", "error"), (None, "close", "error")]

    def spoilt(self, trainer, name, rows):
        if name:
            setattr(trainer.record, name, raising)
        return mock.patch.object(Rows, rows, raising) if rows else contextlib.nullcontext()

    def test_a_recorder_that_fails_ends_no_training_and_its_record_is_unusable(self):
        plain = Trainer().train()
        for number, (name, rows, status) in enumerate(self.UNUSABLE):
            with self.subTest(name=name, rows=rows):
                trainer = Trainer().recorded(self.folder / str(number))
                with self.spoilt(trainer, name, rows):
                    self.assertEqual(self.quietly(trainer.train), plain)
                ended = self.ended(str(number))
                self.assertEqual(ended["status"], status)
                self.assertRegex(ended["where"], r"^the recorder itself failed, and the record is unusable: .*OSError: no space left")
        self.assertEqual(self.said.getvalue().count("the recorder itself failed"), len(self.UNUSABLE))

    def test_the_trainers_own_exception_passes_whatever_fails_beside_it(self):
        error = ZeroDivisionError("its own")

        def fails(step, trainer):
            if step == 1:
                raise error

        for number, (name, rows, _) in enumerate([(None, None, None), ("_failed", None, None), *self.UNUSABLE]):
            with self.subTest(name=name, rows=rows):
                trainer = Trainer(fails).recorded(self.folder / str(number))
                frames = None
                try:
                    with self.spoilt(trainer, name, rows):
                        self.quietly(trainer.train)
                except ZeroDivisionError as raised:
                    self.assertIs(raised, error)
                    frames = traceback.extract_tb(error.__traceback__)  # the innermost, and the one within the block
                self.assertIsNotNone(frames)
                self.assertIsNone(error.__context__)
                error.__traceback__ = None
        outer = next(frame for frame in reversed(frames) if frame.name == "train")
        expected = f"{frames[-1].filename}:{frames[-1].lineno}: ZeroDivisionError: its own (from {outer.filename}:{outer.lineno})"
        self.assertEqual(self.ended("0")["where"], expected)

    def test_a_step_without_an_update_is_written_and_judged_by_its_parameters(self):
        trainer = Trainer(lambda step, trainer: "no update" if step == 1 else None).recorded(self.folder / "one")
        self.quietly(trainer.train)
        found = plumbline.read(self.folder / "one")
        self.assertEqual((self.ended()["status"], [row["learning_rate"] for row in found.steps]), ("ok", [0.1] * 3))
        values = [[row["digest"] for row in found.tensors if row["kind"] == "parameter" and row["step"] == step] for step in range(STEPS)]
        self.assertEqual(values[0], values[1])
        self.assertNotEqual(values[1], values[2])

    def test_parameters_that_are_replaced_are_recorded_and_told(self):
        def replaces(step, trainer):
            if step == 1:
                trainer.model.load_state_dict({name: value.clone() for name, value in trainer.model.state_dict().items()}, assign=True)

        trainer = Trainer(replaces).recorded(self.folder / "one")
        self.quietly(trainer.train)
        rows = [row for row in plumbline.read(self.folder / "one").tensors if row["kind"] == "parameter" and row["step"] == STEPS - 1]
        self.assertEqual([row["digest"] for row in rows], [plumbline.digest(parameter) for parameter in trainer.model.parameters()])
        (note,) = self.ended()["notes"]
        self.assertRegex(note, r"the parameter objects changed in step 1 \(as load_state_dict\(assign=True\) does\)")

    def test_copies_and_pickles_of_the_model_are_not_watched(self):
        def copied(step, trainer):
            torch.save(trainer.model, io.BytesIO())
            copy.deepcopy(trainer.model)(torch.ones(2, 2)).sum().backward()
            pickle.loads(pickle.dumps(trainer.model))(torch.ones(2, 2)).sum().backward()

        with contextlib.redirect_stderr(io.StringIO()) as said:
            trainer = Trainer(copied).recorded(self.folder / "copied")
            copied(-1, trainer)
            self.assertEqual(trainer.train(), Trainer().train())
            trainer.record.finish()

        self.assertEqual(said.getvalue(), "")

    def test_nothing_stays_behind(self):
        for way, leave in {
            "all steps": lambda trainer: trainer.train(), "finish": lambda trainer: trainer.record.finish(),
            "with": lambda trainer: trainer.record.__exit__(None, None, None), "dropped": lambda trainer: None,
        }.items():
            with self.subTest(way):
                clip, trainer = torch.nn.utils.clip_grad_norm_, Trainer().recorded(self.folder / way)
                leave(trainer)
                if way != "dropped":
                    self.assertEqual([len(trainer.model._forward_hooks), len(trainer.optimizer._optimizer_step_pre_hooks)], [0, 0])
                    self.assertEqual([len(unit._forward_pre_hooks) for unit in trainer.model], [0, 0])
                    self.assertIs(torch.nn.utils.clip_grad_norm_, clip)
                held = [weakref.ref(one) for one in (trainer.record, trainer.model, trainer.optimizer)]
                del trainer
                gc.collect()
                self.assertEqual([one() for one in held], [None] * 3)

    def test_a_block_of_a_record_says_how_it_was_left(self):
        trainer = Trainer()
        with plumbline.Record(self.folder / "one", model={}, steps=STEPS, microbatches=MICROBATCHES, optimizer=trainer.optimizer) as trainer.record:
            plumbline.torch.watch_model(trainer.record, trainer.model)
            trainer.train()
        self.assertEqual(self.ended()["status"], "ok")
        with self.assertRaises(KeyboardInterrupt), plumbline.Record(
            self.folder / "two", model={}, steps=STEPS + 1, microbatches=MICROBATCHES, optimizer=trainer.optimizer
        ) as trainer.record:
            plumbline.torch.watch_model(trainer.record, trainer.model)
            trainer.train()
            raise KeyboardInterrupt
        self.assertRegex(self.ended("two")["where"], "test_package_untouched.py:[0-9]+: KeyboardInterrupt")


if __name__ == "__main__":
    unittest.main()
