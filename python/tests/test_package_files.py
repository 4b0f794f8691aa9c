# SPDX-License-Identifier: BSD-3-Clause
"""Texts of numbers, progress page and readers, by themselves."""

import copy
import json
import math
import os
import pathlib
import pickle
import socket
import struct
import tempfile
import time
import unittest
from unittest import mock

import numpy
import plumbline
from plumbline import digests, progress, reading, verdicts
from test_package_record import Pipeline, judge


class NumbersTest(unittest.TestCase):
    def test_numbers_read_back_to_the_same_bits(self):
        third = numpy.float32(1) / numpy.float32(3)
        values = (third, float(third), 1e-8, float("nan"), float("inf"), -numpy.float32("inf"), numpy.int64(7), True, None)
        self.assertEqual([digests.number_text(value) for value in values], ["0.33333334", "0.3333333432674408", "1e-08", "nan", "inf", "-inf", "7", "1.0", ""])


class ProgressTest(unittest.TestCase):
    def test_every_field_is_at_its_offset(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "progress"
            page = progress.ProgressPage(path)
            self.assertEqual((path.stat().st_size, path.read_bytes()[:16]), (4096, b"PLMBPRG1" + bytes(8)))
            before = time.monotonic_ns()
            page.write(5, 6, "a" * 80, 7, 8, 1 << 40)
            text = path.read_bytes()
            sequence, step, index, peer, microbatch, size, clock, process = struct.unpack_from("<QqqiiQQi", text, 8)
            self.assertEqual((sequence, step, index, peer, microbatch, size, process), (2, 5, 6, 7, 8, 1 << 40, os.getpid()))
            self.assertTrue(before <= clock <= time.monotonic_ns())
            self.assertEqual((text[60:124], text[128:192].rstrip(b"\0")), (b"a" * 63 + b"\0", socket.gethostname().encode()[:63]))
            page.write(9, 0, "")
            text = path.read_bytes()
            self.assertEqual(struct.unpack_from("<QqqiiQ", text, 8), (4, 9, 0, -1, -1, 0))
            self.assertEqual(text[60:124], bytes(64))

    def test_a_reader_that_comes_between_sees_that_it_does(self):
        with tempfile.TemporaryDirectory() as folder:
            page, seen = progress.ProgressPage(pathlib.Path(folder) / "progress"), []
            real = progress._VALUES

            class Slow:
                def pack_into(self, memory, *values):
                    seen.append(struct.unpack_from("<Q", memory, 8)[0])
                    real.pack_into(memory, *values)

            with mock.patch.object(progress, "_VALUES", Slow()):
                page.write(0, 0, ""), page.write(0, 1, "")
        self.assertEqual(seen, [1, 3])

    def test_a_long_host_name_keeps_its_end(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("socket.gethostname", lambda: "h" * 80):
            path = pathlib.Path(folder) / "progress"
            page = progress.ProgressPage(path)
            page.write(0, 0, "")
            self.assertEqual(path.read_bytes()[128:200], b"h" * 63 + bytes(9))


class ReadingTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def test_cells_are_numbers_or_words_or_absent(self):
        columns = ("kind", "name", "dtype", "shape", "digest", "direction", "cut", "side", "action", "data_digest", "unit")
        self.assertEqual([reading._value(column, "12") for column in columns], ["12"] * len(columns))
        self.assertEqual([reading._value("step", text) for text in ("-1", "0.5", "nan", "")][:2], [-1, 0.5])
        self.assertIs(type(reading._value("step", "3")), int)
        self.assertTrue(math.isnan(reading._value("loss", "nan")))
        self.assertIsNone(reading._value("name", ""))

    def test_rows_bear_the_rank_that_wrote_them(self):
        two = Pipeline(self.folder / "two", 2).run()
        (two / "rank-1" / "exit.json").unlink()  # killed
        found = plumbline.read(str(two))
        self.assertEqual([row["rank"] for row in found.steps], [0, 0, 1, 1])
        self.assertEqual(list(found.exits), [0])
        self.assertEqual(sorted(found.tables), ["actions", "boundaries", "memory", "microbatches", "steps", "tensors"])
        self.assertEqual(found.folder, two)

    def test_tables_can_be_copied_and_sent_to_another_process(self):
        found = plumbline.read(Pipeline(self.folder / "one", 1).run())
        for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            self.assertEqual(again, found)
            with self.assertRaisesRegex(AttributeError, "one: no table nothing.csv; the record has actions, boundaries"):
                again.nothing


def claim(name, outcome, required=False, from_step=None, reason=None):
    return {"case": "two", "name": name, "outcome": outcome, "required": required, "accepted": False, "from_step": from_step, "reason": reason or "r-" + name}


def verdict_of(case, claims=(), findings=()):
    return json.dumps({"cases": [case], "claims": list(claims), "findings": list(findings), "excuses": []})


class VerdictTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def program(self, text, name="judge"):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)

    def test_the_judge_is_given_what_was_asked(self):
        program = self.program(f"printf '%s\\n' \"$@\" > {self.folder}/words\necho '{verdict_of({'holds': True})}'\n")
        for options, words in (
            ({}, []), ({"calibration": "c.json"}, ["--calibration", "c.json"]), ({"replica": 0}, ["--replica", "0"]), ({"page": self.folder}, ["--page", str(self.folder)]),
            ({"accept_missing": ["gradients", "loss"]}, ["--accept-missing", "gradients,loss"]), ({"accept_missing": "loss"}, ["--accept-missing", "loss"]),
        ):
            self.assertTrue(plumbline.compare(pathlib.Path("one"), "two", program=program, **options))
            self.assertEqual((self.folder / "words").read_text().split("\n")[:-1], ["compare", "one", "two", "--json", *words])

    def test_a_judge_that_ends_otherwise_is_an_error_in_its_own_words(self):
        for text, words in (("echo '  why ' >&2; exit 2", "^why$"), ("exit 3", "judge ended with 3$"), ("kill -9 $$", "judge ended with -9$")):
            with self.assertRaisesRegex(ValueError, words):
                plumbline.compare("one", "two", program=self.program(text))

    def test_a_verdict_in_words(self):
        claims = [claim(name, outcome) for name, outcome in (("a", "holds"), ("b", "differs"), ("c", "incomplete"), ("d", "does_not_apply"))]
        there = {"case": "two", "claim": "b", "first": True, "words": "there"}
        text = verdict_of({"holds": False, "incomplete": False}, claims, [there])
        found = plumbline.compare("one", "two", program=self.program(f"echo '{text}'; exit 1\n"))
        self.assertFalse(found)
        self.assertEqual(found.outcome, "differs")
        self.assertEqual(str(found), "DOES NOT HOLD\nb: differs: r-b\nc: incomplete: r-c\nfirst divergence: there")
        self.assertEqual(found.checks["c"], verdicts.CheckVerdict("c", "incomplete", False, False, None, "r-c"))
        self.assertEqual((found.first_divergence, found.verdict), (there, json.loads(text)))
        self.assertEqual(str(plumbline.compare("one", "two", program=self.program(f"echo '{verdict_of({'holds': True}, claims[:1])}'\n"))), "HOLDS")

    def test_an_incomplete_verdict_says_what_was_not_compared_and_one_that_holds_what_was_accepted(self):
        claims = [claim(name, "incomplete", required=True, from_step=step, reason=why) for name, step, why in (
            ("gradients", 5, "the norms differ"), ("parameters", 4, "the norms differ"), ("loss", None, "it was not recorded"))]
        case = {"holds": False, "incomplete": True}
        found = plumbline.compare("one", "two", program=self.program(f"echo '{verdict_of(case, claims)}'; exit 1\n"))
        self.assertEqual((found.holds, found.outcome), (False, "incomplete"))
        words = "gradients, parameters were not compared from step 4 on: the norms differ; loss was not compared: it was not recorded"
        self.assertEqual(str(found).splitlines()[0], f"INCOMPLETE: nothing differs, but {words}; or accept it with accept_missing=['gradients', 'parameters', 'loss']")
        more = [*claims, claim("memory", "incomplete", required=True)]
        found = plumbline.compare("one", "two", program=self.program(f"echo '{verdict_of(case, more)}'; exit 1\n"))
        self.assertNotIn("accept_missing", str(found))
        for one in claims:
            one["accepted"] = True
        found = plumbline.compare("one", "two", program=self.program(f"echo '{verdict_of({'holds': True, 'incomplete': False}, claims)}'\n"))
        self.assertEqual((found.outcome, str(found).splitlines()[0]), ("holds", f"HOLDS, accepted although {words}"))

    def test_the_program_is_the_one_that_was_set_or_came_along_or_is_on_the_path(self):
        on_path, scripts = self.program("", "plumbline"), self.folder / "scripts"
        with mock.patch.dict(os.environ, {"PATH": str(self.folder), "PLUMBLINE": "set"}), mock.patch("sysconfig.get_path", lambda name: str(self.folder / name)):
            self.assertEqual(verdicts.program_path(), "set")
            del os.environ["PLUMBLINE"]
            self.assertEqual(verdicts.program_path(), on_path)
            scripts.mkdir()
            came_along = self.program("", "scripts/plumbline")
            self.assertEqual(verdicts.program_path(), came_along)
            (scripts / "plumbline").unlink()
            os.environ["PATH"] = str(scripts)
            with self.assertRaisesRegex(FileNotFoundError, "no program `plumbline` on PATH"):
                verdicts.program_path()
            with self.assertRaises(FileNotFoundError):
                plumbline.compare("one", "two")

    @unittest.skipUnless(judge(), "no program plumbline on PATH, nor PLUMBLINE")
    def test_a_page_is_written_where_it_is_asked_for(self):
        one, two = Pipeline(self.folder / "one", 1).run(), Pipeline(self.folder / "two", 2).run()
        self.assertTrue(plumbline.compare(one, two, page=self.folder / "page"))
        self.assertTrue((self.folder / "page" / "report.html").stat().st_size)
        with self.assertRaisesRegex(ValueError, "nowhere.json"):
            plumbline.compare(one, two, calibration=self.folder / "nowhere.json")

    def test_torch_is_looked_for_where_it_is_used_alone(self):
        with self.assertRaisesRegex(AttributeError, "module 'plumbline' has no attribute 'tensorflow'"):
            plumbline.tensorflow
        import subprocess
        import sys

        parent = str(pathlib.Path(plumbline.__file__).parents[1])
        said = subprocess.run([sys.executable, "-c", "import sys, plumbline; print('torch' in sys.modules)"], env=os.environ | {"PYTHONPATH": parent}, capture_output=True, text=True)
        self.assertEqual(said.stdout, "False\n", said.stderr)


if __name__ == "__main__":
    unittest.main()
