// SPDX-License-Identifier: BSD-3-Clause
// The key `mesh` of a manifest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/json.hpp"

namespace plumbline::testing {

/// Axes by name and size: "pp" is the pipeline, "tp" tensor parallelism, the others replicate.
inline Json mesh_json(const std::vector<std::pair<std::string, std::int64_t>>& axes, const Json& replicas,
                      std::int64_t replica) {
  Json list = Json::array();
  for (const auto& [name, size] : axes)
    list.push_back({{"name", name},
                    {"size", size},
                    {"kind", name == "pp"   ? "pipeline"
                             : name == "tp" ? "tensor"
                                            : "replicate"}});
  return {{"axes", list}, {"replicas", replicas}, {"replica", replica}};
}

}  // namespace plumbline::testing
