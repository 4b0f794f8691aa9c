# SPDX-License-Identifier: BSD-3-Clause
"""What a pipeline was really fed, labels that a model computes its own loss of, and the words of runs that crash."""

import contextlib
import dataclasses
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

import plumbline
from plumbline.not_recorded import words_of
from test_package_tables import rows

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")
import torch
from torch import nn

MICROBATCHES, ROWS, LENGTH, WORDS = 4, 2, 3, 5


class OwnLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, WORDS)

    def forward(self, ids, labels=None, targets=None):
        labels = targets if labels is None else labels
        return nn.functional.cross_entropy(self.table(ids).flatten(0, 1), labels.flatten())


def batch():
    draw = torch.Generator().manual_seed(1)
    return torch.randint(WORDS, (2, MICROBATCHES * ROWS, LENGTH), generator=draw)


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def record(self, name="one", **more):
        options = {"model": {}, "steps": 1, "microbatches": MICROBATCHES, "optimizer": {"name": "mine", "learning_rate": 0.5}}
        return plumbline.Record(self.folder / name, **(options | more))

    def ended(self, name="one"):
        return json.loads((self.folder / name / "rank-0" / "exit.json").read_text())

    def digests(self, name="one"):
        return [row["data_digest"] for row in rows(self.folder / name, "microbatches")]

    def fed(self, inputs, labels):
        return [plumbline.digest(torch.stack(pair)) for pair in zip(inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES))]


class OneDeviceTest(InFolder):
    def train(self, call, given, name="one"):
        """`call(model, ids, labels)` of each microbatch; `given`: the targets of record.step."""
        model, (inputs, labels) = OwnLoss(), batch()
        record = self.record(name)
        plumbline.torch.watch_model(record, model)
        with contextlib.redirect_stderr(io.StringIO()), record.step(inputs, given):
            for ids, targets in zip(inputs.chunk(MICROBATCHES), labels.chunk(MICROBATCHES)):
                loss = call(model, ids, targets)
                record.loss(loss), loss.backward()
            record.gradients(), record.learning_rate(0.5)

    def test_labels_that_the_model_is_called_with_are_what_it_was_fed(self):
        inputs, labels = batch()
        calls = {
            "labels": lambda model, ids, labels: model(ids, labels=labels),
            "targets": lambda model, ids, labels: model(ids, targets=labels),
            "by place": lambda model, ids, labels: model(ids, labels),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.train(call, labels, name)
                self.assertEqual(self.digests(name), self.fed(inputs, labels))
                self.train(call, torch.zeros_like(labels), name + " others")  # the model reads other labels than the step was given
                self.assertEqual(self.digests(name + " others"), self.fed(inputs, labels))
                self.assertNotIn("not_recorded", self.ended(name + " others"))

    def test_labels_that_cannot_be_compared_are_not_recorded(self):
        _, labels = batch()
        for name, given, words in (("none", None, "no targets"), ("flat", labels.flatten(), r"targets of shape \(6,\)")):
            self.train(lambda model, ids, labels: model(ids, labels=labels), given, name)
            (lack,) = self.ended(name)["not_recorded"]
            self.assertEqual(lack["what"], "labels")
            self.assertRegex(lack["why"], rf"the model is called with labels= of shape \(2, 3\), but record.step was given {words}")


class OneStageTest(InFolder):
    """A pipeline of one stage, in this process."""

    def setUp(self):
        super().setUp()
        torch.distributed.init_process_group("gloo", init_method=f"file://{self.folder}/store", rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)

    def schedule(self, model, loss, microbatches=MICROBATCHES):
        from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

        return ScheduleGPipe(PipelineStage(model, 0, 1, torch.device("cpu")), microbatches, loss_fn=loss)

    def test_labels_that_the_last_stage_is_called_with_are_what_it_was_fed(self):
        inputs, labels = batch()
        schedule = self.schedule(OwnLoss(), lambda loss, target: loss)
        record = self.record()
        plumbline.torch.watch_pipelining(record, schedule)
        with contextlib.redirect_stderr(io.StringIO()), record.step(inputs, labels):
            schedule.step(inputs, labels=labels.flip(0), target=labels, return_outputs=False)
            record.gradients(), record.learning_rate(0.5)
        self.assertEqual(self.digests(), self.fed(inputs, labels.flip(0)))
        self.assertNotIn("not_recorded", self.ended())

    def test_a_schedule_that_runs_fewer_microbatches_is_recorded_as_it_ran(self):
        inputs, labels = batch()
        schedule = self.schedule(nn.Embedding(WORDS, WORDS), lambda logits, labels: nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), 2)
        record = self.record()
        plumbline.torch.watch_pipelining(record, schedule, units=lambda stage: [])
        with contextlib.redirect_stderr(io.StringIO()) as said, record.step(inputs, labels):
            schedule.step(inputs, target=labels)
            record.gradients(), record.learning_rate(0.5)
        words = "step 0 ran 2 microbatches (1 calls of the schedule, of 2), but the record was made for 4: the record has 2"
        self.assertEqual((self.ended()["notes"], said.getvalue()), ([words], f"plumbline: {words}\n"))
        found = [[row[key] for key in ("batch", "sequence_length", "tokens")] for row in rows(self.folder / "one", "microbatches")]
        self.assertEqual(found, [["4", "3", "12"]] * 2)
        manifest = plumbline.read(self.folder / "one").manifest
        self.assertEqual((manifest["data"]["microbatches"], manifest["schedule"]["microbatches"]), (2, 2))
        self.assertNotIn("not_recorded", self.ended())

    def test_a_stages_error_has_its_cause(self):
        class Fails(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(1))

            def forward(self, x):
                if x.sum() > 1e6:
                    raise ValueError("no such value\nin any table")
                return x * self.weight

        schedule = self.schedule(Fails(), nn.functional.mse_loss)
        record = self.record()
        plumbline.torch.watch_pipelining(record, schedule, units=lambda stage: [])
        inputs = torch.ones(MICROBATCHES, 2)
        schedule.step(inputs, target=inputs)
        with self.assertRaises(RuntimeError), contextlib.redirect_stderr(io.StringIO()), record.step(inputs, inputs):
            schedule.step(inputs * 1e9, target=inputs)
        self.assertRegex(self.ended()["where"], r"^\S+:\d+: RuntimeError: \[Stage 0\] failed to run forward: from ValueError: no such value \(from .*test_package_fed.py:\d+\)$")


class CrashTest(InFolder):
    def test_the_words_of_an_error_are_a_line(self):
        def raised(error, cause=None):
            try:
                raise error from cause
            except Exception as found:
                return found

        own = ValueError("again")
        for error, words in (
            (raised(ValueError("one\ntwo")), "ValueError: one"),
            (raised(RuntimeError("\n   \n  failed:\n  args"), raised(KeyError("name"), OSError("disk"))), "RuntimeError: failed: from KeyError: 'name' from OSError: disk"),
            (raised(ValueError()), "ValueError: "),
            (raised(own, own), "ValueError: again"),
        ):
            self.assertEqual(words_of(error), words)

    def test_what_torch_never_calls_is_said_of_steps_that_ended_alone(self):
        class Stage:
            num_stages, group_size, stage_index, is_first, is_last, submod = 2, 2, 0, True, False, nn.Linear(2, 2)

            def forward_one_chunk(self, chunk, args, kwargs=None):
                if crash:
                    raise ZeroDivisionError

            def __getattr__(self, name):
                if name.startswith(("get_", "set_local", "backward")):
                    return lambda *call: []
                raise AttributeError(name)

        class ScheduleMine:
            def __init__(self):
                self._stage, self._n_microbatches, self._loss_fn = Stage(), MICROBATCHES, None

        def of_both(mine):
            return [mine, mine if mine is None else dataclasses.replace(mine, stages=[(1, ["b"])])]

        for crash in (True, False):
            schedule, name = ScheduleMine(), str(crash)
            record = self.record(name, rank=0, world_size=2, gather=of_both)
            with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(ZeroDivisionError):
                plumbline.torch.watch_pipelining(record, schedule, units=lambda stage: ["a"])
                with record.step(torch.ones(MICROBATCHES, 2)):
                    schedule._stage.forward_one_chunk(0, ())
                    record.learning_rate(0.5), record.gradients()
            never = [one for one in self.ended(name).get("not_recorded", []) if "never calls" in one["why"]]
            self.assertEqual({one["what"] for one in never}, set() if crash else {"sends", "receives"})


if __name__ == "__main__":
    unittest.main()
