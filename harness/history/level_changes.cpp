#include "harness/history/level_changes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "support/median.hpp"

namespace plumbline {
namespace {

/// Ranks less their mean, equal values sharing theirs: an outlier weighs no more than the largest.
std::vector<double> centred_ranks(std::span<const double> points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return points[i]; });
  std::vector<double> ranks(points.size());
  const double mean = (static_cast<double>(points.size()) - 1) / 2;
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from;
    while (to < order.size() && points[order[to]] == points[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) ranks[order[i]] = static_cast<double>(from + to - 1) / 2 - mean;
    from = to;
  }
  return ranks;
}

/// Wilcoxon's rank sum of the first t points, standardised up to a factor that all splits share: its largest over the
/// splits, and where.
struct Split {
  std::size_t at = 0;
  double statistic = 0;
};

class RankTest {
 public:
  RankTest(std::span<const double> points, const LevelChangeOptions& options)
      : options_(options), ranks_(centred_ranks(points)) {
    const std::size_t count = points.size();
    scale_.resize(count, 0);
    for (std::size_t t = options.least_points; t + options.least_points <= count; ++t)
      scale_[t] = 1 / std::sqrt(static_cast<double>(t) * static_cast<double>(count - t));
  }

  Split clearest() const {
    Split best;
    double sum = 0;
    for (std::size_t t = 1; t < ranks_.size(); ++t) {
      sum += ranks_[t - 1];
      if (const double statistic = std::fabs(sum) * scale_[t]; statistic > best.statistic) best = {t, statistic};
    }
    return best;
  }

  /// Share of random orders whose clearest split is as clear; 1 as soon as it cannot be significant any more.
  double p_of(const Split& found) {
    return share([&] { return clearest().statistic >= found.statistic * (1 - 1e-12); });
  }

  /// The same of a split that was found elsewhere.
  double p_at(std::size_t split) {
    const auto sum = [&] {
      return std::fabs(std::accumulate(ranks_.begin(), ranks_.begin() + static_cast<std::ptrdiff_t>(split), 0.0));
    };
    const double found = sum();
    return share([&] { return sum() >= found * (1 - 1e-12); });
  }

 private:
  template <typename AsClear>
  double share(const AsClear& as_clear) {
    std::mt19937_64 random(0x706c756d62ULL);
    const double total = static_cast<double>(options_.permutations + 1);
    const std::vector<double> in_order = ranks_;
    double reached = 1;  // the order found is one of all
    for (std::size_t i = 0; i < options_.permutations && reached / total <= options_.significance; ++i) {
      for (std::size_t last = ranks_.size() - 1; last > 0; --last)
        std::swap(ranks_[last], ranks_[static_cast<std::size_t>(random() % (last + 1))]);
      if (as_clear()) ++reached;
    }
    ranks_ = in_order;
    return reached / total <= options_.significance ? reached / total : 1;
  }

  const LevelChangeOptions& options_;
  std::vector<double> ranks_, scale_;
};

class Search {
 public:
  Search(std::span<const double> points, const LevelChangeOptions& options) : points_(points), options_(options) {}

  std::vector<LevelChange> changes() {
    split(0, points_.size());
    std::ranges::sort(splits_);
    drop_unclear();
    return joined();
  }

 private:
  void split(std::size_t from, std::size_t to) {
    if (to - from < 2 * options_.least_points) return;
    RankTest test(points_.subspan(from, to - from), options_);
    const Split found = test.clearest();
    if (found.at == 0 || test.p_of(found) > options_.significance) return;
    splits_.push_back(from + found.at);
    split(from, from + found.at);
    split(from + found.at, to);
  }

  std::size_t begin_of(std::size_t index) const { return index == 0 ? 0 : splits_[index - 1]; }
  std::size_t end_of(std::size_t index) const {
    return index + 1 < splits_.size() ? splits_[index + 1] : points_.size();
  }

  LevelChange step(std::size_t index) const {
    const std::size_t from = begin_of(index), at = splits_[index], to = end_of(index);
    LevelChange change;
    change.begin = at - 1;
    change.first = at;
    change.before = level(from, at);
    change.after = level(at, to);
    RankTest test(points_.subspan(from, to - from), options_);
    change.p = test.p_at(at - from);
    return change;
  }

  double level(std::size_t from, std::size_t to) const {
    return *median_of(
        {points_.begin() + static_cast<std::ptrdiff_t>(from), points_.begin() + static_cast<std::ptrdiff_t>(to)});
  }

  /// A split was found among all points of its part; here it has to show between its own neighbours, the smallest going
  /// first, since its going gives its neighbours more points.
  void drop_unclear() {
    while (!splits_.empty()) {
      std::size_t worst = splits_.size();
      double smallest = HUGE_VAL;
      for (std::size_t i = 0; i < splits_.size(); ++i) {
        const LevelChange change = step(i);
        const double size = std::fabs(change.size());
        if ((size < options_.smallest || change.p > options_.significance) && size < smallest) {
          worst = i;
          smallest = size;
        }
      }
      if (worst == splits_.size()) return;
      splits_.erase(splits_.begin() + static_cast<std::ptrdiff_t>(worst));
    }
  }

  /// Two and more steps in one direction are one drift where a line explains the points better than they do.
  std::vector<LevelChange> joined() const {
    std::vector<LevelChange> steps;
    for (std::size_t i = 0; i < splits_.size(); ++i) steps.push_back(step(i));
    std::vector<LevelChange> told;
    for (std::size_t i = 0; i < steps.size();) {
      std::size_t last = i;
      while (last + 1 < steps.size() && (steps[last + 1].size() > 0) == (steps[i].size() > 0)) ++last;
      const std::optional<Line> line = last > i ? better_line(i, last) : std::nullopt;
      if (line) {
        told.push_back({LevelChange::Kind::drift, begin_of(i), end_of(last) - 1, line->start, line->end,
                        std::max(steps[i].p, steps[last].p)});
      } else {
        told.insert(told.end(), steps.begin() + static_cast<std::ptrdiff_t>(i),
                    steps.begin() + static_cast<std::ptrdiff_t>(last + 1));
      }
      i = last + 1;
    }
    return told;
  }

  struct Line {
    double start = 0, end = 0;  ///< at the first and the last point
  };

  /// Tukey's resistant line through the points from the one before the first split to the one after the last: through
  /// the medians of the outer thirds. Only where it explains them better than the steps do, by Schwarz's criterion with
  /// absolute residuals: a line has two parameters, each step its place and its level.
  std::optional<Line> better_line(std::size_t first, std::size_t last) const {
    const std::size_t from = begin_of(first), to = end_of(last), third = (to - from) / 3;
    const auto count = static_cast<double>(to - from);
    const double slope = (level(to - third, to) - level(from, from + third)) / static_cast<double>(to - from - third);
    std::vector<double> rest;
    for (std::size_t i = from; i < to; ++i) rest.push_back(points_[i] - slope * static_cast<double>(i - from));
    const double start = *median_of(rest);
    double by_line = 0, by_steps = 0;
    for (const double each : rest) by_line += std::fabs(each - start);
    for (std::size_t i = first; i <= last + 1; ++i) {
      const std::size_t begin = i == first ? from : splits_[i - 1];
      const std::size_t end = i == last + 1 ? to : splits_[i];
      const double own = level(begin, end);
      for (std::size_t at = begin; at < end; ++at) by_steps += std::fabs(points_[at] - own);
    }
    const auto steps = static_cast<double>(last - first + 1);
    const bool better = 2 * count * std::log(by_line) + 2 * std::log(count) <
                        2 * count * std::log(by_steps) + (2 * steps + 1) * std::log(count);
    return better ? std::optional(Line{start, start + slope * (count - 1)}) : std::nullopt;
  }

  std::span<const double> points_;
  const LevelChangeOptions& options_;
  std::vector<std::size_t> splits_;
};

}  // namespace

std::vector<LevelChange> find_level_changes(std::span<const double> points, const LevelChangeOptions& options) {
  return Search(points, options).changes();
}

}  // namespace plumbline
