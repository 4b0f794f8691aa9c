// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/localise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "record/digest.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"
#include "support/toml_library.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Found {
  SafetensorsFile file;  // owns the entry's bytes
  std::string key;
};

/// The tensor with this digest in a record's dumps of one step.
std::optional<Found> find_tensor(const fs::path& record, std::optional<std::int64_t> rank, std::int64_t step,
                                 const std::string& digest) {
  std::error_code none;
  for (const auto& folder : fs::directory_iterator(record, none)) {
    const std::string name = folder.path().filename().string();
    if (rank ? name != rank_folder(*rank) : !name.starts_with(rank_folder_prefix)) continue;
    const fs::path path = folder.path() / "dumps" / dump_file_name(step);
    if (!fs::exists(path, none)) continue;
    const SafetensorsFile file(path);
    for (const auto& [key, entry] : file.entries()) {
      if (tensor_digest(entry.dtype, entry.shape, entry.bytes) == digest) return Found{file, key};
    }
  }
  return std::nullopt;
}

std::string value_at(const SafetensorsEntry& entry, std::size_t element) {
  if (entry.dtype == "float32") return to_text(stored_at<float>(entry.bytes, element));
  if (entry.dtype == "float64") return to_text(stored_at<double>(entry.bytes, element));
  if (entry.dtype == "int64") return to_text(stored_at<std::int64_t>(entry.bytes, element));
  const auto bits = stored_at<std::uint16_t>(entry.bytes, element);
  std::ostringstream text;
  if (entry.dtype == "bfloat16") text << to_text(bfloat16_value(bits)) << " = ";
  text << "0x" << std::setfill('0') << std::setw(4) << std::hex << bits;
  return text.str();
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
    if (check.outcome != Outcome::fails) continue;
    if (std::ranges::any_of(first, is)) return false;
    differs = differs || std::ranges::any_of(comparisons, is);
  }
  return differs;
}

std::optional<ElementDifference> first_element(const Finding& divergence, const fs::path& reference,
                                               const fs::path& candidate) {
  const auto theirs =
      find_tensor(record_of_replica(reference, divergence.replica), std::nullopt, divergence.step, divergence.expected);
  const auto mine =
      find_tensor(record_of_replica(candidate, divergence.replica), divergence.rank, divergence.step, divergence.got);
  if (!theirs || !mine) return std::nullopt;
  const SafetensorsEntry &expected = theirs->file.at(theirs->key), &got = mine->file.at(mine->key);
  if (expected.dtype != got.dtype || expected.shape != got.shape) return std::nullopt;
  ElementDifference difference;
  difference.key = mine->key;
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
  std::vector<std::string> index;
  for (const auto number : difference.index) index.push_back(std::to_string(number));
  return "element [" + join(index, ", ") + "] of " + shape_text(difference.shape) + ": expected " +
         difference.expected + ", got " + difference.got +
         (difference.ulp ? " (" + std::to_string(*difference.ulp) + " ULP)" : "") + "; " +
         std::to_string(difference.differing) + " of " + std::to_string(element_count(difference.shape)) +
         " elements differ";
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
