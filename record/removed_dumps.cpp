// SPDX-License-Identifier: BSD-3-Clause
#include "record/removed_dumps.hpp"

#include <fmt/format.h>

#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {

namespace fs = std::filesystem;

bool dumps_were_removed(const fs::path& record) {
  std::error_code missing;
  return fs::exists(record / removed_dumps_name, missing);
}

void remove_dumps(const fs::path& record, const std::string& words) {
  write_file(record / removed_dumps_name, words + "\n");
  std::error_code error;
  for (const auto& rank : fs::directory_iterator(record, error)) {
    if (!rank.is_directory() || !rank.path().filename().string().starts_with(rank_folder_prefix)) continue;
    const fs::path dumps = rank.path() / "dumps";
    fs::remove_all(dumps, error);
    if (error) throw SystemError(fmt::format("{}: cannot be removed: {}", dumps.string(), error.message()));
  }
  if (error) throw SystemError(fmt::format("{}: cannot be read: {}", record.string(), error.message()));
}

}  // namespace plumbline
