// SPDX-License-Identifier: BSD-3-Clause
// The keys of a TOML file as a table: what its reader accepts, the words of its errors, the schema for editors and,
// from that, the rows of the documents.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "support/json.hpp"
#include "support/toml.hpp"

namespace plumbline {

enum class TomlType : std::int8_t {
  text,
  integer,
  number,
  flag,
  texts,
  integers,
  text_or_texts,
  integer_rows,  ///< a list of integers, or of lists of them
  table,         ///< without `keys`: of any names, with texts, numbers or flags
  tables,        ///< a list of tables; their reader checks each
};

struct TomlKey {
  std::string name;
  TomlType type = TomlType::text;
  std::string meaning{};  ///< Markdown
  bool required = false;
  std::string example{};             ///< a value of a required key, for the message that it is missing
  Json fallback{};                   ///< the default
  std::string otherwise{};           ///< what holds without the key if that is not a value: "no clipping"
  std::vector<std::string> words{};  ///< accepted texts; empty: any
  std::optional<double> least{};     ///< of a number, or of each integer of a list
  std::optional<double> most{};
  bool above = false;           ///< `least` itself is refused
  bool below = false;           ///< `most` itself is refused
  std::string why_most{};       ///< ", which is 7 days"
  bool distinct = false;        ///< a list may not have a value twice
  bool may_be_empty = false;    ///< a list without values is accepted
  std::vector<TomlKey> keys{};  ///< of a table
};

/// Checks the table by its keys; tables within it are for their own reader. Throws InputError with the place: an
/// unknown key (first, so that a misspelled key is not reported as missing), a missing one, a wrong type, a value out
/// of range.
void check_keys(const TomlTable& table, const std::vector<TomlKey>& keys);

/// Checks the value of one key, which the table has.
void check_key(const TomlTable& table, const TomlKey& key);

/// The JSON Schema of a table. `other_keys`: it may have others, with texts, numbers or flags.
Json toml_object_schema(const std::vector<TomlKey>& keys, bool other_keys);

/// The JSON Schema (draft 7, which editors of TOML read) of a file with these keys.
Json toml_schema(const std::string& title, const std::vector<TomlKey>& keys);

/// Throws InputError with the key's place.
[[noreturn]] void refuse_key(const TomlTable& table, const std::string& key, const std::string& why);

/// A key together with the field of the settings that it sets, from which it has its type and default.
template <typename Settings>
struct KeyOf {
  TomlKey key;
  std::function<void(const TomlTable&, Settings&)> set{};  ///< empty: its reader is elsewhere
};

namespace toml_keys {

template <typename Value>
struct Plain {
  using Type = Value;
};
template <typename Value>
struct Plain<std::optional<Value>> {
  using Type = Value;
};

template <typename Field>
constexpr TomlType type_of() {
  using Value = typename Plain<Field>::Type;
  if constexpr (std::same_as<Value, bool>) return TomlType::flag;
  if constexpr (std::integral<Value>) return TomlType::integer;
  if constexpr (std::floating_point<Value>) return TomlType::number;
  if constexpr (std::same_as<Value, std::vector<std::int64_t>>) return TomlType::integers;
  if constexpr (std::same_as<Value, std::vector<std::string>>) return TomlType::texts;
  return TomlType::text;
}

template <typename Field>
void set_field(const TomlTable& table, const std::string& key, Field& field) {
  using Value = typename Plain<Field>::Type;
  if constexpr (type_of<Field>() == TomlType::flag) field = *table.boolean(key);
  if constexpr (type_of<Field>() == TomlType::integer) field = static_cast<Value>(*table.integer(key));
  if constexpr (type_of<Field>() == TomlType::number) field = *table.number(key);
  if constexpr (type_of<Field>() == TomlType::integers) field = *table.integers(key);
  if constexpr (type_of<Field>() == TomlType::texts) field = *table.texts(key);
  if constexpr (std::same_as<Value, std::string>) field = *table.text(key);
  if constexpr (std::same_as<Value, std::filesystem::path>) field = table.path_in_folder(*table.text(key));
}

template <typename Field>
Json default_of(const Field& field) {
  if constexpr (std::is_arithmetic_v<Field> || std::same_as<Field, std::string>) return field;
  return {};
}

}  // namespace toml_keys

/// `field` returns the field of given settings. The rest of the key is as given; a required key and one with
/// `otherwise` have no default.
template <typename Settings, typename Field>
KeyOf<Settings> key_of(Field field, TomlKey key) {
  Settings defaults;
  using Value = std::remove_reference_t<decltype(field(defaults))>;
  key.type = toml_keys::type_of<Value>();
  if (!key.required && key.otherwise.empty()) key.fallback = toml_keys::default_of(field(defaults));
  return {key, [field, name = key.name](const TomlTable& table, Settings& settings) {
            toml_keys::set_field(table, name, field(settings));
          }};
}

template <typename Settings>
std::vector<TomlKey> without_fields(const std::vector<KeyOf<Settings>>& keys) {
  std::vector<TomlKey> all;
  for (const auto& each : keys) all.push_back(each.key);
  return all;
}

/// Checks the table and sets the fields of the keys that it has. Throws as check_keys does.
template <typename Settings>
void read_keys(const TomlTable& table, const std::vector<KeyOf<Settings>>& keys, Settings& settings) {
  check_keys(table, without_fields(keys));
  for (const auto& each : keys) {
    if (each.set && table.has(each.key.name)) each.set(table, settings);
  }
}

}  // namespace plumbline
