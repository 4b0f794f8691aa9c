#include "tests/training/training_golden.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "training/environment.hpp"
#include "training/gradient_norm.hpp"
#include "training/loss.hpp"
#include "training/tensor_record.hpp"

namespace plumbline::testing {

namespace {

void copy_into(const at::Tensor& to, const at::Tensor& from) {
  const at::NoGradGuard no_grad;
  to.copy_(from);
}

LlamaSlice make_slice(const TrainingGolden& golden) {
  const LlamaConfig config = golden.config();
  LlamaSlice slice(config, {0, static_cast<std::int64_t>(unit_names(config).size())}, golden.dtype());
  load_weights(slice, golden.weights());
  slice.allocate_gradients();
  slice.prepare_tables(config.max_position_embeddings);
  return slice;
}

double relative_error(double ours, double golden) {
  return std::abs(ours - golden) / std::abs(golden);
}

/// Losses of the step's microbatches; gradients are left in the parameters, tied uses added.
void forward_and_backward(const TrainingGolden& golden, std::int64_t step, LlamaSlice& slice, Comparison& losses) {
  std::vector<std::pair<at::Tensor, at::Tensor>> data;
  std::int64_t valid = 0;
  for (std::int64_t m = 0; m < golden.microbatches(); ++m) {
    const std::string place = std::to_string(step) + "/" + std::to_string(m);
    data.emplace_back(golden.tensor("ids/" + place), golden.tensor("labels/" + place));
    valid += data.back().second.ne(-100).sum().item<std::int64_t>();
  }
  zero_gradients(slice.parameters());
  const at::Tensor expected = golden.tensor("loss")[step];
  for (std::int64_t m = 0; m < golden.microbatches(); ++m) {
    const auto& [ids, labels] = data[static_cast<std::size_t>(m)];
    const at::Tensor loss = token_weighted_loss(slice.forward(ids), labels, valid);
    loss.backward();
    losses.add(loss.detach(), expected[m]);
  }
  add_tied_uses(slice.parameters());
}

void place_golden_gradients(const TrainingGolden& golden, std::int64_t step, LlamaSlice& slice) {
  for (const Parameter& parameter : slice.parameters()) {
    const std::string name = parameter.alias ? "model.embed_tokens.weight" : parameter.name;
    copy_into(parameter.value.grad(), golden.tensor("gradient/" + std::to_string(step) + "/" + name));
  }
}

class Player {
 public:
  Player(const TrainingGolden& golden, const Mistake& mistake)
      : golden_(golden), mistake_(mistake), train_(golden.train()), slice_(make_slice(golden)) {
    if (mistake_.settings) mistake_.settings(train_.optimizer);
  }

  Outcome play(bool from_ids) {
    Optimizer optimizer(train_.optimizer, slice_.parameters());
    if (mistake_.optimizer) mistake_.optimizer(optimizer);
    const bool exact = golden_.same_code_path();
    for (std::int64_t step = 0; step < golden_.steps(); ++step) {
      if (from_ids) {
        forward_and_backward(golden_, step, slice_, outcome_.losses);
        compare(
            "gradient", step, [](const Parameter& p) { return p.value.grad(); }, outcome_.gradients);
        if (!exact) place_golden_gradients(golden_, step, slice_);
      } else {
        place_golden_gradients(golden_, step, slice_);
      }
      update(step, optimizer);
      compare(
          "parameter", step, [](const Parameter& p) { return p.value.detach(); }, outcome_.parameters);
    }
    for (const Optimizer::State& state : optimizer.states()) {
      const std::string place = "/" + std::to_string(golden_.steps() - 1) + "/" + state.name;
      outcome_.moments.add(state.moment1, golden_.tensor("moment1" + place));
      if (state.moment2.defined()) outcome_.moments.add(state.moment2, golden_.tensor("moment2" + place));
    }
    return outcome_;
  }

 private:
  void update(std::int64_t step, Optimizer& optimizer) {
    const double norm = total_norm(slice_.config(), gradient_norms(slice_.parameters()));
    double coefficient = clip_coefficient(norm, train_.clip_norm);
    if (mistake_.coefficient) coefficient = mistake_.coefficient(norm, coefficient);
    const double golden_norm = golden_.number("norm", step);
    outcome_.norm_error = std::max(outcome_.norm_error, relative_error(norm, golden_norm));
    outcome_.coefficient_error =
        std::max(outcome_.coefficient_error, relative_error(coefficient, golden_.number("coefficient", step)));
    scale_gradients(slice_.parameters(), coefficient);
    if (mistake_.gradients) mistake_.gradients(slice_.parameters());
    optimizer.step(golden_.number("rate", step));
  }

  template <typename Select>
  void compare(const std::string& kind, std::int64_t step, Select select, Comparison& comparison) {
    for (const Parameter& parameter : slice_.parameters()) {
      if (!parameter.alias) {
        comparison.add(select(parameter), golden_.tensor(kind + "/" + std::to_string(step) + "/" + parameter.name));
      }
    }
  }

  const TrainingGolden& golden_;
  const Mistake& mistake_;
  TrainSettings train_;
  LlamaSlice slice_;
  Outcome outcome_;
};

}  // namespace

TrainingGolden::TrainingGolden(const std::string& name)
    : folder_(std::filesystem::path(PLUMBLINE_FIXTURES) / "training_golden" / name),
      json_(read_json(folder_ / "golden.json")),
      file_(folder_ / "steps.safetensors") {}

TrainSettings TrainingGolden::train() const {
  const Json& given = json_.at("optimizer");
  TrainSettings train;
  train.steps = steps();
  train.warmup_steps = json_.at("warmup_steps").get<std::int64_t>();
  train.start_factor = json_.at("start_factor").get<double>();
  if (!json_.at("clip_norm").is_null()) train.clip_norm = json_.at("clip_norm").get<double>();
  OptimizerSettings& settings = train.optimizer;
  settings.name = given.at("name").get<std::string>();
  settings.learning_rate = given.at("learning_rate").get<double>();
  settings.weight_decay = given.at("weight_decay").get<double>();
  if (settings.name == "adamw") {
    settings.beta1 = given.at("beta1").get<double>();
    settings.beta2 = given.at("beta2").get<double>();
    settings.eps = given.at("eps").get<double>();
  } else {
    settings.momentum = given.at("momentum").get<double>();
  }
  return train;
}

at::ScalarType TrainingGolden::dtype() const {
  return parse_dtype(json_.value("dtype", "float32"));
}

bool TrainingGolden::same_code_path() const {
  return plumbline::same_code_path(json_.at("machine"));
}

at::Tensor TrainingGolden::tensor(const std::string& key) const {
  const SafetensorsEntry& entry = file_.at(key);
  at::Tensor tensor = at::empty(entry.shape, parse_dtype(entry.dtype));
  std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
  return tensor;
}

double TrainingGolden::number(const std::string& column, std::int64_t step) const {
  return tensor(column)[step].item<double>();
}

void Comparison::add(const at::Tensor& ours, const at::Tensor& golden) {
  if (ours.sizes() != golden.sizes() || ours.scalar_type() != golden.scalar_type()) {
    throw std::logic_error("a golden of another shape or dtype");
  }
  const at::Tensor a = ours.contiguous();
  const at::Tensor b = golden.contiguous();
  const auto* left = static_cast<const char*>(a.const_data_ptr());
  const auto* right = static_cast<const char*>(b.const_data_ptr());
  const std::size_t size = a.element_size();
  for (std::int64_t i = 0; i < a.numel(); ++i, left += size, right += size) {
    differing += std::memcmp(left, right, size) == 0 ? 0 : 1;
  }
  const double difference = a.sub(b).abs().max().item<double>();
  const double scale = b.abs().max().item<double>();
  // std::max drops a NaN on one side only: it must stay, for a limit to fail on it.
  largest_absolute = std::isnan(difference) ? difference : std::max(difference, largest_absolute);
  const double part = difference == 0 ? 0 : difference / scale;
  largest = std::isnan(part) ? part : std::max(part, largest);
  tensors += 1;
  elements += a.numel();
}

Outcome update_with_golden_gradients(const TrainingGolden& golden, const Mistake& mistake) {
  return Player(golden, mistake).play(/*from_ids=*/false);
}

Outcome train_from_ids(const TrainingGolden& golden) {
  return Player(golden, {}).play(/*from_ids=*/true);
}

}  // namespace plumbline::testing
