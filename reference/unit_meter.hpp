// SPDX-License-Identifier: BSD-3-Clause
// Measures what each unit's forward and backward pass keeps and needs, to the byte (docs/record-format.md, saved.csv),
// and shows every cut to who observes the step.
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
  /// Measures a backward pass that puts its weight gradients off into `deferred`, and shows no cut.
  UnitMeter(MemoryMeter& meter, DeferredWeights& deferred, const std::vector<std::string>& units,
            std::int64_t microbatch)
      : UnitMeter(meter, nullptr, &deferred, units, 0, microbatch) {}

  void before_unit(std::int64_t unit, const at::Tensor& input);
  /// `output` is what the next unit will take; the unit's input has been let go of.
  void after_unit(std::int64_t unit, const at::Tensor& output);

  void begin_backward();
  void end_backward() { close_backward(0); }
  /// Runs the weight gradients put off, unit by unit.
  void run_deferred();

  /// Largest activation bytes of the pass since the last call, over all units seen.
  std::int64_t take_peak();
  /// One row a unit; complete after end_backward.
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
  StepObserver* observer_;     ///< null: nobody looks at the cuts
  DeferredWeights* deferred_;  ///< null: the fused backward pass
  const std::vector<std::string>& units_;
  std::int64_t step_, microbatch_;
  std::vector<std::size_t> deferred_counts_;  ///< weight gradients that each unit put off
  std::vector<SavedRow> rows_;
  std::int64_t base_ = 0;   ///< bytes live that are not the open unit's
  std::int64_t open_ = -1;  ///< the unit whose backward runs
  std::int64_t peak_ = 0;
};

}  // namespace plumbline
