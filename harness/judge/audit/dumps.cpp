// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "harness/judge/audit/value_audit.hpp"
#include "record/rank_folder.hpp"

namespace plumbline::auditing {

std::string Dumps::name(std::int64_t rank, std::int64_t step) {
  return fmt::format("{}/dumps/{}", rank_folder(rank), dump_file_name(step));
}

std::uintmax_t Dumps::bytes() const {
  std::uintmax_t sum = 0;
  for (std::int64_t rank = 0; rank < record_.manifest.world_size; ++rank) {
    for (std::int64_t step = -1; step < record_.manifest.steps; ++step) {
      std::error_code missing;
      const auto size = std::filesystem::file_size(record_.path / name(rank, step), missing);
      if (!missing) sum += size;
    }
  }
  return sum;
}

const SafetensorsFile& Dumps::file(std::int64_t rank, std::int64_t step) {
  const auto found = files_.find({step, rank});
  if (found != files_.end()) return found->second;
  return files_.emplace(std::pair{step, rank}, SafetensorsFile(record_.path / name(rank, step))).first->second;
}

const SafetensorsEntry* Dumps::find(std::int64_t rank, std::int64_t step, const std::string& key) {
  const auto& entries = file(rank, step).entries();
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

void Dumps::forget_before(std::int64_t step) {
  files_.erase(files_.begin(), files_.lower_bound({step, -1}));
}

}  // namespace plumbline::auditing
