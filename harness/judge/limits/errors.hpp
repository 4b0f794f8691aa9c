// SPDX-License-Identifier: BSD-3-Clause
// What a single-device record's values are off from its float64 shadow's, item by item.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

/// One value on the ladder: "loss/3" of a microbatch, "loss", "gradient_norm" and "evaluation" of a step,
/// "gradient/NAME", "parameter/NAME", "moment1/NAME", "moment2/NAME", "boundary/forward/3/layers.2". The start is no
/// item: it is the same in bits or the runs are not compared.
struct Item {
  std::int64_t step = 0;
  std::string name;
  friend auto operator<=>(const Item&, const Item&) = default;
};

std::string loss_item(std::int64_t microbatch);
/// "evaluation/3", or "evaluation" of the whole one after the step.
std::string evaluation_item(std::optional<std::int64_t> microbatch);
std::string boundary_item(const std::string& direction, std::int64_t microbatch, const std::string& cut);

struct ItemError {
  double error = 0;         ///< relative_error of it
  bool truth_zero = false;  ///< the shadow is exactly zero there
};

/// Every item of `run`, a reference at level dump, against the same one of `shadow`, both read with read_record. Throws
/// InputError naming what one of them lacks, and an item whose error is no finite number.
std::map<Item, ItemError> measure_errors(const Record& run, const Record& shadow);

}  // namespace plumbline::judging
