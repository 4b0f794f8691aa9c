// One lookup over all ranks' rows of a record, by the keys of docs/record-format.md; checks ask it instead of walking
// the tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "record/record.hpp"

namespace plumbline::judging {

template <class Row>
struct Placed {
  std::int64_t rank = 0;
  const Row* row = nullptr;
};

/// Points into the record, which must outlive it. Lookups that find nothing give an empty list.
class RecordIndex {
 public:
  explicit RecordIndex(const Record& record);

  const std::vector<Placed<TensorRow>>& tensors(std::int64_t step, const std::string& kind,
                                                const std::string& name) const;
  const std::vector<Placed<BoundaryRow>>& boundaries(std::int64_t step, std::int64_t microbatch,
                                                     const std::string& direction, const std::string& cut) const;
  const std::vector<Placed<MicrobatchRow>>& microbatches(std::int64_t step, std::int64_t microbatch) const;
  const std::vector<Placed<StepRow>>& steps(std::int64_t step) const;

  /// All of them, for what is not asked for by key: rows that should not be there.
  const std::vector<Placed<TensorRow>>& tensors_of(std::int64_t step) const;
  const std::vector<Placed<BoundaryRow>>& all_boundaries() const { return all_boundaries_; }

 private:
  std::map<std::int64_t, std::vector<Placed<TensorRow>>> tensors_of_step_;
  std::vector<Placed<BoundaryRow>> all_boundaries_;
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::vector<Placed<TensorRow>>> tensors_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::vector<Placed<BoundaryRow>>>
      boundaries_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Placed<MicrobatchRow>>> microbatches_;
  std::map<std::int64_t, std::vector<Placed<StepRow>>> steps_;
};

/// Bytes of the activation that crosses a cut, for each microbatch of a step: batch x sequence x hidden x bytes of the
/// dtype. Empty when the table lacks a microbatch of that step.
std::vector<std::int64_t> boundary_bytes(const RecordIndex& index, const Manifest& manifest, std::int64_t step,
                                         std::int64_t hidden);

}  // namespace plumbline::judging
