// SPDX-License-Identifier: BSD-3-Clause
// The stubs of a build without CUDA.
#include <stdexcept>
#include <string>

#include "support/error.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

bool has_gpu_module() {
  return false;
}

GpuSupport& load_gpu_module() {
  throw InputError(
      "--device cuda: this is a CPU build; make cuda builds one that can use GPUs (programs in build/cuda/bin), or "
      "omit the option");
}

GpuSupport* loaded_gpu_support() {
  return nullptr;
}

void* gpu_module_entry(const char* name) {
  throw std::logic_error(std::string(name) + ": this build has no CUDA module");
}

}  // namespace plumbline
