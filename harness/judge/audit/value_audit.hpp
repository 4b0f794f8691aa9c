// SPDX-License-Identifier: BSD-3-Clause
// Recomputation from dumped values, for records at level dump; one step at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "harness/judge/audit/audited_step.hpp"
#include "harness/judge/audit/findings.hpp"
#include "record/record.hpp"
#include "support/safetensors.hpp"

namespace plumbline::auditing {

/// A record's dumps/, opened on demand.
class Dumps {
 public:
  explicit Dumps(const Record& record) : record_(record) {}

  /// Total bytes of all files.
  std::uintmax_t bytes() const;
  /// Maps the file on the first call. Throws InputError if it cannot be read.
  const SafetensorsFile& file(std::int64_t rank, std::int64_t step);
  /// Null if the file has no such tensor.
  const SafetensorsEntry* find(std::int64_t rank, std::int64_t step, const std::string& key);
  /// Closes the files of earlier steps.
  void forget_before(std::int64_t step);

  /// "rank-0/dumps/step-3.safetensors".
  static std::string name(std::int64_t rank, std::int64_t step);

 private:
  const Record& record_;
  std::map<std::pair<std::int64_t, std::int64_t>, SafetensorsFile> files_;  ///< by step and rank
};

/// Compares every row of tensors.csv and boundaries.csv of the step with its dumped tensor: dtype, shape, digest,
/// `nonzero`, `nonzero_rows`, `nan`, `inf` and `max_abs` exactly, `l2` within (n + 2) 2^-53; every tensor must have a
/// row. Skips `l2` and `max_abs` for external records.
void audit_rows_by_values(const AuditedStep& audited, Dumps& dumps, Audit& audit);

/// The step's gradient norm from the values, within (n + 2) 2^-53 for n elements; the gradient of a tied weight as the
/// sum of its two uses, exactly.
void audit_gradient_values(const AuditedStep& audited, Dumps& dumps, Audit& audit);

/// In mixed precision: every element of each copy is exactly its master's, rounded once.
void audit_masters_by_values(const AuditedStep& audited, Dumps& dumps, Audit& audit);

/// A parameter's history of updates.
struct UpdatesSoFar {
  bool moments = false;      ///< it has moments, which begin at 0 with its first gradient
  std::int64_t without = 0;  ///< number of steps without a gradient
};
using UpdatesByParameter =
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, UpdatesSoFar>;  ///< rank, stage, name

/// Recomputes each parameter and moment after the step from those before it, the clipped gradient and the recorded
/// rate, within the bounds of bounds.hpp. For a parameter without a gradient in some steps, the optimiser may count its
/// own updates (torch.optim) or all steps (fused ones). Parameters without a gradient do not change. Also counts the
/// detection power (power.hpp), and as "updates_missing" what was not dumped.
void audit_updates(const AuditedStep& audited, Dumps& dumps, UpdatesByParameter& so_far, Audit& audit);

}  // namespace plumbline::auditing
