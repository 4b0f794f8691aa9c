// SPDX-License-Identifier: BSD-3-Clause
// Preloaded: answers as a LibTorch of another version.
#include <string>

namespace at {

std::string show_config();
std::string show_config() {
  return "PyTorch built with:\n  - Build settings: TORCH_VERSION=2.9.1, USE_CUDA=0";
}

}  // namespace at
