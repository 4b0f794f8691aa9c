# SPDX-License-Identifier: BSD-3-Clause
"""The digest for devices: against integers of Python, on structured changes, and Triton's kernel against it under its interpreter."""

import itertools
import math
import os
import pathlib
import struct
import tempfile
import unittest
from unittest import mock

import numpy
import plumbline
import xxhash
from plumbline import digests, elements, native, position_sums, rows
from plumbline import statistics as sums

try:
    import torch
except ImportError:
    torch = None
GPU = torch is not None and torch.cuda.is_available()
try:
    os.environ.setdefault("TRITON_INTERPRET", "0" if GPU else "1")  # read when the kernel is defined
    import triton
    from plumbline import device_kernel
except ImportError:
    device_kernel = None


def by_definition(array):
    """docs/record-format.md, in Python's integers."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    sums = [0, 0]
    for place, bits in enumerate(flat.view(f"u{flat.itemsize}").tolist(), start=1):
        for lane, (value, position, third, fourth) in enumerate(position_sums.LANES):
            x = (bits * value + place * position) % 2**64
            x = (x ^ x >> 32) * third % 2**64
            x = (x ^ x >> 29) * fourth % 2**64
            sums[lane] += x ^ x >> 32
    text = f"position-sum-128|{array.dtype}|{'x'.join(map(str, array.shape))}|".encode()
    return xxhash.xxh3_128_hexdigest(text + struct.pack("<QQ", *(one % 2**64 for one in sums)))


@unittest.skipUnless(torch, "no torch")
class PositionSumsTest(unittest.TestCase):
    def test_documents_vectors(self):
        for tensor, digest in VECTORS:
            self.assertEqual(position_sums.digested(tensor)[1], digest)

    def test_it_is_as_defined_in_parts_of_any_size(self):
        draw = numpy.random.default_rng(3)
        for dtype, shape in itertools.product(("float32", "float64", "float16", "int64"), ((), (0, 4), (7,), (5, 9), (2, 3, 4))):
            array = numpy.array(draw.normal(size=shape) * 9).astype(dtype)
            for most, block, piece in ((1 << 18, 1 << 24, 1 << 16), (4, 1 << 24, 5), (3, 24, 3)):
                with mock.patch.object(position_sums, "MOST", most), mock.patch.object(elements, "BLOCK_BYTES", block), mock.patch.object(sums, "PIECE", piece):
                    for tensor in (array, torch.tensor(array), torch.tensor(array.T.copy()).permute(tuple(reversed(range(len(shape)))))):
                        self.assertEqual(position_sums.digested(tensor)[1], by_definition(array), (dtype, shape))
                        with mock.patch.object(native, "functions", lambda: None):  # whose l2 has other roundings
                            self.assertEqual(position_sums.measured(tensor)[1:], (by_definition(array), digests.measured(array)[2]))

    def test_a_single_changed_element_never_collides(self):
        """Each step of the mixing is one to one, so two values at one place have different terms."""
        for value, place, third, fourth in position_sums.LANES:
            self.assertTrue(value & place & third & fourth & 1)
        bits = torch.cat([torch.arange(1 << 16), (torch.ones(63, dtype=torch.int64) << torch.arange(63)), torch.tensor([-1, -(2**63)])]).unique()
        for value, place, third, fourth in position_sums.LANES:
            self.assertEqual(len(position_sums.mixed(bits * value + torch.tensor(5) * place, third, fourth).unique()), len(bits))

    def test_no_structured_change_keeps_a_sum(self):
        """Pairs whose changes cancel in sums that mix less. Each sum alone tells them apart; a digest has both."""
        pairs = int(os.environ.get("PLUMBLINE_PAIRS", "50000"))
        rows, columns = 4, 8
        draw = torch.Generator().manual_seed(5)
        places = torch.arange(1, rows * columns + 1)
        orders = {
            "transpose": places.view(rows, columns).T.reshape(-1) - 1,
            "shift": (places - 1).roll(1),
            "rows swapped": torch.cat([(places - 1).view(rows, columns)[one] for one in (1, 0, 2, 3)]),
            "reversed": (places - 1).flip(0),
        }
        done = 0
        while done < pairs:
            kinds = {
                "noise": torch.randn(2000, rows * columns, generator=draw),
                "few values": torch.randint(3, (2000, rows * columns), generator=draw).float() - 1,
                "almost constant": torch.ones(2000, rows * columns) + torch.randint(2, (2000, rows * columns), generator=draw) * 2.0**-23,
            }
            for one in kinds.values():
                index = torch.randint(rows * columns, (2000, 2), generator=draw)
                lines = torch.arange(2000)
                swapped, two_low, opposite = one.clone(), one.clone().view(torch.int32), one.clone()
                swapped[lines, index[:, 0]], swapped[lines, index[:, 1]] = one[lines, index[:, 1]], one[lines, index[:, 0]]
                two_low[lines[:, None], index] ^= 1
                opposite[lines, index[:, 0]] += 1
                opposite[lines, index[:, 1]] -= 1
                changed = [swapped, two_low.view(torch.float32), opposite, one * 2, -one, one + 1, *(one[:, order] for order in orders.values())]
                for other in changed:
                    differ = (one.view(torch.int32) != other.contiguous().view(torch.int32)).any(dim=1)
                    for value, place, third, fourth in position_sums.LANES:
                        sums = [self.sums(two, value, place, third, fourth, places) for two in (one, other.contiguous())]
                        self.assertEqual(int(((sums[0] == sums[1]) & differ).sum()), 0)
                    done += int(differ.sum())

    def sums(self, floats, value, place, third, fourth, places):
        bits = floats.view(torch.int32).long() & 0xFFFFFFFF
        return position_sums.mixed(bits * value + places * place, third, fourth).sum(dim=1)


VECTORS = []
if torch:
    VECTORS = [
        (torch.tensor([1.0, 2.0, 3.0]), "fd118182fa1e785bc94d7ce4ce8235b9"),
        (torch.tensor(1.5), "33f62cfa243cb9a99027fb51a66dd56b"),
        (torch.zeros(0, 4), "2068cc0bfd13a0a2cd849f69e74f2994"),
        (torch.tensor([[1.0, -2.0], [3.0, -0.0]], dtype=torch.bfloat16), "fddc60cea242bc417e2a99b619b962ca"),
        (torch.tensor([1, -100]), "51c481918700b5347b3dd383791843d2"),
    ]


INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if GPU and not INTERPRETED else "cpu"


@unittest.skipUnless(device_kernel and (GPU or INTERPRETED), "no triton")
class KernelTest(unittest.TestCase):
    def tensors(self):
        draw = torch.Generator().manual_seed(4)
        for shape in ((), (0,), (0, 4), (5,), (3, 5), (40, 33), (2, 3, 4), (1, 3000), (2100,), (5, 1025)):
            whole = torch.randn(shape, generator=draw) * (torch.rand(shape, generator=draw) < 0.6)
            yield from (whole, whole.T if len(shape) == 2 else whole, -whole)
        yield from (torch.zeros(3, 4), -torch.zeros(3, 4), torch.tensor([[math.nan, 1.0], [0.0, -math.inf]]), torch.tensor([-math.nan, math.inf, math.inf]))
        yield torch.tensor([1e-40, -3e38])

    def test_it_computes_what_torch_does(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            results, expected = device_kernel.Results(torch.device(DEVICE)), []
            for tensor in self.tensors():
                tensor = tensor.to(dtype).to(DEVICE)
                expected.append((results.add(tensor, True), results.add(tensor, False), *position_sums.measured(tensor)))
            results.fetch()
            for counted, alone, form, digest, statistics in expected:
                with self.subTest(form):
                    self.assertEqual((counted.form, counted.digest, alone.digest, alone.statistics), (form, digest, digest, None))
                    found, l2 = counted.statistics._asdict(), statistics.l2
                    ours, theirs = ({name: repr(one) for name, one in numbers.items() if name != "l2"} for numbers in (found, statistics._asdict()))
                    self.assertEqual(ours, theirs)
                    self.assertTrue(abs(found["l2"] - l2) <= (form.count + 2) * 2.0**-53 * l2 if math.isfinite(l2) else repr(l2) == repr(found["l2"]))

    def test_long_rows_copies_and_many_tensors(self):
        tensor = torch.randn(3, 50, device=DEVICE)
        tensor[1] = 0
        with mock.patch.multiple(device_kernel, LONGEST=16, CAPACITY=2), mock.patch.object(elements, "BLOCK_BYTES", 400):
            results = device_kernel.Results(torch.device(DEVICE))
            tensors = (tensor, tensor.T, tensor.to(torch.float8_e5m2), tensor.expand(2, 3, 50), torch.complex(tensor, tensor))
            added = [results.add(one, True) for one in tensors]
            results.fetch()
        for one, later in zip(tensors, added):
            form, digest, statistics = position_sums.measured(one)
            self.assertEqual((later.form, later.digest), (form, digest))
            self.assertEqual(later.statistics._replace(l2=0), statistics._replace(l2=0))
        results.fetch()  # nothing was added

    def test_a_record_waits_for_its_results_until_the_step_ends(self):
        def trained(folder):
            model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)).to(DEVICE)
            with torch.no_grad():
                for number, parameter in enumerate(model.parameters()):
                    parameter.copy_(torch.linspace(-1, 1 + number, parameter.numel()).to(DEVICE).view_as(parameter))
            model.register_buffer("count", torch.tensor(3, device=DEVICE))
            optimizer = torch.optim.AdamW(model.parameters())
            record = plumbline.Record(folder, model={}, steps=2, microbatches=1, optimizer=optimizer, digest=position_sums.NAME)
            plumbline.torch.watch_model(record, model)
            for step in range(2):
                inputs = torch.ones(2, 4, device=DEVICE) * step
                with record.step(inputs, inputs):
                    loss = model(inputs).square().sum()
                    record.loss(loss)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=False)  # in place, before the results are fetched
            found = plumbline.read(folder)
            numbers = [[row | {"l2": f"{row.get('l2') or 0:.12g}"} for row in table] for table in (found.tensors, found.boundaries)]
            return [sorted(map(repr, table)) for table in numbers], found.exits[0].get("not_recorded")

        def on_device(self, tensor, counted):
            if tensor.dtype is torch.int64:
                return None
            return self._results.setdefault("here", device_kernel.Results(torch.device(DEVICE))).add(tensor, counted)

        with tempfile.TemporaryDirectory() as folder:
            with mock.patch.object(rows.Rows, "_on_device", lambda *_: None):
                at_once = trained(pathlib.Path(folder) / "at once")
            with mock.patch.object(rows.Rows, "_on_device", on_device if DEVICE == "cpu" else rows.Rows._on_device):
                later = trained(pathlib.Path(folder) / "later")
        self.assertEqual(later, at_once)
        self.assertEqual((len(at_once[0][0]), at_once[1]), (5 + 2 * 21, None))


@unittest.skipUnless(device_kernel and not INTERPRETED, "no triton that compiles")
class CompiledTest(unittest.TestCase):
    def test_the_kernel_is_compiled_for_gpus_that_are_not_here(self):
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        numbers = {"integers": "*i64", "squares": "*fp64", "count": "i64", "row": "i32", "first": "i64"}
        fixed = ("unsigned", "floating", "infinity", "rows", "columns", "counted")
        for capability, (dtype, (bits, unsigned, floating)), counted in itertools.product((80, 90, 100), device_kernel.TYPES.items(), (True, False)):
            rows, columns = device_kernel.tile_of(300)
            values = (unsigned, floating, elements.INFINITY[dtype], rows, columns, counted)
            signature = {"tensor": f"*i{8 * bits.itemsize}", **numbers, **dict.fromkeys(fixed, "constexpr")}
            source = ASTSource(device_kernel.kernel, signature, dict(zip(fixed, values)))
            self.assertIn("cubin", triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm, (capability, dtype, counted))


if __name__ == "__main__":
    unittest.main()
