// SPDX-License-Identifier: BSD-3-Clause
#include "record/digest.hpp"

#include <stdexcept>

#include "support/elements.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {

bool is_digest(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string tensor_digest(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes) {
  const std::size_t size = dtype_size(dtype);
  if (size == 0 || size * static_cast<std::size_t>(element_count(shape)) != bytes.size())
    throw std::logic_error("no tensor to digest: dtype " + dtype + ", shape [" + shape_text(shape) + "], " +
                           std::to_string(bytes.size()) + " bytes");
  Hasher hasher;
  hasher.update(dtype + "|" + shape_text(shape) + "|");
  hasher.update(bytes.data(), bytes.size());
  return hasher.hex();
}

}  // namespace plumbline
