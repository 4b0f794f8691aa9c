// SPDX-License-Identifier: BSD-3-Clause
// JSON Schemas of docs/schemas, held to the files that the programs write.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "support/json.hpp"

namespace plumbline::testing {

/// Of an object's own keys; those of what it holds may not.
enum class KeysMayBeAbsent { no, yes };

/// The keys of an object and of what it holds, "cells[].checks[].name": of a list the first entry stands for all.
inline void collect_keys(const Json& value, const std::string& prefix, std::set<std::string>& keys) {
  for (const auto& [key, inner] : value.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    keys.insert(path);
    if (inner.is_object()) collect_keys(inner, path, keys);
    if (inner.is_array() && !inner.empty() && inner.front().is_object()) collect_keys(inner.front(), path + "[]", keys);
  }
}

/// The same of a JSON Schema, by its `properties`; a key that the schema lets be absent is told apart.
inline void collect_properties(const Json& schema, const Json& root, const std::string& prefix,
                               std::set<std::string>& keys, KeysMayBeAbsent absent) {
  const auto resolved = [&](const Json& part) -> const Json& {
    if (!part.contains("$ref")) return part;
    return root.at(Json::json_pointer(part.at("$ref").get<std::string>().substr(1)));
  };
  const Json& object = resolved(schema);
  if (!object.contains("properties")) return;
  if (object.value("additionalProperties", Json(false)).is_object()) return;  // of any name
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

/// The first Python that has it; the system's own is not always the one on PATH. Empty: none has.
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

/// Whether jsonschema, a Python package (Debian: python3-jsonschema), finds the file as docs/schemas says.
inline int validate(const std::filesystem::path& file, const std::filesystem::path& schema) {
  const std::string script =
      "import json, sys, jsonschema; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))";
  return std::system(
      (validating_python() + " -c '" + script + "' '" + file.string() + "' '" + schema.string() + "' 2>/dev/null")
          .c_str());
}

}  // namespace plumbline::testing
