// One stage's units and what its microbatches in flight need for their backward pass. A stage without units hands on
// what it gets.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>

#include "model/deferred_weights.hpp"
#include "model/llama_slice.hpp"
#include "training/graph_edges.hpp"
#include "training/unit_pass.hpp"

namespace plumbline {

class Stage {
 public:
  /// Creates the parameters of these units only, with zeroed gradients, each under its memory owner.
  Stage(const LlamaConfig& config, std::int64_t index, UnitRange units, at::ScalarType dtype,
        std::int64_t longest_sequence, at::Device device = at::kCPU);

  std::int64_t index() const { return index_; }
  LlamaSlice& slice() { return slice_; }
  const LlamaSlice& slice() const { return slice_; }
  bool empty() const { return slice_.units().empty(); }
  bool first() const { return index_ == 0; }  ///< takes ids
  bool last() const;                          ///< gives the loss

  /// Returns the boundary activation [batch, sequence, hidden], or the scaled loss of the last stage. Keeps the graph
  /// until `backward`.
  at::Tensor forward(std::int64_t microbatch, at::Tensor input, const LossTarget& target);
  /// `gradient` of the stage's output. Returns the gradient of its input; undefined on the first stage.
  at::Tensor backward(std::int64_t microbatch, at::Tensor gradient);
  /// The same in two halves: the gradient of the input alone, then the weight gradients that it put off.
  at::Tensor backward_input(std::int64_t microbatch, at::Tensor gradient);
  void backward_weight(std::int64_t microbatch);

 private:
  struct InFlight {
    std::shared_ptr<GradientSlot> input;
    GraphEnd end;
    DeferredWeights deferred;
  };
  std::int64_t index_;
  LlamaSlice slice_;
  std::map<std::int64_t, InFlight> in_flight_;
};

}  // namespace plumbline
