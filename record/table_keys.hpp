// SPDX-License-Identifier: BSD-3-Clause
// Checks that each key of a table occurs once, in the order of steps, and that none is missing. It sees the rows in
// sequence and keeps only the keys of one step.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "record/columns.hpp"
#include "record/record.hpp"

namespace plumbline {

/// Checks one rank's table. A finding is a text that follows "<file>:<line>: ".
class TableKeys {
 public:
  /// `complete`: the rank completed, so no key may be missing.
  TableKeys(const Manifest& manifest, Complete demand, bool complete);

  /// `step`: nullopt if the table has no such column. `number`: the microbatch or index, which must have no gap. `key`:
  /// returns the row's key, for messages too; not called if step and number are the whole key.
  template <std::invocable Key>
  std::optional<std::string> accept(std::optional<std::int64_t> step, std::int64_t number, Key key) {
    if (auto wrong = accept_step(step)) return wrong;
    const bool fresh = numbers_are_keys() ? numbers_.insert(number) : keys_.insert(key()).second;
    if (!fresh) return "a second row of the same key: " + key();
    return std::nullopt;
  }
  /// Call after the last row.
  std::optional<std::string> finish();
  /// The step of the last finding.
  std::optional<std::int64_t> step() const { return step_; }

 private:
  /// The set of numbers seen in a step. As long as they come in order, a count represents it.
  class Numbers {
   public:
    /// Returns false if the number is already in the set.
    bool insert(std::int64_t number);
    /// The smallest missing number.
    std::int64_t first_missing() const { return first_missing_; }
    bool gap() const { return !beyond_.empty(); }
    bool empty() const { return first_missing_ == 0 && beyond_.empty(); }
    void clear() { first_missing_ = 0, beyond_.clear(); }

   private:
    std::int64_t first_missing_ = 0;
    std::set<std::int64_t> beyond_;  ///< numbers seen above the smallest missing one
  };

  bool numbers_are_keys() const {
    return demand_ == Complete::each_step || demand_ == Complete::each_microbatch || demand_ == Complete::each_index;
  }
  std::optional<std::string> accept_step(std::optional<std::int64_t> step);
  std::optional<std::string> end_step();
  std::optional<std::string> missing_number() const;

  const Manifest& manifest_;
  Complete demand_;
  bool complete_;
  std::optional<std::int64_t> step_;
  std::set<std::string> keys_;  ///< of the step
  Numbers numbers_;             ///< of the step
};

/// The row's cells of the key's columns: "step 2, microbatch 3".
template <typename Row>
std::string key_text(const Row& row) {
  std::string text;
  for (const std::string& name : table_of<Row>().key)
    for (const TableColumn<Row>& column : table_of<Row>().columns)
      if (column.name == name) text += (text.empty() ? "" : ", ") + name + " " + column.text(row);
  return text;
}

}  // namespace plumbline
