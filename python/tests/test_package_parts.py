# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of which each place holds a part, as DTensors do."""

import doctest
import json
import pathlib
import tempfile
import unittest

import numpy
import plumbline
import plumbline.meshes
import plumbline.parts
from plumbline.parts import Part, Parts, part_of, range_of

from test_package_record import judge


class Placement:
    def __init__(self, dim=None, partial=False):
        self.dim, self.is_replicate, self.is_partial = dim, lambda: dim is None and not partial, lambda: partial

    def __repr__(self):
        return "Partial()" if self.is_partial() else f"Shard(dim={self.dim})"


class DeviceMesh:
    """Of one axis."""

    mesh_dim_names = ("dp",)

    def __init__(self, ranks, rank):
        self.mesh, self.rank = numpy.array(ranks), rank

    def size(self, axis):
        return len(self.mesh)

    def get_coordinate(self):
        return [self.rank]


class Tensor:
    """A DTensor: the whole shape, and the values that lie here."""

    def __init__(self, values, rank, ranks=2, dim=0, placements=None, own=None):
        values = numpy.float32(values)
        begin, end = range_of(values.shape[dim], rank, ranks)
        self.own = values[(slice(None),) * dim + (slice(begin, end),)] if own is None else own
        self.shape, self.placements, self.device_mesh = values.shape, placements or [Placement(dim)], DeviceMesh(range(ranks), rank)
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
    return {"axes": {"dp": replicas, "pp": 1}, "replicas": [[rank] for rank in range(replicas)], "replica": replica}


def described(mesh):
    if mesh is not None and isinstance(mesh["axes"], dict):
        mesh, _ = plumbline.meshes.place_of(mesh, "pp", {}, None)
    return mesh


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


class PartsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(scratch.name)
        self.addCleanup(scratch.cleanup)

    def test_what_the_docstrings_say(self):
        self.assertEqual(doctest.testmod(plumbline.parts).failed + doctest.testmod(plumbline.meshes).failed, 0)

    def test_each_part_is_recorded_under_the_parameters_name_and_an_empty_one_not(self):
        parts = trained(self.folder / "parts", Tensor)
        found = [plumbline.read(parts / f"replica-{replica}") for replica in range(2)]
        shapes = [{row["name"]: row["shape"] for row in one.tensors if row["kind"] == "gradient"} for one in found]
        self.assertEqual(shapes, [{"body.weight": "3x3", "body.bias": "2", "one": "1"}, {"body.weight": "2x3", "body.bias": "1"}])
        for one in found:
            self.assertEqual(one.manifest["mesh"]["parts"]["one"], {"axes": ["dp"], "placements": "dp: Shard(dim=0)"})

    def test_data_and_boundaries_are_what_the_place_holds(self):
        values = numpy.arange(15.0).reshape(5, 3)
        for name, made in (("parts", lambda values: Tensor(values, 1)), ("own", lambda values: Tensor(values, 1).own)):
            optimizer = {"name": "sgd", "learning_rate": 0.5, "momentum": 0.0, "weight_decay": 0.0}
            record = plumbline.Record(self.folder / name, model={"kind": "made"}, steps=1, microbatches=1, optimizer=optimizer, mesh=mesh(1), rank=0, world_size=1)
            for stage in range(2):
                record.stage(stage, [f"unit{stage}"], [])
            with record.step(made(values), made(values + 1)):
                record.sent(0, 1, 0, made(values))
                record.loss(numpy.float32(1))
        found = [plumbline.read(self.folder / name / "replica-1") for name in ("parts", "own")]
        for table in ("boundaries", "microbatches"):
            rows = [[row for row in getattr(one, table)] for one in found]
            self.assertEqual(*rows, table)
            self.assertEqual(len(rows[0]), 1)
        self.assertEqual(found[0].boundaries[0]["shape"], "2x3")

    def test_a_reference_that_holds_the_whole_records_the_same_parts(self):
        parts = trained(self.folder / "parts", Tensor)
        whole = trained(self.folder / "whole", lambda values, _: Whole(values), slices=parts / "replica-1" / "manifest.json")
        for replica in range(2):
            digests = [{(row["step"], row["kind"], row["name"]): row["digest"] for row in plumbline.read(root / f"replica-{replica}").tensors} for root in (parts, whole)]
            self.assertEqual(digests[0], digests[1])

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_parts_are_judged_as_the_whole_is(self):
        one, two = trained(self.folder / "one", Tensor), trained(self.folder / "two", Tensor)
        whole = trained(self.folder / "whole", lambda values, _: Whole(values), slices=two / "replica-0" / "manifest.json")
        for reference in (one, whole):
            found = plumbline.compare(reference, two)
            self.assertTrue(found, found)
        still = plumbline.compare(one, trained(self.folder / "still", Tensor, factor=0.0))
        self.assertEqual((still.first_divergence["item"], still.first_divergence["replica"]), ("body.weight", 1))
        self.assertIn("dp 1: ", still.first_divergence["words"])
        own = plumbline.compare(trained(self.folder / "own", Tensor, norm_factor=0.7), trained(self.folder / "again", Tensor, norm_factor=0.7))
        self.assertIn("gradient norm", own.checks["replicas"].reason)

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_a_reference_without_these_parts_is_refused(self):
        parts, whole = trained(self.folder / "parts", Tensor), trained(self.folder / "whole", lambda values, _: Whole(values))
        with self.assertRaisesRegex(ValueError, r"body.bias is whole in the reference and in parts \(dp: Shard\(dim=0\)\) in the candidate.*Record\(slices="):
            plumbline.compare(whole, parts)

    def test_what_cannot_be_placed_is_refused_by_name(self):
        far = Tensor(numpy.ones((4, 4)), 0)
        far.device_mesh = DeviceMesh([0, 7], 0)
        along_stages = {"axes": [{"name": "pp", "size": 2, "kind": "pipeline"}], "replicas": [[0, 1]], "replica": 0}
        refused = (
            (Tensor(numpy.ones((4, 4)), 0, placements=[Placement(partial=True)]), mesh(0), r"a has the placements dp: Partial\(\): an incomplete sum"),
            (Tensor(numpy.ones((4, 4)), 0), None, r"a has the placements dp: Shard\(dim=0\): give Record\(mesh=\) the DeviceMesh of all axes"),
            (far, mesh(0), r"over ranks \[0, 7\], but of the mesh that Record\(mesh=\) was given rank 7 is not in it"),
            (Tensor(numpy.ones((4, 4)), 0), along_stages, "along the axis of the stages"),
        )
        for parameter, whose, words in refused:
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                part_of("a", parameter, described(whose))
        self.assertEqual(part_of("a", Tensor(numpy.ones((4, 5)), 1, dim=1), described(mesh(1))), Part(["dp"], "dp: Shard(dim=1)", "dp: Shard(dim=1)"))

    def test_a_gradient_that_is_split_in_another_way_is_refused(self):
        parts = Parts(described(mesh(0)), None, {})
        parts.add([("a", Tensor(numpy.ones((4, 4)), 0))])
        for gradient, words in (
            (Tensor(numpy.ones((4, 4)), 0, dim=1), r"a has the placements dp: Shard\(dim=0\), but its gradient or state dp: Shard\(dim=1\)"),
            (Tensor(numpy.ones((4, 4)), 0, placements=[Placement(partial=True)]), r"but its gradient or state dp: Partial\(\)"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                parts.own("a", gradient)

    def test_whole_parameters_are_cut_along_one_axis_only(self):
        for parts, words in (
            ({"a": {"axes": ["dp", "tp"], "placements": "dp: Shard(dim=0), tp: Shard(dim=1)"}}, "a has the placements .* along dp, tp: whole parameters can be cut along one axis only"),
            ({"a": {"axes": ["tp"], "placements": "tp: by name"}}, "a has the placements tp: by name along tp"),
            ({}, "is not the manifest of a record with parameters in parts"),
        ):
            axes = [{"name": name, "size": size, "kind": kind} for name, size, kind in (("dp", 2, "replicate"), ("pp", 1, "pipeline"), ("tp", 2, "tensor"))]
            whose = {"axes": axes, "replicas": [[rank] for rank in range(4)], "replica": 0}
            (self.folder / "manifest.json").write_text(json.dumps({"mesh": whose | {"parts": parts}}))
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                Parts(whose, self.folder / "manifest.json", {})
        (self.folder / "manifest.json").write_text(json.dumps({"mesh": whose | {"parts": {"a": {"axes": ["tp"], "placements": "tp: Shard(dim=0)"}}}}))
        with self.assertRaisesRegex(ValueError, "has other axes than mesh="):
            Parts(described(mesh(0)), self.folder / "manifest.json", {})


if __name__ == "__main__":
    unittest.main()
