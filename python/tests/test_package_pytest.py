# SPDX-License-Identifier: BSD-3-Clause
"""The pytest fixture, run as a user's own suite would run it."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_package_record import Pipeline, judge

SUITE = """
def test_parity(plumbline_parity):
    assert plumbline_parity({one!r}, {two!r}).checks["loss"].outcome == "holds"

def test_lost_parity(plumbline_parity):
    plumbline_parity({one!r}, {wrong!r})
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not here")
@unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
class FixtureTest(unittest.TestCase):
    def ended(self, folder, suite, **environment):
        (folder / "test_parity.py").write_text(suite)
        paths = os.pathsep.join(path for path in sys.path if path)
        words = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "plumbline.pytest", str(folder / "test_parity.py")]
        own = {"PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(words, env=os.environ | own | environment, capture_output=True, text=True)

    def test_without_a_judge_it_is_skipped_and_says_why(self):
        with tempfile.TemporaryDirectory() as scratch:
            ended = self.ended(pathlib.Path(scratch), "def test_parity(plumbline_parity):\n    assert False\n", PATH=scratch, PLUMBLINE="")
        self.assertIn("1 skipped", ended.stdout)
        self.assertIn("no program `plumbline` on PATH", ended.stdout)

    def test_a_parity_test_is_green_or_tells_the_first_divergence(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            records = {
                "one": str(Pipeline(folder / "one", 1).run()),
                "two": str(Pipeline(folder / "two", 2).run()),
                "wrong": str(Pipeline(folder / "wrong", 2, wrong="wire").run()),
            }
            ended = self.ended(folder, SUITE.format(**records))
        self.assertIn("1 failed, 1 passed", ended.stdout)
        self.assertIn("first divergence: step 0, microbatch 0, ", ended.stdout)


if __name__ == "__main__":
    unittest.main()
