# SPDX-License-Identifier: BSD-3-Clause
"""What a record refuses, and what it says where something is forgotten."""

import contextlib
import io
import json
import pathlib
import struct
import tempfile
import types
import unittest
from unittest import mock

import numpy
import plumbline
from plumbline import manifest
from test_package_record import OPTIMIZER, RATE, Pipeline, batch, weights


class RulesTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def record(self, name="one", **options):
        usual = {"model": {}, "steps": 1, "microbatches": 2, "optimizer": OPTIMIZER}
        record = plumbline.Record(self.folder / name, **(usual | options))
        record.stage(0, ["first"], {"first.weight": weights()[0]})
        return record

    def step(self, record, number=0, losses=(1, 1), rate=RATE):
        with record.step(*batch(number)):
            for loss in losses:
                record.loss(loss)
            if rate is not None:
                record.learning_rate(rate)

    def ended(self, name="one", rank=0):
        return json.loads((self.folder / name / f"rank-{rank}" / "exit.json").read_text())

    def test_a_record_has_a_step_and_a_microbatch(self):
        for options in ({"steps": 0}, {"microbatches": 0}):
            with self.assertRaisesRegex(ValueError, "at least one step and one microbatch, not {} and {}".format(options.get("steps", 1), options.get("microbatches", 2))):
                self.record(**options)
        self.record("least", microbatches=1)
        self.assertEqual(self.record("tenth", every=10).steps, 1)
        self.assertEqual(self.record("tenth", steps=11, every=10, level="full").steps, 2)

    def test_stages_are_given_before_the_first_step(self):
        record = self.record(steps=2)
        self.step(record)
        with self.assertRaisesRegex(RuntimeError, r"record.stage\(\) must be called before the first step"):
            record.stage(1, ["second"], {})
        self.step(record)

    def said(self, work):
        """On stderr."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            work()
        return said.getvalue()

    def test_a_step_beyond_the_declared_ones_is_trained_and_not_recorded(self):
        record = self.record(steps=2, every=2)
        self.step(record)
        self.step(record)
        self.assertEqual(self.ended()["status"], "ok")
        words = "plumbline: the record was made for 2 steps: this step is not recorded\n"
        self.assertEqual(self.said(lambda: (self.step(record), self.step(record))), words)
        self.assertEqual(len(plumbline.read(self.folder / "one").steps), 1)

    def test_a_batch_of_other_microbatches_is_said(self):
        for inputs, targets, why in (
            (None, None, "give the step its batch on every rank: each records its sizes"),
            ([numpy.ones(1)] * 3, None, "the step was given 3 microbatches, but the record was made for 2"),
            ([numpy.ones(1)] * 2, (numpy.ones(1),), "the step was given 1 microbatches, but the record was made for 2"),
        ):
            name = f"record-{len(why)}-{targets is None}"
            record = self.record(name)

            def step(record=record, inputs=inputs, targets=targets):
                with record.step(inputs, targets):
                    record.loss(1), record.loss(1), record.learning_rate(RATE)

            self.assertIn(why, self.said(step))
            self.assertEqual(self.ended(name)["not_recorded"], [{"what": what, "why": f"ValueError: {why}"} for what in ("inputs", "labels")])
            self.assertEqual((self.ended(name)["status"], self.ended(name)["data_digest"]), ("ok", None))
        record = self.record("lists")
        with record.step([numpy.ones((1, 2)), numpy.ones((5, 2))]):
            record.loss(1), record.loss(1), record.learning_rate(RATE)
        self.assertEqual([row["batch"] for row in plumbline.read(self.folder / "lists").microbatches], [1, 5])

    def test_what_a_step_did_not_record_is_named_and_ends_no_training(self):
        for name, options, recorded, what, words in (
            ("some", {}, {"losses": (1,)}, "losses", r"step 0: only microbatches \[0\] of 2 have a loss"),
            ("more", {}, {"losses": (1, 1, 1)}, "losses", r"made for 2|only microbatches \[0, 1, 2\] of 4 have a loss"),
            ("none", {}, {"losses": ()}, "losses", r"step 0: no loss was recorded; call record.loss"),
            ("rate", {}, {"rate": None}, "rates", r"step 0: no optimizer stepped; call record.learning_rate"),
            ("infinite", {}, {"rate": float("inf")}, "rates", r"step 0: the learning rate is inf"),
            ("norm", {"clip_norm": 2.5}, {}, "norm", r"step 0: clip_norm is 2.5, but no norm was seen"),
        ):
            with self.subTest(name):
                said = self.said(lambda name=name, options=options, recorded=recorded: self.step(self.record(name, **options), **recorded))
                self.assertRegex(said, words)
                (lack,) = self.ended(name)["not_recorded"]
                self.assertEqual((lack["what"], self.ended(name)["status"]), (what, "ok"))
                self.assertRegex(lack["why"], words)

    def test_a_norm_comes_after_the_gradients(self):
        record = self.record(clip_norm=1.0)

        def step():
            with record.step(*batch(0)):
                record.norm(1.0), record.loss(1), record.loss(1), record.learning_rate(1)

        self.assertIn("record.norm() was called before record.gradients()", self.said(step))

    def test_a_tied_name_of_no_stage_is_said(self):
        said = self.said(lambda: self.step(self.record(tied=[["first.weight", "head.weight"]])))
        self.assertIn("plumbline: tied= lists head.weight, which is a parameter of no stage", said)
        self.assertEqual(len(self.ended()["notes"]), 1)

    def test_outside_of_a_step_nothing_is_looked_at_and_once_it_is_said(self):
        record, one = self.record(), numpy.ones(1)
        for name, tell in {
            "loss": lambda: record.loss(1), "fed": lambda: record.fed(0, one), "gradients": record.gradients, "norm": lambda: record.norm(1),
            "learning_rate": lambda: record.learning_rate(1), "computed": lambda: record.computed("first", "forward", 0, one),
            "sent": lambda: record.sent(0, 1, one), "received": lambda: record.received(1, 0, one),
        }.items():
            words = f"plumbline: record.{name}() was called outside of `with record.step(...)` and is ignored\n"
            self.assertEqual(self.said(lambda tell=tell: (tell(), tell())), words)
        self.assertFalse(record.in_step)

    def test_a_step_that_is_passed_over_hears_nothing(self):
        record, one = self.record(steps=2, every=2), numpy.ones(1)
        self.step(record)
        with record.step(one):
            self.assertFalse(record.in_step)
            record.loss("no number"), record.fed(9), record.gradients(), record.norm("none"), record.learning_rate("none")
            record.sent(0, 9, 0, one), record.received(0, 9, 0, one), record.handed_over(0, 9, 0, one), record.computed("none", "none", 0, one)
            with record.action(0, "F", 0), record.waiting(3):
                pass
        found = plumbline.read(self.folder / "one")
        self.assertEqual((len(found.steps), len(found.actions), len(found.boundaries), found.exits[0]["status"]), (1, 0, 0, "ok"))

    def test_a_wait_for_what_is_no_rank_does_not_end_the_training(self):
        record = self.record(steps=1)
        with contextlib.redirect_stderr(io.StringIO()):
            with record.step(*batch(0)), record.waiting("next"):
                record.loss(1), record.loss(1), record.learning_rate(RATE)
        self.assertEqual(record._not_recorded.kinds(), {"waits"})

    def test_the_page_tells_the_step_of_the_run_also_where_it_is_passed_over(self):
        record, seen = self.record(steps=3, every=2), []

        def look():
            text = (self.folder / "one" / "rank-0" / "progress").read_bytes()
            seen.append((*struct.unpack_from("<qqii", text, 16), text[60:124].rstrip(b"\0").decode()))

        for step in range(3):
            with record.step(*batch(0)):
                look()
                with record.action(0, "F", 1, peer=4):
                    look()
                with record.action(0, "B"):
                    look()
                with record.waiting(5):
                    look()
                with record.waiting(None), record.waiting(-1):
                    look()
                record.loss(1), record.loss(1), record.learning_rate(RATE)
        recorded = [(0, -1, -1, ""), (0, 4, 1, "0F1"), (1, -1, -1, "0B"), (2, 5, -1, "0B"), (2, -1, -1, "0B")]
        self.assertEqual(seen, [(0, *one) for one in recorded] + [(1, 0, -1, -1, "")] * 5 + [(2, *one) for one in [(0, -1, -1, ""), *recorded[1:]]])

    def test_crossings_without_a_number_are_counted_and_are_signs_of_life(self):
        record, seen = self.record(steps=1, schedule="1F1B"), []
        record.stage(1, ["second"], {"second.weight": weights()[1]})

        def look():
            text = (self.folder / "one" / "rank-0" / "progress").read_bytes()
            seen.append(struct.unpack_from("<q", text, 8)[0])
            return struct.unpack_from("<i", text, 36)[0]

        one = numpy.ones(2, "float32")
        with record.step(*batch(0)):
            for m in range(2):
                for tell in (record.sent, record.received, record.handed_over):
                    tell(0, 1, one) if tell != record.received else tell(1, 0, one)
                    self.assertEqual(look(), m)
                record.sent(1, 0, m, one)
                record.loss(1)
            record.learning_rate(RATE)
        self.assertEqual(seen, sorted(set(seen)))
        found = plumbline.read(self.folder / "one")
        crossings = [(row["microbatch"], row["side"], row["direction"]) for row in found.boundaries]
        self.assertEqual(crossings, [(m, *rest) for m in range(2) for rest in (("send", "forward"), ("receive", "forward"), ("local", "forward"), ("send", "backward"))])
        self.assertEqual((found.manifest["schedule"]["name"], found.manifest["schedule"]["chunks_per_rank"]), ("1F1B", 2))

    def test_microbatches_of_several_calls_are_counted_on_by_hand(self):
        for name, microbatches in (("one call", 2), ("all", 4)):
            record = self.record(name, steps=2, microbatches=microbatches)
            for step in range(2):
                with record.step(*batch(step)):
                    for m in (0, 1, 0, 1):
                        with record.action(0, "F", m):
                            record.fed(m, numpy.full((1, 3), step + m, "float32"))
                            record.loss(m, m)
                    record.learning_rate(RATE)
            found = plumbline.read(self.folder / name)
            self.assertEqual([row["action"] for row in found.actions], [f"0F{m}" for m in range(4)] * 2)
            self.assertEqual([(row["microbatch"], row["loss"], row["batch"]) for row in found.microbatches], [(m, m % 2, 1) for m in range(4)] * 2)
            self.assertEqual((found.manifest["data"]["microbatches"], found.exits[0].get("not_recorded")), (4, None))

    def test_variables_that_steer_libraries_are_recorded(self):
        with mock.patch.dict("os.environ", {"MKL_CBWR": "AVX2", "DNNL_VERBOSE": "0", "HOME_OF_MKL_": "no"}):
            self.step(self.record())
        machine = json.loads((self.folder / "one" / "rank-0" / "machine.json").read_text())
        self.assertEqual({name: machine["environment"].get(name) for name in ("MKL_CBWR", "DNNL_VERBOSE", "HOME_OF_MKL_")}, {"MKL_CBWR": "AVX2", "DNNL_VERBOSE": "0", "HOME_OF_MKL_": None})
        self.assertIn("cpu_vendor", machine["machine"])

    def test_how_a_rank_ended_is_said_once(self):
        record = self.record(steps=3)
        self.step(record)
        record.finish("stopped", 7, "here")
        record.finish("error", 1)
        expected = {"rank": 0, "status": "stopped", "code": 7, "signal": None, "last_action": None, "where": "here"}
        ended = self.ended()
        self.assertRegex(ended.pop("data_digest"), "^[0-9a-f]{32}$")
        self.assertEqual(ended, expected)
        self.record("never").finish()  # before its first step it has no place to say so
        self.assertFalse((self.folder / "never").exists())

    def test_a_rank_that_leaves_between_steps_says_after_how_many(self):
        record = self.record(steps=3)
        self.step(record)
        record._ending.left()
        self.assertEqual((self.ended()["status"], self.ended()["code"], self.ended()["where"]), ("error", 1, "the program ended after 1 of 3 steps"))
        whole = self.record("whole")
        self.step(whole)
        whole._ending.left()
        self.assertEqual(sorted(self.ended("whole")), ["code", "data_digest", "last_action", "rank", "signal", "status"])
        self.assertEqual(self.ended("whole")["status"], "ok")

    def test_an_exception_in_a_step_that_is_passed_over_says_its_line(self):
        record = self.record(steps=2, every=2)
        self.step(record)
        with self.assertRaises(ZeroDivisionError):
            with record.step(numpy.ones(1)):
                1 / 0
        self.assertRegex(self.ended()["where"], r"test_package_rules.py:\d+: ZeroDivisionError: division by zero")
        self.assertEqual((self.ended()["status"], self.ended()["code"]), ("error", 1))

    def test_stages_that_are_not_each_there_once_are_refused(self):
        for ranks, numbers in (((0, 2), r"\[0, 2\]"), ((0, 0), r"\[0, 0\]"), ((1,), r"\[1\]")):
            record = plumbline.Record(self.folder / "none", model={}, steps=1, microbatches=1, optimizer=OPTIMIZER)
            for number in ranks:
                record.stage(number, ["first"], {})
            with self.assertRaisesRegex(ValueError, f"stages are {numbers}; each number from 0 on must occur once"):
                with record.step(numpy.ones(1)):
                    pass
        self.assertFalse((self.folder / "none").exists())

    def test_an_empty_folder_is_taken_and_a_file_is_not(self):
        (self.folder / "empty").mkdir()
        self.step(self.record("empty"))
        (self.folder / "file").write_text("")
        with self.assertRaisesRegex(FileExistsError, "file: is not empty, so it may hold another run"):
            self.step(self.record("file"))
        self.step(self.record("deep/within/folders"))

    def test_one_rank_makes_the_folder(self):
        asked = []

        def gather(mine):
            asked.append(mine)
            return [mine] if len(asked) > 1 else [manifest.RankSummary(mine.settings, [(0, ["before"])], [], [], {"name": "sgd"}), mine]

        record = plumbline.Record(self.folder / "two", model={}, steps=1, microbatches=1, optimizer=OPTIMIZER, rank=1, world_size=2, gather=gather)
        record.stage(1, ["behind"], {})
        with self.assertRaises(FileNotFoundError):  # rank 0 has not made it
            with record.step(numpy.ones(1)):
                pass
        self.assertFalse((self.folder / "two").exists())

    def test_the_number_of_a_rank_is_given_or_that_of_torch(self):
        distributed = types.SimpleNamespace(
            is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda group: group[0], get_world_size=lambda group: group[1]
        )
        with mock.patch.dict("sys.modules", {"torch": types.SimpleNamespace(distributed=distributed)}):
            options = {"model": {}, "steps": 1, "microbatches": 1, "optimizer": OPTIMIZER, "group": (3, 5)}
            record = plumbline.Record(self.folder / "none", **options)
            self.assertEqual((record.rank, record.world_size), (3, 5))
            record = plumbline.Record(self.folder / "none", **options, rank=1, world_size=2)
            self.assertEqual((record.rank, record.world_size), (1, 2))
            distributed.is_initialized = lambda: False
            record = plumbline.Record(self.folder / "none", **options)
            self.assertEqual((record.rank, record.world_size), (0, 1))
            record = plumbline.Record(self.folder / "none", **options, rank=1, world_size=2)
            record.stage(1, ["first"], {})
            with self.assertRaisesRegex(RuntimeError, "give gather=, or initialize torch.distributed"):
                with record.step(numpy.ones(1)):
                    pass

    def test_a_torch_without_distributed_needs_gather(self):
        with mock.patch.dict("sys.modules", {"torch": types.SimpleNamespace(distributed=types.SimpleNamespace(is_available=lambda: False))}):
            record = plumbline.Record(self.folder / "none", model={}, steps=1, microbatches=1, optimizer=OPTIMIZER, rank=1, world_size=2)
            record.stage(1, ["first"], {})
            with self.assertRaisesRegex(RuntimeError, "give gather="):
                with record.step(numpy.ones(1)):
                    pass

    def test_ranks_that_record_otherwise_are_refused(self):
        for key, value in (("every", 2), ("microbatches", 8), ("level", "summary")):
            pipeline = Pipeline(self.folder / key, 2)
            usual = pipeline.record
            pipeline.record = lambda rank, usual=usual, key=key, value=value: usual(rank, **({key: value} if rank else {}))
            with self.subTest(key), self.assertRaisesRegex(ValueError, "rank 1 records .*, rank 0 "):
                pipeline.run()


if __name__ == "__main__":
    unittest.main()
