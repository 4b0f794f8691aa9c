// SPDX-License-Identifier: BSD-3-Clause
#include "support/numbers.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

namespace plumbline {
namespace {

template <typename Number>
std::string shortest(Number value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end.ptr};
}

template <typename Number>
std::optional<Number> whole(std::string_view text) {
  Number value{};
  const char* last = text.data() + text.size();
  const auto end = std::from_chars(text.data(), last, value);
  if (end.ec != std::errc{} || end.ptr != last) return std::nullopt;
  return value;
}

}  // namespace

// to_chars would print the sign of a NaN, which says nothing and differs between kernels.
std::string to_text(float value) {
  return std::isnan(value) ? "nan" : shortest(value);
}
std::string to_text(double value) {
  return std::isnan(value) ? "nan" : shortest(value);
}
std::string to_text(std::int64_t value) {
  return shortest(value);
}

std::optional<float> parse_float(std::string_view text) {
  return whole<float>(text);
}
std::optional<double> parse_double(std::string_view text) {
  return whole<double>(text);
}
std::optional<std::int64_t> parse_integer(std::string_view text) {
  return whole<std::int64_t>(text);
}

bool same_bits(float one, float other) {
  return std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other);
}
bool same_bits(double one, double other) {
  return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace plumbline
