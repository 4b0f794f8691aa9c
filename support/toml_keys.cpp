// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string limit_text(double limit) {
  return limit == std::floor(limit) ? to_text(static_cast<std::int64_t>(limit)) : to_text(limit);
}

/// "from 1 to 64", "above 0 and at most 1", "at least 0".
std::string range_text(const TomlKey& key) {
  if (key.least && key.most && !key.above && !key.below)
    return fmt::format("from {} to {}{}", limit_text(*key.least), limit_text(*key.most), key.why_most);
  std::string text;
  if (key.least) text = (key.above ? "above " : "at least ") + limit_text(*key.least);
  if (key.most)
    text += (text.empty() ? "" : " and ") + std::string(key.below ? "below " : "at most ") + limit_text(*key.most) +
            key.why_most;
  return text;
}

bool in_range(const TomlKey& key, double value) {
  return (!key.least || (key.above ? value > *key.least : value >= *key.least)) &&
         (!key.most || (key.below ? value < *key.most : value <= *key.most));
}

template <typename Value>
void need_in_range(const TomlTable& table, const TomlKey& key, const std::vector<Value>& values) {
  for (const Value value : values) {
    if (!in_range(key, static_cast<double>(value)))
      refuse_key(table, key.name, fmt::format("is {}; it must be {}", to_text(value), range_text(key)));
  }
}

void need_known(const TomlTable& table, const TomlKey& key, const std::vector<std::string>& values) {
  if (key.words.empty()) return;
  for (const std::string& value : values) {
    if (std::ranges::find(key.words, value) == key.words.end())
      refuse_key(table, key.name,
                 fmt::format("\"{}\" is unknown; give one of {}{}", value, join(key.words, ", "),
                             did_you_mean(value, key.words)));
  }
}

template <typename Value>
void need_list(const TomlTable& table, const TomlKey& key, const std::vector<Value>& values) {
  if (values.empty() && !key.may_be_empty)
    refuse_key(table, key.name,
               std::string("is empty; ") + (key.required ? "" : "omit it or ") + "give at least one value");
  if (key.distinct && std::set<Value>(values.begin(), values.end()).size() != values.size())
    refuse_key(table, key.name, "has the same value twice; remove one");
}

Json limited(Json schema, const TomlKey& key) {
  const auto limit = [](double value) {
    return value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value);
  };
  if (key.least) schema[key.above ? "exclusiveMinimum" : "minimum"] = limit(*key.least);
  if (key.most) schema[key.below ? "exclusiveMaximum" : "maximum"] = limit(*key.most);
  return schema;
}

Json list_of(const Json& items, const TomlKey& key) {
  Json schema{{"type", "array"}, {"items", items}};
  if (!key.may_be_empty) schema["minItems"] = 1;
  if (key.distinct) schema["uniqueItems"] = true;
  return schema;
}

Json type_schema(const TomlKey& key) {
  const Json integer = limited({{"type", "integer"}}, key);
  Json text = Json{{"type", "string"}};
  if (!key.words.empty()) text = Json{{"enum", key.words}};
  switch (key.type) {
    case TomlType::text:
      if (key.words.empty()) text["minLength"] = 1;
      return text;
    case TomlType::integer:
      return integer;
    case TomlType::number:
      return limited({{"type", "number"}}, key);
    case TomlType::flag:
      return {{"type", "boolean"}};
    case TomlType::texts:
      return list_of(text, key);
    case TomlType::text_or_texts:
      return {{"anyOf", {text, list_of(text, key)}}};
    case TomlType::integers:
      return list_of(integer, key);
    case TomlType::integer_rows:
      return list_of({{"anyOf", {integer, list_of(integer, {})}}}, key);
    case TomlType::table:
      return toml_object_schema(key.keys, key.keys.empty());
    case TomlType::tables:
      return {{"type", "array"}, {"items", {{"type", "object"}}}};
  }
  return {};
}

}  // namespace

void refuse_key(const TomlTable& table, const std::string& key, const std::string& why) {
  throw InputError(table.where(key) + ": " + why);
}

void check_key(const TomlTable& table, const TomlKey& key) {
  switch (key.type) {
    case TomlType::text:
      return need_known(table, key, {*table.text(key.name)});
    case TomlType::integer:
      return need_in_range(table, key, std::vector{*table.integer(key.name)});
    case TomlType::number:
      return need_in_range(table, key, std::vector{*table.number(key.name)});
    case TomlType::flag:
      return void(table.boolean(key.name));
    case TomlType::texts:
    case TomlType::text_or_texts: {
      const auto values = key.type == TomlType::texts ? *table.texts(key.name) : *table.one_or_more_texts(key.name);
      need_list(table, key, values);
      return need_known(table, key, values);
    }
    case TomlType::integers: {
      const auto values = *table.integers(key.name);
      need_list(table, key, values);
      return need_in_range(table, key, values);
    }
    case TomlType::integer_rows: {
      const auto rows = *table.integer_rows(key.name);
      need_list(table, key, rows);
      for (const auto& row : rows) {
        if (row.empty()) refuse_key(table, key.name, "has an empty list in it; give at least one number");
        need_in_range(table, key, row);
      }
      return;
    }
    case TomlType::table:
      return void(table.table(key.name));
    case TomlType::tables:
      return void(table.tables(key.name));
  }
}

void check_keys(const TomlTable& table, const std::vector<TomlKey>& keys) {
  for (const TomlKey& key : keys) table.has(key.name);
  table.refuse_unknown_keys();
  for (const TomlKey& key : keys) {
    if (table.has(key.name)) {
      check_key(table, key);
    } else if (key.required) {
      refuse_key(table, key.name,
                 key.type == TomlType::table ? "the table [" + key.name + "] is missing"
                                             : "is missing; write for example " + key.name + " = " + key.example);
    }
  }
}

Json toml_object_schema(const std::vector<TomlKey>& keys, bool other_keys) {
  Json required = Json::array(), properties = Json::object();
  for (const TomlKey& key : keys) {
    if (key.required) required.push_back(key.name);
    Json schema = type_schema(key);
    if (!key.meaning.empty()) schema["description"] = key.meaning;
    if (!key.fallback.is_null()) schema["default"] = key.fallback;
    if (!key.otherwise.empty()) schema["x-default"] = key.otherwise;
    properties[key.name] = schema;
  }
  Json schema{{"type", "object"}, {"additionalProperties", false}};
  if (other_keys) schema["additionalProperties"] = Json{{"type", {"string", "number", "boolean"}}};
  if (!required.empty()) schema["required"] = required;
  if (!properties.empty()) schema["properties"] = properties;
  return schema;
}

Json toml_schema(const std::string& title, const std::vector<TomlKey>& keys) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(toml_object_schema(keys, false));
  return schema;
}

}  // namespace plumbline
