// Writes tensors of a step into the record, as rows and, at level dump, as bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/llama_slice.hpp"
#include "record/writer.hpp"
#include "training/optimizer.hpp"

namespace plumbline {

inline constexpr std::int64_t initial_step = -1;

/// Ends of a crossing; empty in a reference's `computed` rows.
struct Crossing {
  std::optional<std::int64_t> from_stage, to_stage, peer;
};

class StepRecorder {
 public:
  explicit StepRecorder(RecordWriter& writer) : writer_(writer) {}

  void gradients(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters);
  /// At level dump: what one use of a tied weight has of its gradient, before the two are added.
  void tied_use(const std::string& name, const at::Tensor& gradient);
  /// The same of both uses where a slice holds both; of any other slice nothing.
  void tied_uses(const std::vector<Parameter>& parameters);
  void parameters(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters);
  /// Moments under the names of `parameters`; an alias shows the moments of the weight whose storage it shares.
  void moments(std::int64_t step, std::int64_t stage, const std::vector<Parameter>& parameters,
               const Optimizer& optimizer);
  void boundary(std::int64_t step, std::int64_t microbatch, const std::string& direction, const std::string& cut,
                const std::string& side, const Crossing& crossing, const at::Tensor& tensor);
  /// At level dump, writes the step's tensors kept so far to dumps/step-<k>.safetensors.
  void end_step(std::int64_t step);

 private:
  void tensor(std::int64_t step, std::int64_t stage, const std::string& kind, const std::string& name,
              const at::Tensor& value);
  void keep(std::string key, const at::Tensor& value);

  RecordWriter& writer_;
  std::vector<std::pair<std::string, at::Tensor>> kept_;
};

}  // namespace plumbline
