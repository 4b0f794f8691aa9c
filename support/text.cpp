// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>

#include "support/numbers.hpp"

namespace plumbline {
namespace {

/// Levenshtein distance that counts a swap of neighbors as one error.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitution = last[j] + (a[i] == b[j] ? 0 : 1);
      row[j + 1] = std::min({row[j] + 1, last[j + 1] + 1, substitution});
      const bool exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (exchanged) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

// The Unicode standard, table 3-7.
std::size_t utf8_length(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  const unsigned second = byte(1);
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned lowest = lead == 0xE0 ? 0xA0 : 0x80;   // else overlong
    const unsigned highest = lead == 0xED ? 0x9F : 0xBF;  // else a surrogate
    return second >= lowest && second <= highest && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned lowest = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned highest = lead == 0xF4 ? 0x8F : 0xBF;  // else beyond U+10FFFF
    return second >= lowest && second <= highest && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::optional<std::size_t> first_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  std::size_t smallest = word.size() / 2;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (nearest ? distance < smallest : distance <= smallest) {
      nearest = candidate;
      smallest = distance;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  static const std::map<std::string, std::string, std::less<>> stand_for{
      {"bf16", "bfloat16"},  {"fp32", "float32"}, {"f32", "float32"}, {"float", "float32"},
      {"single", "float32"}, {"fp64", "float64"}, {"f64", "float64"}, {"double", "float64"},
      {"amp", "mixed"},      {"fp16", "float16"}, {"f16", "float16"}, {"half", "float16"},
      {"tcp", "mpi"},        {"gloo", "mpi"},     {"openmpi", "mpi"}, {"gpu", "cuda"}};
  const auto lower = [](std::string_view text) {
    std::string made(text);
    std::ranges::transform(made, made.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return made;
  };
  std::vector<std::string> lowered;
  for (const std::string& each : known) lowered.push_back(lower(each));
  auto meant = std::ranges::find(lowered, lower(word));
  const auto found = stand_for.find(lower(word));
  const std::string word_meant = found == stand_for.end() ? lower(word) : found->second;
  if (meant == lowered.end()) meant = std::ranges::find(lowered, word_meant);
  const auto has = [&](const char* name) { return std::ranges::find(lowered, name) != lowered.end(); };
  if (word_meant == "float16" && meant == lowered.end() && has("bfloat16"))
    return std::string("; float16 does not exist here, use bfloat16") + (has("mixed") ? " or mixed" : "");
  if (const auto nearest = nearest_word(lower(word), lowered); meant == lowered.end() && nearest) {
    meant = std::ranges::find(lowered, *nearest);
  }
  if (meant == lowered.end()) return "";
  return fmt::format("; did you mean {}?", known[static_cast<std::size_t>(meant - lowered.begin())]);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::to_string(fmt::join(parts, separator));
}

std::string join(const std::vector<std::int64_t>& numbers, std::string_view separator) {
  return fmt::to_string(fmt::join(numbers, separator));
}

std::string plural(std::string_view singular) {
  const auto ends = [&](const char* with) { return singular.ends_with(with); };
  if (ends("y") && !ends("ay") && !ends("ey") && !ends("oy"))
    return std::string(singular.substr(0, singular.size() - 1)) + "ies";
  return std::string(singular) + (ends("s") || ends("x") || ends("ch") ? "es" : "s");
}

std::string quantity(std::int64_t count, std::string_view singular) {
  return fmt::format("{} {}", count, count == 1 ? std::string(singular) : plural(singular));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return join(shape, "x");
}

std::optional<std::vector<std::int64_t>> parse_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const std::string_view digits = text.substr(0, end);
    const auto size = parse_integer(digits);
    // A canonical form: the text of a shape is hashed.
    if (!size || *size < 0 || to_text(*size) != digits || end + 1 == text.size()) return std::nullopt;
    shape.push_back(*size);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

}  // namespace plumbline
