// SPDX-License-Identifier: BSD-3-Clause
#include "record/digest.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "support/elements.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {

bool is_digest(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string digest_prefix(const std::string& dtype, const Shape& shape, std::size_t bytes) {
  const std::size_t size = dtype_size(dtype);
  if (size == 0 || size * static_cast<std::size_t>(element_count(shape)) != bytes)
    throw std::logic_error(
        fmt::format("no tensor to digest: dtype {}, shape [{}], {} bytes", dtype, shape_text(shape), bytes));
  return dtype + "|" + shape_text(shape) + "|";
}

std::string tensor_digest(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.update(digest_prefix(dtype, shape, bytes.size()));
  hasher.update(bytes.data(), bytes.size());
  return hasher.hex();
}

std::string data_digest(std::int64_t batch, std::int64_t length, const std::int64_t* ids, const std::int64_t* labels) {
  const std::int64_t count = batch * length;
  std::vector<std::int64_t> both(ids, ids + count);
  both.insert(both.end(), labels, labels + count);
  return tensor_digest("int64", {2, batch, length}, std::as_bytes(std::span(both)));
}

}  // namespace plumbline
