// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/localise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/sweep/fault_signatures/dumped_step.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string value_at(const SafetensorsEntry& entry, std::size_t element) {
  if (entry.dtype == "float32") return to_text(stored_at<float>(entry.bytes, element));
  if (entry.dtype == "float64") return to_text(stored_at<double>(entry.bytes, element));
  if (entry.dtype == "int64") return to_text(stored_at<std::int64_t>(entry.bytes, element));
  const auto bits = stored_at<std::uint16_t>(entry.bytes, element);
  return (entry.dtype == "bfloat16" ? to_text(bfloat16_value(bits)) + " = " : "") + fmt::format("0x{:04x}", bits);
}

std::vector<std::int64_t> place_of(std::size_t element, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t dimension = shape.size(); dimension-- > 0; rest /= shape[dimension]) {
    index[dimension] = rest % shape[dimension];
  }
  return index;
}

}  // namespace

bool worth_a_dump(const CellVerdict& cell) {
  constexpr std::array first = {"completion", "data"};
  constexpr std::array comparisons = {"loss", "boundaries", "gradients", "gradient_norm", "parameters"};
  bool differs = false;
  for (const auto& check : cell.checks) {
    const auto is = [&](const char* name) { return check.name == name; };
    if (check.outcome != Outcome::differs) continue;
    if (std::ranges::any_of(first, is)) return false;
    differs = differs || std::ranges::any_of(comparisons, is);
  }
  return differs;
}

std::optional<ElementDifference> first_element(const Finding& divergence, const fs::path& reference,
                                               const fs::path& candidate) {
  const DumpedStep alone(record_of_replica(reference, divergence.replica), divergence.step);
  const DumpedStep piped(record_of_replica(candidate, divergence.replica), divergence.step);
  const auto* theirs = alone.with_digest(divergence.expected);
  const auto* mine = piped.with_digest(divergence.got, divergence.rank);
  if (theirs == nullptr || mine == nullptr) return std::nullopt;
  const SafetensorsEntry &expected = theirs->second.entry, &got = mine->second.entry;
  if (expected.dtype != got.dtype || expected.shape != got.shape) return std::nullopt;
  ElementDifference difference;
  difference.shape = got.shape;
  const std::size_t size = dtype_size(got.dtype);
  for (std::size_t element = 0; element < got.bytes.size() / size; ++element) {
    if (std::memcmp(expected.bytes.data() + element * size, got.bytes.data() + element * size, size) == 0) continue;
    if (difference.differing++ > 0) continue;
    difference.index = place_of(element, got.shape);
    difference.expected = value_at(expected, element);
    difference.got = value_at(got, element);
    difference.ulp = ulps_between(got.dtype, expected.bytes, got.bytes, element);
  }
  return difference.differing > 0 ? std::optional(difference) : std::nullopt;
}

std::string to_text(const ElementDifference& difference) {
  return fmt::format("element [{}] of {}: expected {}, got {}{}; {} of {} elements differ",
                     join(difference.index, ", "), shape_text(difference.shape), difference.expected, difference.got,
                     difference.ulp ? fmt::format(" ({} ULP)", *difference.ulp) : "", difference.differing,
                     element_count(difference.shape));
}

void keep_dumps_of_step(const fs::path& record, std::int64_t step) {
  std::error_code ignored;
  std::vector<fs::path> others;
  for (const auto& entry : fs::recursive_directory_iterator(record, ignored)) {
    if (entry.path().parent_path().filename() == "dumps" && entry.path().filename() != dump_file_name(step))
      others.push_back(entry.path());
  }
  for (const auto& dump : others) fs::remove(dump, ignored);
}

}  // namespace plumbline
