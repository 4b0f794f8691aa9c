# SPDX-License-Identifier: BSD-3-Clause
"""Ids and labels against fixtures/data_vectors.json, which the C++ tests read as well."""

import json
import struct
import tempfile
import tomllib
import unittest
from pathlib import Path

from plumbline_witness.batches import Batches
from plumbline_witness.run_file import read_data

VECTORS = Path(__file__).parents[2] / "fixtures" / "data_vectors.json"


TYPES = {"uint8": "B", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q"}


def bytes_of(content):
    """A file of the vectors."""
    if isinstance(content, str):
        return content.encode()
    pieces = content["pieces"] if isinstance(content, dict) else [{"type": "uint16", "numbers": content}]
    return b"".join(
        bytes(piece["zeros"]) if "zeros" in piece else struct.pack(f"<{len(piece['numbers'])}{TYPES[piece['type']]}", *piece["numbers"])
        for piece in pieces
    )


def write_files(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes_of(content))


class DataVectors(unittest.TestCase):
    def test_each_microbatch_holds_the_tokens_that_the_docs_say(self):
        cases = json.loads(VECTORS.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(cases), 11)
        for case in cases:
            with self.subTest(case["name"]), tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                write_files(folder, case["files"])
                batches = Batches(read_data(folder / "run.toml", tomllib.loads(case["data"])), 200000)
                self.assertEqual(batches.start, case["start"])
                for expected in case["microbatches"]:
                    made = batches.microbatch(expected["step"], expected["microbatch"])
                    self.assertEqual(made.ids.tolist(), expected["ids"])
                    self.assertEqual(made.labels.tolist(), expected["labels"])
                    self.assertEqual(made.data_digest, expected["digest"])


if __name__ == "__main__":
    unittest.main()
