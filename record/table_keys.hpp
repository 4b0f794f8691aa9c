// SPDX-License-Identifier: BSD-3-Clause
// Each key of a table once, in the order of the steps, and none missing: watched while the rows go by, with no more
// memory than the keys of one step.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "record/columns.hpp"
#include "record/record.hpp"

namespace plumbline {

/// Of one rank's table. A finding is a text that goes on after "<file>:<line>: ".
class TableKeys {
 public:
  /// `complete`: whether the rank ended well, so that nothing may be missing.
  TableKeys(const Manifest& manifest, Complete demand, bool complete);

  /// `step`: absent in a table that has no such column. `number`: the microbatch or index that must not leave a gap.
  /// `key`: gives the row's, for messages too; not asked where step and number are the whole key.
  template <std::invocable Key>
  std::optional<std::string> accept(std::optional<std::int64_t> step, std::int64_t number, Key key) {
    if (auto wrong = accept_step(step)) return wrong;
    const bool fresh = numbers_are_keys() ? numbers_.insert(number) : keys_.insert(key()).second;
    if (!fresh) return "a second row of the same key: " + key();
    return std::nullopt;
  }
  /// After the last row.
  std::optional<std::string> finish();
  /// The step that the last finding is about.
  std::optional<std::int64_t> step() const { return step_; }

 private:
  /// Whole numbers seen in a step. Mostly they come in their order, and then a count says it all.
  class Numbers {
   public:
    /// False when it was there.
    bool insert(std::int64_t number);
    /// The first that is missing; every smaller one was seen.
    std::int64_t first_missing() const { return first_missing_; }
    bool gap() const { return !beyond_.empty(); }
    bool empty() const { return first_missing_ == 0 && beyond_.empty(); }
    void clear() { first_missing_ = 0, beyond_.clear(); }

   private:
    std::int64_t first_missing_ = 0;
    std::set<std::int64_t> beyond_;  ///< seen, and larger than one that is missing
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
    for (const Column<Row>& column : table_of<Row>().columns)
      if (column.name == name) text += (text.empty() ? "" : ", ") + name + " " + column.text(row);
  return text;
}

}  // namespace plumbline
