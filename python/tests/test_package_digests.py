# SPDX-License-Identifier: BSD-3-Clause
"""Digests and statistics of tensors, against sums in plain Python."""

import itertools
import math
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import numpy
import plumbline
import xxhash
from plumbline import digests, elements, native
from plumbline import statistics as sums
from plumbline.digests import number_text

try:
    import torch
except ImportError:
    torch = None

ROUND = 2.0**-53


def statistics(tensor):
    return digests.measured(tensor)[2]


def expected(values, dimensions):
    """By the definition, of float64 values of these elements: max_abs, nonzero, nonzero_rows, nan, inf; and l2."""
    flat = values.reshape(-1).tolist()
    finite = math.sqrt(math.fsum(one * one for one in flat)) if all(map(math.isfinite, flat)) else None
    with numpy.errstate(over="ignore"):
        largest = numpy.float32(math.nan if any(map(math.isnan, flat)) else max(map(abs, flat), default=0))
    rows = sum(any(one != 0 for one in row) for row in values.tolist()) if dimensions == 2 else None
    counts = [sum(one != 0 for one in flat), rows, sum(map(math.isnan, flat)), sum(map(math.isinf, flat))]
    return [number_text(largest), *counts], finite


INSTANCES = [
    *([[]], [], [[0.0, 0.0], [0.0, -2.0]], [[1.0, -3.0], [2.0, 2.0]], [[math.inf, math.nan], [0.0, 1.0]], [[-math.inf, -1.0]], [[[1.0]]], 2.0),
    *([1e300, 1e300], [-1e-300], [3e30, -4e30], [0.0, -0.0], [math.nan, 1.0], [-math.nan, 1.0], [math.inf, 2.0], [[-0.0, -0.0], [-1.0, -0.0]]),
    *([-1.0, -2.0, -0.5], [[0.0] * 7, [1.0] * 7, [0.0] * 6 + [-1.0]], [[0.0], [0.0], [3.0]], [65504.0, 1e-40], [[-0.0] * 5] * 3),
]


class MeasureTest(unittest.TestCase):
    def require(self, tensor, values=None):
        """That the statistics are those of `values`, as numpy reads them: by default the tensor's own."""
        values = numpy.asarray(tensor, dtype="float64") if values is None else values
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what a type does not have is nothing to warn of
            found = statistics(tensor)
        numbers, l2 = expected(values, len(tensor.shape))
        self.assertEqual([number_text(found.max_abs), found.nonzero, found.nonzero_rows, found.nan, found.inf], numbers)
        self.assertIs(type(found.max_abs), numpy.float32)
        if l2 is not None and math.isfinite(l2):
            self.assertLessEqual(abs(found.l2 - l2), (values.size + 2) * ROUND * l2)
        else:
            self.assertFalse(math.isfinite(found.l2))

    def pieces(self):
        """Sizes of pieces and blocks: so that all is in one, and divided everywhere. By compiled code, and by numpy."""
        compiled = native.functions()
        for (piece, block), small in itertools.product(((1 << 15, 1 << 24), (4, 1 << 24), (4, 32), (3, 24), (1, 16)), (8192, 0)):
            with self.subTest(piece=piece, block=block, small=small), mock.patch.multiple(elements, BLOCK_BYTES=block, SMALL=small):
                with mock.patch.object(sums, "PIECE", piece), mock.patch.object(native, "functions", lambda: None):
                    yield
            if small:
                with self.subTest(compiled=block), mock.patch.object(elements, "BLOCK_BYTES", block), mock.patch.object(native, "functions", lambda: compiled):
                    yield

    def test_of_arrays(self):
        for values in INSTANCES:
            for dtype in ("float64", "float32", "float16"):
                with numpy.errstate(over="ignore"):
                    array = numpy.array(values).astype(dtype)
                for _ in self.pieces():
                    self.require(array)

    def test_of_integers(self):
        least, most = -(2**63), 2**63 - 1
        for values in ([least], [most, 0], [[0, 0], [-3, 2]], [5, 6], [-5, -6], [0]):
            for _ in self.pieces():
                self.require(numpy.array(values, "int64"))
        self.require(numpy.array([True, False]))
        self.require(numpy.array([[200, 0], [0, 0]], "uint8"))

    @unittest.skipUnless(torch, "no torch")
    def test_of_tensors(self):
        draw = torch.Generator().manual_seed(1)
        drawn = [torch.randn(*shape, generator=draw) * (torch.rand(*shape, generator=draw) < 0.7) for shape in ((5, 7), (3, 2, 4), (40,), (2, 30), (30, 2))]
        for values in [*(torch.tensor(one, dtype=torch.float64) for one in INSTANCES), *drawn]:
            for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64):
                if dtype is torch.int64 and not bool(values.isfinite().all() and (values.abs() < 1e18).all()):
                    continue
                tensor = values.to(dtype)
                for _ in self.pieces():
                    self.require(tensor, tensor.double().numpy())

    @unittest.skipUnless(torch, "no torch")
    def test_large_tensors_of_many_pieces(self):
        draw = torch.Generator().manual_seed(2)
        for shape in ((300, 700), (3, 70000), (70000, 3), (210000,)):
            tensor = torch.randn(*shape, generator=draw)
            tensor[..., ::2] = 0
            tensor[1:2] = 0
            for one in (tensor, tensor.bfloat16(), tensor.T if len(shape) == 2 else tensor.flip(0)):
                self.require(one, one.double().numpy())

    @unittest.skipUnless(torch, "no torch")
    def test_a_tensor_is_its_elements_in_order_whatever_lies_in_memory(self):
        whole = torch.arange(24.0).reshape(4, 6) - 5
        halves = torch.complex(whole, -whole)
        for tensor in (
            *(whole.T, whole[::2, 1:], whole[:1].expand(5, 6), whole[:, :1].expand(4, 9), torch.tensor(3.0).expand(2, 3, 4), whole.reshape(2, 3, 4).permute(2, 0, 1)),
            *(whole.double().T, whole.bfloat16().T, whole.long().T, halves.imag, halves.conj().imag, whole.unfold(1, 4, 1)),
        ):
            plain = torch.tensor(tensor.tolist(), dtype=tensor.dtype)
            for _ in self.pieces():
                self.assertEqual(digests.measured(tensor)[1], plumbline.digest(plain))
                self.assertEqual(plumbline.digest(tensor), plumbline.digest(plain))
                self.require(tensor, plain.double().numpy())
        for tensor in (halves, halves.T, halves.conj().T):
            parts = torch.view_as_real(torch.tensor(tensor.tolist(), dtype=tensor.dtype))
            for _ in self.pieces():
                self.assertEqual(digests.measured(tensor)[1], plumbline.digest(parts))

    @unittest.skipUnless(torch, "no torch")
    def test_compiled_code_finds_the_same_in_any_bits(self):
        compiled, draw = native.functions(), torch.Generator().manual_seed(3)
        self.assertTrue(compiled or "PLUMBLINE" not in os.environ, f"{native.NAME} is not beside {os.environ.get('PLUMBLINE')}")
        integers = {torch.float32: torch.int32, torch.float64: torch.int64, torch.bfloat16: torch.int16, torch.float16: torch.int16, torch.int64: torch.int64}
        for dtype, shape in itertools.product(integers, ((), (0,), (0, 3), (3, 0), (17,), (40, 1000), (2, 3, 5), (3, 70000))):
            drawn = torch.randint(-(2**63), 2**63 - 1, shape, generator=draw, dtype=torch.int64).to(integers[dtype]).view(dtype)
            drawn = torch.where(torch.rand(shape, generator=draw) < 0.3, torch.zeros((), dtype=dtype), drawn)
            for tensor in (drawn, drawn.flip(-1) if shape else drawn, drawn[..., ::2] if shape else drawn):
                with self.subTest(dtype=dtype, shape=tuple(tensor.shape)):
                    form, digest, found = digests.measured(tensor)
                    self.assertEqual(digests.digested(tensor), (form, digest))
                    with mock.patch.object(native, "functions", lambda: None):
                        form, expected_digest, other = digests.measured(tensor)
                    self.assertEqual(digest, expected_digest)
                    self.assertEqual(found[2:], other[2:])
                    self.assertEqual(number_text(found.max_abs), number_text(other.max_abs))
                    if math.isfinite(other.l2):
                        self.assertLessEqual(abs(found.l2 - other.l2), (form.count + 2) * ROUND * other.l2)
                    else:
                        self.assertEqual(number_text(found.l2), number_text(other.l2))

    @unittest.skipUnless(torch and native.functions(), "numpy takes 10 s")
    def test_of_more_elements_than_an_int_counts(self):
        one = torch.tensor(-1.5, dtype=torch.bfloat16).expand(2**31 + 3)
        form, digest, found = digests.measured(one)
        self.assertEqual((form.shape, form.bytes), ("2147483651", 2**32 + 6))
        self.assertEqual(found, (math.sqrt(2.25 * (2**31 + 3)), numpy.float32(1.5), 2**31 + 3, None, 0, 0))
        state, block = xxhash.xxh3_128(b"bfloat16|2147483651|"), b"\xc0\xbf" * 2**16
        for _ in range(2**15):
            state.update(block)
        state.update(block[:6])
        self.assertEqual(digest, state.hexdigest())

    @unittest.skipUnless(torch, "no torch")
    def test_other_types_are_recorded_in_those_of_the_format(self):
        values = torch.tensor([[1.0, -2.0, 0.0], [0.5, 4.0, 0.0]])
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for _ in self.pieces():
                self.assertEqual(digests.measured(values.to(dtype)), digests.measured(values))
                self.assertEqual(digests.measured(values.to(dtype).T), digests.measured(values.T))
        for dtype in (torch.int8, torch.uint8, torch.int32, torch.bool):
            tensor = values.abs().to(dtype)
            self.assertEqual(digests.measured(tensor), digests.measured(tensor.long()))
        self.assertEqual(digests.measured(values.to_sparse()), digests.measured(values))
        for dtype in (torch.uint4, torch.float4_e2m1fn_x2):  # packed: torch has no values of them
            with self.assertRaisesRegex(TypeError, f"{dtype}.*give the record unpacked values"):
                digests.measured(torch.empty(2, dtype=dtype))

    @unittest.skipUnless(torch, "no torch")
    def test_no_copy_is_larger_than_a_block(self):
        made = []
        plain = elements.plain

        def noted(tensor):
            made.append(tensor.numel() * 4)
            return plain(tensor)

        with mock.patch.object(elements, "plain", noted), mock.patch.object(elements, "BLOCK_BYTES", 1 << 10):
            for tensor in (torch.zeros(100, 300).T, torch.zeros(1).expand(7, 9000), torch.zeros(90000).to(torch.float8_e5m2), torch.zeros(9, 9, 9, 99).permute(3, 2, 1, 0)):
                made.clear()
                digests.measured(tensor)
                self.assertLessEqual(max(made), 1 << 10)
                self.assertEqual(sum(made), tensor.numel() * 4)


GROWTH = """
import pathlib, torch
from plumbline import digests, position_sums
side = 4500
whole = torch.randn(side, side)                       # 77 MiB
small = whole.to(torch.float8_e5m2)                   # as float32 as large
digests.measured(whole[:99, :99].T), position_sums.measured(whole[:99, :99])
def most():
    return int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
for work, tensor in ((digests.measured, whole), (digests.measured, whole.T), (digests.digested, whole[:, ::2]), (digests.measured, small), (digests.digested, whole[:1].expand(side, side)), (position_sums.measured, whole[:2000].T)):
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = most()
    work(tensor)
    print(most() - before)
"""


class MemoryTest(unittest.TestCase):
    @unittest.skipUnless(torch, "no torch")
    def test_no_tensor_makes_the_process_grow_by_more_than_64_mib(self):
        for program in (os.environ.get("PLUMBLINE", ""), "none"):  # by compiled code, and by numpy
            ended = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, env=os.environ | {"PLUMBLINE": program})
            self.assertEqual(ended.returncode, 0, ended.stderr)
            grown = list(map(int, ended.stdout.split()))  # KiB
            self.assertEqual(len(grown), 6)
            self.assertLess(max(grown), 64 << 10, grown)


class StatisticsTest(unittest.TestCase):
    def test_sums_are_float64_and_the_largest_float32(self):
        wide = numpy.float32([3e30, -4e30])
        found = statistics(wide)
        self.assertEqual(found.l2, math.sqrt(float(wide[0]) ** 2 + float(wide[1]) ** 2))
        self.assertEqual((found.max_abs, type(found.max_abs)), (numpy.float32(4e30), numpy.float32))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a value that float32 has not is no matter for people
            self.assertEqual(str(statistics(numpy.array([-1e300])).max_abs), "inf")

    def test_rows_are_counted_of_a_matrix_alone(self):
        for shape, rows in (((2, 3), 2), ((6,), None), ((1, 2, 3), None), ((0, 4), 0), ((4, 0), 0), ((), None)):
            self.assertEqual(statistics(numpy.ones(shape)).nonzero_rows, rows, shape)

    def test_minus_zero_is_no_value_and_another_digest(self):
        found = statistics(numpy.float32([[-0.0, 0.0, 0.0], [0.0, 1.0, -2.0]]))
        self.assertEqual((found.nonzero, found.nonzero_rows, str(found.max_abs)), (2, 1, "2.0"))
        self.assertNotEqual(plumbline.digest(numpy.float32([-0.0])), plumbline.digest(numpy.float32([0.0])))

    def test_a_digest_is_of_the_rows_in_order_whatever_lies_in_memory(self):
        whole = numpy.arange(24, dtype="float64").reshape(4, 6)
        for part in (whole.T, whole[::2, 1:], whole[:, ::-1]):
            self.assertEqual(plumbline.digest(part), plumbline.digest(part.copy()))
            text = f"float64|{part.shape[0]}x{part.shape[1]}|"
            self.assertEqual(plumbline.digest(part), digests.hash_hex(text.encode() + part.tobytes()))
        self.assertNotEqual(plumbline.digest(whole), plumbline.digest(whole.reshape(6, 4)))
        self.assertNotEqual(plumbline.digest(numpy.zeros(2, "float64")), plumbline.digest(numpy.zeros(2, "int64")))



if __name__ == "__main__":
    unittest.main()
