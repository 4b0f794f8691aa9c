# SPDX-License-Identifier: BSD-3-Clause
"""Writes and reads run records of Plumbline, from any trainer in Python.

A trainer on one device:

    record = plumbline.Record("rec", model=config, steps=5, microbatches=8, optimizer=optimizer, clip_norm=1.0)
    plumbline.torch.watch_model(record, model)
    for inputs, targets in batches:
        with record.step(inputs, targets):
            ...                          # its own step; record.loss(loss) for each microbatch

A pipeline of torch.distributed.pipelining:

    plumbline.torch.watch_pipelining(record, schedule)

`plumbline.compare(reference, candidate)` runs the judge, the program `plumbline`.
docs/judge-your-trainer.md has the ways to record a trainer, docs/record-format.md the files.
"""

import importlib
from types import ModuleType

from .digests import digest
from .reading import RecordTables, read
from .record import Record
from .verdicts import CheckVerdict, Comparison, compare
from .version import __version__

__all__ = ["CheckVerdict", "Comparison", "Record", "RecordTables", "__version__", "compare", "digest", "read"]


def __getattr__(name: str) -> ModuleType:
    if name == "torch":  # imported on first use
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'plumbline' has no attribute {name!r}")
