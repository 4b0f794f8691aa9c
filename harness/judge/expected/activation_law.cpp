// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/expected/activation_law.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"

namespace plumbline::judging {
namespace {

class ActivationLaw {
 public:
  explicit ActivationLaw(const SavedTable& saved) : saved_(saved) {}

  std::int64_t relay(const Action& action, std::int64_t bytes) const {
    return live_ + (action.type == ActionType::backward_weight ? 0 : bytes);
  }

  std::int64_t run(const Action& action, const std::vector<std::string>& units) {
    peak_ = live_;
    if (action.type == ActionType::forward) {
      for (const auto& unit : units) forward(row(action.microbatch, unit));
    } else {
      for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
        backward(action.type, row(action.microbatch, *unit));
    }
    return peak_;
  }

 private:
  void reach(std::int64_t beyond) { peak_ = std::max(peak_, live_ + beyond); }

  void forward(const SavedRow& saved) {
    reach(saved.forward_bytes);
    live_ += saved.saved_bytes;
  }

  void backward(ActionType type, const SavedRow& saved) {
    const bool split = saved.input_bytes && saved.retained_bytes && saved.weight_bytes;
    if (type == ActionType::backward) {
      live_ -= saved.saved_bytes;
      reach(saved.backward_bytes);
    } else if (type == ActionType::backward_input && split) {
      live_ -= saved.saved_bytes;
      reach(*saved.input_bytes);
      live_ += *saved.retained_bytes;
    } else if (type == ActionType::backward_input) {  // saved tensors stay until W: an upper bound
      reach(saved.backward_bytes);
    } else if (split) {
      live_ -= *saved.retained_bytes;
      reach(*saved.weight_bytes);
    } else {
      live_ -= saved.saved_bytes;
      reach(saved.backward_bytes);
    }
  }

  const SavedRow& row(std::int64_t microbatch, const std::string& unit) const {
    const auto found = saved_.find({microbatch, unit});
    if (found == saved_.end()) {
      throw InputError(
          fmt::format("the reference's saved.csv has no row for microbatch {}, unit {}: the activation memory model "
                      "cannot be applied",
                      microbatch, unit));
    }
    return found->second;
  }

  const SavedTable& saved_;
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;  ///< of the action
};

}  // namespace

std::vector<std::int64_t> predict_peaks(const ActionList& list, const StageMap& stages, const SavedTable& saved,
                                        const std::vector<std::int64_t>& boundary_bytes) {
  ActivationLaw law(saved);
  std::vector<std::int64_t> peaks;
  for (const auto& action : list) {
    if (!is_compute(action.type)) continue;
    const StageEntry* stage = stages.find(action.stage);
    if (!stage)
      throw InputError(fmt::format("schedule.csv: {} is of a stage that the manifest does not list", to_text(action)));
    const auto microbatch = static_cast<std::size_t>(action.microbatch);
    if (microbatch >= boundary_bytes.size()) {
      throw InputError(
          fmt::format("schedule.csv: {} names a microbatch that microbatches.csv does not have", to_text(action)));
    }
    peaks.push_back(stage->units.empty() ? law.relay(action, boundary_bytes[microbatch])
                                         : law.run(action, stage->units));
  }
  return peaks;
}

}  // namespace plumbline::judging
