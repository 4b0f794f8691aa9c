// SPDX-License-Identifier: BSD-3-Clause
// The CUDA part of this build: a module (plumbline-gpu.so next to the program) that only --device cuda loads, since it
// costs about 250 MB per process. A build without it has stubs for these functions.
#pragma once

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Whether this build has the module. It may still be unusable on this machine.
bool has_gpu_module();

/// Loads the module on the first call, which must precede any call that makes LibTorch look for CUDA, because LibTorch
/// caches the answer. Throws InputError if the build has none, SystemError if it cannot be loaded.
GpuSupport& load_gpu_module();

/// The result of load_gpu_module; null before.
GpuSupport* loaded_gpu_support();

/// Another entry of the loaded module by its C name. Throws std::logic_error if there is none.
void* gpu_module_entry(const char* name);

}  // namespace plumbline
