# SPDX-License-Identifier: BSD-3-Clause
"""A second trainer, for one process: transformers and torch.optim, written from docs/exactness.md, docs/data.md and
docs/record-format.md alone. It shares no line with the trainers that it is a witness of."""
