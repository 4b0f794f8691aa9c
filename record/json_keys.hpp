// SPDX-License-Identifier: BSD-3-Clause
// Typed access to the keys of one JSON object. A missing key or a wrong type is an InputError that names the key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// Keeps a reference to the JSON value, which must outlive this object.
class JsonKeys {
 public:
  /// Throws InputError if `object` is no JSON object.
  JsonKeys(const std::filesystem::path& path, const Json& object, const std::string& prefix = "");

  const Json& at(const std::string& key) const;
  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// True if the key is present and not null.
  bool has_value(const std::string& key) const { return has(key) && !at(key).is_null(); }
  std::string text(const std::string& key) const;
  std::optional<std::string> optional_text(const std::string& key) const;  ///< nullopt if absent or null
  std::string word(const std::string& key, const std::vector<std::string>& known) const;
  std::int64_t integer(const std::string& key, std::int64_t smallest,
                       std::int64_t largest = std::numeric_limits<std::int64_t>::max()) const;
  std::uint64_t unsigned_integer(const std::string& key) const;
  double number(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  bool flag(const std::string& key) const;
  /// An XXH3-128 of 32 lower-case hex digits.
  std::string digest(const std::string& key) const;
  std::vector<std::int64_t> integers(const std::string& key) const;
  JsonKeys object(const std::string& key) const;
  std::vector<JsonKeys> objects(const std::string& key) const;
  /// The members of an object whose values are objects, with their names. Unlike object(), it searches no key.
  std::vector<std::pair<std::string, JsonKeys>> members(const std::string& key) const;
  /// Fails for the first key that is not in `known`.
  void refuse_unknown(const std::vector<std::string>& known) const;
  /// Fails for the first unknown key that is one of `known` but for case, blanks, hyphens and underscores. For objects
  /// that may have keys of their writer's.
  void refuse_misspelled(const std::vector<std::string>& known) const;
  /// InputError: "<file>: key <prefix.key>: <what>".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  /// Null if absent.
  const Json* find(const std::string& key) const;
  std::string whole_name(const std::string& key) const;

  std::filesystem::path path_;
  const Json& object_;
  /// An index of a large object, so that looking up all keys takes linear time; null for a small one.
  std::shared_ptr<const std::unordered_map<std::string_view, const Json*>> index_;
  std::string prefix_;
};

}  // namespace plumbline
