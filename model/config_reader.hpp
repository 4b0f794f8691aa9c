// SPDX-License-Identifier: BSD-3-Clause
// Typed access to the keys of a config.json; every error names file, key and value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "support/error.hpp"
#include "support/json.hpp"

namespace plumbline {

/// One JSON object of a config. A key that is absent or null counts as not given, as in transformers.
class ConfigReader {
 public:
  /// Messages put `prefix` before keys ("rope_scaling."). `object` must outlive the reader.
  ConfigReader(const std::filesystem::path& path, const Json& object, std::string prefix = "");

  bool has(const std::string& key) const;
  /// The value itself; call only if `has(key)`.
  const Json& value(const std::string& key) const;

  /// Whole number from 1 to 2^31-1. Throws InputError: missing, not a whole number, out of range.
  std::int64_t size(const std::string& key) const;
  std::int64_t size_or(const std::string& key, std::int64_t otherwise) const;
  /// Finite number above 0.
  double positive(const std::string& key) const;
  double positive_or(const std::string& key, double otherwise) const;
  bool boolean_or(const std::string& key, bool otherwise) const;
  std::string text_or(const std::string& key, const std::string& otherwise) const;
  /// A nested object.
  ConfigReader object(const std::string& key) const;

  /// "config.json: hidden_size = 63: must be ..."
  InputError wrong(const std::string& key, const std::string& complaint) const;
  InputError missing(const std::string& key, const std::string& what_to_do) const;
  /// "... is not supported (only silu)".
  InputError unsupported(const std::string& key, const std::string& only) const;

  const Json& json() const { return object_; }

 private:
  std::filesystem::path path_;
  const Json& object_;
  std::string prefix_;
};

}  // namespace plumbline
