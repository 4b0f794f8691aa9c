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

/// Byte offset of the first byte that is not valid UTF-8 (overlong forms and surrogates are not), or nothing.
std::optional<std::size_t> first_invalid_utf8(std::string_view bytes);

/// The known word with the smallest edit distance, or nothing when all are further than half its length.
std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean mpi?": the nearest word whatever its case, or the one that an abbreviation of the field stands for
/// ("bf16", "tcp"); empty where there is neither.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// "2x64x512"; empty for a scalar.
std::string shape_text(const std::vector<std::int64_t>& shape);
/// Inverse of shape_text; nothing when malformed.
std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text);

}  // namespace plumbline
