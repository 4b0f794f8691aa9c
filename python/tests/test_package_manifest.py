# SPDX-License-Identifier: BSD-3-Clause
"""What rank 0 writes of the run, key by key, and the order files beside it."""

import dataclasses
import fcntl
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import numpy
import plumbline
from plumbline import manifest
from plumbline.digests import hash_hex
from test_package_record import OPTIMIZER, RATE, STEPS, Pipeline, batch, weights


class ManifestTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def written(self, name="one", change=lambda record: None, stages=None, **options):
        usual = {"model": {}, "steps": 1, "microbatches": 2, "optimizer": OPTIMIZER}
        record = plumbline.Record(self.folder / name, **(usual | options))
        for number, parameters in enumerate(stages or [{"first.weight": weights()[0]}]):
            record.stage(number, [f"unit{number}"], parameters)
        change(record)
        with record.step(*batch(0)):
            record.loss(1), record.loss(1), record.learning_rate(RATE), record.gradients(), record.norm(1)
        return json.loads((self.folder / name / "manifest.json").read_text())

    def test_every_key_of_a_plain_run(self):
        found = self.written(steps=1, model={"kind": "plain"})
        self.assertRegex(found.pop("run_id"), r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertRegex(found.pop("started"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        versions, machine, environment = (found.pop(key) for key in ("versions", "machine", "environment"))
        own = json.loads((self.folder / "one" / "rank-0" / "machine.json").read_text())
        self.assertEqual(own, {"machine": machine, "environment": environment, "versions": versions})
        self.assertEqual((versions["python"], versions["plumbline-python"]), ("%d.%d.%d" % sys.version_info[:3], plumbline.__version__))
        self.assertEqual(versions.get("torch"), str(sys.modules["torch"].__version__) if "torch" in sys.modules else None)
        self.assertEqual(found, {
            "schema": "plumbline-record/2", "role": "external", "command": sys.argv, "model": {"kind": "plain"}, "seed": 0, "dtype": "float32", "device": "cpu",
            "world_size": 1, "steps": 1, "data": {"source": "", "microbatches": 2},
            "schedule": {"name": "sequential", "chunks_per_rank": 1, "microbatches": 2, "digest": None, "accumulation": "ascending", "accumulation_digest": None},
            "stages": [{"stage": 0, "rank": 0, "units": ["unit0"]}], "tied": [], "frozen": [], "loss_scaling": "before", "optimizer": OPTIMIZER,
            "clip_norm": None, "norm_order": "canonical", "clip_epsilon": 0, "level": "full",
        })

    def test_settings_of_the_run_are_its_keys(self):
        mesh = {"axes": {"dp": 1, "pp": 1}, "replicas": [[0]], "replica": 0}
        given = {"seed": 7, "device": "abacus", "data_source": "noise", "loss_scaling": "after", "clip_norm": 0.5, "level": "summary", "every": 3, "mesh": mesh}
        record = plumbline.Record(self.folder / "meshed", model={}, steps=7, microbatches=1, optimizer=OPTIMIZER, **given)
        record.stage(0, ["unit0"], {})
        with self.assertRaises(KeyboardInterrupt), record.step(*batch(0)):
            raise KeyboardInterrupt
        found = plumbline.read(self.folder / "meshed" / "replica-0").manifest
        self.assertEqual((found["steps"], found["data"]["source"]), (3, given.pop("data_source")))
        given["mesh"]["axes"] = [{"name": "dp", "size": 1, "kind": "replicate"}, {"name": "pp", "size": 1, "kind": "pipeline"}]
        self.assertEqual({key: found[key] for key in given}, given)
        self.assertEqual((found["norm_order"], found["clip_epsilon"]), ("per_rank", 1e-6))
        found = self.written("canonical", clip_norm=0.5, norm_order="canonical", clip_epsilon=0.25)
        self.assertEqual((found["norm_order"], found["clip_epsilon"]), ("canonical", 0.25))

    def test_the_manifest_is_changed_under_a_lock_or_without_it_once_the_wait_is_over(self):
        weight = weights()[0]
        weight.requires_grad = False
        self.written(stages=[{"a": weight}])

        def frozen():
            return json.loads((self.folder / "one" / "manifest.json").read_text())["frozen"]

        with open(self.folder / "one" / "rank-0" / "progress", "rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            attempts = []

            def sleep(seconds):
                attempts.append(frozen())
                if len(attempts) == released_after:
                    fcntl.flock(other, fcntl.LOCK_UN)

            for released_after, waits in ((2, 2), (None, manifest.LOCK_ATTEMPTS)):
                with self.subTest(waits), mock.patch.object(manifest.time, "sleep", sleep):
                    attempts.clear()
                    fcntl.flock(other, fcntl.LOCK_EX)
                    manifest.unfreeze(self.folder / "one", {"a"})
                    self.assertEqual((len(attempts), attempts[-1], frozen()), (waits, ["a"], []))
                path = self.folder / "one" / "manifest.json"
                path.write_text(json.dumps(json.loads(path.read_text()) | {"frozen": ["a"]}))

    def test_two_runs_are_two(self):
        self.assertNotEqual(self.written("one")["run_id"], self.written("two")["run_id"])

    def test_given_orders_are_files_next_to_it_with_their_digests(self):
        def change(record):
            record.schedule_rows, record.schedule_name, record.chunks_per_rank = [["0F0", "0F1", "0B1", "0B0"]], "mine", 2
            record.accumulation_rows = [("unit0", 1), ("unit0", 0)]

        found = self.written(change=change, accumulation="listed")
        schedule, order = ((self.folder / "one" / name).read_text() for name in ("schedule.csv", "accumulation.csv"))
        self.assertEqual((schedule, order), ("0F0,0F1,0B1,0B0\n", "unit,microbatch\nunit0,1\nunit0,0\n"))
        expected = {"name": "mine", "chunks_per_rank": 2, "microbatches": 2, "digest": hash_hex(schedule), "accumulation": "listed", "accumulation_digest": hash_hex(order)}
        self.assertEqual(found["schedule"], expected)
        self.assertEqual(self.written("descending", accumulation="descending")["schedule"]["accumulation"], "descending")
        self.assertEqual(sorted(file.name for file in (self.folder / "descending").iterdir()), ["manifest.json", "rank-0"])

    def test_a_pipeline_by_hand_is_called_so(self):
        found = plumbline.read(Pipeline(self.folder / "two", 2).run()).manifest
        self.assertEqual((found["world_size"], found["steps"], found["schedule"]["name"]), (2, STEPS, "by hand"))

    def test_tied_weights_are_found_in_addition_to_those_given(self):
        one, two = weights()
        here = {"a": one, "b": two, "c": one, "d": two, "e": weights()[0]}
        self.assertEqual(self.written("found", stages=[here])["tied"], [["a", "c"], ["b", "d"]])
        self.assertEqual(self.written("ties", stages=[here], tied=(("a", "c"), ("e", "elsewhere")))["tied"], [["a", "c"], ["e", "elsewhere"], ["b", "d"]])

    def test_weights_without_a_gradient_are_frozen(self):
        one, two = weights()
        two.requires_grad = False
        self.assertEqual(self.written(stages=[{"a": one}, {"b": two, "c": weights()[0]}])["frozen"], ["b"])

    def test_the_dtype_is_that_of_the_first_parameter_that_a_rank_has(self):
        half = weights()[0]
        half.dtype, half.values = numpy.dtype("float16"), half.values.astype("float16")
        self.assertEqual(self.written("wide", stages=[{}, {"a": half}, {"b": weights()[0]}])["dtype"], "float16")
        self.assertEqual(self.written("none", stages=[{}])["dtype"], "float32")

    def test_masters_of_another_rank_make_the_run_mixed(self):
        def gather(local):  # rank 0 is frozen, so that it has none
            return [local, dataclasses.replace(local, stages=[(1, ["unit1"])], has_copies=True) if local else None]

        self.assertEqual(self.written(gather=gather, rank=0, world_size=2)["dtype"], "mixed")

    def test_groups_of_one_rank_alone_are_written(self):
        from plumbline.manifest import RankSummary
        from plumbline.training import together

        summaries = [RankSummary((1, 1, 1, "full", "xxh3-128"), [], [], [], {"name": "sgd"} | more) for more in ({}, {"groups": 3}, {"groups": 2})]
        self.assertEqual(together([one.optimizer for one in summaries]), {"name": "sgd", "groups": 6})
        self.assertEqual(together([None, summaries[0].optimizer, {}]), {"name": "sgd"})
        self.assertIsNone(together([None]))
        rates = [{"name": "sgd", "learning_rate": rate} for rate in (0.25, 0.5)]  # each rank's only group: no rank's own number
        self.assertEqual(together(rates), together(rates[::-1]), {"name": "sgd", "learning_rate": 0.5, "groups": 2})

    def test_an_optimizer_of_another_kind_needs_its_defaults_alone(self):
        class Descent:
            defaults = {"lr": 0.5, "friction": 0.25, "noise": 0}

        self.assertEqual(self.written(optimizer=Descent())["optimizer"], {"name": "descent", "learning_rate": 0.5, "friction": 0.25})

    def test_a_model_is_what_json_has_of_its_configuration(self):
        class Config:
            def __init__(self):
                self.size, self.rates, self.none, self.kind, self.inner = 3, [0.5, (True, "a")], None, dict, {"a": {1: 2}, "b": [set()]}

        class Transformers(Config):
            def to_diff_dict(self):
                return {}

            def to_dict(self):
                return {"whole": 1, "dtype": Config}

        @dataclasses.dataclass
        class Shape:
            width: int = 4

        for model, expected in (
            (Config(), {"size": 3, "rates": [0.5, [True, "a"]], "none": None}), (Transformers(), {"whole": 1}), (Shape(), {"width": 4}),
            ({"kept": {"a": [1]}, "left": {"a": 1, 2: 1}, "out": {"a": 1, "b": numpy.ones(1)}, "set": [1, set()]}, {"kept": {"a": [1]}}),
        ):
            self.assertEqual(self.written(type(model).__name__, model=model)["model"], expected)


if __name__ == "__main__":
    unittest.main()
