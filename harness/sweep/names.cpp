// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/names.hpp"

#include <algorithm>
#include <array>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/toml_library.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::string name_of_file(const fs::path& file) {
  constexpr std::array usual = {"run", "sweep", "config", "train", "training", "test", "default", "plumbline"};
  const std::string stem = file.stem().string();
  const std::string folder = fs::weakly_canonical(fs::absolute(file)).parent_path().filename().string();
  return folder.empty() || std::ranges::find(usual, stem) == usual.end() ? stem : folder + "/" + stem;
}

std::string part_of_id(const std::string& name) {
  constexpr const char* plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
  std::string part = name;
  for (auto at = part.find_first_not_of(plain); at != part.npos; at = part.find_first_not_of(plain, at)) part[at] = '-';
  if (part.starts_with('.')) part.front() = '-';
  return part;
}

std::string checked_name(const std::string& name, const std::string& where) {
  constexpr std::size_t most_characters = 80;
  const bool control = std::ranges::any_of(name, [](unsigned char letter) { return letter < ' '; });
  if (!name.empty() && name.size() <= most_characters && !control && name.find_first_not_of(' ') != name.npos)
    return name;
  throw InputError(where + ": must be a name of 1 to " + std::to_string(most_characters) + " characters in one line");
}

std::optional<std::string> name_in_run_file(const fs::path& run) {
  const toml::table root = parse_toml(run, read_file(run));
  if (!root.contains("name")) return std::nullopt;
  return checked_name(root["name"].value_or(std::string()), run.string() + ", key name");
}

}  // namespace plumbline
