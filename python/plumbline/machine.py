# SPDX-License-Identifier: BSD-3-Clause
"""What determines the last bits, apart from the program: a rank's processor, its GPUs, and the settings of the compute libraries."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import sys
from typing import Any

SWITCHES = ("ATEN_", "MKL_", "ONEDNN_", "DNNL_", "OMP_", "CUBLAS_", "NVIDIA_TF32_", "TORCH_")  # prefixes of environment variables


def machine() -> dict[str, Any]:
    cpu = _cpuinfo()
    found: dict[str, Any] = {
        "cpu_vendor": cpu.get("vendor_id", platform.machine()),
        "cpu_family": _whole(cpu.get("cpu family")),
        "cpu_model_number": _whole(cpu.get("model")),
        "cpu_model": cpu.get("model name"),
        "bf16_instructions": " ".join(name for name in ("avx512_bf16", "amx_bf16") if name in cpu.get("flags", "").split()),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        capability = getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
        found["aten_capability"] = capability() if capability else None
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found["gpus"] = [torch.cuda.get_device_name()]
    return found


def environment() -> dict[str, Any]:
    """Environment variables that can change bits, and torch's number of threads.

    >>> "OMP_NUM_THREADS" in environment() or "OMP_NUM_THREADS" not in os.environ
    True
    """
    found: dict[str, Any] = {name: value for name, value in sorted(os.environ.items()) if name.startswith(SWITCHES)}
    torch = sys.modules.get("torch")
    return found if torch is None else found | {"compute_threads": torch.get_num_threads()}


def write(folder: pathlib.Path, versions: dict[str, str]) -> None:
    """Writes a rank's machine.json; the manifest has rank 0's."""
    written = {"machine": machine(), "environment": environment(), "versions": versions}
    (folder / "machine.json").write_text(json.dumps(written, indent=2) + "\n")


def _cpuinfo() -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                found.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return found


def _whole(text: str | None) -> int | str | None:
    return int(text) if text and text.isdigit() else text
