# SPDX-License-Identifier: BSD-3-Clause
"""The version of the whole project."""

__version__ = "0.2.0"  # as the file VERSION says; tests/python_wheel holds it to that
