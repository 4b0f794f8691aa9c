// SPDX-License-Identifier: BSD-3-Clause
#include "tests/gpu/assigned_gpus.hpp"

#include "training/gpu/gpu_check.hpp"

namespace plumbline::testing {

std::string why_not_on_gpus(int needed) {
  const Json found = gpu_capabilities();
  if (!found.value("built", false)) return "this is a CPU build";
  if (!found.value("usable", false)) return found.at("why_not").get<std::string>();
  const auto count = static_cast<int>(found.at("devices").size());
  if (count >= needed) return "";
  return "it needs " + std::to_string(needed) + " GPUs, this process sees " + std::to_string(count);
}

}  // namespace plumbline::testing
