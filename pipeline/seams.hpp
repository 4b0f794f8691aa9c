// The places where something may stand between the trainer and what it uses. The trainer that users run has nothing
// there; the programs that prove the checks able to fail put their faults here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/llama_slice.hpp"
#include "pipeline/transport/transport.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {

/// One rank's seams. Every default hands on what it was given.
class TrainerSeams {
 public:
  virtual ~TrainerSeams() = default;

  /// The stages' units; the same on all ranks.
  virtual std::vector<UnitRange> partition(std::vector<UnitRange> stages) { return stages; }
  /// The lowered list that this rank walks.
  virtual ActionList actions(ActionList list) { return list; }
  /// What moves this rank's tensors.
  virtual Transport& transport(Transport& inner) { return inner; }
  virtual LossFunction loss(LossFunction inner) { return inner; }
  /// After the rank's parameters were made.
  virtual void slice_made(const LlamaSlice& /*slice*/) {}
  /// An activation or gradient as its consumer takes it, after it was recorded.
  virtual at::Tensor stage_input(at::Tensor input, std::int64_t /*step*/, const Action& /*action*/) { return input; }
  virtual at::Tensor stage_gradient(at::Tensor gradient, std::int64_t /*step*/, const Action& /*action*/) {
    return gradient;
  }
  /// What a stage made, before it is recorded and sent.
  virtual at::Tensor stage_output(at::Tensor output, std::int64_t /*step*/, const Action& /*action*/) { return output; }
  /// Whether this step starts from zeroed gradients.
  virtual bool zeroes_gradients(std::int64_t /*step*/) { return true; }
  /// Whether the gradient of the tied weight's other use is added in.
  virtual bool adds_tied_gradient(std::int64_t /*step*/) { return true; }
  virtual void before_update(std::int64_t /*step*/, std::vector<Parameter>& /*parameters*/) {}
  virtual void after_update(std::int64_t /*step*/, std::vector<Parameter>& /*parameters*/) {}
};

/// Makes the seams of one rank.
using SeamsFactory = std::function<std::unique_ptr<TrainerSeams>(int rank)>;

}  // namespace plumbline
