// SPDX-License-Identifier: BSD-3-Clause
// Numbers as text that reads back to the same bits; the median.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

/// Shortest text that reads back to the same bits; `nan`, `inf`, `-inf`.
std::string to_text(float value);
std::string to_text(double value);
std::string to_text(std::int64_t value);

/// Also tells 0 from -0; a NaN equals itself.
bool same_bits(float one, float other);
bool same_bits(double one, double other);

/// Parses all of `text` as a number; nullopt if characters are left over or the value is out of range.
std::optional<float> parse_float(std::string_view text);
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Median; the mean of the two middle values for an even count, nullopt for none.
std::optional<double> median_of(std::vector<double> values);

}  // namespace plumbline
