// SPDX-License-Identifier: BSD-3-Clause
// TOML files read key by key: a key that nobody asked for is an error that names the nearest known one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

/// One table of a TOML file. Values are asked for by key and type; a wrong type is an InputError with file, line,
/// column and key. Copies share their memory of what was asked for.
class TomlTable {
 public:
  /// Parses a file. Throws InputError with line and column.
  static TomlTable read(const std::filesystem::path& path);

  bool has(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(
      const std::string& key) const;  ///< an integer is taken as a number too; NaN and infinity are refused
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::vector<std::int64_t>> integers(const std::string& key) const;
  std::optional<std::vector<std::string>> texts(const std::string& key) const;
  /// An array of texts, or one text alone.
  std::optional<std::vector<std::string>> one_or_more_texts(const std::string& key) const;
  /// Rows of integers: [96, [33, 20]] gives {{96}, {33, 20}}; an element may be an integer or an array of integers.
  std::optional<std::vector<std::vector<std::int64_t>>> integer_rows(const std::string& key) const;
  /// A text, number or true/false alone, as text.
  std::optional<std::string> scalar_as_text(const std::string& key) const;
  std::optional<TomlTable> table(const std::string& key) const;
  std::vector<TomlTable> tables(const std::string& key) const;  ///< array of tables; empty when absent

  /// Of this table, in the order of the alphabet; asks for none of them.
  std::vector<std::string> keys() const;
  /// Throws InputError naming the first key (in the file) of this table that no call above asked for, and the nearest
  /// one that was.
  void refuse_unknown_keys() const;
  /// "run.toml:12:3, key train.steps": for messages about a value of this table.
  std::string where(const std::string& key) const;

 private:
  struct State;  // the TOML library stays out of this header: it costs seconds to compile
  explicit TomlTable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace plumbline
