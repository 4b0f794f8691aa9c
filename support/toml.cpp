// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <type_traits>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "support/toml_library.hpp"

namespace plumbline {

namespace {

const std::string assigned = "--set ";

/// Throws InputError naming the assignment.
toml::table parsed_assignment(const std::string& assignment) {
  const auto [key, value] = split_assignment(assignment);
  const std::string place = assigned + assignment;
  try {
    return parse_toml(place, key + " = " + value);
  } catch (const InputError&) {
    return parse_toml(place, key + " = " + Json(value).dump());
  }
}

/// Moves, since a copied node no longer knows its source.
void assign(toml::table& into, toml::table from) {
  for (auto&& [key, value] : from) {
    toml::table* const inner = value.is_table() ? into[key].as_table() : nullptr;
    if (inner != nullptr) {
      assign(*inner, std::move(*value.as_table()));
    } else {
      into.insert_or_assign(key, std::move(value));
    }
  }
}

}  // namespace

struct TomlTable::State {
  std::shared_ptr<const toml::table> root;  ///< keeps `table` alive
  const toml::table* table;
  std::filesystem::path path;
  std::string prefix;  ///< "train." for the keys of [train]
  std::set<std::string, std::less<>> asked = {};

  const toml::node* find(const std::string& key) {
    asked.insert(key);
    return table->get(key);
  }

  std::string place(const toml::source_region& source) const {
    const std::string file = source.path ? *source.path : path.string();
    if (file.starts_with(assigned)) return file;
    return fmt::format("{}:{}:{}", file, source.begin.line, source.begin.column);
  }

  [[noreturn]] void wrong_type(const std::string& key, const toml::node& node, const std::string& wanted) const {
    throw InputError(fmt::format("{}, key {}{}: must be {}", place(node.source()), prefix, key, wanted));
  }

  /// The value of `key` as a native TOML type, without conversions.
  template <typename Value>
  std::optional<Value> value(const std::string& key, const std::string& wanted) {
    const toml::node* node = find(key);
    if (!node) return std::nullopt;
    return exact_value<Value>(key, *node, wanted);
  }

  template <typename Value>
  Value exact_value(const std::string& key, const toml::node& node, const std::string& wanted) const {
    auto exact = node.value_exact<Value>();
    if (!exact) wrong_type(key, node, wanted);
    if constexpr (std::is_same_v<Value, std::string>) {
      // A null character would truncate file names and messages.
      if (exact->find('\0') != std::string::npos) wrong_type(key, node, wanted + " without the character U+0000");
    }
    return std::move(*exact);
  }

  template <typename Value>
  std::optional<std::vector<Value>> values(const std::string& key, const std::string& wanted) {
    const toml::node* node = find(key);
    if (!node) return std::nullopt;
    if (!node->is_array()) wrong_type(key, *node, wanted);
    std::vector<Value> all;
    for (const toml::node& element : *node->as_array()) all.push_back(exact_value<Value>(key, element, wanted));
    return all;
  }
};

std::pair<std::string, std::string> split_assignment(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  std::string key = assignment.substr(0, equals);
  std::erase(key, ' ');
  if (equals == std::string::npos || key.find('.') == std::string::npos) {
    throw InputError(assigned + assignment + ": write TABLE.KEY=VALUE, for example train.learning_rate=5e-4");
  }
  return {key, assignment.substr(equals + 1)};
}

TomlTable TomlTable::read(const std::filesystem::path& path, const std::vector<std::string>& assignments) {
  const auto root = std::make_shared<toml::table>(parse_toml(path, read_file(path)));
  for (const std::string& each : assignments) assign(*root, parsed_assignment(each));
  return TomlTable(std::make_shared<State>(State{root, root.get(), path, ""}));
}

bool TomlTable::has(const std::string& key) const {
  return state_->find(key) != nullptr;
}

std::optional<std::string> TomlTable::text(const std::string& key) const {
  auto text = state_->value<std::string>(key, "a string");
  if (text && text->empty()) state_->wrong_type(key, *state_->find(key), "a string that is not empty");
  return text;
}

std::optional<std::int64_t> TomlTable::integer(const std::string& key) const {
  return state_->value<std::int64_t>(key, "an integer");
}

std::optional<double> TomlTable::number(const std::string& key) const {
  const toml::node* node = state_->find(key);
  if (!node) return std::nullopt;
  if (const auto whole = node->value_exact<std::int64_t>()) return static_cast<double>(*whole);
  const auto number = node->value_exact<double>();
  if (!number || !std::isfinite(*number)) state_->wrong_type(key, *node, "a finite number");
  return number;
}

std::optional<bool> TomlTable::boolean(const std::string& key) const {
  return state_->value<bool>(key, "true or false");
}

std::optional<std::vector<std::int64_t>> TomlTable::integers(const std::string& key) const {
  return state_->values<std::int64_t>(key, "an array of integers");
}

std::optional<std::vector<std::string>> TomlTable::texts(const std::string& key) const {
  return state_->values<std::string>(key, "an array of strings");
}

std::optional<std::vector<std::string>> TomlTable::one_or_more_texts(const std::string& key) const {
  const std::string wanted = "a string or an array of strings";
  const toml::node* node = state_->find(key);
  if (!node) return std::nullopt;
  const auto all = node->is_array() ? state_->values<std::string>(key, wanted).value()
                                    : std::vector{state_->value<std::string>(key, wanted).value()};
  if (std::ranges::find(all, "") != all.end()) state_->wrong_type(key, *node, wanted + ", none empty");
  return all;
}

std::optional<std::vector<std::vector<std::int64_t>>> TomlTable::integer_rows(const std::string& key) const {
  const std::string wanted = "an array of integers or of arrays of integers";
  const toml::node* node = state_->find(key);
  if (!node) return std::nullopt;
  if (!node->is_array()) state_->wrong_type(key, *node, wanted);
  const auto whole = [&](const toml::node& element) {
    const auto exact = element.value_exact<std::int64_t>();
    if (!exact) state_->wrong_type(key, element, wanted);
    return *exact;
  };
  std::vector<std::vector<std::int64_t>> rows;
  for (const toml::node& element : *node->as_array()) {
    auto& row = rows.emplace_back();
    if (const toml::array* inner = element.as_array())
      for (const toml::node& number : *inner) row.push_back(whole(number));
    else
      row.push_back(whole(element));
  }
  return rows;
}

std::optional<std::string> TomlTable::scalar_as_text(const std::string& key) const {
  const toml::node* node = state_->find(key);
  if (!node) return std::nullopt;
  if (const auto whole = node->value_exact<std::int64_t>()) return to_text(*whole);
  if (const auto number = node->value_exact<double>()) return to_text(*number);
  if (const auto flag = node->value_exact<bool>()) return *flag ? "true" : "false";
  return state_->value<std::string>(key, "a string, a number, or true or false");
}

std::filesystem::path TomlTable::path_in_folder(const std::string& path) const {
  return (state_->path.parent_path() / path).lexically_normal();
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, node] : *state_->table) names.emplace_back(key.str());
  return names;
}

std::optional<TomlTable> TomlTable::table(const std::string& key) const {
  const toml::node* node = state_->find(key);
  if (!node) return std::nullopt;
  if (!node->is_table()) state_->wrong_type(key, *node, "a table");
  return TomlTable(
      std::make_shared<State>(State{state_->root, node->as_table(), state_->path, state_->prefix + key + "."}));
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) const {
  const toml::node* node = state_->find(key);
  if (!node) return {};
  const std::string wanted = fmt::format("an array of tables ([[{}{}]])", state_->prefix, key);
  if (!node->is_array()) state_->wrong_type(key, *node, wanted);
  std::vector<TomlTable> all;
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) state_->wrong_type(key, element, wanted);
    const std::string prefix = fmt::format("{}{}[{}].", state_->prefix, key, all.size());
    all.push_back(TomlTable(std::make_shared<State>(State{state_->root, element.as_table(), state_->path, prefix})));
  }
  return all;
}

void TomlTable::refuse_unknown_keys() const {
  const toml::key* first = nullptr;  // the library sorts keys; users read from the top
  const auto position = [](const toml::key& key) {
    return std::pair(key.source().begin.line, key.source().begin.column);
  };
  for (const auto& [key, node] : *state_->table) {
    const bool asked = state_->asked.contains(key.str());
    if (!asked && (!first || position(key) < position(*first))) first = &key;
  }
  if (!first) return;
  const std::vector<std::string> known(state_->asked.begin(), state_->asked.end());
  const auto nearest = nearest_word(first->str(), known);
  throw InputError(
      fmt::format("{}: unknown key {}{}; {}", state_->place(first->source()), state_->prefix, first->str(),
                  nearest ? fmt::format("did you mean {}?", *nearest) : "known here: " + join(known, ", ")));
}

std::string TomlTable::where(const std::string& key) const {
  const toml::node* node = state_->table->get(key);
  const std::string place = node ? state_->place(node->source()) : state_->path.string();
  return fmt::format("{}, key {}{}", place, state_->prefix, key);
}

}  // namespace plumbline
