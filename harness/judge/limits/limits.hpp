// SPDX-License-Identifier: BSD-3-Clause
// Limits of the comparison mode calibrated: errors relative to the float64 reference, and the limit of every item from
// the errors of equivalent runs.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

enum class LimitBy {
  null_runs,  ///< factor x the largest error of the reference and the perturbed runs
  rounding,   ///< factor x one rounding, if no run had a larger error
  ceiling,    ///< limit_ceiling, if it is lower
  zero,       ///< 0: the float64 reference is exactly zero, so every run must be
};

struct Limit {
  double own = 0;        ///< the reference's error
  double null_most = 0;  ///< largest error of the perturbed runs
  double pooled = 0;     ///< the base of the limit; for a loss or a norm, the largest error of its kind so far
  double limit = 0;
  LimitBy by = LimitBy::null_runs;
};

struct Calibration {
  std::string dtype;  ///< the reference's
  std::string reference_run_id, shadow_run_id;
  std::filesystem::path shadow;  ///< record of the float64 reference
  std::int64_t null_runs = 0;
  double left_out = 1;  ///< largest ratio of one perturbed run's error to the largest of all others, at least 1
  double factor = 4;    ///< 2 x max(left_out, other_kernels)
  std::map<Item, Limit> limits;
};

inline constexpr std::size_t least_null_runs = 20;

/// Perturbed runs show how rounding propagates, but all use the kernels of one machine. On a machine without fused
/// multiply-add each product is rounded as well: up to twice the error of the same sum.
inline constexpr double other_kernels = 2;

/// Half the relative error of a tensor that is wrongly zero: a limit near 1 could not detect it.
inline constexpr double limit_ceiling = 0.5;

/// factor = 2 x max(left_out, other_kernels), where left_out is the largest ratio of a perturbed run's error to the
/// largest error of the others: with limits derived from the others alone, the worst run has a margin of at most 0.5.
/// Losses and norms are single numbers, which can be accurate by chance: each uses the largest error of its kind in the
/// steps so far. Throws InputError for fewer than 20 perturbed runs, and for runs with other items than the reference.
Calibration make_calibration(const std::map<Item, ItemError>& own, const std::vector<std::map<Item, ItemError>>& null,
                             const std::string& dtype);

/// Recomputes each limit and the factor from the numbers of a file, which may have been edited. Returns the first
/// mismatch, "<item of step n>: its limit is 1, its own numbers give 4.1e-07"; empty if all are as make_calibration
/// computes them.
std::string why_not_its_own(const Calibration& calibration);

/// "4.1e-07 = 4.2 x 9.8e-08, the largest error of ..."
std::string limit_words(const Calibration& calibration, const Limit& limit);

/// Three significant digits: "4.12e-07".
std::string short_text(double number);

}  // namespace plumbline::judging
