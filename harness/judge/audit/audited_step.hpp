// SPDX-License-Identifier: BSD-3-Clause
// A step of a record for the recomputation: rows by rank with their lines, and those of the previous step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/audit/findings.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

/// A row of tensors.csv and its location.
struct TensorPlace {
  std::int64_t rank = 0;
  std::size_t index = 0;  ///< index in the rank's rows
  const TensorRow* row = nullptr;
};

/// Keeps pointers into the rows.
class AuditedStep {
 public:
  /// `record`: with the rows of the step; `before`: those of the previous step, by rank, with their offset
  /// `rows_before`.
  AuditedStep(const Record& record, std::int64_t step, const std::vector<RankRecord>& before,
              const std::vector<RowsBefore>& rows_before);

  const Record& record() const { return record_; }
  const Manifest& manifest() const { return record_.manifest; }
  std::int64_t step() const { return step_; }
  const std::vector<RankRecord>& before() const { return before_; }
  const RowsBefore& rows_before(std::int64_t rank) const { return rows_before_[static_cast<std::size_t>(rank)]; }

  /// All ranks' rows.
  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  /// The row of this kind with the name, rank and stage of `like`; null if there is none.
  const TensorRow* row_like(const std::string& kind, const TensorPlace& like) const;
  /// The same in the previous step.
  const TensorRow* before(const std::string& kind, const TensorPlace& like) const;

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::string, std::string>;  ///< rank, stage, kind, name
  using Rows = std::map<Key, const TensorRow*>;
  static const TensorRow* find(const Rows& rows, const std::string& kind, const TensorPlace& like);

  const Record& record_;
  std::int64_t step_;
  const std::vector<RankRecord>& before_;
  const std::vector<RowsBefore>& rows_before_;
  std::vector<TensorPlace> tensors_;
  Rows by_key_, before_by_key_;
};

/// "rank-1/steps.csv:3": the first row is in line 2.
std::string table_line(std::int64_t rank, const std::string& file, std::size_t row);

/// A row of one of a rank's tables.
struct RowPlace {
  std::int64_t step = 0, rank = 0;
  std::string file;
  std::size_t index = 0;  ///< index in the whole table
  std::optional<std::int64_t> microbatch = {};
};

Finding at_row(const RowPlace& row, const std::string& level, const std::string& item, const std::string& expected,
               const std::string& got, const std::string& why);

/// About a tensor; `source`: another file than its row of tensors.csv.
Finding at_tensor(const TensorPlace& place, const std::string& item, const std::string& expected,
                  const std::string& got, const std::string& why, const std::string& source = "");

}  // namespace plumbline::auditing
