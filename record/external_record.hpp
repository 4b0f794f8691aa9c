// SPDX-License-Identifier: BSD-3-Clause
// Recorder for C++ trainers other than Plumbline's, installed as <plumbline/external_record.hpp>; depends only on the
// standard library. docs/record-format.md defines each value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

/// A tensor in host memory, contiguous, row-major, little-endian. It is read only during the call.
struct TensorView {
  std::string dtype;  ///< float32, float64, bfloat16, float16; int64 for data
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

/// A stage of the model, and the rank that holds it.
struct ExternalStage {
  std::int64_t rank = 0;
  std::vector<std::string> units;  ///< in the model's order
};

/// The run's settings, identical on all ranks.
struct ExternalRun {
  std::string model = "{}";  ///< its configuration as a JSON object
  std::string optimizer;     ///< a JSON object: {"name": "sgd", "learning_rate": 0.1, "momentum": 0, "weight_decay": 0}
  std::int64_t steps = 0, microbatches = 0;
  std::vector<ExternalStage> stages;  ///< all stages in the model's order; they define the world size
  std::string schedule = "sequential";
  std::string dtype = "float32", device = "cpu";
  std::string accumulation = "ascending";  ///< ascending | descending
  std::string loss_scaling = "before";     ///< before | after
  std::optional<double> clip_norm;
  std::string norm_order = "per_rank";  ///< per_rank | canonical
  double clip_epsilon = 0;
  std::vector<std::vector<std::string>> tied;
  std::vector<std::string> frozen;
  std::int64_t seed = 0;
  std::string data_source;
  bool tensors = true;  ///< true: level full; false: level summary
};

/// A microbatch. All ranks give the sizes; a rank that is fed neither inputs nor labels leaves `digest` empty.
struct ExternalMicrobatch {
  std::int64_t batch = 0, sequence_length = 1, valid_tokens = 0;
  std::string digest;
};
/// From ids and labels, int64 [batch x length]; labels of -100 do not count.
ExternalMicrobatch microbatch_of_tokens(std::int64_t batch, std::int64_t length, const std::int64_t* ids,
                                        const std::int64_t* labels);
/// For a model without tokens: number of rows, and all tensors that it is fed.
ExternalMicrobatch microbatch_of_rows(std::int64_t rows, const std::vector<TensorView>& fed);

/// One rank's record. Call in the trainer's order: the start, then steps. All functions throw std::runtime_error for
/// invalid values and failed writes, and std::logic_error for a call out of order.
class ExternalRecord {
 public:
  /// Rank 0 creates the folder, which must be new or empty, and the manifest. The other ranks must construct theirs
  /// later.
  ExternalRecord(const std::filesystem::path& folder, const ExternalRun& run, std::int64_t rank = 0);
  /// An unfinished record gets status `error` and the number of its steps.
  ~ExternalRecord();
  ExternalRecord(ExternalRecord&&) noexcept;
  ExternalRecord& operator=(ExternalRecord&&) = delete;

  /// Before the first step: an initial parameter or moment.
  void initial_parameter(std::int64_t stage, const std::string& name, const TensorView& value);

  void begin_step(double learning_rate);
  /// In order, every microbatch of the step.
  void microbatch(const ExternalMicrobatch& fed);
  /// On the rank that computes the loss: a microbatch's loss, divided by the number of valid tokens of the whole step.
  void loss(std::int64_t microbatch, float loss);
  /// A sent tensor, as passed to the transport: an activation if `to_stage` is the later stage, else a gradient.
  void sent(std::int64_t stage, std::int64_t to_stage, std::int64_t microbatch, const TensorView& value);
  /// A received tensor; call when its consumer starts, not when the transfer ends.
  void received(std::int64_t stage, std::int64_t from_stage, std::int64_t microbatch, const TensorView& value);
  /// A tensor passed between two stages of this rank; called by the receiving one.
  void handed_over(std::int64_t from_stage, std::int64_t to_stage, std::int64_t microbatch, const TensorView& value);
  /// In a run on one device: the input of unit `cut`, or (backward) its gradient.
  void computed(const std::string& cut, bool backward, std::int64_t microbatch, const TensorView& value);
  /// Begins an action: F, B, I, W, SEND_F, RECV_F, SEND_B, RECV_B of a microbatch; REDUCE and STEP without one. Returns
  /// the function that ends it. `waits_for`: the peer of the message; if a run hangs, a sweep derives from it which
  /// rank delayed the others.
  std::size_t begin_action(std::int64_t stage, const std::string& kind, std::optional<std::int64_t> microbatch = {},
                           std::int32_t waits_for = -1);
  void end_action(std::size_t action);
  /// Accumulated over all microbatches, before clipping.
  void gradient(std::int64_t stage, const std::string& name, const TensorView& value);
  /// The global norm and the clip coefficient.
  void norm(double norm, double coefficient);
  /// After the optimizer's step. `kind`: parameter, moment1, moment2.
  void after_step(const std::string& kind, std::int64_t stage, const std::string& name, const TensorView& value);
  /// Writes the step's rows. Refuses a step that lacks a microbatch, a loss that was begun, or, in a run that clips,
  /// the norm.
  void end_step();

  /// After the last step; the rows of a run that ends early remain readable.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plumbline
