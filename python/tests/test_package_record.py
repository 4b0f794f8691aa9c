# SPDX-License-Identifier: BSD-3-Clause
"""plumbline.Record without torch: a trainer in numpy, on one rank and on two."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import plumbline

BATCHES, STEPS, RATE = 4, 2, 0.5
OPTIMIZER = {"name": "sgd", "learning_rate": RATE, "momentum": 0.0, "weight_decay": 0.0}


class Weight:
    """A parameter as the package wants them: an array with its gradient."""

    def __init__(self, values):
        self.values, self.grad, self.requires_grad = numpy.float32(values), None, True
        self.dtype, self.shape, self.nbytes = self.values.dtype, self.values.shape, self.values.nbytes

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def batch(step):
    draw = numpy.random.default_rng(step)
    return draw.normal(size=(BATCHES, 3)).astype("float32"), draw.normal(size=(BATCHES, 2)).astype("float32")


def weights():
    draw = numpy.random.default_rng(9)
    return Weight(draw.normal(size=(3, 4))), Weight(draw.normal(size=(4, 2)))


class Pipeline:
    """y = x A B, squared error: the first weight on stage 0, the second on the last."""

    def __init__(self, folder, world, wrong=None, every=1, run_steps=STEPS, mesh=None, frozen=False):
        self.folder, self.world, self.wrong, self.mesh, self.frozen = folder, world, wrong, mesh, frozen
        self.every, self.run_steps = every, run_steps
        self.barrier, self.gathered = threading.Barrier(world), [None] * world
        self.wires, self.errors = {}, []

    def gather(self, rank):
        def tell(mine):
            self.gathered[rank] = mine
            self.barrier.wait()
            everyone = list(self.gathered)
            self.barrier.wait()
            return everyone

        return tell

    def record(self, rank, **more):
        options = {"model": {"kind": "two products"}, "steps": self.run_steps, "every": self.every, "microbatches": BATCHES, "optimizer": OPTIMIZER, "mesh": self.mesh}
        return plumbline.Record(self.folder, **(options | more), rank=rank, world_size=self.world, gather=self.gather(rank))

    def run(self):
        ranks = [threading.Thread(target=self.rank, args=(rank,)) for rank in range(self.world)]
        for thread in ranks:
            thread.start()
        for thread in ranks:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return self.folder

    def rank(self, rank):
        try:
            self.train(rank)
        except BaseException as error:
            self.errors.append(error)
            self.barrier.abort()

    def train(self, rank):
        one, two = weights()
        two.requires_grad = not self.frozen
        record = self.record(rank)
        first, last = rank == 0, rank == self.world - 1
        if self.world == 1:
            record.stage(0, ["first", "second"], {"first.weight": one, "second.weight": two})
        else:
            record.stage(rank, ["second"] if last else ["first"], {"second.weight": two} if last else {"first.weight": one})
        for step in range(self.run_steps):
            inputs, targets = batch(step)
            with record.step(inputs, targets):
                self.step(record, one, two, first, last, inputs, targets)

    def step(self, record, one, two, first, last, inputs, targets):
        stage = 1 if last and not first else 0
        hidden = {}
        sums = [numpy.zeros_like(one.values), numpy.zeros_like(two.values)]
        for m in range(BATCHES):
            x, y = inputs[m : m + 1], targets[m : m + 1]
            if first:
                with record.action(0, "F", m):
                    hidden[m] = x @ one.values
                if not last:
                    record.sent(0, 1, m, hidden[m])
                    self.put("forward", m, hidden[m])
                else:
                    record.computed("second", "forward", m, hidden[m])
            if last:
                if not first:
                    hidden[m] = self.get("forward", m)
                    if self.wrong == "wire":
                        hidden[m] = hidden[m].astype("float16").astype("float32")
                    record.received(1, 0, m, hidden[m])
                with record.action(stage, "B", m):
                    error = hidden[m] @ two.values - y
                    record.loss(numpy.float32((error**2).sum()), m)
                    back = (2 * error) @ two.values.T
                    sums[1] += hidden[m].T @ (2 * error)
                if first:
                    record.computed("second", "backward", m, back)
                else:
                    record.sent(1, 0, m, back)
                    self.put("backward", m, back)
            if first:
                if not last:
                    back = self.get("backward", m)
                    record.received(0, 1, m, back)
                sums[0] += x.T @ back
        one.grad, two.grad = sums[0], None if self.frozen else sums[1]
        record.gradients()
        with record.action(stage, "STEP"):
            record.learning_rate(RATE)
            for weight in (one,) if self.frozen else (one, two):
                weight.values -= numpy.float32(RATE / 100) * weight.grad

    def put(self, direction, m, tensor):
        self.wires.setdefault((direction, m), []).append(tensor.copy())

    def get(self, direction, m):
        while not self.wires.get((direction, m)):
            if self.barrier.broken:
                raise RuntimeError("the other rank gave up")
        return self.wires[direction, m].pop(0)


def judge():
    try:
        from plumbline.verdicts import program_path

        return program_path()
    except FileNotFoundError:
        return None


def side_by_side(folder, world, wrong=None):
    """Two pipelines of as many ranks, whose ranks take turns in the run's count."""
    for replica in range(2):
        replicas = [[2 * rank + other for rank in range(world)] for other in range(2)]
        mesh = {"axes": {"dp": 2, "pp": world}, "replicas": replicas, "replica": replica}
        Pipeline(folder, world, wrong if replica == 1 else None, mesh=mesh).run()
    return folder


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def test_tables_are_written_with_every_key(self):
        found = plumbline.read(Pipeline(self.folder / "two", 2).run())
        self.assertEqual([row["step"] for row in found.steps if row["rank"] == 1], [0, 1])
        self.assertEqual(len(found.boundaries), STEPS * BATCHES * 2 * 2)
        self.assertEqual({row["side"] for row in found.boundaries}, {"send", "receive"})
        self.assertEqual({row["cut"] for row in found.boundaries}, {"second"})
        self.assertEqual([row["name"] for row in found.tensors if row["rank"] == 0 and row["step"] == -1], ["first.weight"])
        self.assertEqual(found.manifest["stages"], [{"stage": 0, "rank": 0, "units": ["first"]}, {"stage": 1, "rank": 1, "units": ["second"]}])
        self.assertEqual({code["status"] for code in found.exits.values()}, {"ok"})
        self.assertEqual({code["data_digest"] for code in found.exits.values()}, {found.exits[0]["data_digest"]})
        with self.assertRaisesRegex(AttributeError, "no table nothing.csv; the record has actions"):
            found.nothing

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_each_pipeline_of_a_mesh_is_a_record_that_is_judged_alone_or_with_the_others(self):
        one, two = side_by_side(self.folder / "one", 1), side_by_side(self.folder / "two", 2, "wire")
        self.assertEqual(plumbline.read(two / "replica-1").manifest["mesh"]["replicas"], [[0, 2], [1, 3]])

        right = plumbline.compare(one, two, replica=0)
        self.assertTrue(right, right)
        self.assertIn("other places of the mesh: this is dp 0", {row["name"]: row["not_shown"] for row in right.verdict["claims"] if row["case"]}["replicas"])
        wrong = plumbline.compare(one, two, replica=1)
        self.assertEqual(wrong.first_divergence["item"], "second")
        whole = plumbline.compare(one, two)
        self.assertIn("dp 1: ", whole.checks["boundaries"].reason)
        self.assertIn("dp 1 is fed the same microbatches as dp 0", whole.checks["replicas"].reason)
        with self.assertRaisesRegex(ValueError, "replica-2: does not exist"):
            plumbline.compare(one, two, replica=2)
        with self.assertRaisesRegex(ValueError, "read one: .*replica-0"):
            plumbline.read(two)

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_two_ranks_hold_against_one_and_a_narrowed_wire_does_not(self):
        reference = Pipeline(self.folder / "one", 1).run()
        right = plumbline.compare(reference, Pipeline(self.folder / "two", 2).run())
        self.assertTrue(right.holds, str(right))
        self.assertEqual(right.checks["gradients"].outcome, "holds")

        wrong = plumbline.compare(reference, Pipeline(self.folder / "wrong", 2, wrong="wire").run())
        self.assertFalse(wrong.holds)
        self.assertEqual((wrong.first_divergence["item"], wrong.first_divergence["step"], wrong.first_divergence["microbatch"]), ("second", 0, 0))
        self.assertIn("first divergence", str(wrong))
        with self.assertRaisesRegex(ValueError, "nowhere"):
            plumbline.compare(reference, self.folder / "nowhere")

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_what_only_another_rank_knows_is_in_the_manifest(self):
        one, two = Pipeline(self.folder / "one", 1, frozen=True).run(), Pipeline(self.folder / "two", 2, frozen=True).run()
        self.assertEqual(plumbline.read(two).manifest["frozen"], ["second.weight"])
        found = plumbline.compare(one, two)
        self.assertTrue(found, str(found))

    def test_every_other_step_is_recorded_and_held_against_the_same(self):
        one = Pipeline(self.folder / "one", 1, every=2, run_steps=5).run()
        two = Pipeline(self.folder / "two", 2, every=2, run_steps=5).run()
        self.assertEqual(json.loads((two / "manifest.json").read_text())["steps"], 3)
        self.assertEqual([row["step"] for row in plumbline.read(two).tensors if row["kind"] == "gradient"], [0, 1, 2] * 2)
        self.assertTrue(plumbline.compare(one, two, program=judge()).holds)
        other = plumbline.compare(Pipeline(self.folder / "whole", 1, run_steps=3).run(), two, program=judge())
        self.assertFalse(other.holds)
        self.assertIn("every is 1 in the reference and 2", str(other))

    def test_records_of_another_digest_are_compared_among_themselves_alone(self):
        kept = {}
        for name, world, digest in (("one", 1, "position-sum-128"), ("two", 2, "position-sum-128"), ("wrong", 2, "position-sum-128"), ("usual", 2, "xxh3-128")):
            trainer = Pipeline(self.folder / name, world, wrong="wire" if name == "wrong" else None)
            make = trainer.record
            trainer.record = lambda rank, make=make, digest=digest: make(rank, digest=digest)
            kept[name] = trainer.run()
        self.assertTrue(plumbline.compare(kept["one"], kept["two"]))
        self.assertEqual(plumbline.read(kept["one"]).manifest["digest"], "position-sum-128")
        self.assertNotIn("digest", plumbline.read(kept["usual"]).manifest)
        wrong = plumbline.compare(kept["one"], kept["wrong"])
        self.assertEqual((wrong.outcome, wrong.first_divergence["step"]), ("differs", 0))
        other = plumbline.compare(kept["one"], kept["usual"])
        self.assertIn("position-sum-128 digests, the candidate's xxh3-128: record one of the runs again with the other's Record(digest=)", str(other))
        two_kinds = Pipeline(self.folder / "two kinds", 2)
        make_one = two_kinds.record
        two_kinds.record = lambda rank: make_one(rank, digest=("position-sum-128", "xxh3-128")[rank])
        with self.assertRaisesRegex(ValueError, "rank 1 records .*'xxh3-128'.*, rank 0 .*'position-sum-128'"):
            two_kinds.run()
        with self.assertRaisesRegex(ValueError, "at level dump the digest must be xxh3-128"):
            Pipeline(self.folder / "refused", 1).record(0, digest="position-sum-128", level="dump")

    def test_what_is_passed_over_is_not_looked_at(self):
        for options, words in (({"every": 0}, "every is 0"), ({"every": 2, "level": "dump"}, "every=1"), ({"digest": "md5"}, "digest is 'md5'; it must be one of xxh3-128, position-sum-128")):
            with self.assertRaisesRegex(ValueError, words):
                Pipeline(self.folder / "refused", 1).record(0, **options)
        record = Pipeline(self.folder / "one", 1).record(0, every=2, steps=3)
        one, two = weights()
        record.stage(0, ["first", "second"], {"first.weight": one, "second.weight": two})
        with self.assertRaises(ZeroDivisionError):
            for step in range(3):
                with record.step(*batch(step)):
                    if step == 1:
                        record.loss("no number")
                        with record.action(0, "F", 0):
                            1 / 0
                    for m in range(BATCHES):
                        record.loss(0.5, m)
                    record.learning_rate(RATE)
                    record.gradients()
        ended = json.loads((self.folder / "one" / "rank-0" / "exit.json").read_text())
        self.assertEqual(ended["status"], "error")
        self.assertIn("ZeroDivisionError", ended["where"])

    def test_an_exception_is_said_where_it_was_and_goes_on(self):
        record = Pipeline(self.folder / "one", 1).record(0)
        record.stage(0, ["first"], {"first.weight": weights()[0]})
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with record.step(*batch(0)):
                1 / 0
        ended = plumbline.read(self.folder / "one").exits[0]
        self.assertEqual((ended["status"], ended["code"]), ("error", 1))
        self.assertRegex(ended["where"], r"test_package_record.py:\d+: ZeroDivisionError")

    def test_a_program_that_leaves_early_says_so(self):
        script = (
            "import numpy, plumbline\n"
            f"r = plumbline.Record({str(self.folder / 'early')!r}, model={{}}, steps=2, microbatches=1, optimizer={OPTIMIZER!r})\n"
            "r.stage(0, ['a'], {'a.w': numpy.ones(2, 'float32')})\n"
            "r._begin()\n"
        )
        environment = os.environ | {"PYTHONPATH": str(pathlib.Path(plumbline.__file__).parents[1])}
        subprocess.run([sys.executable, "-c", script], check=True, env=environment)
        ended = json.loads((self.folder / "early" / "rank-0" / "exit.json").read_text())
        self.assertEqual((ended["status"], ended["where"]), ("error", "the program ended after 0 of 2 steps"))

    def test_a_folder_that_holds_anything_is_refused_on_every_rank(self):
        (self.folder / "two").mkdir()
        (self.folder / "two" / "old").write_text("")
        with self.assertRaisesRegex(FileExistsError, "is not empty"):
            Pipeline(self.folder / "two", 2).run()

    def test_a_folder_that_cannot_be_made_is_an_error_on_every_rank(self):
        (self.folder / "file").write_text("")
        with self.assertRaises(NotADirectoryError):
            Pipeline(self.folder / "file" / "two", 2).run()

    def test_ranks_that_disagree_are_refused(self):
        pipeline = Pipeline(self.folder / "two", 2)
        usual = pipeline.record
        pipeline.record = lambda rank: usual(rank, steps=STEPS + rank)
        with self.assertRaisesRegex(ValueError, r"rank 1 records \(steps, every, microbatches, level, digest\) \(3, 1, 4, 'full', 'xxh3-128'\), rank 0 \(2,"):
            pipeline.run()

    def test_what_is_wrong_with_the_set_up_is_raised_before_anything_is_trained(self):
        with self.assertRaisesRegex(RuntimeError, "nothing is watched"):
            with Pipeline(self.folder / "other", 1).record(0).step(*batch(0)):
                pass
        with self.assertRaisesRegex(ValueError, "level is 'all'"):
            Pipeline(self.folder / "other", 1).record(0, level="all")

    def test_names_with_quotes_and_commas_come_back(self):
        name = 'a "b", c\n<d>'
        record = plumbline.Record(self.folder / "odd", model={}, steps=1, microbatches=1, optimizer=OPTIMIZER)
        record.stage(0, [name], {name + ".w": weights()[0]})
        with record.step(*batch(0)):
            record.loss(1.0)
            record.learning_rate(RATE)
        self.assertEqual(plumbline.read(self.folder / "odd").tensors[0]["name"], name + ".w")

    def test_the_progress_page_tells_what_is_done_and_where(self):
        record = Pipeline(self.folder / "one", 1).record(0)
        record.stage(0, ["first"], {"first.weight": weights()[0]})
        with self.assertRaises(KeyboardInterrupt):
            with record.step(*batch(0)):
                with record.action(0, "F", 3, peer=1):
                    page = (self.folder / "one" / "rank-0" / "progress").read_bytes()
                    raise KeyboardInterrupt
        magic, sequence, step, index, peer, microbatch = struct.unpack_from("<8sQqqii", page)
        self.assertEqual((magic, sequence % 2, step, index, peer, microbatch), (b"PLMBPRG1", 0, 0, 0, 1, 3))
        self.assertEqual(page[60:124].rstrip(b"\0"), b"0F3")
        self.assertEqual(struct.unpack_from("<i", page, 56)[0], os.getpid())
        self.assertTrue(page[128:192].rstrip(b"\0"))


class DigestTest(unittest.TestCase):
    def test_documents_vectors(self):
        self.assertEqual(plumbline.digest(numpy.float32(1.5)), "77b3d71dc009b6ec2f49a7bfef15fa25")
        self.assertEqual(plumbline.digest(numpy.zeros((0, 4), "float32")), "9f0dabaa0b971303666ff5a48f727d4a")
        self.assertEqual(plumbline.digest(numpy.array([1, -100])), "73c92bbd3a0b61aae62e86e1dd91d5d5")


if __name__ == "__main__":
    unittest.main()
