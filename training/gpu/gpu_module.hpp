// SPDX-License-Identifier: BSD-3-Clause
// The CUDA half of this build: a module (plumbline-gpu.so beside the program) that only --device cuda loads, since it
// costs each process some 250 MB (docs/decisions/0006). In a build without it a stub stands behind these functions.
#pragma once

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Whether this build has it. It may still be unable to run here.
bool has_gpu_module();

/// Loads the module on the first call: before anything asks LibTorch whether there is CUDA, because it remembers the
/// answer. Throws InputError where the build has none, SystemError when it cannot be loaded.
GpuSupport& load_gpu_module();

/// What load_gpu_module loaded; null before.
GpuSupport* loaded_gpu_support();

/// A further entry of the loaded module by its C name. Throws std::logic_error when there is none.
void* gpu_module_entry(const char* name);

}  // namespace plumbline
