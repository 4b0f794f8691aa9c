// SPDX-License-Identifier: BSD-3-Clause
// Versions as CUDA and NCCL count them, as text.
#pragma once

#include <string>

namespace plumbline {

/// "13.0" of 13000, as CUDA counts.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
/// "2.28.9" of 22809, as NCCL counts.
inline std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace plumbline
