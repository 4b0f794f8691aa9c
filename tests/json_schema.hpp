// SPDX-License-Identifier: BSD-3-Clause
// Compares the JSON Schemas of docs/schemas with the files that the programs write.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// Whether keys of an object may be absent. Keys of nested objects may not.
enum class KeysMayBeAbsent { no, yes };

/// Collects the keys of an object and its nested objects, "cells[].checks[].name"; a list counts by its first entry.
inline void collect_keys(const Json& value, const std::string& prefix, std::set<std::string>& keys) {
  for (const auto& [key, inner] : value.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    keys.insert(path);
    if (inner.is_object()) collect_keys(inner, path, keys);
    if (inner.is_array() && !inner.empty() && inner.front().is_object()) collect_keys(inner.front(), path + "[]", keys);
  }
}

/// The same for a JSON Schema, from its `properties`; keys that the schema lets be absent are collected apart.
inline void collect_properties(const Json& schema, const Json& root, const std::string& prefix,
                               std::set<std::string>& keys, KeysMayBeAbsent absent) {
  const auto resolved = [&](const Json& part) -> const Json& {
    if (!part.contains("$ref")) return part;
    return root.at(Json::json_pointer(part.at("$ref").get<std::string>().substr(1)));
  };
  const Json& object = resolved(schema);
  if (!object.contains("properties")) return;
  if (object.value("additionalProperties", Json(false)).is_object()) return;  // any name is allowed
  EXPECT_EQ(object.value("additionalProperties", true), false) << prefix;
  if (absent == KeysMayBeAbsent::no) {
    const auto defaults = std::ranges::count_if(object.at("properties"), [](const Json& part) {
      return part.value("description", "").starts_with("absent: ");  // the schema says what that means
    });
    EXPECT_EQ(object.at("required").size() + static_cast<std::size_t>(defaults), object.at("properties").size())
        << prefix << ": a key that may be absent";
  }
  for (const auto& [key, part] : object.at("properties").items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    keys.insert(path);
    collect_properties(part, root, path, keys, KeysMayBeAbsent::no);
    for (const char* several : {"anyOf", "oneOf"}) {
      for (const Json& choice : part.value(several, Json::array()))
        collect_properties(choice, root, path, keys, KeysMayBeAbsent::no);
    }
    if (part.contains("items")) collect_properties(part.at("items"), root, path + "[]", keys, KeysMayBeAbsent::no);
  }
}

inline constexpr const char* no_validator = "no python3 with the module jsonschema (Debian: python3-jsonschema)";

/// The first Python that has it; the system's Python is not always the one on PATH. Empty if none has it.
inline const std::string& validating_python() {
  static const std::string found = [] {
    for (const std::string python : {"python3", "/usr/bin/python3"})
      if (std::system((python + " -c 'import jsonschema' 2>/dev/null").c_str()) == 0) return python;
    return std::string();
  }();
  return found;
}

inline bool can_validate() {
  return !validating_python().empty();
}

/// Which of these values the Python package jsonschema (Debian: python3-jsonschema) accepts. Checks all in one process,
/// since the import takes longer than all checks.
inline std::vector<bool> accepted_by_schema(const std::vector<Json>& values, const std::filesystem::path& schema) {
  const TemporaryFolder folder;
  const std::string script =
      "import json, sys, jsonschema\n"
      "schema = json.load(open(sys.argv[2]))\n"
      "kind = jsonschema.validators.validator_for(schema)\n"
      "kind.check_schema(schema)\n"
      "print(*[int(kind(schema).is_valid(each)) for each in json.load(open(sys.argv[1]))])\n";
  const std::string command = validating_python() + " " + folder.file("valid.py", script).string() + " " +
                              folder.file("values.json", Json(values).dump()).string() + " '" + schema.string() +
                              "' > " + (folder / "said").string();
  EXPECT_EQ(std::system(command.c_str()), 0) << schema;
  std::istringstream said(bytes_of(folder / "said"));
  std::vector<bool> each;
  for (int one = 0; said >> one;) each.push_back(one != 0);
  EXPECT_EQ(each.size(), values.size());
  each.resize(values.size());
  return each;
}

/// Expects that the schema accepts all of `right` and none of `wrong`.
inline void expect_by_schema(const std::filesystem::path& schema, const std::vector<Json>& right,
                             const std::vector<Json>& wrong) {
  std::vector<Json> all = right;
  all.insert(all.end(), wrong.begin(), wrong.end());
  const std::vector<bool> accepted = accepted_by_schema(all, schema);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(accepted[i], i < right.size()) << all[i];
}

/// Returns one value for each change.
inline std::vector<Json> with_each(const Json& value, const std::vector<std::function<void(Json&)>>& changes) {
  std::vector<Json> changed(changes.size(), value);
  for (std::size_t i = 0; i < changes.size(); ++i) changes[i](changed[i]);
  return changed;
}

}  // namespace plumbline::testing
