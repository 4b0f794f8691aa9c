// SPDX-License-Identifier: BSD-3-Clause
#include "support/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64, "integers are compared in long double");

void refuse_non_finite(const Json& value, const std::string& where) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw std::logic_error("JSON has no NaN or infinity, but there is one at " + (where.empty() ? "the top" : where));
  if (value.is_structured())
    for (const auto& [key, member] : value.items()) refuse_non_finite(member, where + "/" + key);
}

/// Compares integers exactly; `==` of Json compares as double if one of the numbers is a float.
bool same_numbers(const Json& one, const Json& other) {
  const auto exact = [](const Json& number) {  // long double has 64 bits of mantissa, enough for every integer of JSON
    if (number.is_number_unsigned()) return static_cast<long double>(number.get<std::uint64_t>());
    if (number.is_number_integer()) return static_cast<long double>(number.get<std::int64_t>());
    return static_cast<long double>(number.get<double>());
  };
  return exact(one) == exact(other);
}

/// By key.
std::vector<std::pair<std::string_view, const Json*>> sorted_members(const Json& object) {
  std::vector<std::pair<std::string_view, const Json*>> members;
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) members.emplace_back(key, &value);
  std::ranges::sort(members, {}, &std::pair<std::string_view, const Json*>::first);
  return members;
}

}  // namespace

Json read_json(const std::filesystem::path& path, std::size_t most, JsonTexts texts) {
  return parse_json(path, read_file(path, most), texts);
}

void write_json(const std::filesystem::path& path, const Json& value) {
  refuse_non_finite(value, "");
  write_file(path, json_text(value, 2) + "\n");
}

bool same_content(const Json& one, const Json& other) {
  if (one.is_number() && other.is_number()) return same_numbers(one, other);
  if (one.type() != other.type() || one.size() != other.size()) return false;
  if (one.is_array())
    return std::equal(one.begin(), one.end(), other.begin(),
                      [](const Json& left, const Json& right) { return same_content(left, right); });
  if (!one.is_object()) return one == other;
  const auto mine = sorted_members(one), theirs = sorted_members(other);
  return std::equal(mine.begin(), mine.end(), theirs.begin(), [](const auto& left, const auto& right) {
    return left.first == right.first && same_content(*left.second, *right.second);
  });
}

}  // namespace plumbline
