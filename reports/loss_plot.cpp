#include "reports/loss_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "reports/markup.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

/// Up to this many steps each world size has its own place beside the step, so that equal values do not hide each
/// other.
constexpr std::size_t most_dodged_steps = 24;

/// Colours (Okabe and Ito 2008) that the colour-blind tell apart; the point's shape says the same in black and white.
constexpr std::array colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#444444", "#7A5195"};
constexpr std::array shapes{6, 4, 8, 10, 12, 1, 2, 3};

std::string number(double value) {
  return std::isfinite(value) ? to_text(value) : "NaN";
}

double ulp(double value) {
  const auto single = static_cast<float>(std::fabs(value));
  return static_cast<double>(std::nextafter(single, HUGE_VALF)) - static_cast<double>(single);
}

std::vector<std::int64_t> worlds_of(const std::vector<LossSeries>& series) {
  std::set<std::int64_t> worlds;
  for (const auto& one : series) worlds.insert(one.world);
  return {worlds.begin(), worlds.end()};
}

std::string data_block(const std::string& name, const Losses& losses) {
  std::string block = "$" + name + " << EOD\n";
  for (const auto& [step, loss] : losses) block += to_text(step) + " " + number(static_cast<double>(loss)) + "\n";
  return block + "EOD\n";
}

/// Rows "step shift loss difference" of all runs of one world size.
std::string world_block(const std::string& name, const Losses& reference, const std::vector<LossSeries>& series,
                        std::int64_t world, double shift) {
  std::string block = "$" + name + " << EOD\n";
  for (const auto& one : series) {
    if (one.world != world) continue;
    for (const auto& [step, loss] : one.losses) {
      const auto expected = reference.find(step);
      const double difference =
          expected == reference.end() ? NAN : static_cast<double>(loss) - static_cast<double>(expected->second);
      block += to_text(step) + " " + to_text(shift) + " " + number(static_cast<double>(loss)) + " " +
               number(difference) + "\n";
    }
    block += "\n";
  }
  return block + "EOD\n";
}

double half_range(const Losses& reference, const std::vector<LossSeries>& series) {
  double largest_loss = 0, largest = 0;
  for (const auto& [step, loss] : reference) {
    if (std::isfinite(loss)) largest_loss = std::max(largest_loss, std::fabs(static_cast<double>(loss)));
  }
  for (const auto& one : series) largest = std::max(largest, loss_difference(reference, one).largest);
  return std::max(1.15 * largest, 2.5 * ulp(largest_loss));
}

}  // namespace

LossDifference loss_difference(const Losses& reference, const LossSeries& series) {
  LossDifference result;
  for (const auto& [step, loss] : series.losses) {
    const auto expected = reference.find(step);
    if (expected == reference.end()) continue;
    ++result.compared;
    if (!(loss == expected->second)) ++result.differing;
    const double difference = std::fabs(static_cast<double>(loss) - static_cast<double>(expected->second));
    if (std::isfinite(difference)) result.largest = std::max(result.largest, difference);
  }
  return result;
}

std::string loss_plot_script(const Losses& reference, const std::vector<LossSeries>& series) {
  const auto worlds = worlds_of(series);
  const bool dodged = reference.size() <= most_dodged_steps;
  std::string script = "set datafile missing 'NaN'\n" + data_block("reference", reference);
  std::string upper, lower;
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const double place = static_cast<double>(i + 1) / static_cast<double>(worlds.size() + 1) - 0.5;
    const std::string name = "world" + std::to_string(i);
    script += world_block(name, reference, series, worlds[i], dodged ? 0.7 * place : 0);
    const std::string color = " lc rgb '" + std::string(colors[i % colors.size()]) + "' ";
    const std::string points =
        "with points pt " + std::to_string(shapes[i % shapes.size()]) + " ps 0.75 lw 1.4" + color;
    const std::string style = dodged ? points : "with lines lw 1.4 dt " + std::to_string(i + 1) + color;
    const std::string x = " using ($1+$2):";
    upper += ", \\\n  $" + name + x + "3 " + style + "title " + gnuplot_quote("P = " + to_text(worlds[i]));
    lower += ", \\\n  $" + name + x + "4 " + style + "notitle";
  }
  const std::int64_t first = reference.empty() ? 0 : reference.begin()->first;
  const std::int64_t last = reference.empty() ? 1 : reference.rbegin()->first;
  const std::string half = to_text(half_range(reference, series));
  script += "set multiplot\nset lmargin at screen 0.12\nset rmargin at screen 0.98\nset border 3\n";
  script += "set tics nomirror out scale 0.6\nset grid ytics lc rgb '#dddddd' lt 1 lw 0.7\n";
  script += "set xrange [" + to_text(static_cast<double>(first) - 0.5) + ":" +
            to_text(static_cast<double>(last) + 0.5) + "]\n";
  if (last - first <= 12) script += "set xtics 1\n";
  script +=
      "set key above horizontal left Left reverse samplen 1.2 width -1\nset offsets 0, 0, graph 0.06, graph 0.06\n";
  script += "set tmargin at screen 0.88\nset bmargin at screen 0.48\nset format x ''\nset ylabel 'loss (nats)'\n";
  // As wide as the places beside a step: a pipeline's point lies on the bar exactly when it equals the reference.
  script += dodged
                ? "plot $reference with lines lw 1 lc rgb '#b8b8b8' notitle, \\\n"
                  "  $reference using ($1-0.35):2:(0.7):(0) with vectors nohead lw 4 lc rgb '#b8b8b8' title 'reference'"
                : "plot $reference with lines lw 4 lc rgb '#b8b8b8' title 'reference'";
  script += upper + "\n";
  script +=
      "unset key\nset offsets 0, 0, 0, 0\nset tmargin at screen 0.42\nset bmargin at screen 0.17\nset format x "
      "'%g'\nset xlabel 'step'\n";
  script += "set ylabel 'difference'\nset yrange [-" + half + ":" + half + "]\nset ytics (-" + half + "*0.8, 0, " +
            half + "*0.8)\nset format y '%.1e'\n";
  script += "plot 0 with lines lw 3 lc rgb '#b8b8b8'" + lower + "\nunset multiplot\n";
  return script;
}

}  // namespace plumbline
