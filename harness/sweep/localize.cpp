// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/localize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "record/digest.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// A tensor of a dump and its file, which its bytes are in.
struct DumpedTensor {
  SafetensorsFile file;
  SafetensorsEntry entry;
};

/// The tensor with this digest that `rank`, or without one the first of any, dumped in this step.
std::optional<DumpedTensor> dumped_tensor(const fs::path& record, std::int64_t step, const std::string& digest,
                                          std::optional<std::int64_t> rank) {
  for (std::int64_t each = rank.value_or(0); path_exists(record / rank_folder(each)); ++each) {
    const fs::path path = record / rank_folder(each) / "dumps" / dump_file_name(step);
    if (path_exists(path)) {
      SafetensorsFile file(path);
      for (const auto& [key, entry] : file.entries()) {
        if (tensor_digest(entry.dtype, entry.shape, entry.bytes) != digest) continue;
        const SafetensorsEntry found = entry;
        return DumpedTensor{std::move(file), found};
      }
    }
    if (rank) break;
  }
  return std::nullopt;
}

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
  const auto theirs =
      dumped_tensor(record_of_replica(reference, divergence.replica), divergence.step, divergence.expected, {});
  const auto mine =
      dumped_tensor(record_of_replica(candidate, divergence.replica), divergence.step, divergence.got, divergence.rank);
  if (!theirs || !mine) return std::nullopt;
  const SafetensorsEntry &expected = theirs->entry, &got = mine->entry;
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
