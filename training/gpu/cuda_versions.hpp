// SPDX-License-Identifier: BSD-3-Clause
// CUDA's and NCCL's version numbers as text.
#pragma once

#include <string>

namespace plumbline {

/// "13.0" for 13000, CUDA's encoding.
inline std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
/// "2.28.9" for 22809, NCCL's encoding.
inline std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace plumbline
