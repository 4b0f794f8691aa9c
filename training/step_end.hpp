// What follows a step's last backward pass, alike in both trainers: the update, and the rows that tell of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training/batch_plan.hpp"
#include "training/memory_meter.hpp"
#include "training/optimizer.hpp"
#include "training/run_file.hpp"

namespace plumbline {

struct StepUpdate {
  double gradient_norm = 0;
  double clip_coefficient = 1;
  double learning_rate = 0;
};

/// Clips by the global norm and updates. Every rank calls it with the same norm, also one that owns nothing.
StepUpdate update_parameters(const TrainSettings& train, std::int64_t step, double global_norm,
                             std::vector<Parameter>& parameters, Optimizer& optimizer);

StepRow step_row(const BatchPlan& plan, std::int64_t step, const StepUpdate& update, std::optional<float> loss,
                 double seconds);
/// From now on the meter's peaks are the new step's.
void begin_step_memory(MemoryMeter& meter);
/// What the meter counts now, when the step's recorder has let go of all. `activation_peak_bytes`: largest over the
/// step's actions.
MemoryRow memory_row(const MemoryMeter& meter, std::int64_t step, std::int64_t activation_peak_bytes);
/// One per microbatch; `losses` empty where the rank does not own them; `digests` of the data by microbatch, empty
/// texts where the rank is fed none.
std::vector<MicrobatchRow> microbatch_rows(const BatchPlan& plan, std::int64_t step, const std::vector<float>& losses,
                                           const std::vector<std::string>& digests);
/// Left-to-right sum in microbatch order, in fp32.
float step_loss(const std::vector<float>& losses);

}  // namespace plumbline
