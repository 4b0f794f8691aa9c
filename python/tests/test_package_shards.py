# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of which each replica holds a part, as DTensors do."""

import doctest
import pathlib
import tempfile
import unittest

import numpy
import plumbline
import plumbline.shards
from plumbline.shards import Sharding, sharding_of

from test_package_record import judge


class Placement:
    def __init__(self, dim=None, partial=False):
        self.dim, self.is_replicate, self.is_partial = dim, lambda: dim is None and not partial, lambda: partial


class Shard(Placement):
    pass


class DeviceMesh:
    mesh_dim_names = ("dp",)

    def __init__(self, ranks, rank):
        self.ranks, self.rank = ranks, rank

    def size(self, axis):
        return self.ranks

    def get_local_rank(self, axis):
        return self.rank


class Tensor:
    """A DTensor: the whole shape, and the values that lie here."""

    def __init__(self, values, rank, ranks=2, dim=0, placements=None, own=None):
        values = numpy.float32(values)
        begin, end = plumbline.shards.parts_of(values.shape[dim], ranks)[rank]
        self.own = values[(slice(None),) * dim + (slice(begin, end),)] if own is None else own
        self.shape, self.placements, self.device_mesh = values.shape, placements or [Shard(dim)], DeviceMesh(ranks, rank)
        self.dtype, self.requires_grad, self.grad = values.dtype, True, None

    def to_local(self):
        return self.own


class Whole:
    def __init__(self, values):
        self.values, self.grad, self.requires_grad = numpy.float32(values), None, True
        self.dtype, self.shape, self.nbytes = self.values.dtype, self.values.shape, self.values.nbytes

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __getitem__(self, index):
        return self.values[index]


def mesh(replica, replicas=2):
    return {"axes": {"dp": replicas, "pp": 1}, "pipeline": "pp", "replicas": [[rank] for rank in range(replicas)], "replica": replica}


def trained(folder, made, factor=1.0, norm_factor=1.0, slices=None):
    """Two replicas of a model of two weights; `made(values, replica)` is how a weight is held."""
    for replica in range(2):
        values = {"body.weight": numpy.arange(15.0).reshape(5, 3), "body.bias": numpy.arange(3.0), "one": numpy.ones(1)}
        optimizer = {"name": "sgd", "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0}
        record = plumbline.Record(
            folder, model={"kind": "made"}, steps=1, microbatches=1, optimizer=optimizer, clip_norm=100.0, mesh=mesh(replica), slices=slices, rank=0, world_size=1
        )
        held = {name: made(value, replica) for name, value in values.items()}
        record.stage(0, ["body"], list(held.items()))
        with record.step(numpy.float32([[replica]]), numpy.float32([[replica]])):
            record.loss(numpy.float32(1))
            for name, value in values.items():
                held[name].grad = made(value * 2, replica)
            record.gradients()
            record.norm(numpy.float32(norm_factor) * numpy.sqrt(sum(numpy.float32((value * 2) ** 2).sum() for value in values.values())), 1.0)
            for name, value in values.items():
                whole = numpy.float32(value - numpy.float32(0.5) * numpy.float32(2 * value) * (factor if replica else 1))
                held[name].own = made(whole, replica).own if hasattr(held[name], "own") else None
                held[name].values = whole
            record.learning_rate(0.5)
    return folder


class ShardsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(scratch.name)
        self.addCleanup(scratch.cleanup)

    def test_what_the_docstrings_say(self):
        self.assertEqual(doctest.testmod(plumbline.shards).failed, 0)

    def test_each_part_is_named_by_its_range(self):
        parts = trained(self.folder / "parts", Tensor)
        found = [plumbline.read(parts / f"replica-{replica}") for replica in range(2)]
        names = [{row["name"] for row in one.tensors if row["kind"] == "gradient"} for one in found]
        self.assertEqual(names, [{"body.weight[0:3]", "body.bias[0:2]", "one[0:1]"}, {"body.weight[3:5]", "body.bias[2:3]"}])
        for one in found:
            self.assertEqual(one.manifest["mesh"]["sharded"]["one"], {"dimension": 0, "size": 1, "parts": [[0, 1], [1, 1]]})

    def test_a_reference_that_holds_the_whole_records_the_same_parts(self):
        parts = trained(self.folder / "parts", Tensor)
        whole = trained(self.folder / "whole", lambda values, _: Whole(values), slices=parts / "replica-1" / "manifest.json")
        for replica in range(2):
            told = [{(row["step"], row["kind"], row["name"]): row["digest"] for row in plumbline.read(root / f"replica-{replica}").tensors} for root in (parts, whole)]
            self.assertEqual(told[0], told[1])

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_parts_are_judged_as_the_whole_is(self):
        one, two = trained(self.folder / "one", Tensor), trained(self.folder / "two", Tensor)
        whole = trained(self.folder / "whole", lambda values, _: Whole(values), slices=two / "replica-0" / "manifest.json")
        for reference in (one, whole):
            found = plumbline.compare(reference, two)
            self.assertTrue(found, found)
        still = plumbline.compare(one, trained(self.folder / "still", Tensor, factor=0.0))
        self.assertEqual((still.first_divergence["item"], still.first_divergence["replica"]), ("body.weight[3:5]", 1))
        own = plumbline.compare(trained(self.folder / "own", Tensor, norm_factor=0.7), trained(self.folder / "again", Tensor, norm_factor=0.7))
        self.assertIn("gradient norm", own.checks["replicas"].reason)

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_a_reference_without_these_parts_is_refused(self):
        parts, whole = trained(self.folder / "parts", Tensor), trained(self.folder / "whole", lambda values, _: Whole(values))
        found = plumbline.compare(whole, parts)
        self.assertFalse(found.holds)
        self.assertIn("Record(slices=", str(found))

    def test_what_cannot_be_placed_is_refused_by_name(self):
        refused = (
            (Tensor(numpy.ones((4, 4)), 0, placements=[Placement(partial=True)]), mesh(0), "a has the placements"),
            (Tensor(numpy.ones((4, 4)), 0), None, "a is split along the mesh's axis 'dp': give Record"),
            (Tensor(numpy.ones((4, 4)), 0), mesh(1), "a: replica 1 holds 2 of 4 along dimension 0, not the range 2:4"),
            (Tensor(numpy.ones((4, 4)), 0, own=numpy.ones((3, 4))), mesh(0), "a: replica 0 holds 3 of 4"),
        )
        for parameter, whose, words in refused:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                sharding_of("a", parameter, whose)
        self.assertEqual(sharding_of("a", Tensor(numpy.ones((4, 5)), 1, dim=1), mesh(1)), Sharding(1, 5, [[0, 3], [3, 5]]))


if __name__ == "__main__":
    unittest.main()
