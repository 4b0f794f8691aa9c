// SPDX-License-Identifier: BSD-3-Clause
#include "training/environment.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <malloc.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "record/precision.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/machine_memory.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {

namespace {

constexpr const char* cublas_workspace = "CUBLAS_WORKSPACE_CONFIG";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

/// The text after the first `mark`, up to a blank or a comma; empty if `mark` does not occur.
std::string word_behind(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  if (at == std::string::npos) return "";
  const auto begin = at + mark.size();
  return text.substr(begin, std::min(text.find_first_of(" ,\n", begin), text.size()) - begin);
}

/// "key : value" lines of /proc/cpuinfo; each key's first value, since keys repeat for every core.
std::map<std::string, std::string> processor_values() {
  std::map<std::string, std::string> values;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (const auto colon = line.find(':'); colon != std::string::npos) {
      values.emplace(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
    }
  }
  return values;
}

/// A number if it is one, other text unchanged, null if missing: other architectures' cpuinfo has other keys.
Json value_or_null(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  if (found == values.end()) {
    return nullptr;
  }
  const std::optional<std::int64_t> number = parse_integer(found->second);
  return number ? Json(*number) : Json(found->second);
}

/// Processor instructions by which LibTorch's bfloat16 matrix products select their kernel. A hypervisor may hide some
/// of them.
std::string bf16_instructions(const std::map<std::string, std::string>& processor) {
  const auto flags = processor.find("flags");
  if (flags == processor.end()) {
    return "";
  }
  std::vector<std::string> found;
  for (const std::string name : {"avx512_bf16", "amx_bf16"}) {
    if ((" " + flags->second + " ").find(" " + name + " ") != std::string::npos) {
      found.push_back(name);
    }
  }
  return join(found, " ");
}

Json memory_bytes() {
  const auto kibibytes = number_behind("/proc/meminfo", "MemTotal:");
  return kibibytes ? Json(*kibibytes * 1024) : Json(nullptr);
}

Json variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? Json(nullptr) : Json(value);
}

/// All environment variables with the prefixes of the compute libraries.
std::map<std::string, std::string> variables_of_libraries() {
  constexpr std::array prefixes = {
      "ATEN_", "MKL_", "ONEDNN_", "DNNL_", "OMP_", "CUBLAS_", "NVIDIA_TF32_", "TORCH_", "CUDA_DEVICE_MAX_CONNECTIONS"};
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto begins = [&](const char* start) { return text.starts_with(start); };
    if (std::ranges::any_of(prefixes, begins))
      found.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  return found;
}

/// The compiler's sanitizers in this build; they allocate memory of their own.
Json sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return nullptr;
#endif
}

void refuse_other_libtorch() {
  // The versions of the libraries are only available in the text of torch.__config__.show().
  const std::string config = at::show_config();
  const std::string loaded = word_behind(config, "TORCH_VERSION=");
  if (loaded.empty() || loaded == TORCH_VERSION) return;
  throw SystemError("LibTorch " + loaded +
                    " is loaded, but this program was compiled for " TORCH_VERSION
                    ", whose object layout differs; remove the other one from LD_LIBRARY_PATH and LD_PRELOAD");
}

}  // namespace

bool is_newer_minor(int major, int minor, const std::string& tested) {
  int tested_major = 0, tested_minor = 0;
  if (std::sscanf(tested.c_str(), "%d.%d", &tested_major, &tested_minor) != 2) return false;
  return std::pair(major, minor) > std::pair(tested_major, tested_minor);
}

void apply_deterministic_settings() {
  refuse_other_libtorch();
  const char* workspace = std::getenv(cublas_workspace);
  if (workspace == nullptr || std::string(workspace) != ":16:8") setenv(cublas_workspace, ":4096:8", 1);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // filling races with communication streams
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicMkldnn(true);
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  context.setAllowBF16ReductionCuBLAS(false);  // bfloat16 products are summed in float32 (exactness.md, Dtypes)
  context.setFlushDenormal(false);
  // Exactly one attention kernel without a fallback: an unsupported shape is an error, not a silent change of bits.
  context.setSDPUseFlash(true);
  context.setSDPUseMath(false);
  context.setSDPUseMemEfficient(false);
  context.setSDPUseCuDNN(false);
  context.setSDPUseOverrideable(false);
  at::set_num_threads(1);
}

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

bool attends_by_flash(bool on_cpu, at::ScalarType dtype) {
  return on_cpu || dtype == at::kBFloat16 || dtype == at::kHalf;
}

int exit_quickly(int code) {
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);
#endif
  return code;
}

void choose_attention_kernel(at::Device device, at::ScalarType dtype) {
  const bool flash = attends_by_flash(device.is_cpu(), dtype);
  at::Context& context = at::globalContext();
  context.setSDPUseFlash(flash);
  context.setSDPUseMath(!flash);
}

Json versions_json() {
  Json versions;
  versions["libtorch"] = TORCH_VERSION;
  versions["onednn"] = word_behind(at::get_mkldnn_version(), " v");
  if (is_newer_minor(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, tested_libtorch()))
    versions["libtorch_note"] = "newer than " + tested_libtorch() + ", the newest that Plumbline was tested with";
#ifdef __clang__
  versions["compiler"] = __VERSION__;  // begins with the compiler's name
#else
  versions["compiler"] = "g++ " __VERSION__;
#endif
  versions["commit"] =
      source_commit().empty() ? Json(nullptr) : Json(source_commit());  // null in a build outside a git checkout
  return versions;
}

Json machine_json() {
  const auto processor = processor_values();
  Json machine;
  machine["cpu_vendor"] = value_or_null(processor, "vendor_id");
  machine["cpu_family"] = value_or_null(processor, "cpu family");
  machine["cpu_model_number"] = value_or_null(processor, "model");
  machine["cpu_model"] = value_or_null(processor, "model name");
  machine["aten_capability"] = at::get_cpu_capability();
  machine["mkl_version"] = at::get_mkl_version();
  machine["bf16_instructions"] = bf16_instructions(processor);
  machine["cores"] = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  machine["memory_bytes"] = memory_bytes();
  return machine;
}

Json capabilities_json(const std::string& program, const Json& gpu, const Json& own) {
  Json capabilities{{"program", program}, {"devices", Json::array({"cpu"})}};
  if (gpu.value("usable", false)) capabilities["devices"].push_back("cuda");
  capabilities["dtypes"] = {"float32", "float64", "bfloat16", mixed_precision};
  capabilities.update(own);
  capabilities["versions"] = versions_json();
  capabilities["machine"] = machine_json();
  capabilities["gpu"] = gpu;
  return capabilities;
}

Json environment_json() {
  const at::Context& context = at::globalContext();
  Json flags;
  flags["deterministic_algorithms"] = context.deterministicAlgorithms();
  flags["fill_uninitialized_memory"] = context.deterministicFillUninitializedMemory();
  flags["cudnn_benchmark"] = context.benchmarkCuDNN();
  flags["tf32_cublas"] = context.allowTF32CuBLAS();
  flags["tf32_cudnn"] = context.allowTF32CuDNN();
  flags["bf16_reduction_cublas"] =
      context.allowBF16ReductionCuBLAS() == at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
  const bool flash = context.userEnabledFlashSDP(), math = context.userEnabledMathSDP();
  flags["attention"] = flash == math ? "not fixed" : flash ? "flash" : "math";
  flags["compute_threads"] = at::get_num_threads();
  flags["sanitizer"] = sanitizer();
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR",
                           "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", cublas_workspace}) {
    flags[name] = variable(name);
  }
  for (const auto& [name, value] : variables_of_libraries()) flags[name] = value;
  return flags;
}

Json rank_machine_json() {
  return {{"machine", machine_json()}, {"environment", environment_json()}, {"versions", versions_json()}};
}

}  // namespace plumbline
