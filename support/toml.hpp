// SPDX-License-Identifier: BSD-3-Clause
// TOML files, read key by key. A key that no reader requested is an error that names the nearest known one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

/// "train.steps=4" as key and value; the value need not be TOML. Throws InputError if it is not TABLE.KEY=VALUE.
std::pair<std::string, std::string> split_assignment(const std::string& assignment);

/// One table of a TOML file. Values are read by key and type; a wrong type is an InputError with file, line, column and
/// key. Copies share the list of requested keys.
class TomlTable {
 public:
  /// Parses a file. Throws InputError with line and column. `assignments` (split_assignment) add or replace keys; a
  /// value that is not TOML is a text.
  static TomlTable read(const std::filesystem::path& path, const std::vector<std::string>& assignments = {});

  bool has(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;  ///< refuses an empty one
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;  ///< integers are accepted; NaN and infinity are refused
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::vector<std::int64_t>> integers(const std::string& key) const;
  std::optional<std::vector<std::string>> texts(const std::string& key) const;
  /// An array of texts, or a single text; none may be empty.
  std::optional<std::vector<std::string>> one_or_more_texts(const std::string& key) const;
  /// [96, [33, 20]] gives {{96}, {33, 20}}: an element may be an integer or an array of integers.
  std::optional<std::vector<std::vector<std::int64_t>>> integer_rows(const std::string& key) const;
  /// A text, number or boolean as text.
  std::optional<std::string> scalar_as_text(const std::string& key) const;
  std::optional<TomlTable> table(const std::string& key) const;
  std::vector<TomlTable> tables(const std::string& key) const;  ///< array of tables; empty when absent

  /// This table's keys in alphabetical order; does not mark them as requested.
  std::vector<std::string> keys() const;
  /// Throws InputError naming the first key (in file order) of this table that no call above requested, and the nearest
  /// requested one.
  void refuse_unknown_keys() const;
  /// A path relative to the file's folder, from here.
  std::filesystem::path path_in_folder(const std::string& path) const;
  /// "run.toml:12:3, key train.steps", for messages.
  std::string where(const std::string& key) const;

 private:
  struct State;  // hides the TOML library, which takes seconds to compile
  explicit TomlTable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace plumbline
