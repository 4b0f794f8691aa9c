# SPDX-License-Identifier: BSD-3-Clause
"""docs/exactness.md, "Initial values", written out in numpy, against what torch draws."""

import unittest

import numpy
import torch
from plumbline import digest
from plumbline_witness.hashes import hash64

# seed, name, shape, hash64, first values, digest where the processor has AVX2 or AVX-512
VECTORS = [
    (1, "model.layers.0.self_attn.q_proj.weight", (64, 64), 0x54438867D527A7A3,
     [-0.0068893763, 0.033616759, 0.0080815386, 0.034269296], "850c4cadeb452c2b8488c90fd5bc9ff9"),
    (3, "lm_head.weight", (5, 7), 0xD1359F7C64AFDE0B,
     [-0.031870741, -0.0064986083, 0.019042237, -0.037028641], "0c01b305a8974a014c40c7e5ca59db3d"),
]  # fmt: skip
RANGE = numpy.float32(0.02)


def uniform(twister, count):
    bits = twister.randint(0, 2**32, size=count, dtype=numpy.uint32) & numpy.uint32(0xFFFFFF)
    return bits.astype(numpy.float32) * numpy.float32(2.0**-24)


def to_normal(block):
    radius = numpy.sqrt(numpy.float32(-2) * numpy.log(numpy.float32(1) - block[:8]))
    angle = numpy.float32(2 * numpy.pi) * block[8:]
    block[:8], block[8:] = radius * numpy.cos(angle) * RANGE, radius * numpy.sin(angle) * RANGE


def drawn(seed, count):
    twister = numpy.random.RandomState(numpy.uint32(seed & 0xFFFFFFFF))
    values = uniform(twister, count)
    for start in range(0, count - 15, 16):
        to_normal(values[start : start + 16])
    if count % 16:
        values[-16:] = uniform(twister, 16)
        to_normal(values[-16:])
    return values


class InitialValues(unittest.TestCase):
    def test_the_docs_give_what_torch_draws(self):
        for seed, name, shape, hash_, first, expected in VECTORS:
            with self.subTest(name):
                self.assertEqual(hash64(f"{seed}/{name}"), hash_)
                torch_drew = torch.empty(shape).normal_(0, 0.02, generator=torch.Generator().manual_seed(hash_))
                ours = drawn(hash_, torch_drew.numel())
                # Logarithm, sine and cosine in float32: a few last places of numbers up to 0.1.
                self.assertLess(numpy.abs(ours - torch_drew.flatten().numpy()).max(), 1e-7)
                self.assertLess(numpy.abs(ours[:4] - numpy.float32(first)).max(), 1e-7)
                if torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512"):
                    self.assertEqual(digest(torch_drew), expected)


if __name__ == "__main__":
    unittest.main()
