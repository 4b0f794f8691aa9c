# SPDX-License-Identifier: BSD-3-Clause
"""What the witness refuses, in which words, and how it ends then."""

import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from test_witness_training import FIXTURES, InputError, run_with

import numpy
import torch
from safetensors.torch import save_file
from plumbline_witness.batches import Batches
from plumbline_witness.model import Model
from plumbline_witness.record import Recorder
from plumbline_witness.run_file import Data, read_data, read_run
from plumbline_witness.tokens import Tokens
from plumbline_witness.training import clip_coefficient, to_bfloat16


class RunFile(unittest.TestCase):
    def test_each_line_that_would_not_be_done_is_refused(self):
        for old, new, words in (
            ("[train]", "[train]\nsteady = 1", "the key 'steady' of 'train' is unknown"),
            ("[train]", "[extra]\n[train]", "the key 'extra' of 'extra' is unknown"),
            ("[data]", '[data]\ntokens = "a"', "must name either text or tokens"),
            ("[data]", '[data]\nshuffle = "rows"', "data.shuffle 'rows' is unknown"),
            ("[data]", '[data]\ntoken_type = "uint8"', "data.token_type 'uint8' is unknown"),
            ("[train]", '[train]\ndecay = "none"', "train.decay 'none' is unknown"),
            ("[train]", '[train]\nrecompute = "all"', "train.recompute 'all' is unknown"),
            ("[train]", '[train]\nprecision = "float32"', "train.precision and train.dtype, its older name"),
            ('optimizer = "sgd"', 'optimizer = "adam"', "train.optimizer 'adam' is unknown"),
            ("[train]", "[train", "run.toml: "),
        ):
            with self.subTest(new), self.assertRaisesRegex(InputError, words):
                run_with("sgd-untied", old, new)
        run_with("sgd-untied", "[train]", "[pipeline]\nanything = 1\n[train]")
        with self.assertRaisesRegex(InputError, "nowhere.toml"):
            read_run("nowhere.toml")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.toml"
            path.write_text('[model]\nconfig = "none.json"\n[data]\ntext = "a"\nlengths = [1]\n[train]\nsteps = 1\n')
            with self.assertRaisesRegex(InputError, "none.json"):
                read_run(path)

    def test_lengths_fit_the_batch_and_microbatches_the_lengths(self):
        read = lambda **table: read_data(Path("run.toml"), {"text": "a", "lengths": [4, [2, 3]], "batch": 2} | table)
        self.assertEqual(read().rows, [[4, 4], [2, 3]])
        self.assertEqual(read(microbatches=3, masked=[0]).rows, [[4, 4], [2, 3], [4, 4]])
        for table, words in (
            ({"lengths": [[1, 2, 3]]}, "must give 2 rows"), ({"lengths": [0]}, "at least one token"), ({"microbatches": 1}, "does not fit"),
            ({"masked": [0, 1]}, "does not fit"), ({"masked": [2]}, "does not fit"),
        ):
            with self.subTest(table), self.assertRaisesRegex(InputError, words):
                read(**table)


class TokensTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def data(self, content, **more):
        (self.folder / "ids.bin").write_bytes(content)
        return Data(**({"sources": [self.folder / "ids.bin"], "is_text": False, "token_type": None, "shuffle": "none", "seed": 1, "rows": [[3]]} | more))

    def test_files_that_are_no_ids_are_refused(self):
        for content in (b"", b"abc"):
            with self.assertRaisesRegex(InputError, "not a positive multiple of the id size, 2"):
                Tokens(self.data(content))
        for magic, version, count in ((20240520, 1, 3), (20240520, 2, 2), (20240801, 7, 2)):
            header = numpy.zeros(256, "<i4")
            header[:3] = magic, version, count
            with self.subTest(magic), self.assertRaisesRegex(InputError, f"version {version} or the number of ids, {count}, does not fit"):
                Tokens(self.data(header.tobytes() + bytes(4)))
        with self.assertRaisesRegex(InputError, "matches no file"):
            Tokens(self.data(b"", sources=[self.folder / "*.none"]))
        (self.folder / "ids.idx").write_bytes(b"MMIDIDX\0\0" + bytes(30))
        with self.assertRaisesRegex(InputError, "is not a Megatron index of version 1"):
            Tokens(self.data(bytes(4)))
        (self.folder / "ids.idx").write_bytes(b"MMIDIDX\0\0" + (1).to_bytes(8, "little") + b"\x06" + bytes(16))
        with self.assertRaisesRegex(InputError, "dtype 6 is not an integer type"):
            Tokens(self.data(bytes(4)))

    def test_a_numpy_array_is_read_and_of_integers_in_one_dimension(self):
        def saved(array):
            content = io.BytesIO()
            numpy.save(content, array)
            return content.getvalue()

        read = Tokens(self.data(saved(numpy.array([1, 100, 70000], "<i8"))))
        self.assertEqual([read[place] for place in range(len(read))], [1, 100, 70000])
        for array in (numpy.zeros((2, 2), "<u2"), numpy.zeros(4, "<f4"), numpy.zeros(4, ">u2")):
            with self.subTest(array.dtype), self.assertRaisesRegex(InputError, "not little-endian integers in one dimension"):
                Tokens(self.data(saved(array)))
        with self.assertRaisesRegex(InputError, "is a numpy array that cannot be read"):
            Tokens(self.data(saved(numpy.ones(4, "<u2"))[:-2]))

    def test_wider_ids_than_said_are_refused(self):
        wide = numpy.arange(1, 40, dtype="<u4").tobytes()
        with self.assertRaisesRegex(InputError, "every second id is 0"):
            Tokens(self.data(wide))
        self.assertEqual(len(Tokens(self.data(wide, token_type="uint16"))), 78)

    def test_an_index_of_megatrons_says_the_type(self):
        for code, kind in {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}.items():
            (self.folder / "ids.idx").write_bytes(b"MMIDIDX\0\0" + (1).to_bytes(8, "little") + bytes([code]) + bytes(16))
            read = Tokens(self.data(numpy.array([1, 100, 7], kind).tobytes()))
            self.assertEqual([read[place] for place in range(len(read))], [1, 100, 7], kind)

    def test_a_step_has_tokens_enough_and_each_is_of_the_vocabulary(self):
        content = numpy.array([5, 6, 7, 9], "<u2").tobytes()
        self.assertEqual(len(Batches(self.data(content), 10).step(0)), 1)
        with self.assertRaisesRegex(InputError, "3 tokens, but a step needs 4"):
            Batches(self.data(content[:6]), 10)
        with self.assertRaisesRegex(InputError, "3 tokens, but a step needs 4"):
            Batches(self.data(content[:6], shuffle="windows", rows=[[3]]), 10)
        with self.assertRaisesRegex(InputError, "beyond the vocabulary of 9"):
            Batches(self.data(content), 9).step(0)


class Training(unittest.TestCase):
    def test_what_is_not_witnessed_is_refused(self):
        with self.assertRaisesRegex(InputError, "float64 is not cross-checked"):
            Model(run_with("sgd-untied", 'dtype = "float32"', 'dtype = "float64"'))
        model = Model(run_with("sgd-untied"))
        with tempfile.TemporaryDirectory() as folder:
            save_file({"model.embed_tokens.weight": torch.zeros(1, 1)}, Path(folder) / "one.safetensors")
            with self.assertRaisesRegex(InputError, "model.embed_tokens.weight is missing or of another shape"):
                model.start_from(Path(folder) / "one.safetensors")

    def test_a_record_goes_where_nothing_is_at_a_level_that_there_is(self):
        run = run_with("sgd-untied")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "old").write_text("")
            with self.assertRaisesRegex(InputError, "is not empty"):
                Recorder(Path(folder), run, [], [])
            run.level = "none"
            with self.assertRaisesRegex(InputError, "a record of level 'none'"):
                Recorder(Path(folder) / "new", run, [], [])

    def test_a_coefficient_is_at_most_one_and_of_no_number_none(self):
        self.assertEqual([clip_coefficient(*pair) for pair in ((4.0, None), (4.0, 1.0), (0.5, 1.0))], [1.0, 0.25, 1.0])
        self.assertNotEqual(clip_coefficient(float("nan"), 1.0), clip_coefficient(float("nan"), 1.0))

    def test_float64_is_rounded_to_bfloat16_once(self):
        tie = 1 + 2.0**-8  # between 1 and its neighbor, then a little to either side of it, of which float32 knows nothing
        values = torch.tensor([tie, tie + 2.0**-40, tie - 2.0**-40, 3 * 2.0**-134, -5 * 2.0**-134, float("inf"), -tie], dtype=torch.float64)
        expected = [1.0, 1 + 2.0**-7, 1.0, 2.0**-132, -(2.0**-132), float("inf"), -1.0]
        self.assertEqual(to_bfloat16(values).double().tolist(), expected)
        self.assertTrue(torch.isnan(to_bfloat16(torch.tensor([float("nan")], dtype=torch.float64))).all())


class Program(unittest.TestCase):
    def ended(self, *words):
        parent = str(Path(sys.modules["plumbline_witness"].__file__).parents[1])
        return subprocess.run([sys.executable, "-m", "plumbline_witness", *map(str, words)], env=os.environ | {"PYTHONPATH": parent}, capture_output=True, text=True)

    def test_bad_input_is_one_line_and_exit_code_2(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = self.ended(Path(folder) / "none.toml", "--record", Path(folder) / "out")
            self.assertEqual((ended.returncode, ended.stdout), (2, ""))
            self.assertRegex(ended.stderr, r"^plumbline-witness: .*none.toml: .*\n$")

    def test_options_override_the_run_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            ended = self.ended(FIXTURES / "sgd-untied.toml", "--record", out, "--level", "summary", "--quiet")
            self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended.stderr)
            self.assertEqual(json.loads((out / "manifest.json").read_text())["level"], "summary")
            self.assertFalse((out / "rank-0" / "tensors.csv").exists())
            ended = self.ended(FIXTURES / "sgd-untied.toml", "--record", out, "--weights", Path(folder) / "none")
            self.assertNotEqual(ended.returncode, 0)


if __name__ == "__main__":
    unittest.main()
