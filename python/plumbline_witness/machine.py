# SPDX-License-Identifier: BSD-3-Clause
"""What decides the last bits: the processor's code path and the switches that move it."""

import os
import re

import torch

from plumbline import machine as of_rank


def machine():
    mkl = re.search(r"^\s*- (Intel\(R\).*Math Kernel Library.*)$", torch.__config__.show(), re.MULTILINE)
    return {**of_rank.machine(), "mkl_version": mkl.group(1) if mkl else "MKL not found"}


def environment():
    switches = ("OMP_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")
    return {"compute_threads": torch.get_num_threads(), **{name: os.environ.get(name) for name in switches}}
