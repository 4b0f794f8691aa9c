// SPDX-License-Identifier: BSD-3-Clause
// One class for each fault, each at its seam.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/llama_slice.hpp"
#include "tests/mutant/fault.hpp"
#include "tests/mutant/faulty_transport.hpp"
#include "tests/mutant/seams.hpp"
#include "training/memory_meter.hpp"

namespace plumbline::mutant {

/// After a dropped layer (change_plan) training continues: the whole model's norm gets the missing parts.
class NormsOfDroppedLayer : public Seams {
 public:
  Transport& transport(Transport& inner) override;
  void made(const Run& run, const RankParts& parts) override;

 private:
  std::vector<std::string> parameters_;  ///< of the whole model
  std::unique_ptr<Transport> gathering_;
};

class WholeModel : public Seams {
 public:
  void made(const Run& run, const RankParts& parts) override;

 private:
  std::optional<LlamaSlice> whole_;
};

class DroppedGradient : public Seams {
 public:
  explicit DroppedGradient(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_gradient(at::Tensor gradient, std::int64_t step, std::int64_t microbatch) override;

 private:
  Fault fault_;
};

/// The printed loss is right; its gradient is too large by the number of microbatches.
class UnscaledLoss : public Seams {
 public:
  at::Tensor stage_gradient(at::Tensor gradient, std::int64_t step, std::int64_t microbatch) override;
};

class GradientsNotZeroed : public Seams {
 public:
  explicit GradientsNotZeroed(Fault fault) : fault_(std::move(fault)) {}
  bool zeroes_gradients(std::int64_t step) override { return step < fault_.step; }

 private:
  Fault fault_;
};

class TiedNotReduced : public Seams {
 public:
  Transport& transport(Transport& inner) override;

 private:
  std::unique_ptr<Transport> without_;
};

class FrozenHead : public Seams {
 public:
  void before_update(TrainState& state) override;
  void after_update(TrainState& state) override;

 private:
  at::Tensor head_;
};

class OneNan : public Seams {
 public:
  explicit OneNan(Fault fault) : fault_(std::move(fault)) {}
  void stage_output(const at::Tensor& output, std::int64_t step, std::int64_t microbatch) override;

 private:
  Fault fault_;
};

/// U2, U2b, U3, U5, U6: one element differs by the smallest difference of the dtype.
class OneUlp : public Seams {
 public:
  explicit OneUlp(Fault fault) : fault_(std::move(fault)) {}
  void made(const Run& run, const RankParts& parts) override;
  void stage_output(const at::Tensor& output, std::int64_t step, std::int64_t microbatch) override;
  void stage_input_gradient(const at::Tensor& gradient, std::int64_t step, std::int64_t microbatch) override;
  void after_update(TrainState& state) override;

 private:
  Fault fault_;
  at::Tensor gradient_;  ///< of the rank's first parameter
};

class NotRecomputed : public Seams {
 public:
  bool recomputes() override { return false; }
};

class RecomputedFromAnotherInput : public Seams {
 public:
  void kept_input(const at::Tensor& input) override;
};

/// X1, X2, X3.
class MixedFault : public Seams {
 public:
  explicit MixedFault(Fault fault) : fault_(std::move(fault)) {}
  void gradient_added(const at::Tensor& sum) override;
  bool rounds_masters(std::int64_t step) override { return fault_.id != "X2" || step != fault_.step; }
  void after_update(TrainState& state) override;

 private:
  Fault fault_;
};

class KeptInputs : public Seams {
 public:
  explicit KeptInputs(Fault fault) : fault_(std::move(fault)) {}
  at::Tensor stage_input(at::Tensor input, std::int64_t step, std::int64_t microbatch) override;
  void after_update(TrainState& /*state*/) override { kept_.clear(); }

 private:
  Fault fault_;
  std::vector<at::Tensor> kept_;
};

/// 64 MiB of one owner, unused and kept from the middle of the step on.
class ExtraTensor : public Seams {
 public:
  ExtraTensor(Fault fault, MemoryOwner owner) : fault_(std::move(fault)), owner_(owner) {}
  void before_update(TrainState& state) override;

 private:
  Fault fault_;
  MemoryOwner owner_;
  at::Tensor tensor_;
};

class FaultyWire : public Seams {
 public:
  FaultyWire(Fault fault, int rank) : fault_(std::move(fault)), rank_(rank) {}
  Transport& transport(Transport& inner) override;

 private:
  Fault fault_;
  int rank_;
  std::unique_ptr<Transport> faulty_;
};

}  // namespace plumbline::mutant
