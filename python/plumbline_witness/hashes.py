# SPDX-License-Identifier: BSD-3-Clause
"""docs/data.md, hash64."""

import xxhash


def hash64(text):
    """The low 64 bits of XXH3-128."""
    return xxhash.xxh3_128_intdigest(text.encode()) & 0xFFFF_FFFF_FFFF_FFFF
