# SPDX-License-Identifier: BSD-3-Clause
"""Writes the heartbeat: a file that shows a rank's current action, also after the rank was killed (docs/record-format.md, "progress")."""

from __future__ import annotations

import mmap
import os
import pathlib
import socket
import struct
import time

PAGE_BYTES = 4096
_VALUES = struct.Struct("<qqiiQQi64s4x64s")  # from offset 16; the host name is at 128


class ProgressPage:
    def __init__(self, path: pathlib.Path) -> None:
        with open(path, "w+b") as file:
            file.truncate(PAGE_BYTES)
            self._page = mmap.mmap(file.fileno(), PAGE_BYTES)
        self._page[:8] = b"PLMBPRG1"
        self._sequence = 0
        self._host = socket.gethostname().encode()[:63]

    def write(self, step: int, index: int, action: str, peer: int = -1, microbatch: int = -1, transfer_bytes: int = 0) -> None:
        """The sequence is odd while the values change, so that a reader can detect values that are not consistent."""
        struct.pack_into("<Q", self._page, 8, self._sequence + 1)
        values = (step, index, peer, microbatch, transfer_bytes, time.monotonic_ns(), os.getpid(), action.encode()[:63], self._host)
        _VALUES.pack_into(self._page, 16, *values)
        self._sequence += 2
        struct.pack_into("<Q", self._page, 8, self._sequence)
