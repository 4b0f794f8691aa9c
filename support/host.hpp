// SPDX-License-Identifier: BSD-3-Clause
// Which machine a process runs on.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

/// The host's name and a mark of its kernel's start, "node1#9f3a11c2": containers on different machines may have the
/// same name. Without the mark where the kernel does not tell it.
std::string host_identity();

/// The name in an identity, for people.
std::string host_name(std::string_view identity);

}  // namespace plumbline
