// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/dumped_step.hpp"

#include <cstring>

#include "record/rank_folder.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Sorted ranks, for a deterministic order of reading.
std::map<std::int64_t, fs::path> rank_folders(const fs::path& record) {
  std::map<std::int64_t, fs::path> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(record, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(rank_folder_prefix)) continue;
    if (const auto rank = parse_integer(name.substr(rank_folder_prefix.size()))) folders.emplace(*rank, entry.path());
  }
  return folders;
}

}  // namespace

bool DumpedTensor::equals(const DumpedTensor& other) const {
  return entry.dtype == other.entry.dtype && entry.shape == other.entry.shape &&
         entry.bytes.size() == other.entry.bytes.size() &&
         std::memcmp(entry.bytes.data(), other.entry.bytes.data(), entry.bytes.size()) == 0;
}

std::optional<CrossingKey> parse_crossing_key(const std::string& key) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto end = key.find('/'); end != std::string::npos; end = key.find('/', begin)) {
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(key.substr(begin));
  if (parts.size() != 5 || parts[0] != "boundary") return std::nullopt;
  const auto microbatch = parse_integer(parts[2]);
  if (!microbatch) return std::nullopt;
  return CrossingKey{*microbatch, parts[1], parts[3], parts[4]};
}

DumpedStep::DumpedStep(const fs::path& record, std::int64_t step) {
  std::error_code none;
  for (const auto& [rank, folder] : rank_folders(record)) {
    const fs::path path = folder / "dumps" / dump_file_name(step);
    if (!fs::exists(path, none)) continue;
    files_.emplace_back(path);
    for (const auto& [key, entry] : files_.back().entries()) tensors_.emplace(key, DumpedTensor{rank, entry});
  }
}

const DumpedTensor* DumpedStep::find(const std::string& key) const {
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? nullptr : &found->second;
}

}  // namespace plumbline
