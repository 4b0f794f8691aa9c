# SPDX-License-Identifier: BSD-3-Clause
"""The examples' diffs apply, and are as short as the documents say."""

import contextlib
import importlib.util
import io
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from test_package_record import judge

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NAMES = ("torch_pipelining", "megatron_style")


def wrong_ways(name):
    sys.path.insert(0, str(EXAMPLES))
    try:
        spec = importlib.util.spec_from_file_location(f"wrong_ways_of_{name}", EXAMPLES / name / "wrong_ways.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.WRONG_WAYS
    finally:
        sys.path.remove(str(EXAMPLES))


def ended(script, *arguments):
    """The exit code and the output of a script, in this process: a new one would import torch for seconds."""
    words, said, code = [str(EXAMPLES / script), *arguments], io.StringIO(), 0
    with mock.patch.object(sys, "argv", words), mock.patch.dict(os.environ, PLUMBLINE=judge()), contextlib.redirect_stdout(said):
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as leaving:
            code = leaving.code
    return code, said.getvalue()


class ExamplesTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("patch"), "no program patch")
    def test_ten_lines_make_a_trainer_record(self):
        for name in NAMES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                diff, script = EXAMPLES / name / "record.diff", pathlib.Path(folder) / "train.py"
                shutil.copy(EXAMPLES / name / "train.py", script)
                self.assertNotIn("plumbline.", script.read_text())
                subprocess.run(["patch", "--quiet", str(script), str(diff)], check=True)
                compile(script.read_text(), str(script), "exec")
                self.assertIn("plumbline.torch.watch_", script.read_text())
                lines = diff.read_text().splitlines()
                self.assertLessEqual(sum(line.startswith("+") and not line.startswith("+++") and line.strip("+") != "" for line in lines), 10)
                self.assertLessEqual(sum(line.startswith("-") and not line.startswith("---") for line in lines), 1)

    @unittest.skipUnless(judge() and importlib.util.find_spec("torch"), "no program plumbline, or no torch")
    def test_the_short_script_prints_the_first_divergence(self):
        code, said = ended("first_divergence.py")
        self.assertEqual(code, 1)
        self.assertRegex(said, r"^step 1, stage 0, rank 0, gradient 3\.bias:")

    @unittest.skipUnless(judge() and importlib.util.find_spec("torch"), "no program plumbline, or no torch")
    def test_gradients_in_a_buffer_of_their_own_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            code, said = ended("main_grad.py", folder)
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^right: holds\nwrong: step 0, stage 0, rank 0, copy layers\.0\.bias:")

    def test_each_wrong_way_changes_one_place(self):
        for name in NAMES:
            text, ways = (EXAMPLES / name / "train.py").read_text(), wrong_ways(name)
            self.assertGreaterEqual(len(ways), 8)
            for way in ways:
                with self.subTest(f"{name}: {way.name}"):
                    self.assertEqual(text.count(way.old), 1)


if __name__ == "__main__":
    unittest.main()
