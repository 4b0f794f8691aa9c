// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdio>
#include <vector>

#include "support/commit.hpp"
#include "support/numbers.hpp"
#include "support/shell.hpp"

namespace plumbline {

namespace {

/// The first line that git prints; empty if it fails.
std::string first_line_of_git(const std::vector<std::string>& arguments) {
  std::FILE* git = ::popen(("git " + shell_command(arguments) + " 2>/dev/null").c_str(), "r");
  if (git == nullptr) return "";
  std::array<char, 128> line{};
  const bool read = std::fgets(line.data(), static_cast<int>(line.size()), git) != nullptr;
  const std::string text = read ? line.data() : "";
  return ::pclose(git) != 0 ? "" : text.substr(0, text.find('\n'));
}

}  // namespace

std::optional<std::int64_t> commits_behind_head(const std::string& commit) {
  const std::string hash = commit.substr(0, commit.find('-'));
  if (hash.empty() || hash.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return parse_integer(first_line_of_git({"rev-list", "--count", hash + "..HEAD"}));
}

std::string commit_of_checkout(const std::filesystem::path& folder) {
  return first_line_of_git(
      {"-C", folder.empty() ? "." : folder.string(), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"});
}

}  // namespace plumbline
