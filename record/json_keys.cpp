// SPDX-License-Identifier: BSD-3-Clause
#include "record/json_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {

JsonKeys::JsonKeys(const std::filesystem::path& path, const Json& object, const std::string& prefix)
    : path_(path), object_(object), prefix_(prefix) {
  if (!object.is_object())
    throw InputError(fmt::format("{}: {}must be a JSON object", path.string(),
                                 prefix.empty() ? "" : fmt::format("key {}: ", prefix)));
}

void JsonKeys::fail(const std::string& key, const std::string& what) const {
  throw InputError(fmt::format("{}: key {}: {}", path_.string(), whole_name(key), what));
}

std::string JsonKeys::whole_name(const std::string& key) const {
  return prefix_.empty() ? key : prefix_ + "." + key;
}

const Json& JsonKeys::at(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) fail(key, "is missing");
  return *found;
}

std::string JsonKeys::text(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(key, "must be a string");
  return value.get<std::string>();
}

std::optional<std::string> JsonKeys::optional_text(const std::string& key) const {
  if (!has_value(key)) return std::nullopt;
  return text(key);
}

std::string JsonKeys::word(const std::string& key, const std::vector<std::string>& known) const {
  const std::string value = text(key);
  if (std::ranges::count(known, value) == 0)
    fail(key, fmt::format("'{}' is not known; known: {}", value, join(known, ", ")));
  return value;
}

std::int64_t JsonKeys::integer(const std::string& key, std::int64_t smallest, std::int64_t largest) const {
  const Json& value = at(key);
  if (!value.is_number_integer()) fail(key, "must be an integer");
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::max<std::int64_t>(largest, 0));
  const auto number = too_large ? largest : value.get<std::int64_t>();
  if (too_large || number < smallest || number > largest)
    fail(key, fmt::format("{} is not between {} and {}", json_text(value), smallest, largest));
  return number;
}

double JsonKeys::number(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_number()) fail(key, "must be a number");
  return value.get<double>();
}

std::vector<std::string> JsonKeys::texts(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_array() || !std::ranges::all_of(value, &Json::is_string)) fail(key, "must be a list of strings");
  return value.get<std::vector<std::string>>();
}

JsonKeys JsonKeys::object(const std::string& key) const {
  return {path_, at(key), whole_name(key)};
}

std::vector<JsonKeys> JsonKeys::objects(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_array()) fail(key, "must be a list of objects");
  std::vector<JsonKeys> all;
  for (std::size_t i = 0; i < value.size(); ++i)
    all.emplace_back(path_, value[i], fmt::format("{}[{}]", whole_name(key), i));
  return all;
}

}  // namespace plumbline
