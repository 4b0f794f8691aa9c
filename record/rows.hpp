// SPDX-License-Identifier: BSD-3-Clause
// The rows of a run record's tables, as docs/record-format.md defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/not_recorded.hpp"

namespace plumbline {

using Shape = std::vector<std::int64_t>;

struct StepRow {
  std::int64_t step = 0;
  std::optional<float> loss;  ///< only on the rank that owns the loss
  std::optional<double> gradient_norm;
  std::optional<double> clip_coefficient;
  std::optional<double> learning_rate;
  std::int64_t tokens = 0;
  std::int64_t valid_tokens = 0;
  std::optional<std::int64_t> live_tokens;
  std::optional<double> seconds;
  std::optional<double> recording_seconds = {};  ///< part of `seconds` spent in recording
  /// Not in the file: the norm that norms.csv says the gradients were clipped by in place of gradient_norm.
  std::optional<double> replayed_norm = {};
  std::optional<bool> updated = {};  ///< external records: whether an optimizer of this rank stepped; nullopt: unknown
};

/// norms.csv of an external record: a clipping call. `step` counts recorded steps; rows of other steps are not read.
struct NormRow {
  std::int64_t step = 0;
  std::int64_t call = 0;
  double norm = 0;                 ///< the trainer's own
  std::optional<double> replayed;  ///< another record's, by which the gradients were clipped instead
  double coefficient = 1;          ///< that acted
};

struct MicrobatchRow {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  std::int64_t sequence_length = 0;
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t valid_tokens = 0;
  std::optional<float> loss;
  std::string data_digest;  ///< empty if the rank sees neither ids nor labels
};

/// kind: gradient | applied | parameter | copy | moment1 | moment2 | buffer. Step -1 holds the initial parameters and
/// buffers.
struct TensorRow {
  std::int64_t step = 0;
  std::string kind;
  std::string name;
  std::int64_t stage = 0;
  std::string dtype;
  Shape shape;
  std::string digest;
  double l2 = 0;
  float max_abs = 0;
  std::int64_t nonzero = 0;
  std::optional<std::int64_t> nonzero_rows;  ///< matrices only
  std::int64_t nan = 0;
  std::int64_t inf = 0;
  std::optional<double> learning_rate;  ///< for a parameter, the rate of its group: only in external records
};

/// direction: forward | backward. side: send | receive | local | computed. `cut` is the unit after the stage boundary.
struct BoundaryRow {
  std::int64_t step = 0;
  std::int64_t microbatch = 0;
  std::string direction;
  std::string cut;
  std::optional<std::int64_t> from_stage;
  std::optional<std::int64_t> to_stage;
  std::string side;
  std::optional<std::int64_t> peer;
  std::string dtype;
  Shape shape;
  std::string digest;
  std::int64_t bytes = 0;
};

struct ActionRow {
  std::int64_t step = 0;
  std::int64_t index = 0;
  std::string action;  ///< text form, "2F0"
  std::int64_t stage = 0;
  std::optional<std::int64_t> microbatch;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t wait_ns = 0;
  std::optional<std::int64_t> peak_bytes;
};

struct MemoryRow {
  std::int64_t step = 0;
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> parameter_bytes;
  std::optional<std::int64_t> gradient_bytes;
  std::optional<std::int64_t> optimizer_bytes;
  std::optional<std::int64_t> activation_peak_bytes;
  std::optional<std::int64_t> buffer_bytes;
  std::optional<std::int64_t> process_peak_bytes;
  std::optional<std::int64_t> live_bytes;  ///< at the step's end
};

struct SavedRow {
  std::int64_t microbatch = 0;
  std::string unit;
  std::int64_t saved_bytes = 0;
  std::int64_t forward_bytes = 0;
  std::int64_t backward_bytes = 0;
  std::optional<std::int64_t> input_bytes;
  std::optional<std::int64_t> retained_bytes;
  std::optional<std::int64_t> weight_bytes;
};

/// gpu_memory.csv: a process' GPU memory. Peaks are those of LibTorch's caching allocator within the step (since the
/// process began, if ranks are its threads); the other three are sampled at the step's end.
struct GpuMemoryRow {
  std::int64_t step = 0;
  std::int64_t requested_peak_bytes = 0;  ///< requested by tensors
  std::int64_t reserved_peak_bytes = 0;   ///< reserved by the allocator
  std::int64_t reserved_bytes = 0;
  std::int64_t free_bytes = 0;  ///< free on the GPU, over all processes
  std::int64_t total_bytes = 0;
};

/// direction: forward | backward. side: send | receive.
struct TrafficRow {
  std::int64_t step = 0;
  std::int64_t peer = 0;
  std::string direction;
  std::string side;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
};

/// One microbatch of an evaluation after a step, or their sum.
struct EvaluationRow {
  std::int64_t step = 0;
  std::optional<std::int64_t> microbatch;  ///< nullopt: their sum
  std::int64_t tokens = 0;
  std::int64_t valid_tokens = 0;
  float loss = 0;           ///< of the whole evaluation: the sum, from left to right
  std::string data_digest;  ///< of a microbatch, as in MicrobatchRow
};

struct ExitFile {
  std::int64_t rank = 0;
  std::string status;  ///< ok | error | signal | timeout
  int code = 0;
  std::optional<std::string> signal;
  std::string last_action;
  /// Schema 2: digest of all data fed to the rank, in (step, microbatch) order; nullopt if it sees none.
  std::optional<std::string> data_digest = std::nullopt;
  std::string where = {};  ///< of an external record: "train.py:12: RuntimeError: ..."; may be empty
  std::vector<NotRecorded> not_recorded = {};  ///< of an external record
  std::vector<std::string> notes = {};         ///< remarks of an external record's recorder, truncated
  /// Status timeout on several hosts: the chain of waiting ranks, beginning with the one that this rank waited for.
  std::vector<std::int64_t> waited_for = {};
};

}  // namespace plumbline
