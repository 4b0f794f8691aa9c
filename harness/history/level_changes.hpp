// Where the level of a series of measurements changes: a permutation test on ranks, applied to halves and their halves.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plumbline {

struct LevelChangeOptions {
  /// A change is told where at most this share of random orders of the same points shows one as clear.
  double significance = 0.005;
  std::size_t permutations = 1999;
  double smallest = 0.02;        ///< of the level: a smaller change is not told, however clear
  std::size_t least_points = 4;  ///< on either side of a change
};

/// A step: from point `first` on the level is another one. A drift: it moves from one level to the other between
/// `begin` and `first`, and a straight line says so better than the steps that it would otherwise be.
struct LevelChange {
  enum class Kind { step, drift };
  Kind kind = Kind::step;
  std::size_t begin = 0;         ///< of a drift its first point; of a step the last one at the old level
  std::size_t first = 0;         ///< of a drift its last point; of a step the first one at the new level
  double before = 0, after = 0;  ///< medians on either side, up to the next change; of a drift the ends of its line
  double p = 1;

  double size() const { return after / before - 1; }
};

/// In their order. The same points give the same changes: random orders are drawn from a fixed seed. Points are
/// positive and finite.
std::vector<LevelChange> find_level_changes(std::span<const double> points, const LevelChangeOptions& options = {});

}  // namespace plumbline
