// SPDX-License-Identifier: BSD-3-Clause
// From the errors of harmless runs to the limit of every item.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/judge/limits/errors.hpp"

namespace plumbline::judging {

enum class LimitBy {
  null_runs,  ///< factor x the largest error of the reference and the perturbed references
  rounding,   ///< factor x one rounding: none of these was further off than that
  ceiling,    ///< limit_ceiling lies below either
  zero,       ///< the shadow is exactly zero, and so must be whatever computes it
};

struct Limit {
  double own = 0;        ///< the reference's error
  double null_most = 0;  ///< largest of the perturbed references'
  double pooled = 0;     ///< what the limit is made from: for a loss or a norm, the largest of its kind so far
  double limit = 0;
  LimitBy by = LimitBy::null_runs;
};

struct Calibration {
  std::string dtype;  ///< of the reference
  std::string reference_run_id, shadow_run_id;
  std::filesystem::path shadow;  ///< the shadow's record
  std::int64_t null_runs = 0;
  double left_out = 1;  ///< largest ratio of a perturbed run's error to the largest of all the others', at least 1
  double factor = 4;    ///< 2 x the larger of left_out and other_kernels
  std::map<Item, Limit> limits;
};

inline constexpr std::size_t least_null_runs = 20;

/// Perturbed runs show how far a run carries rounding, but all round with the kernels of one machine. Where another has
/// no fused multiply-add, each product is rounded too: up to twice the error of the same sum.
inline constexpr double other_kernels = 2;

/// Half of what a tensor is off that is zero where it should not be: a limit near 1 could not fail.
inline constexpr double limit_ceiling = 0.5;

/// factor = 2 x max(left_out, other_kernels), with left_out the largest ratio that any perturbed run's error has to the
/// largest of the others': judged by limits made from the others alone, the worst of them has at most margin 0.5.
/// Losses, and norms, are single numbers, of which one can be right by chance: each is given the largest error of its
/// kind in the steps so far. Throws InputError for fewer than 20 perturbed runs, and for runs that hold other items
/// than the reference.
Calibration make_calibration(const std::map<Item, ItemError>& own, const std::vector<std::map<Item, ItemError>>& null,
                             const std::string& dtype);

/// What each limit's own numbers make of it, and the numbers of all together of the factor: "<item of step n>: its
/// limit is 1, its own numbers make 4.1e-07"; empty where all is as make_calibration leaves it. Of a file that may have
/// been edited.
std::string why_not_its_own(const Calibration& calibration);

/// "4.1e-07 = 4.2 x 9.8e-08, the largest error of ..."
std::string limit_words(const Calibration& calibration, const Limit& limit);

/// Three digits: "4.12e-07".
std::string short_text(double number);

}  // namespace plumbline::judging
