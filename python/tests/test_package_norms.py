# SPDX-License-Identifier: BSD-3-Clause
"""norms.csv, and the replay of another record's norms (norms_from)."""

import contextlib
import csv
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy
import plumbline
from plumbline.digests import hash_hex
from test_package_record import OPTIMIZER, RATE, batch, weights

HEADER = "step,call,norm,replayed,coefficient\n"
torch = __import__("torch") if importlib.util.find_spec("torch") else None


def written(folder, ranks, **manifest):
    """A record that has norms alone, of some ranks."""
    for rank, text in ranks.items():
        (folder / f"rank-{rank}").mkdir(parents=True)
        (folder / f"rank-{rank}" / "norms.csv").write_text(HEADER + text)
    (folder / "manifest.json").write_text(json.dumps({"run_id": "candidate", "world_size": 2} | manifest))
    return folder


class InFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def norms(self, name="one"):
        with open(self.folder / name / "rank-0" / "norms.csv", newline="") as lines:
            return [tuple(row.values()) for row in csv.DictReader(lines)]

    def exits(self, name="one"):
        return json.loads((self.folder / name / "rank-0" / "exit.json").read_text())


class NormsTest(InFolder):
    def record(self, name="one", **options):
        record = plumbline.Record(self.folder / name, **({"model": {}, "steps": 1, "microbatches": 2, "optimizer": OPTIMIZER} | options))
        record.stage(0, ["first"], {"first.weight": weights()[0]})
        return record

    def train(self, record, norms):
        """Returns what record.norm returned, by step."""
        returned = []
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for number, of_step in enumerate(norms):
                with record.step(*batch(number)):
                    record.loss(1), record.loss(1), record.learning_rate(RATE), record.gradients()
                    returned.append([record.norm(*norm) if isinstance(norm, tuple) else record.norm(norm) for norm in of_step])
        self.said = said.getvalue()
        return returned

    def test_each_clipping_call_of_each_step_of_the_run_is_a_row(self):
        norms = [[4.0], [8.0, (numpy.float32(0.1), 0.25)], [(2.0, lambda norm: norm / 8)], [], [16.0]]
        returned = self.train(self.record(steps=5, every=2, clip_norm=2.0, clip_epsilon=0.0), norms)
        self.assertEqual(returned, [[4.0], [8.0, numpy.float32(0.1)], [2.0], [], [16.0]])
        small = str(float(numpy.float32(0.1)))
        rows = [("0", "0", "4.0", "", "0.5"), ("1", "0", "8.0", "", "0.25"), ("1", "1", small, "", "0.25"), ("2", "0", "2.0", "", "0.25"), ("4", "0", "16.0", "", "0.125")]
        self.assertEqual(self.norms(), rows)
        steps = [(row["step"], row["gradient_norm"], row["clip_coefficient"]) for row in plumbline.read(self.folder / "one").steps]
        self.assertEqual(steps, [(0, 4.0, 0.5), (1, 2.0, 0.25), (2, 16.0, 0.125)])

    def test_of_several_calls_no_norm_is_that_of_the_step(self):
        self.train(self.record(), [[1.0, float("1.0")]])
        self.assertEqual([(row["gradient_norm"], row["clip_coefficient"]) for row in plumbline.read(self.folder / "one").steps], [(None, None)])
        self.assertEqual(len(self.norms()), 2)

    def test_a_trainer_that_does_not_clip_has_no_such_file(self):
        self.train(self.record(), [[]])
        self.assertFalse((self.folder / "one" / "rank-0" / "norms.csv").exists())

    def test_the_norm_is_returned_as_it_was_given(self):
        record, one = self.record(), numpy.float32(3)
        self.assertIs(record.norm(one), one)  # before the first step
        returned = self.train(record, [[one, "no number", one]])
        self.assertIs(returned[0][0], one)
        self.assertEqual((returned[0][1], self.exits()["not_recorded"][0]["what"]), ("no number", "norm"))
        self.assertIs(returned[0][2], one)  # after the recorder has failed
        self.assertIs(record.norm(one), one)  # after the last step

    def test_norms_are_replayed_in_their_order_also_in_steps_that_are_not_recorded(self):
        two = written(self.folder / "two", {0: "0,0,4.5,,1.0\n0,1,nan,,nan\n1,0,0.1,,1.0\n2,0,6.0,7.0,1.0\n3,0,9.0,,1.0"})  # the last line is not complete
        for empty in ("", None):
            self.assertIsNone(self.record("none", norms_from=empty)._norms_from)
        record = self.record(steps=4, every=3, norms_from=two, clip_norm=2.0, clip_epsilon=0.0)
        given = [[numpy.float32(5), 1.0], [numpy.float32(2)], [numpy.array([[3]], "float64")], [5.0]]
        returned = self.train(record, given)
        self.assertEqual([returned[0][0], returned[1][0], returned[3][0]], [4.5, numpy.float32(0.1), 5.0])
        self.assertEqual([type(returned[0][0]), type(returned[1][0]), returned[2][0].shape, returned[2][0].dtype], [numpy.float32, numpy.float32, (1, 1), numpy.dtype("float64")])
        small = float(numpy.float32(0.1))
        self.assertEqual([row[2:] for row in self.norms()], [
            ("5.0", "4.5", str(2 / 4.5)), ("1.0", "nan", "nan"), ("2.0", str(small), "1.0"), ("3.0", "7.0", str(2 / 7)), ("5.0", "", "0.4"),
        ])
        self.assertEqual(self.exits()["notes"], [f"step 3: {two} lacks the norm of call 0, so the trainer's own norm is used"])
        manifest = plumbline.read(self.folder / "one").manifest
        self.assertEqual(manifest["norms_from"], {"run_id": "candidate", "rank": 0, "digest": hash_hex((two / "rank-0" / "norms.csv").read_bytes())})

    def test_the_lowest_rank_that_has_norms_is_replayed(self):
        two = written(self.folder / "two", {0: "", 1: "0,0,2.5,,1.0\n"})
        self.assertEqual(self.train(self.record(norms_from=two), [[1.0]]), [[2.5]])
        self.assertEqual(plumbline.read(self.folder / "one").manifest["norms_from"]["rank"], 1)

    def test_ranks_that_disagree_end_the_replay(self):
        two = written(self.folder / "two", {0: "0,0,2.5,,1.0\n1,0,3.0,,1.0\n2,0,1.5,,1.0\n", 1: "0,0,2.5,,1.0\n1,0,3.5,,1.0\n2,0,1.5,,1.0\n"})
        self.assertEqual(self.train(self.record(steps=3, norms_from=two), [[1.0], [1.25], [1.0]]), [[2.5], [1.25], [1.0]])
        words = f"the ranks of {two} disagree on the norm of step 1 (rank 0 by 3.0, rank 1 by 3.5): from this step on the trainer's own norms are used"
        self.assertEqual((self.exits()["notes"], self.said), ([words], f"plumbline: {words}\n"))

    def test_a_call_that_only_the_other_record_has_is_noted_once(self):
        two = written(self.folder / "two", {0: "0,0,2.5,,1.0\n0,1,2.5,,1.0\n1,0,2.5,,1.0\n"})
        self.train(self.record(steps=2, norms_from=two), [[1.0], []])
        words = f"step 0: 1 clipping calls were seen, but {two} has more: code of your own must clip by what record.norm(total_norm) returns"
        self.assertEqual(self.exits()["notes"], [words])

    def test_what_is_no_record_or_has_no_norms_is_refused(self):
        for folder, words in (
            (self.folder / "nowhere", "nowhere: is not a finished record.*give the folder of the pipeline's record"),
            (written(self.folder / "none", {0: ""}), "none: has no norms .*record it again"),
            (written(self.folder / "odd", {0: "0,0,two,,1.0\n"}), "rank-0/norms.csv: line 2: expected step, call, norm"),
            (written(self.folder / "short", {0: "0\n"}), "rank-0/norms.csv: line 2: expected step, call, norm"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.record(norms_from=folder)

    def test_of_several_pipelines_each_replays_its_own(self):
        for replica in range(2):
            written(self.folder / "two" / f"replica-{replica}", {0: f"0,0,{2.5 + replica},,1.0\n"})
        for replica, expected in ((None, 2.5), (0, 2.5), (1, 3.5)):
            mesh = None if replica is None else {"axes": {"dp": 2, "pp": 1}, "replicas": [[0], [1]], "replica": replica}
            record = self.record(f"one-{replica}", norms_from=self.folder / "two", mesh=mesh)
            self.assertEqual(self.train(record, [[1.0]]), [[expected]])


@unittest.skipUnless(torch, "torch is not here")
class TorchNormsTest(InFolder):
    def train(self, update, steps=1, name="one", dtype=None, **options):
        """Trains a linear layer, and returns its parameters. `update(model, record, step)` clips."""
        torch.manual_seed(3)
        model = torch.nn.Linear(3, 2, dtype=dtype or torch.float32)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        record = plumbline.Record(self.folder / name, **({"model": {}, "steps": steps, "microbatches": 1, "optimizer": optimizer, "clip_norm": 0.5} | options))
        plumbline.torch.watch_model(record, model)
        with contextlib.redirect_stderr(io.StringIO()):
            for step in range(steps):
                inputs = torch.full((1, 3), 1.0 + step, dtype=dtype)
                with record.step(inputs):
                    loss = model(inputs).square().sum()
                    record.loss(loss), loss.backward()
                    update(model, record, step)
                    optimizer.step(), optimizer.zero_grad()
        return [parameter.detach().clone() for parameter in model.parameters()]

    def own(self, norm):
        return torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(one.grad) for one in norm.parameters()]))

    def test_torchs_functions_clip_by_the_replayed_norm_once_a_call(self):
        two = written(self.folder / "two", {0: "0,0,64.0,,1.0\n1,0,128.0,,1.0\n2,0,32.0,,1.0\n"})
        imported = torch.nn.utils.clip_grad_norm_
        returned = []

        def by_hand(model, record, step):
            coefficient = torch.clamp(0.5 / (torch.tensor([64.0, 128.0, 32.0][step]) + 1e-6), max=1.0)
            for parameter in model.parameters():
                parameter.grad.mul_(coefficient)

        def norm_given(model, record, step):
            record.gradients()
            norm = record.norm(self.own(model))
            self.assertIsInstance(norm, torch.Tensor)
            for parameter in model.parameters():
                parameter.grad.mul_(torch.clamp(0.5 / (norm + 1e-6), max=1.0))

        def norm_given_and_clipped(model, record, step):
            record.gradients()
            torch.nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, total_norm=record.norm(self.own(model)))

        expected = self.train(by_hand, steps=3, name="by hand", clip_norm=None)
        updates = {
            "clip_grad_norm_": lambda model, *_: returned.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5))),
            "imported": lambda model, *_: imported(model.parameters(), max_norm=0.5, foreach=True),
            "clip_grads_with_norm_": lambda model, *_: torch.nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, self.own(model)),
            "of the module": lambda model, *_: torch.nn.utils.clip_grad._clip_grads_with_norm_(model.parameters(), 0.5, self.own(model), foreach=False),
            "given": norm_given,
            "given and clipped": norm_given_and_clipped,
        }
        for every in (1, 2):
            for name, update in updates.items():
                with self.subTest(name, every=every):
                    place = f"{name} {every}"
                    found = self.train(update, steps=3, name=place, norms_from=two, every=every)
                    self.assertTrue(all(map(torch.equal, expected, found)))
                    self.assertEqual([row[:2] + row[3:4] for row in self.norms(place)], [("0", "0", "64.0"), ("1", "0", "128.0"), ("2", "0", "32.0")])
                    coefficients = [float(torch.tensor(0.5) / (torch.tensor(norm) + 1e-6)) for norm in (64.0, 128.0, 32.0)]
                    self.assertEqual([float(row[4]) for row in self.norms(place)], coefficients)
                    self.assertNotIn("notes", self.exits(place))
        self.assertEqual(returned, [64.0, 128.0, 32.0] * 2)  # the norm that was clipped by

    def test_a_replayed_norm_has_the_dtype_of_the_own_one(self):
        two = written(self.folder / "two", {0: "0,0,64.1,,1.0\n"})
        given = []

        def clip(model, record, step):
            record.gradients()
            given.append(record.norm(self.own(model)))

        self.train(clip, dtype=torch.bfloat16, norms_from=two)
        self.assertTrue(torch.equal(given[0], torch.tensor(64.1, dtype=torch.bfloat16)))
        self.assertEqual(self.norms()[0][3], "64.0")

    def test_a_norm_that_clips_several_parts_is_one_call(self):
        def in_parts(model, record, step):
            norm = self.own(model)
            for parameter in model.parameters():
                torch.nn.utils.clip_grads_with_norm_([parameter], 0.5, norm)

        def of_each(model, record, step):
            for parameter in model.parameters():
                torch.nn.utils.clip_grad_norm_([parameter], 0.5)

        self.train(in_parts, name="parts")
        self.assertEqual(len(self.norms("parts")), 1)
        self.train(of_each, name="each")
        self.assertEqual([row[:2] for row in self.norms("each")], [("0", "0"), ("0", "1")])

    def test_functions_of_libraries_that_clip_by_a_norm_get_the_replayed_one(self):
        two = written(self.folder / "two", {0: "0,0,64.0,,1.0\n"})

        def clip_grad_by_total_norm_fp32(parameters, max_norm, total_norm, use_decoupled_grad=False):  # megatron-core 0.16's and 0.19's
            coefficient = max_norm / (total_norm + 1.0e-6)
            for parameter in parameters:
                parameter.grad.mul_(coefficient)

        def clip_tensors_by_global_norm(input_tensors, max_norm=1.0, global_norm=None, mpu=None, eps=1e-6):  # DeepSpeed 0.19's
            for tensor in input_tensors:
                tensor.mul_(max_norm / (global_norm + eps))

        def megatron(model, record, step):
            norm = self.own(model).item()
            for parameter in model.parameters():  # an optimizer each, as of Megatron's chain
                megatron_optimizer.clip_grad_by_total_norm_fp32([parameter], max_norm=0.5, total_norm=norm)

        def deepspeed(model, record, step):
            gradients = [parameter.grad for parameter in model.parameters()]
            deepspeed_optimizer.clip_tensors_by_global_norm(gradients, 0.5, self.own(model))

        megatron_optimizer = types.ModuleType("megatron.core.optimizer.optimizer")
        megatron_optimizer.clip_grad_by_total_norm_fp32 = clip_grad_by_total_norm_fp32
        deepspeed_optimizer = types.ModuleType("deepspeed.runtime.bf16_optimizer")
        deepspeed_optimizer.clip_tensors_by_global_norm = clip_tensors_by_global_norm
        with mock.patch.dict(sys.modules, {one.__name__: one for one in (megatron_optimizer, deepspeed_optimizer)}):
            for name, update in (("megatron", megatron), ("deepspeed", deepspeed)):
                self.train(update, name=name, norms_from=two)
                (row,) = self.norms(name)
                self.assertEqual((row[3], numpy.float32(row[4])), ("64.0", numpy.float32(0.5 / (64 + 1e-6))))
                rows = [row for row in plumbline.read(self.folder / name).tensors if row["kind"] in ("gradient", "applied")]
                ratios = {after["max_abs"] / before["max_abs"] for before, after in zip(rows[:2], rows[2:])}
                self.assertTrue(all(abs(ratio - 0.5 / 64) < 1e-6 for ratio in ratios), ratios)
        self.assertIs(megatron_optimizer.clip_grad_by_total_norm_fp32, clip_grad_by_total_norm_fp32)

    def test_a_mesh_tensor_is_replaced_by_one(self):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import distribute_tensor

        two = written(self.folder / "two", {0: "0,0,64.0,,1.0\n"})
        torch.distributed.init_process_group("gloo", init_method=f"file://{self.folder}/store", rank=0, world_size=1)
        try:
            mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
            model = torch.nn.Linear(3, 2)
            for name, parameter in list(model.named_parameters()):
                setattr(model, name, torch.nn.Parameter(distribute_tensor(parameter.detach(), mesh)))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
            record = plumbline.Record(self.folder / "one", model={}, steps=1, microbatches=1, optimizer=optimizer, clip_norm=0.5, norms_from=two)
            plumbline.torch.watch_model(record, model)
            with record.step(torch.ones(1, 3)):
                for parameter in model.parameters():
                    parameter.grad = torch.ones_like(parameter)
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                optimizer.step(), record.loss(1.0)
            self.assertEqual((type(norm).__name__, float(norm.to_local())), ("DTensor", 64.0))
            applied = {row["max_abs"] for row in plumbline.read(self.folder / "one").tensors if row["kind"] == "applied"}
            self.assertEqual((self.norms()[0][3], applied), ("64.0", {float(numpy.float32(0.5) / (numpy.float32(64) + numpy.float32(1e-6)))}))
        finally:
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    unittest.main()
