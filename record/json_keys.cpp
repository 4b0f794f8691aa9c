// SPDX-License-Identifier: BSD-3-Clause
#include "record/json_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {

JsonKeys::JsonKeys(const std::filesystem::path& path, const Json& object, const std::string& prefix)
    : path_(path), object_(object), prefix_(prefix) {
  if (!object.is_object())
    throw InputError(fmt::format("{}: {}must be a JSON object", path.string(),
                                 prefix.empty() ? "" : fmt::format("key {}: ", prefix)));
  constexpr std::size_t few = 32;
  if (object.size() <= few) return;
  const auto index = std::make_shared<std::unordered_map<std::string_view, const Json*>>();
  for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) index->emplace(key, &value);
  index_ = index;
}

const Json* JsonKeys::find(const std::string& key) const {
  if (index_) {
    const auto found = index_->find(key);
    return found == index_->end() ? nullptr : found->second;
  }
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

void JsonKeys::fail(const std::string& key, const std::string& what) const {
  throw InputError(fmt::format("{}: key {}: {}", path_.string(), whole_name(key), what));
}

std::string JsonKeys::whole_name(const std::string& key) const {
  return prefix_.empty() ? key : prefix_ + "." + key;
}

const Json& JsonKeys::at(const std::string& key) const {
  const Json* found = find(key);
  if (found == nullptr) fail(key, "is missing");
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

std::uint64_t JsonKeys::unsigned_integer(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_number_integer() || !(value.is_number_unsigned() || value.get<std::int64_t>() >= 0))
    fail(key, "must be an integer of at least 0 and at most 2^64 - 1");
  return value.get<std::uint64_t>();
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

std::vector<std::int64_t> JsonKeys::integers(const std::string& key) const {
  const Json& value = at(key);
  const auto fits = [](const Json& each) {
    return each.is_number_integer() &&
           (!each.is_number_unsigned() || std::in_range<std::int64_t>(each.get<std::uint64_t>()));
  };
  if (!value.is_array() || !std::ranges::all_of(value, fits)) fail(key, "must be a list of integers");
  return value.get<std::vector<std::int64_t>>();
}

bool JsonKeys::flag(const std::string& key) const {
  if (!at(key).is_boolean()) fail(key, "must be true or false");
  return at(key).get<bool>();
}

std::string JsonKeys::digest(const std::string& key) const {
  std::string value = text(key);
  if (!is_digest(value)) fail(key, fmt::format("'{}' is not a digest of 32 lower-case hex digits", value));
  return value;
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

std::vector<std::pair<std::string, JsonKeys>> JsonKeys::members(const std::string& key) const {
  std::vector<std::pair<std::string, JsonKeys>> all;
  for (const auto& [name, value] : object(key).object_.items())
    all.emplace_back(name, JsonKeys(path_, value, whole_name(key) + "." + name));
  return all;
}

void JsonKeys::refuse_unknown(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : object_.items())
    if (std::ranges::find(known, key) == known.end())
      fail(key, fmt::format("is not known{}; known here: {}", did_you_mean(key, known), join(known, ", ")));
}

void JsonKeys::refuse_misspelled(const std::vector<std::string>& known) const {
  const auto plain = [](const std::string& key) {
    std::string letters;
    for (const unsigned char letter : key)
      if (std::isalnum(letter) != 0) letters += static_cast<char>(std::tolower(letter));
    return letters;
  };
  std::map<std::string, std::string> spelled;
  for (const std::string& key : known) spelled[plain(key)] = key;
  for (const auto& [key, value] : object_.items()) {
    const auto meant = spelled.find(plain(key));
    if (meant != spelled.end() && std::ranges::find(known, key) == known.end())
      fail(key, fmt::format("is not known; did you mean {}?", meant->second));
  }
}

}  // namespace plumbline
