// One fault a class, each at its seam.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/faulty_transport.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::mutant {

/// The rest of the trainer goes on as if the layer were not there; what the whole model's norm lacks is made up for.
class DroppedLayer : public TrainerSeams {
 public:
  explicit DroppedLayer(std::int64_t stage) : stage_(stage) {}
  std::vector<UnitRange> partition(std::vector<UnitRange> stages) override;
  Transport& transport(Transport& inner) override;
  void slice_made(const LlamaSlice& slice) override;

 private:
  std::int64_t stage_;
  std::vector<std::string> parameters_;  ///< of the whole model
  std::unique_ptr<Transport> gathering_;
};

class WholeModel : public TrainerSeams {
 public:
  explicit WholeModel(MemoryOwner owner) : owner_(owner) {}
  void slice_made(const LlamaSlice& slice) override;

 private:
  MemoryOwner owner_;
  std::optional<LlamaSlice> whole_;
};

class DroppedGradient : public TrainerSeams {
 public:
  explicit DroppedGradient(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_gradient(at::Tensor gradient, std::int64_t step, const Action& action) override;

 private:
  Fault fault_;
};

/// The number printed is right; its gradient is as many times too large as there are microbatches.
class UnscaledLoss : public TrainerSeams {
 public:
  LossFunction loss(LossFunction inner) override;
};

class GradientsNotZeroed : public TrainerSeams {
 public:
  explicit GradientsNotZeroed(Fault fault) : fault_(std::move(fault)) {}
  bool zeroes_gradients(std::int64_t step) override { return step < fault_.step; }

 private:
  Fault fault_;
};

class TiedNotReduced : public TrainerSeams {
 public:
  bool adds_tied_gradient(std::int64_t /*step*/) override { return false; }
};

class FrozenHead : public TrainerSeams {
 public:
  void before_update(std::int64_t step, std::vector<Parameter>& parameters) override;
  void after_update(std::int64_t step, std::vector<Parameter>& parameters) override;

 private:
  at::Tensor head_;
};

class OneNan : public TrainerSeams {
 public:
  explicit OneNan(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_output(at::Tensor output, std::int64_t step, const Action& action) override;

 private:
  Fault fault_;
};

/// U2, U2b, U3, U5: the smallest difference that the dtype has, in one element.
class OneUlp : public TrainerSeams {
 public:
  explicit OneUlp(Fault fault) : fault_(std::move(fault)) {}
  void slice_made(const LlamaSlice& slice) override;
  at::Tensor stage_output(at::Tensor output, std::int64_t step, const Action& action) override;
  void after_update(std::int64_t step, std::vector<Parameter>& parameters) override;

 private:
  Fault fault_;
  at::Tensor gradient_;  ///< of the rank's first parameter
};

class KeptInputs : public TrainerSeams {
 public:
  explicit KeptInputs(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_input(at::Tensor input, std::int64_t step, const Action& action) override;
  void after_update(std::int64_t /*step*/, std::vector<Parameter>& /*parameters*/) override { kept_.clear(); }

 private:
  Fault fault_;
  std::vector<at::Tensor> kept_;
};

/// Some bytes more after every step, belonging to nothing that the law speaks of.
class Leak : public TrainerSeams {
 public:
  void after_update(std::int64_t step, std::vector<Parameter>& parameters) override;

 private:
  std::vector<at::Tensor> kept_;
};

/// Memory that is no tensor, every page of it touched. From the step on; -1: from the start.
class NoTensor : public TrainerSeams {
 public:
  NoTensor(std::int64_t step, std::int64_t bytes) : step_(step), bytes_(bytes) {}
  void slice_made(const LlamaSlice& slice) override;
  void before_update(std::int64_t step, std::vector<Parameter>& parameters) override;

 private:
  std::int64_t step_, bytes_;
  std::vector<char> taken_;
};

/// A tensor of an owner's that nothing uses, from the middle of the step on: kept, or gone at once.
class ExtraTensor : public TrainerSeams {
 public:
  ExtraTensor(Fault fault, MemoryOwner owner, std::int64_t bytes, bool kept)
      : fault_(std::move(fault)), owner_(owner), bytes_(bytes), kept_(kept) {}
  void before_update(std::int64_t step, std::vector<Parameter>& parameters) override;

 private:
  Fault fault_;
  MemoryOwner owner_;
  std::int64_t bytes_;
  bool kept_;
  at::Tensor tensor_;
};

/// The first backward action and the forward action after it run in the other order.
class SwappedActions : public TrainerSeams {
 public:
  ActionList actions(ActionList list) override;
};

/// All forwards first, whatever was asked for.
class OtherSchedule : public TrainerSeams {
 public:
  ActionList actions(ActionList list) override;
};

class FaultyWire : public TrainerSeams {
 public:
  FaultyWire(Fault fault, int rank) : fault_(std::move(fault)), rank_(rank) {}
  Transport& transport(Transport& inner) override;

 private:
  Fault fault_;
  int rank_;
  std::unique_ptr<Transport> faulty_;
};

}  // namespace plumbline::mutant
