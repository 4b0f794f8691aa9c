// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "training/checkpoint/checkpoint_file.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::string prefix = "step-", partial = ".partial";

void check(const std::error_code& error, const fs::path& path) {
  if (error) throw SystemError(path.string() + ": cannot be renamed into place: " + error.message());
}

}  // namespace

fs::path checkpoint_path(const fs::path& folder, std::int64_t steps) {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "%08lld", static_cast<long long>(steps));
  return folder / (prefix + number.data());
}

std::optional<std::int64_t> steps_of_name(const fs::path& checkpoint) {
  std::error_code not_there;
  const fs::path real = fs::canonical(checkpoint, not_there);
  const std::string name = (not_there ? checkpoint : real).filename().string();
  return name.starts_with(prefix) ? parse_integer(name.substr(prefix.size())) : std::nullopt;
}

fs::path partial_path(const fs::path& folder, std::int64_t steps) {
  return checkpoint_path(folder, steps).string() + partial;
}

std::vector<fs::path> all_checkpoints(const fs::path& folder) {
  std::map<std::int64_t, fs::path, std::greater<>> found;
  const auto take = [&](const fs::path& path) {
    if (const auto steps = steps_of_name(path)) found.emplace(*steps, path);
  };
  if (!folder_exists(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) take(entry.path());
  }
  std::error_code no_link;
  if (const fs::path named = fs::read_symlink(folder / "latest", no_link); !no_link) take(folder / named.filename());
  std::vector<fs::path> paths;
  for (const auto& [steps, path] : found) paths.push_back(path);
  return paths;
}

std::vector<fs::path> whole_checkpoints(const fs::path& folder) {
  std::vector<fs::path> found = all_checkpoints(folder);
  std::erase_if(found, [](const fs::path& path) { return !path_exists(path / checkpoint_file_name); });
  return found;
}

void publish_checkpoint(const fs::path& folder, std::int64_t steps) {
  const fs::path from = partial_path(folder, steps), to = checkpoint_path(folder, steps);
  std::error_code error;
  sync_path(from);
  fs::rename(from, to, error);
  check(error, to);
  point_latest_at(to);
  sync_path(folder);  // renames are durable then
}

void point_latest_at(const fs::path& checkpoint) {
  const fs::path folder = checkpoint.parent_path(), link = folder / "latest", made = folder / "latest.partial";
  std::error_code error;
  if (fs::read_symlink(link, error) == checkpoint.filename()) return;
  fs::remove(made, error);
  fs::create_directory_symlink(checkpoint.filename(), made, error);
  check(error, made);
  fs::rename(made, link, error);
  check(error, link);
}

void remove_partial_checkpoints(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.starts_with(prefix) || name.starts_with("metrics.csv.") || name.starts_with(".seen.");
    if (ours && name.ends_with(partial)) fs::remove_all(entry.path(), ignored);
  }
}

void prune_checkpoints(const fs::path& folder, std::int64_t keep) {
  const std::vector<fs::path> whole = whole_checkpoints(folder);
  if (whole.size() <= static_cast<std::size_t>(keep)) return;
  const std::int64_t oldest = *steps_of_name(whole[static_cast<std::size_t>(keep) - 1]);
  for (const fs::path& each : all_checkpoints(folder)) {
    const std::int64_t steps = *steps_of_name(each.filename());
    const fs::path going = partial_path(folder, steps);
    std::error_code error;
    if (steps < oldest) fs::rename(each, going, error);  // first: what a kill leaves is removed by the next run
    if (steps < oldest && !error) fs::remove_all(going, error);
  }
}

}  // namespace plumbline
