# SPDX-License-Identifier: BSD-3-Clause
"""A pytest fixture for your own tests, available where this package is installed:

    def test_pipeline_computes_what_one_device_does(plumbline_parity, tmp_path):
        train(world=1, record=tmp_path / "one")
        train(world=2, record=tmp_path / "two")
        plumbline_parity(tmp_path / "one", tmp_path / "two")
"""

from __future__ import annotations

from typing import Any, Callable

import pytest

from .verdicts import Comparison, compare, program_path


@pytest.fixture
def plumbline_parity() -> Callable[..., Comparison]:
    """Compares two records and fails with the first divergence, or with what was not compared; skips the test if the judge is not installed."""
    try:
        program = program_path()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))

    def parity(reference: Any, candidate: Any, **options: Any) -> Comparison:
        found = compare(reference, candidate, program=program, **options)
        assert found.holds, str(found)
        return found

    return parity
