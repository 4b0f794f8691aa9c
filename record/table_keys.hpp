// Each key of a table once, in the order of the steps, and none missing: watched while the rows go by, with no more
// memory than the keys of one step.
#pragma once

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
  /// `key`: of the row, for messages too.
  std::optional<std::string> accept(std::optional<std::int64_t> step, std::int64_t number, const std::string& key);
  /// After the last row.
  std::optional<std::string> finish();
  /// The step that the last finding is about.
  std::optional<std::int64_t> step() const { return step_; }

 private:
  std::optional<std::string> end_step();
  std::optional<std::string> missing_number() const;

  const Manifest& manifest_;
  Complete demand_;
  bool complete_;
  std::optional<std::int64_t> step_;
  std::set<std::string> keys_;      ///< of the step
  std::set<std::int64_t> numbers_;  ///< of the step
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
