// SPDX-License-Identifier: BSD-3-Clause
// Identity of the machine that a process runs on.
#pragma once

#include <string>
#include <string_view>

namespace plumbline {

/// The host's name and an id of its kernel's boot, "node1#9f3a11c2", because containers on different machines may have
/// the same name. Without the id if the kernel does not provide one.
std::string host_identity();

/// The host's name in an identity.
std::string host_name(std::string_view identity);

}  // namespace plumbline
