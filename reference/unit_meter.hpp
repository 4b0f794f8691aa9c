// SPDX-License-Identifier: BSD-3-Clause
// Measures in bytes what each unit's forward and backward pass keeps and needs (docs/record-format.md, saved.csv), and
// reports every boundary tensor to the step's observer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/deferred_weights.hpp"
#include "training/memory_meter.hpp"
#include "training/step_observer.hpp"

namespace plumbline {

/// One microbatch's pass through all units.
class UnitMeter {
 public:
  /// `units`: names of all units, in order.
  UnitMeter(MemoryMeter& meter, StepObserver& observer, const std::vector<std::string>& units, std::int64_t step,
            std::int64_t microbatch)
      : UnitMeter(meter, &observer, nullptr, units, step, microbatch) {}
  /// Measures a backward pass that defers its weight gradients to `deferred`; reports no boundary tensors.
  UnitMeter(MemoryMeter& meter, DeferredWeights& deferred, const std::vector<std::string>& units,
            std::int64_t microbatch)
      : UnitMeter(meter, nullptr, &deferred, units, 0, microbatch) {}

  void before_unit(std::int64_t unit, const at::Tensor& input);
  /// `output` is the next unit's input; the caller has released the unit's own input.
  void after_unit(std::int64_t unit, const at::Tensor& output);

  void begin_backward();
  void end_backward() { close_backward(0); }
  /// Computes the deferred weight gradients, unit by unit.
  void run_deferred();

  /// Largest activation bytes since the last call, over all units of the pass.
  std::int64_t collect_peak();
  /// One row per unit; complete after end_backward.
  const std::vector<SavedRow>& rows() const { return rows_; }

 private:
  UnitMeter(MemoryMeter& meter, StepObserver* observer, DeferredWeights* deferred,
            const std::vector<std::string>& units, std::int64_t step, std::int64_t microbatch);
  void note_peak();
  void open_backward(std::int64_t unit, std::int64_t gradient_bytes);
  void close_backward(std::int64_t next_gradient_bytes);
  void show_cut(std::int64_t unit, const char* direction, const at::Tensor& tensor);
  void gradient_reached(std::int64_t unit, const at::Tensor& gradient);

  MemoryMeter& meter_;
  StepObserver* observer_;     ///< null: boundary tensors are not reported
  DeferredWeights* deferred_;  ///< null: the fused backward pass
  const std::vector<std::string>& units_;
  std::int64_t step_, microbatch_;
  std::vector<std::size_t> deferred_counts_;  ///< number of weight gradients that each unit deferred
  std::vector<SavedRow> rows_;
  std::int64_t base_ = 0;   ///< live bytes that do not belong to the open unit
  std::int64_t open_ = -1;  ///< the unit whose backward pass is running
  std::int64_t peak_ = 0;
};

}  // namespace plumbline
