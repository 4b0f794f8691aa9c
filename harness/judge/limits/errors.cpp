// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

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

}  // namespace plumbline::judging
