// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/audit/trained_run.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "support/hash.hpp"
#include "support/safetensors.hpp"

namespace plumbline::testing {
namespace {

const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight",
                  idle_parameter = "model.norm.weight";
constexpr std::size_t live_rows = 6;  // of the embedding, as in the synthetic run's tables
constexpr float large_step = 4;       // ratio of step 0's gradients to step 1's

/// Rounded to the storage dtype.
template <typename Real>
Real stored(const std::string& dtype, Real value) {
  if (dtype != "bfloat16") return value;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t up = 0x7fffU + ((bits >> 16U) & 1U);
  return static_cast<Real>(std::bit_cast<float>((bits + up) & 0xffff0000U));
}

template <typename Real>
void put(std::vector<std::byte>& bytes, const std::string& dtype, Real value) {
  const auto append = [&](auto number) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof number);
    std::memcpy(bytes.data() + at, &number, sizeof number);
  };
  if (dtype == "bfloat16") {
    append(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U));
  } else {
    append(value);
  }
}

struct Tensor {
  std::string key, dtype;
  Shape shape;
  std::vector<std::byte> bytes;
};

/// One training; Real is the type of computation.
template <typename Real>
class Training {
 public:
  Training(TrainedRun& trained, const std::filesystem::path& folder)
      : trained_(trained), folder_(folder), optimizer_(trained.run.manifest.at("optimizer")) {}

  void run() {
    describe();
    for (const RankRecord& rank : trained_.run.ranks) {
      for (const TensorRow& row : rank.tensors) {
        if (row.step == -1 && !values_.contains(row.name)) begin(row);
      }
    }
    for (std::int64_t step = 0; step < synthetic_steps; ++step) draw_gradients(step);
    const double limit = trained_.clip_norm.value_or((norm(0) + norm(1)) / 2);
    trained_.run.manifest["clip_norm"] = limit;
    record(-1);
    for (std::int64_t step = 0; step < synthetic_steps; ++step) {
      train(step, limit);
      record(step);
    }
    write_run(trained_.run, folder_);
    for (const auto& [name, tensors] : dumps_) {
      std::vector<NamedBytes> named;
      for (const auto& each : tensors) named.push_back({each.key, {each.dtype, each.shape, each.bytes}});
      std::filesystem::create_directories((folder_ / name).parent_path());
      write_safetensors(folder_ / name, named);
    }
  }

 private:
  using Numbers = std::vector<Real>;
  struct Parameter {
    Numbers value, moment1, moment2;
    bool norm = false;
  };
  double decay_of(const Parameter& parameter) const {
    const bool spared = trained_.decays_matrices_alone && parameter.norm && !is(Mistake::decay_of_norms);
    return is(Mistake::no_weight_decay) || spared ? 0 : setting("weight_decay");
  }
  bool is(Mistake mistake) const { return trained_.mistake == mistake; }
  bool adamw() const { return optimizer_.at("name") == "adamw"; }
  double setting(const char* key) const { return optimizer_.value(key, 0.0); }

  bool idle(const std::string& name, std::int64_t step) const {
    return trained_.idle_step == step && name == idle_parameter;
  }
  /// Empty in a step without gradient; there are no moments before the first gradient.
  bool lacks(const TensorRow& row) const {
    return idle(row.name, row.step) && (row.kind == "gradient" || row.step == 0);
  }
  /// Steps that the optimiser does not count as updates of this parameter.
  std::int64_t uncounted(const std::string& name, std::int64_t step) const {
    if (trained_.skipped_step && *trained_.skipped_step < step) return 1;
    const bool any = trained_.idle_step && *trained_.idle_step < step && name == idle_parameter;
    return any && is(Mistake::count_one_more) ? -1 : any && !trained_.counts_idle_steps ? 1 : 0;
  }

  void describe() {
    Json& manifest = trained_.run.manifest;
    manifest["level"] = "dump";
    const std::string computed = trained_.mixed ? "bfloat16" : trained_.dtype;
    manifest["dtype"] = trained_.mixed ? "mixed" : trained_.dtype;
    manifest["learning_rate_schedule"] = {{"warmup_steps", 1},
                                          {"start_factor", 0.5},
                                          {"final_factor", trained_.final_factor},
                                          {"total_steps", synthetic_steps}};
    if (!adamw()) optimizer_["weight_decay"] = 0.01;
    optimizer_["learning_rate"] = trained_.peak_rate;
    if (trained_.decays_matrices_alone) optimizer_["decay"] = "matrices";
    manifest["optimizer"] = optimizer_;
    for (RankRecord& rank : trained_.run.ranks) {
      std::erase_if(rank.tensors, [&](const TensorRow& row) {
        return row.kind != "parameter" && (trained_.untrained.contains(row.name) || lacks(row));
      });
      std::erase_if(rank.actions, [&](const ActionRow& row) {
        return row.step == trained_.skipped_step && row.action.ends_with("STEP");
      });
      for (TensorRow& row : rank.tensors) row.dtype = trained_.dtype;
      if (trained_.mixed) add_copies(rank.tensors);
      for (BoundaryRow& row : rank.boundaries) {
        row.dtype = computed;
        row.bytes = static_cast<std::int64_t>(dtype_size(row.dtype));
        for (const auto size : row.shape) row.bytes *= size;
      }
    }
  }

  static void add_copies(std::vector<TensorRow>& rows) {
    std::vector<TensorRow> all;
    for (const TensorRow& row : rows) {
      all.push_back(row);
      if (row.kind == "copy") all.pop_back();  // from an earlier call
      if (row.kind != "parameter") continue;
      all.push_back(row);
      all.back().kind = "copy";
      all.back().dtype = "bfloat16";
    }
    rows = std::move(all);
  }

  /// Uniform from -1 to 1.
  Numbers draw(const std::string& seed, std::size_t count, Real scale) const {
    Numbers numbers;
    std::uint64_t state = hash64(seed);
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const auto part = static_cast<Real>(static_cast<std::int64_t>(state >> 33U) - (std::int64_t{1} << 30U));
      numbers.push_back(stored(trained_.dtype, scale * part / static_cast<Real>(1 << 30)));
    }
    return numbers;
  }

  static std::size_t elements(const Shape& shape) {
    std::size_t product = 1;
    for (const auto size : shape) product *= static_cast<std::size_t>(size);
    return product;
  }
  bool tied() const { return !trained_.run.manifest.at("tied").empty(); }

  void begin(const TensorRow& row) {
    const std::size_t count = elements(row.shape);
    shapes_[row.name] = row.shape;
    Parameter& parameter = values_[row.name];
    parameter.norm = row.shape.size() == 1;
    parameter.value = draw(tied() && row.name == head ? embedding : row.name, count, static_cast<Real>(0.5));
    if (parameter.norm) std::ranges::fill(parameter.value, Real{1});
    parameter.moment1.assign(count, 0);
    parameter.moment2.assign(count, 0);
  }

  void draw_gradients(std::int64_t step) {
    const auto scale = static_cast<Real>(step == 0 ? large_step : 1.0F);
    auto& gradients = gradients_[step];
    for (const auto& [name, shape] : shapes_) {
      if (trained_.untrained.contains(name) || idle(name, step)) continue;
      Numbers gradient = draw(std::to_string(step) + " gradient " + name, elements(shape), scale);
      const bool sparse = name == embedding || (tied() && name == head);
      if (sparse)
        std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(live_rows * static_cast<std::size_t>(shape[1])),
                  gradient.end(), Real{0});
      for (std::size_t i = 0; i < gradient.size() && trained_.other_rounding; i += 4) {
        gradient[i] = std::nextafter(gradient[i], 2 * gradient[i]);  // 0 stays 0
      }
      gradients[name] = gradient;
    }
    if (!tied()) return;
    uses_[step] = {gradients[embedding], gradients[head]};
    Numbers sum = gradients[embedding];
    for (std::size_t i = 0; i < sum.size() && !is(Mistake::tied_use_dropped); ++i) {
      sum[i] = stored<Real>(trained_.dtype, sum[i] + gradients[head][i]);
    }
    gradients[embedding] = gradients[head] = sum;
  }

  double norm(std::int64_t step) const {
    double squares = 0;
    for (const auto& [name, gradient] : gradients_.at(step)) {
      if (tied() && name == head && !is(Mistake::norm_counts_tied_twice)) continue;
      for (const Real value : gradient) squares += static_cast<double>(value) * static_cast<double>(value);
    }
    return std::sqrt(squares);
  }

  double rate(std::int64_t step) const {
    const double peak = setting("learning_rate");
    if (step == 0) return peak * (0.5 + (1 - 0.5) * 0.0 / 1.0);
    const double last = trained_.final_factor;
    return peak * (last + (1 - last) * ((1 + std::cos(3.141592653589793 * (static_cast<double>(step - 1) / 1.0))) / 2));
  }

  void train(std::int64_t step, double limit) {
    const double total = norm(step);
    const double coefficient = std::min(1.0, limit / (total + (is(Mistake::clip_with_epsilon) ? 1e-6 : 0)));
    const double recorded = rate(is(Mistake::rate_a_step_early) ? step + 1 : step);
    const double applied = is(Mistake::last_rate_applied) && step > 0 ? rate(step - 1) : recorded;
    for (RankRecord& rank : trained_.run.ranks) {
      for (StepRow& row : rank.steps) {
        if (row.step != step) continue;
        row.gradient_norm = total;
        row.clip_coefficient = coefficient;
        row.learning_rate = recorded;
        if (row.loss && is(Mistake::step_loss_backwards)) row.loss = backwards(rank, step);
      }
    }
    if (is(Mistake::no_update) || trained_.skipped_step == step) return;
    for (auto& [name, parameter] : values_) {
      Numbers gradient = gradients_[step][name];
      if (coefficient != 1 && !is(Mistake::clip_not_applied)) {
        for (Real& value : gradient) {
          value = stored(trained_.dtype, static_cast<Real>(static_cast<double>(value) * coefficient));
        }
      }
      std::int64_t count = is(Mistake::applied_twice) ? 2 * step : step - uncounted(name, step);
      update(parameter, gradient, applied, count);
      if (is(Mistake::applied_twice)) update(parameter, gradient, applied, count + 1);
      if (idle(name, step) && is(Mistake::idle_moments_move)) {
        parameter.moment1.back() += Real{0.25}, parameter.moment2.back() += Real{0.25};
      }
      const bool moves = is(Mistake::untrained_moves) && step + 1 == synthetic_steps;
      if (moves && trained_.untrained.contains(name)) parameter.value.back() += Real{0.25};
    }
  }

  static float backwards(const RankRecord& rank, std::int64_t step) {
    float sum = 0;
    for (auto row = rank.microbatches.rbegin(); row != rank.microbatches.rend(); ++row) {
      if (row->step == step) sum += *row->loss;
    }
    return sum;
  }

  void update(Parameter& parameter, const Numbers& gradient, double learning_rate, std::int64_t count) const {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if (adamw()) {
        adamw_element(parameter, i, gradient[i], learning_rate, count + 1);
      } else {
        sgd_element(parameter, i, gradient[i], learning_rate, count == 0);
      }
    }
  }

  void adamw_element(Parameter& all, std::size_t i, Real gradient, double learning_rate, std::int64_t count) const {
    const auto number = [](double value) { return static_cast<Real>(value); };
    const double beta1 = setting("beta1"), beta2 = setting("beta2");
    const double decay = decay_of(all);
    const bool corrected = !is(Mistake::no_bias_correction);
    const double correction1 = corrected ? 1 - std::pow(beta1, static_cast<double>(count)) : 1;
    const double correction2 = corrected ? 1 - std::pow(beta2, static_cast<double>(count)) : 1;
    Real p = all.value[i], m = all.moment1[i], v = all.moment2[i];
    if (is(Mistake::moments_exchanged)) std::swap(m, v);
    if (is(Mistake::decay_into_gradient)) {
      gradient += number(decay) * p;
    } else {
      p *= number(1 - learning_rate * decay);
    }
    m += number(1 - beta1) * (gradient - m);
    v = number(beta2) * v + number(1 - beta2) * gradient * gradient;
    const Real eps = number(setting("eps"));
    const Real root = is(Mistake::eps_inside_the_root) ? std::sqrt(v / number(correction2) + number(1e-4))
                                                       : std::sqrt(v) / number(std::sqrt(correction2)) + eps;
    p -= number(learning_rate / correction1) * m / root;
    if (is(Mistake::moments_exchanged)) std::swap(m, v);
    all.value[i] = stored(trained_.dtype, p);
    all.moment1[i] = stored(trained_.dtype, m);
    all.moment2[i] = stored(trained_.dtype, v);
  }

  void sgd_element(Parameter& all, std::size_t i, Real gradient, double learning_rate, bool first) const {
    const auto store = [&](Real value) { return stored<Real>(trained_.dtype, value); };
    const Real decay = static_cast<Real>(decay_of(all));
    const Real direction = store(gradient + decay * all.value[i]);
    const Real kept = store(static_cast<Real>(setting("momentum")) * all.moment1[i]);
    all.moment1[i] = first || setting("momentum") == 0 ? direction : store(kept + direction);
    all.value[i] = store(all.value[i] - static_cast<Real>(learning_rate) * all.moment1[i]);
  }

  /// Writes the step's rows from the values, and the values into the dumps.
  void record(std::int64_t step) {
    for (RankRecord& rank : trained_.run.ranks) {
      const std::string file =
          rank_folder(rank.rank) + "/dumps/step-" + (step < 0 ? "initial" : std::to_string(step)) + ".safetensors";
      for (TensorRow& row : rank.tensors) {
        if (row.step == step) fill(row, dumps_[file]);
      }
      for (BoundaryRow& row : rank.boundaries) {
        if (row.step != step) continue;
        const std::string item = row.direction + "/" + std::to_string(row.microbatch) + "/" + row.cut;
        Tensor tensor = pack("boundary/" + item + "/" + row.side, row.dtype, row.shape,
                             draw(std::to_string(step) + item, elements(row.shape), Real{1}));
        row.digest = tensor_digest(tensor.dtype, tensor.shape, tensor.bytes);
        dumps_[file].push_back(std::move(tensor));
      }
    }
  }

  void fill(TensorRow& row, std::vector<Tensor>& dump) {
    const Parameter& parameter = values_.at(row.name);
    const Numbers numbers = row.kind == "gradient"    ? gradients_.at(row.step).at(row.name)
                            : row.kind == "parameter" ? parameter.value
                            : row.kind == "copy"      ? copy_of(parameter.value)
                            : row.kind == "moment1"   ? parameter.moment1
                                                      : parameter.moment2;
    if (row.kind == "gradient" && tied() && (row.name == embedding || row.name == head)) {
      const auto& uses = uses_.at(row.step);
      dump.push_back(
          pack("gradient_use/" + row.name, row.dtype, row.shape, row.name == embedding ? uses.first : uses.second));
    }
    Tensor tensor = pack(row.kind + "/" + row.name, row.dtype, row.shape, numbers);
    row.digest = tensor_digest(tensor.dtype, tensor.shape, tensor.bytes);
    dump.push_back(std::move(tensor));
    double squares = 0, largest = 0;
    row.nonzero = row.nan = row.inf = 0;
    std::set<std::size_t> rows;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto value = static_cast<double>(numbers[i]);
      squares += value * value;
      largest = std::max(largest, std::abs(value));
      if (value == 0) continue;
      ++row.nonzero;
      rows.insert(i / static_cast<std::size_t>(row.shape.back()));
    }
    row.l2 = std::sqrt(squares);
    row.max_abs = static_cast<float>(largest);
    if (row.shape.size() == 2) row.nonzero_rows = static_cast<std::int64_t>(rows.size());
  }

  Numbers copy_of(const Numbers& masters) const {
    Numbers copy;
    for (const Real master : masters) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(master));
      const auto truncated = static_cast<Real>(std::bit_cast<float>(bits & 0xffff0000U));
      copy.push_back(is(Mistake::copies_truncated) ? truncated : stored("bfloat16", master));
    }
    return copy;
  }

  static Tensor pack(const std::string& key, const std::string& dtype, const Shape& shape, const Numbers& numbers) {
    Tensor tensor{key, dtype, shape, {}};
    for (const Real number : numbers) put(tensor.bytes, dtype, stored(dtype, number));
    return tensor;
  }

  TrainedRun& trained_;
  std::filesystem::path folder_;
  Json optimizer_;
  std::map<std::string, Shape> shapes_;
  std::map<std::string, Parameter> values_;
  std::map<std::int64_t, std::map<std::string, Numbers>> gradients_;  ///< by step
  std::map<std::int64_t, std::pair<Numbers, Numbers>> uses_;          ///< of a tied weight: embedding, head
  std::map<std::string, std::vector<Tensor>> dumps_;                  ///< by file
};

}  // namespace

std::filesystem::path TrainedRun::write(const std::filesystem::path& folder) {
  if (dtype == "float64") {
    Training<double>(*this, folder).run();
  } else {
    Training<float>(*this, folder).run();
  }
  return folder;
}

SyntheticPlan trained_plan(const std::string& optimizer, bool tied) {
  return {.optimizer = optimizer, .tied = tied, .level = "dump"};
}

}  // namespace plumbline::testing
