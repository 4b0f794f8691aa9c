// The loop over steps, alike in both trainers: how a step begins and ends. What happens between, forward and backward
// passes up to the update, is each trainer's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "training/run_monitor.hpp"
#include "training/session.hpp"
#include "training/train_state.hpp"

namespace plumbline {

class Trainer {
 public:
  Trainer(const Session& session, const std::filesystem::path& record, const WatchedRank& watched)
      : session_(session), monitor_(session, record, watched), owns_loss_(watched.owns_loss) {}
  virtual ~Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains all steps. `show_progress` counts only on the rank that owns the loss.
  void run(bool show_progress);
  /// Writes exit.json.
  virtual void finish(const std::string& status, int code) { monitor_.run_ended(status, code); }

 protected:
  /// From zeroed gradients to updated parameters.
  virtual void train_step(std::int64_t step) = 0;
  /// The step's record is complete.
  virtual void step_recorded(std::int64_t /*step*/) {}
  virtual TrainState& state() = 0;

  const Session& session_;
  RunMonitor monitor_;

 private:
  bool owns_loss_;
};

}  // namespace plumbline
