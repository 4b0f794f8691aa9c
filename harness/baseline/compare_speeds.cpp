#include "harness/baseline/compare_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plumbline {
namespace {

std::string number_text(double value, const char* form = "%.3f") {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string ratio_text(const MedianInterval& ratio) {
  return number_text(ratio.median) + " [" + number_text(ratio.low) + ", " + number_text(ratio.high) + "]";
}

/// What the schedule has to do with it: its simulation moves with the times of the work, a share of it with all that
/// lies between.
std::string simulated_words(const CellSpeed& before, const CellSpeed& now) {
  if (!before.simulated || !now.simulated) return "";
  const auto share = [](const CellSpeed& cell) {
    return number_text(100 * cell.ratio.median / *cell.simulated, "%.0f") + " % of the " +
           number_text(*cell.simulated) + " that its schedule allows by simulation";
  };
  return "; " + share(before) + " before, " + share(now) + " now";
}

/// Why none of them is compared; empty where they can be.
std::string why_not(const Speeds& before, const Speeds& now) {
  if (before.machine != now.machine)
    return "speed: measured on another machine (" + before.machine_name + " before, " + now.machine_name +
           " now): a baseline made there is needed";
  for (const auto& [which, speeds] : {std::pair{"baseline's", &before}, {"new", &now}})
    if (!speeds->quiet)
      return std::string("speed: the machine was not quiet during the ") + which +
             " bench: the median of a second reference over the first may lie " +
             number_text(100 * speeds->noise, "%.1f") + " % off 1";
  return "";
}

}  // namespace

void compare_speeds(const std::optional<Speeds>& before, const std::optional<Speeds>& now, BaselineComparison& result) {
  if (!before) {
    if (now)
      result.not_compared.push_back("speed: the baseline holds none (plumbline baseline accept --bench takes them on)");
    return;
  }
  if (!now) {
    result.not_compared.push_back("speed: no bench was given (--bench DIR)");
    return;
  }
  if (const std::string why = why_not(*before, *now); !why.empty()) {
    result.not_compared.push_back(why);
    return;
  }
  const double noise = std::max(before->noise, now->noise);
  for (const auto& [id, old_speed] : before->cells) {
    const auto found = now->cells.find(id);
    if (found == now->cells.end()) {
      result.not_compared.push_back("speed of " + id + ": is not in the new bench");
      continue;
    }
    const CellSpeed& new_speed = found->second;
    if (old_speed.asked.empty() || old_speed.asked != new_speed.asked) {
      result.not_compared.push_back("speed of " + id + ": another run was asked for under this name");
      continue;
    }
    ++result.speeds;
    const double change = new_speed.ratio.median / old_speed.ratio.median - 1;
    const bool apart = new_speed.ratio.low > old_speed.ratio.high || new_speed.ratio.high < old_speed.ratio.low;
    if (!apart || std::fabs(change) <= noise) continue;
    result.changes.push_back({ChangeKind::speed, id,
                              "tokens/s over the reference's " + ratio_text(old_speed.ratio) + " before, " +
                                  ratio_text(new_speed.ratio) + " now (" + number_text(100 * change, "%+.1f") +
                                  " %, noise " + number_text(100 * noise, "%.1f") + " %)" +
                                  simulated_words(old_speed, new_speed)});
  }
}

}  // namespace plumbline
