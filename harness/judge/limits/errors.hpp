// SPDX-License-Identifier: BSD-3-Clause
// Errors of a single-device record's values relative to its float64 reference, item by item.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

/// A compared value: "loss/3" of a microbatch, "loss", "gradient_norm" and "evaluation" of a step, "gradient/NAME",
/// "parameter/NAME", "moment1/NAME", "moment2/NAME", "boundary/forward/3/layers.2". The start is no item: runs whose
/// start differs in bits are not compared.
struct Item {
  std::int64_t step = 0;
  std::string name;
  friend auto operator<=>(const Item&, const Item&) = default;
};

/// "loss/3", or "loss" of the step.
std::string loss_item(std::optional<std::int64_t> microbatch);
/// "evaluation/3", or "evaluation" for the sum after the step.
std::string evaluation_item(std::optional<std::int64_t> microbatch);
std::string boundary_item(const std::string& direction, std::int64_t microbatch, const std::string& cut);

/// The losses and gradient norms in a rank's current rows.
std::map<Item, double> scalars_of(const RankRecord& rank);

struct ItemError {
  double error = 0;         ///< its relative_error
  bool truth_zero = false;  ///< the float64 reference is exactly zero there
};

/// The errors of all items of `run`, a reference at level dump, relative to `shadow`; both read with read_record.
/// Throws InputError naming an item that one of them lacks, or whose error is not finite.
std::map<Item, ItemError> measure_errors(const Record& run, const Record& shadow);

}  // namespace plumbline::judging
