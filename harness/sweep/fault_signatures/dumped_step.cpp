// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/dumped_step.hpp"

#include <algorithm>
#include <cstring>

#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
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

const std::pair<const std::string, DumpedTensor>* DumpedStep::with_digest(const std::string& digest,
                                                                          std::optional<std::int64_t> rank) const {
  const auto found = std::ranges::find_if(tensors_, [&](const auto& each) {
    const DumpedTensor& tensor = each.second;
    return (!rank || tensor.rank == *rank) &&
           tensor_digest(tensor.entry.dtype, tensor.entry.shape, tensor.entry.bytes) == digest;
  });
  return found == tensors_.end() ? nullptr : &*found;
}

bool StepFacts::is_tied(const std::string& parameter) const {
  return std::ranges::any_of(tied,
                             [&](const auto& group) { return std::ranges::find(group, parameter) != group.end(); });
}

StepFacts step_facts(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                     std::int64_t step) {
  const Record alone = read_record(reference), piped = read_record(candidate);
  StepFacts facts;
  facts.microbatches = alone.manifest.microbatches;
  facts.sums_microbatches_apart = alone.manifest.accumulation == "listed";
  facts.tied = piped.manifest.tied;
  for (const RankRecord& rank : alone.ranks) {
    for (const StepRow& row : rank.steps) {
      if (row.step == step) facts.valid_tokens = row.valid_tokens;
    }
  }
  for (const RankRecord& rank : piped.ranks) {
    for (const TensorRow& row : rank.tensors) facts.stage_of.emplace(row.name, row.stage);
  }
  return facts;
}

}  // namespace plumbline
