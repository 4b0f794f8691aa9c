// SPDX-License-Identifier: BSD-3-Clause
#include "support/host.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "support/hash.hpp"

namespace plumbline {

std::string host_identity() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '?';
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  constexpr std::size_t letters = 8;
  return fmt::format("{}{}", name.data(), boot.empty() ? "" : "#" + hash_hex(boot).substr(0, letters));
}

std::string host_name(std::string_view identity) {
  return std::string(identity.substr(0, identity.rfind('#')));
}

}  // namespace plumbline
