// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/gpu_check.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/visible_gpus.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

std::vector<std::string> loaded_libraries(const std::string& beginning) {
  std::vector<std::string> paths;
  const auto note = [](dl_phdr_info* info, std::size_t, void* data) {
    static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(note, &paths);
  std::erase_if(paths, [&](const std::string& path) {
    return !std::filesystem::path(path).filename().string().starts_with(beginning);
  });
  for (std::string& path : paths) {
    std::error_code error;
    const auto same = std::filesystem::canonical(path, error);
    if (!error) path = same.string();
  }
  std::vector<std::string> once;
  for (const std::string& path : paths) {
    if (std::ranges::find(once, path) == once.end()) once.push_back(path);
  }
  return once;
}

namespace {

/// The newest function used is ncclCommFinalize, from 2.14; the configuration's maxCTAs is from 2.17. A configuration
/// from newer headers is compatible: NCCL reads only the fields it knows.
constexpr int oldest_nccl = 21700;

std::string visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? "is not set" : "is \"" + std::string(value) + "\"";
}

/// The oldest driver of a CUDA version's major version, which runs all of them. Empty for one that is newer than this.
std::string driver_text(int runtime) {
  const int major = runtime / 1000;
  return major == 12 ? " (driver 525 or newer)" : major == 13 ? " (driver 580 or newer)" : "";
}

}  // namespace

void check_nccl_library(const GpuVersions& versions, const std::vector<std::string>& nccl_libraries) {
  if (nccl_libraries.empty()) {
    throw SystemError(
        "--device cuda: no libnccl is loaded with the CUDA part of this build; remove .deps/cuda-python and build "
        "again with make cuda");
  }
  if (nccl_libraries.size() > 1) {
    throw SystemError("--device cuda: " + std::to_string(nccl_libraries.size()) +
                      " different libnccl are in this process (" + join(nccl_libraries, ", ") +
                      "), and it is undefined which of them a call reaches; check LD_PRELOAD and LD_LIBRARY_PATH, and "
                      "keep one");
  }
  if (!(versions.nccl >= oldest_nccl)) {
    throw SystemError("--device cuda: NCCL " + nccl_version_text(versions.nccl) + " is loaded (" +
                      nccl_libraries.front() + "), but Plumbline needs " + nccl_version_text(oldest_nccl) +
                      " or newer; remove the older one from LD_LIBRARY_PATH, or put a newer one in front");
  }
}

void check_driver(GpuSupport& support) {
  const GpuVersions versions = support.versions();
  std::string why;
  const int count = support.device_count(why);
  const std::string need =
      "CUDA " + std::to_string(versions.runtime / 1000) + ".0 or newer" + driver_text(versions.runtime);
  if (versions.driver == 0) {
    throw SystemError("--device cuda: there is no NVIDIA driver on this machine (CUDA says: " + why +
                      "); install one for " + need +
                      ", or pass the GPUs into the container (docker run --gpus all), or train with --device cpu");
  }
  if (!(versions.driver / 1000 >= versions.runtime / 1000)) {
    throw SystemError("--device cuda: the NVIDIA driver runs CUDA up to " + cuda_version_text(versions.driver) +
                      ", this build needs a driver for " + need + "; update the driver, or train with --device cpu");
  }
  if (!(count >= 1)) {
    if (const auto named = visible_gpus(); named && named->empty()) {
      throw InputError("--device cuda: CUDA_VISIBLE_DEVICES " + visible_devices() +
                       " and names no GPU; unset it or name the GPUs to use, or train with --device cpu");
    }
    throw SystemError("--device cuda: this process sees no GPU" + (why.empty() ? "" : " (CUDA says: " + why + ")") +
                      "; CUDA_VISIBLE_DEVICES " + visible_devices() +
                      ". Ask the scheduler for GPUs (Slurm: --gpus), or train with --device cpu");
  }
}

GpuSupport& open_gpus() {
  GpuSupport& support = load_gpu_module();
  check_nccl_library(support.versions(), loaded_libraries(nccl_file_name));
  check_driver(support);
  return support;
}

namespace {

Json versions_json(const GpuVersions& versions) {
  Json json;
  json["cuda_driver"] = versions.driver == 0 ? Json(nullptr) : Json(cuda_version_text(versions.driver));
  json["cuda_runtime"] = cuda_version_text(versions.runtime);
  json["nccl"] = nccl_version_text(versions.nccl);
  const auto libraries = loaded_libraries(nccl_file_name);
  json["nccl_library"] = libraries.empty() ? Json(nullptr) : Json(join(libraries, ", "));
  return json;
}

}  // namespace

Json gpu_capabilities() {
  Json json;
  json["built"] = has_gpu_module();
  if (!has_gpu_module()) return json;
  try {
    GpuSupport& support = load_gpu_module();
    json.update(versions_json(support.versions()));
    json["devices"] = Json::array();
    std::string ignored;
    const int count = support.device_count(ignored);
    for (int index = 0; index < count; ++index) {
      const GpuDevice device = support.device(index);
      json["devices"].push_back({{"name", device.name},
                                 {"capability", device.capability},
                                 {"total_bytes", device.total_bytes},
                                 {"uuid", device.uuid}});
    }
    open_gpus();
    json["usable"] = true;
    json["why_not"] = nullptr;
  } catch (const Error& error) {
    json["usable"] = false;
    json["why_not"] = error.what();
  }
  return json;
}

Json gpu_versions_json() {
  return versions_json(load_gpu_module().versions());
}

}  // namespace plumbline
