// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/long_run_values.hpp"

#include <algorithm>
#include <cmath>

#include "record/columns.hpp"
#include "support/csv.hpp"
#include "support/hash.hpp"

namespace plumbline::testing {
namespace {

constexpr std::int64_t used_tokens = 6;  // used ids of the vocabulary, in every step
constexpr double clip_norm = 1, beta1 = 0.9, beta2 = 0.99;

/// All gradients have one magnitude; for moment2, that of the largest element.
double size_of(const LongRunValues& run, const std::string& kind, std::int64_t step) {
  if (kind == "parameter") return 1;
  const double gradient = run.norm_of(step) / std::sqrt(static_cast<double>(run.model.parameters.size()));
  if (kind == "gradient") return gradient;
  const double clipped = gradient * std::min(1.0, clip_norm / run.norm_of(step));
  return kind == "moment1" ? (1 - beta1) * clipped : (1 - beta2) * clipped / 2 * clipped / 2;
}

}  // namespace

std::int64_t LongRunValues::add_tensors(std::int64_t step, std::int64_t rank, std::string& text) const {
  std::vector<std::string> kinds = {"parameter"};
  if (step >= 0) kinds = {"gradient", "parameter", "moment1", "moment2"};
  const auto& units = stages[static_cast<std::size_t>(rank)];
  std::int64_t added = 0;
  for (const auto& kind : kinds) {
    for (const auto& parameter : model.parameters) {
      if (std::ranges::find(units, parameter.unit) == units.end()) continue;
      TensorRow row;
      row.step = step, row.kind = kind, row.name = parameter.name, row.stage = rank;
      row.dtype = "float32", row.shape = parameter.shape;
      row.digest = hash_hex(kind + " " + std::to_string(step) + " " + parameter.name);
      row.l2 = size_of(*this, kind, step);
      row.max_abs = static_cast<float>(kind == "moment2" ? row.l2 : row.l2 / 2);
      row.nonzero = element_count(parameter.shape);
      if (parameter.shape.size() == 2) {
        const bool looked_up = kind == "gradient" && parameter.unit == "embed_tokens";
        row.nonzero_rows = looked_up ? used_tokens : parameter.shape[0];
      }
      text += csv_line(cells_of(row));
      ++added;
    }
  }
  return added;
}

std::int64_t LongRunValues::add_boundaries(std::int64_t step, std::int64_t rank, std::string& text) const {
  std::int64_t added = 0;
  const auto add = [&](BoundaryRow row) {
    text += csv_line(cells_of(row));
    ++added;
  };
  for (std::int64_t m = 0; m < microbatches; ++m) {
    for (const char* direction : {"forward", "backward"}) {
      const auto value_at = [&](const std::string& cut) {
        BoundaryRow row;
        row.step = step, row.microbatch = m, row.direction = direction, row.cut = cut, row.side = "computed";
        row.dtype = "float32", row.shape = {1, length_of(m), model.hidden};
        row.bytes = element_count(row.shape) * 4;
        row.digest =
            hash_hex(std::string(direction) + " " + std::to_string(step) + " " + std::to_string(m) + " " + cut);
        return row;
      };
      if (reference) {
        for (std::size_t unit = 1; unit < model.units.size(); ++unit) add(value_at(model.units[unit]));
        continue;
      }
      for (std::int64_t stage = 0; stage + 1 < std::ssize(stages); ++stage) {
        const bool forward = std::string(direction) == "forward";
        const std::int64_t from = forward ? stage : stage + 1, to = forward ? stage + 1 : stage;
        if (rank != from && rank != to) continue;
        BoundaryRow row = value_at(stages[static_cast<std::size_t>(stage) + 1].front());
        row.from_stage = from, row.to_stage = to;
        row.side = rank == from ? "send" : "receive";
        row.peer = rank == from ? to : from;
        add(row);
      }
    }
  }
  return added;
}

}  // namespace plumbline::testing
