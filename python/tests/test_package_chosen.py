# SPDX-License-Identifier: BSD-3-Clause
"""Record(only=, ranks=): which tensors are recorded, and what the judge says of the others."""

import pathlib
import tempfile
import unittest

import plumbline
from plumbline.chosen import Chosen
from test_package_record import STEPS, Pipeline, judge

CLAIMS = {"gradients", "parameters"}


class Choosing(Pipeline):
    """`late`: the last step's update of the first weight is wrong, which no loss shows."""

    def __init__(self, folder, world, late=False, **options):
        super().__init__(folder, world)
        self.late, self.options, self.steps = late, options, 0

    def record(self, rank):
        return super().record(rank, **self.options)

    def step(self, record, one, *rest):
        super().step(record, one, *rest)
        self.steps += 1
        if self.late and self.steps > (STEPS - 1) * self.world:
            one.values += 1


class ChosenTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_of(self, name, world, **options):
        return Choosing(self.folder / name, world, **options).run()

    def names(self, folder, table="tensors"):
        rows = getattr(plumbline.read(folder), table)
        return {row["cut"] if table == "boundaries" else row["name"] for row in rows}

    def test_only_tensors_of_these_units_are_recorded(self):
        self.assertEqual(self.names(self.run_of("whole", 1)), {"first.weight", "second.weight"})
        one = self.run_of("one", 1, only=["first"])
        self.assertEqual(self.names(one), {"first.weight"})
        self.assertEqual(self.names(one, "boundaries"), set())
        two = self.run_of("two", 2, only="sec*")
        self.assertEqual(self.names(two), {"second.weight"})
        self.assertEqual(self.names(two, "boundaries"), {"second"})
        for folder in (one, two):
            found = plumbline.read(folder)
            self.assertTrue(all(row["loss"] for row in found.steps if row["rank"] == found.steps[-1]["rank"]))

    def test_only_tensors_of_these_ranks_are_recorded(self):
        found = plumbline.read(self.run_of("two", 2, ranks=[0]))
        self.assertEqual({(row["rank"], row["name"]) for row in found.tensors}, {(0, "first.weight")})
        self.assertEqual({(row["rank"], row["side"]) for row in found.boundaries}, {(0, "send"), (0, "receive")})
        self.assertEqual(len(found.steps), 2 * STEPS)

    def test_what_is_not_there_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"only=\['third'\] is of no unit and no parameter; the units are first, second"):
            self.run_of("two", 2, only=["first", "third"])
        for ranks in ([2], [-1], []):
            with self.assertRaisesRegex(ValueError, r"give some of the pipeline's ranks 0 to 1"):
                self.run_of("none", 2, ranks=ranks)
        for more in ({"only": ["first"]}, {"ranks": [0]}):
            with self.assertRaisesRegex(ValueError, "at level dump all tensors"):
                self.run_of("dump", 2, level="dump", **more)

    def test_kinds_are_listed_of_which_something_is_left_out(self):
        chosen = Chosen(["a", "c.*"], None, 0, 1)
        lacking = [one["what"] for one in chosen.left_out(["a"], ["a.weight"], ["b.mean"])]
        self.assertEqual(lacking, ["buffers"])
        self.assertEqual(chosen.left_out(["a", "c.d"], ["a.weight", "c.d.e"], []), [])
        self.assertEqual(len(chosen.left_out(["b"], ["b.weight"], [])), 5)
        self.assertEqual(Chosen((), None, 0, 1).left_out(["b"], ["b.weight"], ["b.mean"]), [])

    @unittest.skipUnless(judge(), "no judge")
    def test_the_judge_names_what_was_not_requested_and_compares_the_rest(self):
        whole, late = self.run_of("whole", 1), self.run_of("late", 2, late=True)
        self.assertFalse(plumbline.compare(whole, late, accept_missing=CLAIMS))
        alone = self.run_of("alone", 1, only=["second"])
        pairs = {"only=['second']": (alone, self.run_of("two", 2, only=["second"])), "ranks=[0]": (whole, self.run_of("ranks", 2, ranks=[0]))}
        pairs["only=['first']"] = [self.run_of(name, 1, only=["first"]) for name in ("first", "again")]  # without the boundary between the two
        for words, (reference, candidate) in pairs.items():
            found = plumbline.compare(reference, candidate)
            self.assertEqual(found.outcome, "incomplete", found)
            self.assertEqual({check.name for check in found.checks.values() if check.blocks}, CLAIMS)
            for name in CLAIMS:
                self.assertIn(f"not requested, by {words}); the recorded values agree", found.checks[name].reason)
            self.assertTrue(plumbline.compare(reference, candidate, accept_missing=CLAIMS))
        for only, outcome in (("second", "incomplete"), ("first", "differs")):
            found = plumbline.compare(whole, self.run_of(f"late-{only}", 2, late=True, only=[only]))
            self.assertEqual(found.outcome, outcome, found)


if __name__ == "__main__":
    unittest.main()
