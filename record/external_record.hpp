// SPDX-License-Identifier: BSD-3-Clause
// A trainer's own record, for trainers in C++ that are not Plumbline's: installed as <plumbline/external_record.hpp>,
// and so with nothing but the standard library in it. docs/record-format.md says what each value is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

/// A tensor in host memory, contiguous, row-major, little-endian. It is looked at during the call alone.
struct TensorView {
  std::string dtype;  ///< float32, float64, bfloat16, float16; int64 for data
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

/// A part of the model, and the rank that holds it.
struct ExternalStage {
  std::int64_t rank = 0;
  std::vector<std::string> units;  ///< in the model's order
};

/// The run, as all ranks tell it alike.
struct ExternalRun {
  std::string model = "{}";  ///< its configuration, a JSON object
  std::string optimizer;     ///< a JSON object: {"name": "sgd", "learning_rate": 0.1, "momentum": 0, "weight_decay": 0}
  std::int64_t steps = 0, microbatches = 0;
  std::vector<ExternalStage> stages;  ///< of all ranks, in the model's order; the world has as many ranks as they name
  std::string schedule = "sequential";
  std::string dtype = "float32", device = "cpu";
  std::string accumulation = "ascending";  ///< or descending
  std::string loss_scaling = "before";     ///< or after
  std::optional<double> clip_norm;
  std::string norm_order = "per_rank";  ///< or canonical
  double clip_epsilon = 0;
  std::vector<std::vector<std::string>> tied;
  std::vector<std::string> frozen;
  std::int64_t seed = 0;
  std::string data_source;
  bool tensors = true;  ///< false: level summary, without tensors and boundaries
};

/// What a microbatch holds. Every rank tells the sizes; a rank that is fed neither inputs nor labels leaves `digest`
/// empty.
struct ExternalMicrobatch {
  std::int64_t batch = 0, sequence_length = 1, valid_tokens = 0;
  std::string digest;
};
/// Of ids and labels, int64 [batch x length]; a label of -100 does not count.
ExternalMicrobatch microbatch_of_tokens(std::int64_t batch, std::int64_t length, const std::int64_t* ids,
                                        const std::int64_t* labels);
/// Of a model without tokens: rows, and all that is fed.
ExternalMicrobatch microbatch_of_rows(std::int64_t rows, const std::vector<TensorView>& fed);

/// One rank's record. Calls come in the order of the trainer's work: the start, then steps. All functions throw
/// std::runtime_error for what no reader would take or the disk does not, and std::logic_error for a call out of order.
class ExternalRecord {
 public:
  /// Rank 0 makes the folder, refusing one that holds anything, and the manifest; other ranks come after it.
  ExternalRecord(const std::filesystem::path& folder, const ExternalRun& run, std::int64_t rank = 0);
  /// A record that was not finished says `error`, and after how many steps.
  ~ExternalRecord();
  ExternalRecord(ExternalRecord&&) noexcept;
  ExternalRecord& operator=(ExternalRecord&&) = delete;

  /// Before the first step: what training starts from.
  void initial_parameter(std::int64_t stage, const std::string& name, const TensorView& value);

  void begin_step(double learning_rate);
  /// In order, as many as there are.
  void microbatch(const ExternalMicrobatch& fed);
  /// Where the loss is computed: of a microbatch, divided by the valid tokens of the whole step.
  void loss(std::int64_t microbatch, float loss);
  /// An activation where `to_stage` is the later one, else a gradient: as it is given to the transport.
  void sent(std::int64_t stage, std::int64_t to_stage, std::int64_t microbatch, const TensorView& value);
  /// The same at the other end, told when its consumer starts and not when the transfer ends.
  void received(std::int64_t stage, std::int64_t from_stage, std::int64_t microbatch, const TensorView& value);
  /// Between two stages of this rank; told by the one that takes it.
  void handed_over(std::int64_t from_stage, std::int64_t to_stage, std::int64_t microbatch, const TensorView& value);
  /// Of a run on one device: the tensor before the unit `cut`, or (backward) its gradient.
  void computed(const std::string& cut, bool backward, std::int64_t microbatch, const TensorView& value);
  /// F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B of a microbatch; REDUCE and STEP, which have none. Returns what ends
  /// it. `waits_for`: the rank from or to which a message goes; where a run hangs, a sweep tells by it who held up
  /// whom.
  std::size_t begin_action(std::int64_t stage, const std::string& kind, std::optional<std::int64_t> microbatch = {},
                           std::int32_t waits_for = -1);
  void end_action(std::size_t action);
  /// Summed over all microbatches, before clipping.
  void gradient(std::int64_t stage, const std::string& name, const TensorView& value);
  /// The global norm, and what gradients were multiplied by.
  void norm(double norm, double coefficient);
  /// After the optimiser's step. `kind`: parameter, moment1, moment2.
  void after_step(const std::string& kind, std::int64_t stage, const std::string& name, const TensorView& value);
  /// Writes the step's rows. Refuses a step in which a microbatch, a loss that was begun, or a norm of a run that clips
  /// is missing.
  void end_step();

  /// After the last step; rows of a run that ends early stay readable.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plumbline
