// A record as the audit walks it: rows by step and rank, with the line each stands in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/judge/audit/findings.hpp"
#include "record/record.hpp"

namespace plumbline::auditing {

/// A row of tensors.csv and where it stands.
struct TensorPlace {
  std::int64_t rank = 0;
  std::size_t index = 0;  ///< in the rank's rows
  const TensorRow* row = nullptr;
};

/// Points into the record, which must outlive it.
class AuditedRecord {
 public:
  explicit AuditedRecord(const Record& record);

  const Record& record() const { return record_; }
  const Manifest& manifest() const { return record_.manifest; }
  bool external() const { return record_.manifest.role == "external"; }
  /// Rows of one step, all ranks; -1 is the start.
  const std::vector<TensorPlace>& tensors(std::int64_t step) const;
  /// The row of this step and kind beside `like`: of its name, rank and stage. Null where there is none.
  const TensorRow* beside(std::int64_t step, const std::string& kind, const TensorPlace& like) const;
  /// Rows of a step's gradients, a tied weight once.
  std::vector<TensorPlace> gradients_once(std::int64_t step) const;

 private:
  const Record& record_;
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string>;
  static Key key_of(std::int64_t step, const std::string& kind, const TensorPlace& place);

  std::map<std::int64_t, std::vector<TensorPlace>> by_step_;
  std::map<Key, const TensorRow*> by_key_;
  std::set<std::string> tied_again_;  ///< names of a tied weight beyond its first
};

/// "rank-1/steps.csv:3": the first row stands in line 2.
std::string table_line(std::int64_t rank, const std::string& file, std::size_t row);

/// A finding about a row of tensors.csv.
Finding at_tensor(const TensorPlace& place, const std::string& item);

}  // namespace plumbline::auditing
