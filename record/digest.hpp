// SPDX-License-Identifier: BSD-3-Clause
// The digest by which tensors are compared: XXH3-128 of "<dtype>|<shape>|" followed by the contiguous little-endian
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "record/rows.hpp"

namespace plumbline {

/// True if the text is 32 lower-case hex digits.
bool is_digest(const std::string& text);

/// The text that is hashed before the elements. Throws std::logic_error for an unknown dtype, or if the tensor has
/// another size.
std::string digest_prefix(const std::string& dtype, const Shape& shape, std::size_t bytes);
std::string tensor_digest(const std::string& dtype, const Shape& shape, std::span<const std::byte> bytes);

/// The digest of a microbatch's data: of the int64 tensor [2, batch, length] of its ids and labels.
std::string data_digest(std::int64_t batch, std::int64_t length, const std::int64_t* ids, const std::int64_t* labels);

}  // namespace plumbline
