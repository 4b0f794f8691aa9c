// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/zero_digests.hpp"

#include <algorithm>
#include <array>

#include "harness/judge/expected/model.hpp"
#include "support/elements.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Limit for shapes, which a row may claim arbitrarily: larger tensors are not digested, and none is allocated.
constexpr std::int64_t most_bytes = std::int64_t{1} << 36;

std::string digest_of_zeros(const std::string& dtype, const Shape& shape) {
  static constexpr std::array<char, std::size_t{1} << 16> zeros{};
  const auto size = static_cast<std::int64_t>(dtype_size(dtype));
  if (size == 0 || element_count(shape) > most_bytes / size) return "none";
  Hasher hasher;
  hasher.update(dtype + "|" + shape_text(shape) + "|");
  for (auto left = static_cast<std::size_t>(element_count(shape) * size); left > 0;) {
    const std::size_t piece = std::min(left, zeros.size());
    hasher.update(zeros.data(), piece);
    left -= piece;
  }
  return hasher.hex();
}

}  // namespace

const std::string& ZeroDigests::digest(const std::string& dtype, const Shape& shape) {
  std::string& digest = known_[{dtype, shape}];
  if (digest.empty()) digest = digest_of_zeros(dtype, shape);
  return digest;
}

}  // namespace plumbline::judging
