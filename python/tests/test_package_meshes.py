# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines beside other axes of a mesh, right and wrong, each against the same mesh with one pipeline rank."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import plumbline
from test_package_record import judge

if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("torch is not here")

TRAINER = pathlib.Path(__file__).with_name("mesh_trainer.py")
TENSOR, DATA, SHARD, EXPERT, CONTEXT = ({"pp": 2, axis: 2} for axis in ("tp", "dp", "dp_shard", "ep", "cp"))
THREE, TWO_OF_DATA = {"dp_shard": 2, "pp": 2, "tp": 2}, {"pp": 2, "dp": 2, "dp_shard": 2}
RIGHT = [(sizes, False) for sizes in (TENSOR, DATA, SHARD, EXPERT, CONTEXT, THREE)] + [(TENSOR, True), (THREE, True)]
ONE_SIDED = [  # the reference is right: sizes, mistake, and the check, item and coordinates of the first divergence
    (TENSOR, "all-reduce", "gradients", "block1.norm.weight", "tp 0: step 0"),
    (TWO_OF_DATA, "group", "gradients", "block1.down.weight", "dp 0, dp_shard 0: step 0"),
    (EXPERT, "expert", "gradients", "experts.0.weight", "ep 1: step 0"),
    (CONTEXT, "tokens", "loss", "loss", "cp 0: step 0"),
]
IN_BOTH = [  # the reference makes the same mistake: what `replicas` says
    (TENSOR, "norm weight", "block1.norm.weight: tp 1 has other bits than tp 0"),
    (TENSOR, "norm counts", "gradient norm, step 0, tp 0: the root of the sum of l2 squared over all parts is"),
    (SHARD, "norm leaves out", "gradient norm, step 0, dp_shard 0: the root of the sum of l2 squared over all parts is"),
    (DATA, "same data", "dp 1 is fed the same microbatches as dp 0"),
    (TENSOR, "other data", "tp 1 is fed other data than tp 0"),
]


def ranks_of(sizes):
    total = 1
    for size in sizes.values():
        total *= size
    return total


@unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
class MeshesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        jobs = {}  # by number of ranks: a candidate has twice as many as its reference, and comes first

        def add(name, sizes, **more):
            jobs.setdefault(ranks_of(sizes), []).append({"folder": str(cls.folder / name), "sizes": sizes, **more})

        for sizes, own in RIGHT:
            name = cls.name(sizes, own)
            add(f"{name}-two", sizes, own_tensor=own)
            add(f"{name}-one", sizes | {"pp": 1}, own_tensor=own, norms_from=str(cls.folder / f"{name}-two"))
        for sizes, wrong, *_ in ONE_SIDED:
            add(f"{cls.name(sizes, wrong)}-two", sizes, wrong=wrong)
            if (sizes, False) not in RIGHT:
                add(f"{cls.name(sizes, False)}-one", sizes | {"pp": 1})
        for sizes, wrong, *_ in IN_BOTH:
            name = cls.name(sizes, wrong)
            add(f"{name}-two", sizes, wrong=wrong)
            add(f"{name}-one", sizes | {"pp": 1}, wrong=wrong, norms_from=str(cls.folder / f"{name}-two"))
        pools = [[ranks, jobs[ranks]] for ranks in sorted(jobs, reverse=True)]
        ended = subprocess.run([sys.executable, str(TRAINER), json.dumps(pools)], capture_output=True, text=True)
        if ended.returncode:
            raise AssertionError(ended.stderr)

    @staticmethod
    def name(sizes, more):
        return "-".join([*sizes, str(more)]).replace(" ", "-")

    def compared(self, sizes, more, of_reference=None):
        one, two = self.name(sizes, more if of_reference is None else of_reference), self.name(sizes, more)
        return plumbline.compare(self.folder / f"{one}-one", self.folder / f"{two}-two")

    def test_right_ones_have_the_same_bits(self):
        for sizes, own in RIGHT:
            with self.subTest(sizes, own_tensor=own):
                found = self.compared(sizes, own)
                self.assertTrue(found, str(found))
                compared = {check.name for check in found.checks.values() if check.outcome == "holds"}
                self.assertLessEqual({"loss", "boundaries", "gradients", "gradient_norm", "parameters", "data", "replicas"}, compared)

    def test_parts_are_those_of_the_trainer(self):
        def parts(sizes, own):
            return plumbline.read(self.folder / f"{self.name(sizes, own)}-two" / "replica-1").manifest["mesh"]["parts"]

        self.assertEqual(parts(THREE, True)["block0.up.weight"], {"axes": ["dp_shard", "tp"], "placements": "dp_shard: _StridedShard(dim=0, sf=2), tp: Shard(dim=0)"})
        self.assertEqual(parts(THREE, True)["block0.down.weight"], {"axes": ["dp_shard", "tp"], "placements": "dp_shard: Shard(dim=0), tp: Shard(dim=1)"})
        self.assertEqual(parts(THREE, True)["norm.weight"], {"axes": ["dp_shard"], "placements": "dp_shard: Shard(dim=0)"})
        self.assertEqual(parts(THREE, False)["block0.up.weight"], {"axes": ["dp_shard", "tp"], "placements": "dp_shard: Shard(dim=0), tp: by name"})
        self.assertEqual(parts(EXPERT, False), {f"block{layer}.experts.0.weight": {"axes": ["ep"], "placements": "ep: by name"} for layer in range(2)})

    def test_a_mistake_of_the_pipeline_is_seen_where_it_is_made(self):
        for sizes, wrong, check, item, words in ONE_SIDED:
            with self.subTest(wrong):
                found = self.compared(sizes, wrong, of_reference=False)
                self.assertEqual(found.checks[check].outcome, "differs")
                self.assertIn(item, found.first_divergence["item"])
                self.assertIn(words, found.first_divergence["words"])

    def test_a_mistake_that_the_reference_shares_is_seen_between_places(self):
        for sizes, wrong, words in IN_BOTH:
            with self.subTest(wrong):
                self.assertIn(words, self.compared(sizes, wrong).checks["replicas"].reason)

    def test_places_of_other_meshes_or_placements_are_refused(self):
        for one, two, words in (
            ((SHARD, False), (TENSOR, False), r"axes but the pipeline's are dp_shard 2 \(shard\) in the reference and tp 2 \(tensor\) in the candidate"),
            ((THREE, False), (THREE, True), "block0.down.weight is in parts .* tp: by name.* in the reference and in parts .* tp: Shard"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                plumbline.compare(self.folder / f"{self.name(*one)}-one", self.folder / f"{self.name(*two)}-two")


if __name__ == "__main__":
    unittest.main()
