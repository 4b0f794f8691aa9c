// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "support/commit.hpp"
#include "support/numbers.hpp"

namespace plumbline {

std::optional<std::int64_t> commits_behind_head(const std::string& commit) {
  const std::string hash = commit.substr(0, commit.find('-'));
  if (hash.empty() || hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  std::FILE* git = ::popen(fmt::format("git rev-list --count {}..HEAD 2>/dev/null", hash).c_str(), "r");
  if (git == nullptr) return std::nullopt;
  std::array<char, 32> line{};
  const bool said = std::fgets(line.data(), static_cast<int>(line.size()), git) != nullptr;
  if (::pclose(git) != 0 || !said) return std::nullopt;
  const std::string text = line.data();
  return parse_integer(text.substr(0, text.find('\n')));
}

}  // namespace plumbline
