// SPDX-License-Identifier: BSD-3-Clause
// Lookup of all ranks' rows of one step of a record, by the keys of docs/record-format.md. Checks use it instead of
// searching the tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record/record.hpp"

namespace plumbline::judging {

template <class Row>
struct Located {
  std::int64_t rank = 0;
  const Row* row = nullptr;
};

/// Keeps pointers into the rows. Lookups without a match return an empty list, or null.
class RecordIndex {
 public:
  RecordIndex() = default;
  /// `ranks`: with the rows of one step.
  explicit RecordIndex(const std::vector<RankRecord>& ranks);

  const std::vector<Located<TensorRow>>& tensors(const std::string& kind, const std::string& name) const;
  const std::vector<Located<BoundaryRow>>& boundaries(std::int64_t microbatch, const std::string& direction,
                                                      const std::string& cut) const;
  /// The tensor at a stage boundary: the `computed` one or, if the record is a pipeline's, the one that was sent there.
  const BoundaryRow* boundary(std::int64_t microbatch, const std::string& direction, const std::string& cut) const;
  const std::vector<Located<MicrobatchRow>>& microbatches(std::int64_t microbatch) const;
  /// The first rank's row, for its sizes.
  const MicrobatchRow* microbatch(std::int64_t number) const;
  const std::vector<Located<StepRow>>& steps() const { return steps_; }

  /// All rows, to find those that should not exist.
  const std::vector<Located<TensorRow>>& all_tensors() const { return all_tensors_; }
  const std::vector<Located<BoundaryRow>>& all_boundaries() const { return all_boundaries_; }

 private:
  std::vector<Located<TensorRow>> all_tensors_;
  std::vector<Located<BoundaryRow>> all_boundaries_;
  std::map<std::pair<std::string, std::string>, std::vector<Located<TensorRow>>> tensors_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::vector<Located<BoundaryRow>>> boundaries_;
  std::map<std::int64_t, std::vector<Located<MicrobatchRow>>> microbatches_;
  std::vector<Located<StepRow>> steps_;
};

/// The rank's actions by index, for any order of the table.
std::vector<const ActionRow*> actions_in_order(const RankRecord& rank);

/// Bytes of the activation at a stage boundary, for each microbatch of the step: batch x sequence x hidden x bytes of
/// the dtype. Empty if the table lacks a microbatch.
std::vector<std::int64_t> boundary_bytes(const RecordIndex& index, const Manifest& manifest, std::int64_t hidden);

}  // namespace plumbline::judging
