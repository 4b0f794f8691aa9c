#include "harness/localise.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include "record/digest.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string dump_name(std::int64_t step) {
  return "step-" + (step < 0 ? std::string("initial") : std::to_string(step)) + ".safetensors";
}

struct Found {
  SafetensorsFile file;  // the entry's bytes lie in it
  std::string key;
};

/// The tensor with this digest among a record's dumps of one step.
std::optional<Found> find_tensor(const fs::path& record, std::optional<std::int64_t> rank, std::int64_t step,
                                 const std::string& digest) {
  std::error_code none;
  for (const auto& folder : fs::directory_iterator(record, none)) {
    const std::string name = folder.path().filename().string();
    if (rank ? name != "rank-" + std::to_string(*rank) : name.rfind("rank-", 0) != 0) continue;
    const fs::path path = folder.path() / "dumps" / dump_name(step);
    if (!fs::exists(path, none)) continue;
    const SafetensorsFile file(path);
    for (const auto& [key, entry] : file.entries()) {
      if (tensor_digest(entry.dtype, entry.shape, entry.bytes) == digest) return Found{file, key};
    }
  }
  return std::nullopt;
}

template <typename Value>
std::string value_text(const std::byte* at) {
  Value value;
  std::memcpy(&value, at, sizeof value);
  return to_text(value);
}

std::string value_at(const SafetensorsEntry& entry, std::size_t element) {
  const std::byte* at = entry.bytes.data() + element * dtype_size(entry.dtype);
  if (entry.dtype == "float32") return value_text<float>(at);
  if (entry.dtype == "float64") return value_text<double>(at);
  if (entry.dtype == "int64") return value_text<std::int64_t>(at);
  std::uint16_t bits = 0;  // the 16-bit forms: as bits, which is what differs
  std::memcpy(&bits, at, sizeof bits);
  std::ostringstream text;
  text << "0x" << std::hex << bits;
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

std::string at_level_dump(const std::string& run) {
  toml::table root = toml::parse(run);
  root.insert_or_assign("record", toml::table{{"level", "dump"}});
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

std::optional<ElementDifference> first_element(const FirstDivergence& divergence, const fs::path& reference,
                                               const fs::path& candidate) {
  const auto theirs = find_tensor(reference, std::nullopt, divergence.step, divergence.expected);
  const auto mine = find_tensor(candidate, divergence.rank, divergence.step, divergence.got);
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
  }
  return difference.differing > 0 ? std::optional(difference) : std::nullopt;
}

std::string to_text(const ElementDifference& difference) {
  std::vector<std::string> index, shape;
  std::int64_t elements = 1;
  for (const auto number : difference.index) index.push_back(std::to_string(number));
  for (const auto number : difference.shape) {
    shape.push_back(std::to_string(number));
    elements *= number;
  }
  return "element [" + join(index, ", ") + "] of " + join(shape, "x") + ": expected " + difference.expected + ", got " +
         difference.got + "; " + std::to_string(difference.differing) + " of " + std::to_string(elements) +
         " elements differ";
}

void keep_dumps_of_step(const fs::path& record, std::int64_t step) {
  std::error_code ignored;
  for (const auto& rank : fs::directory_iterator(record, ignored)) {
    for (const auto& dump : fs::directory_iterator(rank.path() / "dumps", ignored)) {
      if (dump.path().filename() != dump_name(step)) fs::remove(dump.path(), ignored);
    }
  }
}

}  // namespace plumbline
