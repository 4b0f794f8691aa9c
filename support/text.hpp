// SPDX-License-Identifier: BSD-3-Clause
// Small text helpers: UTF-8, nearest known word, joining.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

/// Offset of the first byte of invalid UTF-8 (including overlong forms and surrogates); nullopt if all is valid.
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

/// Length in bytes of the valid UTF-8 character at `at`; 0 if there is none.
std::size_t utf8_length(std::string_view bytes, std::size_t at);

/// The known word with the smallest edit distance; nullopt if all distances exceed half of the word's length.
std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean mpi?": the nearest word, ignoring case, or the expansion of a common abbreviation ("bf16", "tcp");
/// of float16, where bfloat16 is known and it is not, that it does not exist; empty if there is none of these.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string join(const std::vector<std::int64_t>& numbers, std::string_view separator);

/// "losses" for "loss", "copies" for "copy".
std::string plural(std::string_view singular);
/// "1 loss", "2 losses".
std::string quantity(std::int64_t count, std::string_view singular);

/// "2x64x512"; empty for a scalar.
std::string shape_text(const std::vector<std::int64_t>& shape);
/// Inverse of shape_text; nullopt if malformed.
std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text);

}  // namespace plumbline
