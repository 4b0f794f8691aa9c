# SPDX-License-Identifier: BSD-3-Clause
"""The cross-check: a trainer for one process with transformers and torch.optim, written from docs/exactness.md, docs/data.md and
docs/record-format.md alone. It shares no code with Plumbline's trainers."""
