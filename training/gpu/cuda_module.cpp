// SPDX-License-Identifier: BSD-3-Clause
// Loads the CUDA module from the program's folder.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "support/error.hpp"
#include "support/paths.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

struct Loaded {
  void* handle = nullptr;
  GpuSupport* support = nullptr;
};

std::string loader_error() {
  const char* words = dlerror();
  return words == nullptr ? "no reason given" : words;
}

/// Before CUDA starts: with fewer queues than streams, independent streams would wait for each other.
void want_hardware_queues() {
  constexpr const char* name = "CUDA_DEVICE_MAX_CONNECTIONS";
  const char* value = std::getenv(name);
  if (value == nullptr) {
    setenv(name, "32", 0);
  } else if (std::string(value) == "1") {
    std::fprintf(stderr, "warning: %s=1 makes messages wait for compute and for each other; unset it\n", name);
  }
}

Loaded load() {
  want_hardware_queues();
  const std::string path = (program_folder() / "plumbline-gpu.so").string();
  Loaded loaded;
  // Never unloaded: LibTorch keeps pointers into its CUDA half.
  loaded.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (loaded.handle == nullptr) {
    throw SystemError("--device cuda: the CUDA module of this build cannot be loaded (" + loader_error() +
                      "); build again with make cuda, or omit the option");
  }
  using Entry = GpuSupport* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(loaded.handle, "plumbline_gpu_support"));
  if (entry == nullptr) throw SystemError(path + " is not this build's: " + loader_error());
  loaded.support = entry();
  return loaded;
}

Loaded& module() {
  static Loaded loaded;
  return loaded;
}

}  // namespace

bool has_gpu_module() {
  return true;
}

GpuSupport& load_gpu_module() {
  if (module().support == nullptr) module() = load();
  return *module().support;
}

GpuSupport* loaded_gpu_support() {
  return module().support;
}

void* gpu_module_entry(const char* name) {
  void* entry = module().handle == nullptr ? nullptr : dlsym(module().handle, name);
  if (entry == nullptr) throw std::logic_error(std::string(name) + " is not in the CUDA module of this build");
  return entry;
}

}  // namespace plumbline
