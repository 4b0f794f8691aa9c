"""The examples' diffs apply, and are as short as the documents say."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch_pipelining"


class ExamplesTest(unittest.TestCase):
    @unittest.skipUnless(shutil.which("patch"), "no program patch")
    def test_ten_lines_make_a_trainer_record(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "train.py"
            shutil.copy(EXAMPLE / "train.py", script)
            self.assertNotIn("plumbline", script.read_text())
            subprocess.run(["patch", "--quiet", str(script), str(EXAMPLE / "record.diff")], check=True)
            compile(script.read_text(), str(script), "exec")
            self.assertIn("plumbline.torch.watch_pipelining(record, schedule)", script.read_text())
        lines = (EXAMPLE / "record.diff").read_text().splitlines()
        self.assertLessEqual(sum(line.startswith("+") and not line.startswith("+++") for line in lines), 10)
        self.assertLessEqual(sum(line.startswith("-") and not line.startswith("---") for line in lines), 1)

    def test_each_wrong_way_changes_one_place(self):
        scope = {}
        exec(compile((EXAMPLE / "wrong_ways.py").read_text(), "wrong_ways.py", "exec"), {"__name__": "wrong_ways"} | scope, scope)
        text = (EXAMPLE / "train.py").read_text()
        self.assertGreaterEqual(len(scope["WRONG_WAYS"]), 8)
        for way in scope["WRONG_WAYS"]:
            self.assertEqual(text.count(way.old), 1, way.name)


if __name__ == "__main__":
    unittest.main()
