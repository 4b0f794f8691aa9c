// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "harness/judge/predicates/forms.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"

namespace plumbline::judging {
namespace {

std::vector<double> numbers_with_error(const SafetensorsEntry& tensor) {
  if (tensor.dtype != "float32" && tensor.dtype != "float64" && tensor.dtype != "bfloat16")
    throw InputError(fmt::format(
        "a dump has a tensor of dtype {}, whose rounding error cannot be measured; use float32, float64 or bfloat16",
        tensor.dtype));
  return numbers_of(tensor);
}

double ratio(double error, double size) {
  return size == 0 ? error : error / size;
}

const std::string computed = "/computed";

class Measuring {
 public:
  Measuring(const Record& run, const Record& shadow) : run_(run), shadow_(shadow) {}

  std::map<Item, ItemError> all() {
    for (std::int64_t step = shadow_.first_step; step < shadow_.manifest.steps; ++step) dumped(step);
    scalars();
    return std::move(errors_);
  }

 private:
  [[noreturn]] static void lacks(const Record& record, const std::string& what) {
    throw InputError(
        fmt::format("{}: lacks {}, which the other run of this calibration has", record.path.string(), what));
  }

  void dumped(std::int64_t step) {
    const std::string name = dump_file_name(step);
    const SafetensorsFile mine(run_.path / rank_folder(0) / "dumps" / name),
        truth(shadow_.path / rank_folder(0) / "dumps" / name);
    for (const auto& [key, entry] : mine.entries()) {
      if (!truth.entries().contains(key)) lacks(shadow_, fmt::format("{} in {}", key, name));
    }
    for (const auto& [key, entry] : truth.entries()) {
      if (!mine.entries().contains(key)) lacks(run_, fmt::format("{} in {}", key, name));
      const std::string item = key.ends_with(computed) ? key.substr(0, key.size() - computed.size()) : key;
      add({step, item}, relative_error(mine.at(key), entry), all_zero(entry));
    }
  }

  void scalars() {
    const auto mine = scalars_of(run_.ranks.at(0)), truth = scalars_of(shadow_.ranks.at(0));
    for (const auto& [item, value] : mine) {
      if (!truth.contains(item)) lacks(shadow_, fmt::format("{} at step {}", item.name, item.step));
    }
    for (const auto& [item, value] : truth) {
      if (!mine.contains(item)) lacks(run_, fmt::format("{} at step {}", item.name, item.step));
      add(item, relative_error(mine.at(item), value), value == 0);
    }
  }

  void add(const Item& item, double error, bool truth_zero) {
    if (!std::isfinite(error)) {
      throw InputError(
          fmt::format("{}: {} at step {} is not finite, or its float64 reference is not, so it has no limit",
                      run_.path.string(), item.name, item.step));
    }
    errors_[item] = {error, truth_zero};
  }

  const Record &run_, &shadow_;
  std::map<Item, ItemError> errors_;
};

}  // namespace

double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth) {
  if (got.shape != truth.shape) throw InputError("a dumped tensor does not have the shape of its float64 reference");
  const std::vector<double> values = numbers_with_error(got), true_values = numbers_with_error(truth);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = values[i] - true_values[i];
    error += difference * difference;
    size += true_values[i] * true_values[i];
  }
  return ratio(std::sqrt(error), std::sqrt(size));
}

double relative_error(double got, double truth) {
  return ratio(std::abs(got - truth), std::abs(truth));
}

bool all_zero(const SafetensorsEntry& tensor) {
  return std::ranges::all_of(numbers_with_error(tensor), [](double value) { return value == 0; });
}

std::string loss_item(std::optional<std::int64_t> microbatch) {
  return microbatch ? "loss/" + std::to_string(*microbatch) : "loss";
}

std::string evaluation_item(std::optional<std::int64_t> microbatch) {
  return microbatch ? "evaluation/" + std::to_string(*microbatch) : "evaluation";
}

std::string boundary_item(const std::string& direction, std::int64_t microbatch, const std::string& cut) {
  return "boundary/" + direction + "/" + std::to_string(microbatch) + "/" + cut;
}

std::map<Item, double> scalars_of(const RankRecord& rank) {
  std::map<Item, double> scalars;
  for (const MicrobatchRow& row : rank.microbatches)
    if (row.loss) scalars[{row.step, loss_item(row.microbatch)}] = static_cast<double>(*row.loss);
  for (const StepRow& row : rank.steps) {
    if (row.loss) scalars[{row.step, "loss"}] = static_cast<double>(*row.loss);
    if (row.gradient_norm) scalars[{row.step, "gradient_norm"}] = *row.gradient_norm;
  }
  for (const EvaluationRow& row : rank.evaluation)
    scalars[{row.step, evaluation_item(row.microbatch)}] = static_cast<double>(row.loss);
  return scalars;
}

std::map<Item, ItemError> measure_errors(const Record& run, const Record& shadow) {
  return Measuring(run, shadow).all();
}

namespace {

constexpr double largest_null_margin = 0.5;

bool is_loss(const std::string& item) {
  return item == "loss" || item.starts_with("loss/");
}

bool is_evaluation(const std::string& item) {
  return item == "evaluation" || item.starts_with("evaluation/");
}

/// Key of the pool: single numbers of a kind share one, each tensor has its own.
std::string pool_of(const std::string& item) {
  if (is_loss(item)) return "loss";
  if (is_evaluation(item)) return "evaluation";
  return item == "gradient_norm" ? item : "";
}

/// Smallest meaningful error: one rounding to the dtype in which the record stores the item. Losses are float32 in
/// every run; a norm is stored in float64, but its gradients have the run's dtype.
double one_rounding(const std::string& item, const std::string& dtype) {
  return predicates::unit_roundoff(predicates::storage_of(is_loss(item) || is_evaluation(item) ? "float32" : dtype));
}

double margin_factor(double left_out) {
  return std::max(left_out, other_kernels) / largest_null_margin;
}

/// Sets limit and reason from the other numbers; if the float64 reference is zero the reason is already set.
void set_limit(const Item& item, const Calibration& calibration, Limit& limit) {
  if (limit.by == LimitBy::zero) {
    limit.limit = 0;
    return;
  }
  const double floor = one_rounding(item.name, calibration.dtype);
  limit.by = limit.pooled > floor ? LimitBy::null_runs : LimitBy::rounding;
  limit.limit = calibration.factor * std::max(limit.pooled, floor);
  if (limit_ceiling < limit.limit) {
    limit.limit = limit_ceiling;
    limit.by = LimitBy::ceiling;
  }
}

/// Sets what follows from the errors and `left_out`: the factor, and each limit with its base and its reason.
void set_limits(Calibration& calibration) {
  calibration.factor = margin_factor(calibration.left_out);
  std::map<std::string, double> so_far;  // largest by kind; items are in the order of steps
  std::map<std::pair<std::string, std::int64_t>, double> largest;
  for (const auto& [item, limit] : calibration.limits) {
    double& most = so_far[pool_of(item.name)];
    most = std::max({most, limit.own, limit.null_most});
    largest[{pool_of(item.name), item.step}] = most;
  }
  for (auto& [item, limit] : calibration.limits) {
    const std::string pool = pool_of(item.name);
    limit.pooled = pool.empty() ? std::max(limit.own, limit.null_most) : largest.at({pool, item.step});
    set_limit(item, calibration, limit);
  }
}

class LimitMaker {
 public:
  LimitMaker(const std::map<Item, ItemError>& own, const std::vector<std::map<Item, ItemError>>& null,
             const std::string& dtype)
      : own_(own), null_(null), dtype_(dtype) {}

  Calibration make() {
    Calibration calibration;
    calibration.dtype = dtype_;
    calibration.null_runs = static_cast<std::int64_t>(null_.size());
    for (const auto& [item, error] : own_) {
      if (!error.truth_zero) calibration.left_out = std::max(calibration.left_out, left_out(item, pooled(item)));
      Limit& limit = calibration.limits[item];
      limit.own = error.error;
      for (const auto& run : null_) limit.null_most = std::max(limit.null_most, run.at(item).error);
      limit.by = error.truth_zero ? LimitBy::zero : LimitBy::null_runs;
    }
    set_limits(calibration);
    return calibration;
  }

 private:
  /// The item's errors in the reference and in each perturbed run.
  std::vector<double> pooled(const Item& item) {
    std::vector<double> errors = {own_.at(item).error};
    for (const auto& run : null_) errors.push_back(run.at(item).error);
    const std::string pool = pool_of(item.name);
    if (pool.empty()) return errors;
    auto& most = pools_[{pool, item.step}];
    if (most.empty()) most = pool_up_to(pool, item.step);
    return most;
  }

  std::vector<double> pool_up_to(const std::string& pool, std::int64_t step) const {
    std::vector<double> most(null_.size() + 1, 0);
    for (const auto& [item, error] : own_) {
      if (item.step > step || pool_of(item.name) != pool) continue;
      most[0] = std::max(most[0], error.error);
      for (std::size_t run = 0; run < null_.size(); ++run) {
        most[run + 1] = std::max(most[run + 1], null_[run].at(item).error);
      }
    }
    return most;
  }

  double left_out(const Item& item, const std::vector<double>& errors) const {
    double worst = 0;
    for (std::size_t run = 1; run < errors.size(); ++run) {
      double others = one_rounding(item.name, dtype_);
      for (std::size_t other = 0; other < errors.size(); ++other) {
        if (other != run) others = std::max(others, errors[other]);
      }
      worst = std::max(worst, errors[run] / others);
    }
    return worst;
  }

  const std::map<Item, ItemError>& own_;
  const std::vector<std::map<Item, ItemError>>& null_;
  const std::string& dtype_;
  std::map<std::pair<std::string, std::int64_t>, std::vector<double>> pools_;
};

}  // namespace

Calibration make_calibration(const std::map<Item, ItemError>& own, const std::vector<std::map<Item, ItemError>>& null,
                             const std::string& dtype) {
  if (null.size() < least_null_runs) {
    throw InputError(
        fmt::format("{} perturbed runs are too few to measure the effect of equivalent changes; make at least {}",
                    null.size(), least_null_runs));
  }
  if (own.empty()) throw InputError("the reference has no items to calibrate");
  for (const auto& run : null) {
    const bool same = std::equal(own.begin(), own.end(), run.begin(), run.end(),
                                 [](const auto& one, const auto& other) { return one.first == other.first; });
    if (!same) throw InputError("a perturbed run does not have the same items as the reference");
  }
  return LimitMaker(own, null, dtype).make();
}

std::string why_not_its_own(const Calibration& calibration) {
  Calibration whole = calibration;
  set_limits(whole);
  if (calibration.factor != whole.factor) {
    return fmt::format("its factor is {}, but its left_out gives {}", short_text(calibration.factor),
                       short_text(whole.factor));
  }
  for (const auto& [item, limit] : calibration.limits) {
    const Limit& made = whole.limits.at(item);
    const auto differs = [&, &item = item](const char* what, double recorded, double computed) {
      return fmt::format("{} of step {}: its {} is {}, but its own numbers give {}", item.name, item.step, what,
                         short_text(recorded), short_text(computed));
    };
    if (limit.pooled != made.pooled) return differs("pooled", limit.pooled, made.pooled);
    if (limit.limit != made.limit) return differs("limit", limit.limit, made.limit);
    if (limit.by != made.by)
      return fmt::format("{} of step {}: something else determines its limit", item.name, item.step);
  }
  return "";
}

std::string short_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

std::string limit_words(const Calibration& calibration, const Limit& limit) {
  const std::string value = short_text(limit.limit);
  const std::string runs = fmt::format("the reference and {} perturbed references", calibration.null_runs);
  switch (limit.by) {
    case LimitBy::zero:
      return "0: the float64 reference is exactly zero there";
    case LimitBy::ceiling:
      return fmt::format("{}, half the error of a missing tensor, below {} x {}, the largest error of {}", value,
                         short_text(calibration.factor), short_text(limit.pooled), runs);
    case LimitBy::rounding:
      return fmt::format("{} = {} x one rounding, as the errors of {} are smaller", value,
                         short_text(calibration.factor), runs);
    case LimitBy::null_runs:
      break;
  }
  return fmt::format("{} = {} x {}, the largest error of {}", value, short_text(calibration.factor),
                     short_text(limit.pooled), runs);
}

}  // namespace plumbline::judging
