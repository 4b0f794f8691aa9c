// SPDX-License-Identifier: BSD-3-Clause
#include "model/config_reader.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "support/json_text.hpp"

namespace plumbline {

ConfigReader::ConfigReader(const std::filesystem::path& path, const Json& object, std::string prefix)
    : path_(path), object_(object), prefix_(std::move(prefix)) {}

bool ConfigReader::has(const std::string& key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& ConfigReader::value(const std::string& key) const {
  return object_.at(key);
}

std::int64_t ConfigReader::size(const std::string& key) const {
  if (!has(key)) {
    throw missing(key, "give it an integer above 0");
  }
  const Json& found = value(key);
  if (!found.is_number_integer()) {
    throw wrong(key, "must be an integer");
  }
  // A product of two sizes must fit into 64 bits; an unsigned value above int64's range is read as negative.
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (found.get<std::int64_t>() < 1 || found.get<std::int64_t>() > largest) {
    throw wrong(key, "must be from 1 to " + std::to_string(largest));
  }
  return found.get<std::int64_t>();
}

std::int64_t ConfigReader::size_or(const std::string& key, std::int64_t otherwise) const {
  return has(key) ? size(key) : otherwise;
}

double ConfigReader::positive(const std::string& key) const {
  if (!has(key)) {
    throw missing(key, "give it a number above 0");
  }
  if (!value(key).is_number()) {
    throw wrong(key, "must be a number");
  }
  const double number = value(key).get<double>();
  if (!(number > 0) || !std::isfinite(number)) {
    throw wrong(key, "must be a finite number above 0");
  }
  return number;
}

double ConfigReader::positive_or(const std::string& key, double otherwise) const {
  return has(key) ? positive(key) : otherwise;
}

bool ConfigReader::boolean_or(const std::string& key, bool otherwise) const {
  if (!has(key)) {
    return otherwise;
  }
  if (!value(key).is_boolean()) {
    throw wrong(key, "must be true or false");
  }
  return value(key).get<bool>();
}

std::string ConfigReader::text_or(const std::string& key, const std::string& otherwise) const {
  if (!has(key)) {
    return otherwise;
  }
  if (!value(key).is_string()) {
    throw wrong(key, "must be a string");
  }
  return value(key).get<std::string>();
}

ConfigReader ConfigReader::object(const std::string& key) const {
  if (!value(key).is_object()) {
    throw wrong(key, "must be an object");
  }
  return ConfigReader(path_, value(key), prefix_ + key + ".");
}

InputError ConfigReader::wrong(const std::string& key, const std::string& complaint) const {
  return InputError(path_.string() + ": " + prefix_ + key + " = " + json_text(value(key)) + ": " + complaint);
}

InputError ConfigReader::missing(const std::string& key, const std::string& what_to_do) const {
  return InputError(path_.string() + ": " + prefix_ + key + " is missing: " + what_to_do);
}

InputError ConfigReader::unsupported(const std::string& key, const std::string& only) const {
  return wrong(key, "is not supported (only " + only + ")");
}

}  // namespace plumbline
