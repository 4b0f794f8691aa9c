// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/gpu_capabilities.hpp"

#include <string>

#include "support/error.hpp"
#include "support/text.hpp"
#include "training/gpu/cuda_versions.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_module.hpp"
#include "training/gpu/loaded_libraries.hpp"

namespace plumbline {
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
