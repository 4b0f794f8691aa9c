// SPDX-License-Identifier: BSD-3-Clause
// The shared libraries loaded in this process.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* nccl_file_name = "libnccl.so";

/// Paths of those whose file name begins with `beginning` ("libnccl.so"), in load order, each file once.
std::vector<std::string> loaded_libraries(const std::string& beginning);

}  // namespace plumbline
