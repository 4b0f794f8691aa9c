"""What decides the last bits: the processor's code path and the switches that move it."""

import os
import re

import torch


def cpuinfo():
    found = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                found.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    return found


def machine():
    cpu = cpuinfo()
    flags = cpu.get("flags", "").split()
    mkl = re.search(r"^\s*- (Intel\(R\).*Math Kernel Library.*)$", torch.__config__.show(), re.MULTILINE)

    def whole(key):
        return int(cpu[key]) if cpu.get(key, "").isdigit() else cpu.get(key)

    return {
        "cpu_vendor": cpu.get("vendor_id"),
        "cpu_family": whole("cpu family"),
        "cpu_model_number": whole("model"),
        "cpu_model": cpu.get("model name"),
        "aten_capability": torch.backends.cpu.get_cpu_capability(),
        "mkl_version": mkl.group(1) if mkl else "MKL not found",
        "bf16_instructions": " ".join(name for name in ("avx512_bf16", "amx_bf16") if name in flags),
    }


def environment():
    switches = ("OMP_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")
    return {"compute_threads": torch.get_num_threads(), **{name: os.environ.get(name) for name in switches}}
