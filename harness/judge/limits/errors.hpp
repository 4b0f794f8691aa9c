// SPDX-License-Identifier: BSD-3-Clause
// Errors of values relative to the float64 reference: of tensors, from the bytes of two dumps, and of a single-device
// record, item by item.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "record/record.hpp"
#include "support/safetensors.hpp"

namespace plumbline::judging {

/// |got - truth| / |truth| in 2-norms, computed in float64; |got| if truth is all zero. For any floating-point dtypes.
/// NaN or infinity if an element of either is, so that every limit is exceeded. Throws InputError for shapes that
/// differ and for integers.
double relative_error(const SafetensorsEntry& got, const SafetensorsEntry& truth);

/// The same for two numbers.
double relative_error(double got, double truth);

/// True if all elements are zero.
bool all_zero(const SafetensorsEntry& tensor);

/// A compared value: "loss/3" of a microbatch, "loss", "gradient_norm" and "evaluation" of a step, "gradient/NAME",
/// "parameter/NAME", "moment1/NAME", "moment2/NAME", "boundary/forward/3/layers.2". The start is not an item: runs
/// whose start differs in bits are not compared.
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
