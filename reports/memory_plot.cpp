#include "reports/memory_plot.hpp"

#include <algorithm>
#include <array>

#include "reports/markup.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

struct Unit {
  double bytes;
  const char* name;
};

Unit unit_for(std::int64_t largest) {
  for (const Unit unit : {Unit{1024.0 * 1024 * 1024, "GiB"}, Unit{1024.0 * 1024, "MiB"}, Unit{1024.0, "KiB"}}) {
    if (static_cast<double>(largest) >= unit.bytes) return unit;
  }
  return {1, "bytes"};
}

std::string scaled(std::int64_t bytes, const Unit& unit) {
  return to_text(static_cast<double>(bytes) / unit.bytes);
}

/// The ranks of a group stand side by side around the group's place on the x axis.
struct Slot {
  double low, high;
};
Slot slot(std::size_t group, std::size_t rank, std::size_t ranks) {
  constexpr double share = 0.84;  // of the distance between two groups
  const double width = share / static_cast<double>(ranks);
  const double low = static_cast<double>(group) - share / 2 + width * static_cast<double>(rank);
  return {low + 0.06 * width, low + 0.94 * width};
}

std::string bar_row(const Slot& at, std::int64_t from, std::int64_t to, const Unit& unit) {
  return to_text((at.low + at.high) / 2) + " " + to_text(at.low) + " " + to_text(at.high) + " " + scaled(from, unit) +
         " " + scaled(to, unit) + "\n";
}

std::string ticks(const std::vector<MemoryGroup>& groups, bool with_reference) {
  std::string text = "set xtics (";
  if (with_reference) text += "'ref.' 0";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0 || with_reference) text += ", ";
    text += "'" + to_text(groups[i].world) + "' " + std::to_string(i + (with_reference ? 1 : 0));
  }
  return text + ")\n";
}

std::string common_look() {
  return "set border 3\nset tics nomirror out scale 0.6\nset grid ytics lc rgb '#dddddd' lt 1 lw 0.7\n"
         "set xlabel 'world size P, one bar a rank'\nset style fill solid border rgb '#1b3a5c'\n";
}

/// Returns whether there is a law to draw: gnuplot takes no empty block.
bool append_panel_data(std::string& script, const std::string& name, const MemoryPanel& panel, const Unit& unit) {
  bool predicted = false;
  std::string bars = "$bars" + name + " << EOD\n", laws = "$laws" + name + " << EOD\n";
  for (std::size_t group = 0; group < panel.groups.size(); ++group) {
    const auto& ranks = panel.groups[group].ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Slot at = slot(group, rank, ranks.size());
      if (ranks[rank].activation_bytes) bars += bar_row(at, 0, *ranks[rank].activation_bytes, unit);
      if (ranks[rank].predicted_bytes) {
        predicted = true;
        laws +=
            to_text(at.low) + " " + scaled(*ranks[rank].predicted_bytes, unit) + " " + to_text(at.high - at.low) + "\n";
      }
    }
  }
  script += bars + "EOD\n" + laws + "EOD\n";
  return predicted;
}

}  // namespace

std::string activation_plot_script(const std::vector<MemoryPanel>& panels,
                                   const std::optional<std::int64_t>& reference_peak) {
  std::int64_t largest = reference_peak.value_or(0);
  for (const auto& panel : panels) {
    for (const auto& group : panel.groups) {
      for (const auto& rank : group.ranks) {
        largest = std::max({largest, rank.activation_bytes.value_or(0), rank.predicted_bytes.value_or(0)});
      }
    }
  }
  const Unit unit = unit_for(largest);
  std::string script = common_look();
  std::vector<bool> predicted;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    predicted.push_back(append_panel_data(script, std::to_string(i), panels[i], unit));
  }
  const std::size_t columns = std::min<std::size_t>(panels.size(), 2);
  const std::size_t rows = (panels.size() + columns - 1) / std::max<std::size_t>(columns, 1);
  script += "set multiplot layout " + std::to_string(rows) + "," + std::to_string(columns) +
            "\nset yrange [0:" + to_text(1.22 * static_cast<double>(std::max<std::int64_t>(largest, 1)) / unit.bytes) +
            "]\n";
  script += "set key inside top right horizontal samplen 1.8\nset ylabel 'peak activations (" + std::string(unit.name) +
            ")'\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::string name = std::to_string(i);
    script += "set title " + gnuplot_quote(panels[i].title) + "\n" + ticks(panels[i].groups, false);
    script += "set xrange [-0.6:" + to_text(static_cast<double>(panels[i].groups.size()) - 0.4) + "]\nplot ";
    if (reference_peak) {
      script += scaled(*reference_peak, unit) + " with lines lw 1.5 dt 2 lc rgb '#444444' title 'reference', \\\n  ";
    }
    script += "$bars" + name + " using 1:5:2:3:4:5 with boxxyerror fc rgb '#9cc3e0' title 'measured'";
    if (predicted[i]) {
      script += ", \\\n  $laws" + name + " using 1:2:3:(0) with vectors nohead lw 3 lc rgb '#B33A00' title 'law'";
    }
    script += "\n";
  }
  return script + "unset multiplot\n";
}

std::string state_plot_script(const std::vector<MemoryGroup>& groups, const RankMemory& reference) {
  std::vector<MemoryGroup> all{{.world = 0, .ranks = {reference}}};
  all.insert(all.end(), groups.begin(), groups.end());
  const auto parts = [](const RankMemory& rank) {
    return std::array{rank.parameter_bytes.value_or(0), rank.gradient_bytes.value_or(0),
                      rank.optimizer_bytes.value_or(0)};
  };
  std::int64_t largest = 1;
  for (const auto& group : all) {
    for (const auto& rank : group.ranks) {
      const auto part = parts(rank);
      largest = std::max(largest, part[0] + part[1] + part[2]);
    }
  }
  const Unit unit = unit_for(largest);
  std::array<std::string, 3> blocks{"$part0 << EOD\n", "$part1 << EOD\n", "$part2 << EOD\n"};
  for (std::size_t group = 0; group < all.size(); ++group) {
    for (std::size_t rank = 0; rank < all[group].ranks.size(); ++rank) {
      const auto part = parts(all[group].ranks[rank]);
      std::int64_t base = 0;
      for (std::size_t i = 0; i < part.size(); ++i) {
        blocks[i] += bar_row(slot(group, rank, all[group].ranks.size()), base, base + part[i], unit);
        base += part[i];
      }
    }
  }
  std::string script =
      common_look() + blocks[0] + "EOD\n" + blocks[1] + "EOD\n" + blocks[2] + "EOD\n" + ticks(groups, true);
  script += "set xrange [-0.6:" + to_text(static_cast<double>(all.size()) - 0.4) +
            "]\nset yrange [0:" + to_text(1.2 * static_cast<double>(largest) / unit.bytes) +
            "]\nset ylabel 'model state (" + unit.name + ")'\n";
  script += "set key inside top right horizontal samplen 1.8\nplot ";
  constexpr std::array names{"parameters", "gradients", "optimiser state"};
  constexpr std::array fills{"#1b3a5c", "#6f9fc8", "#dbe8f3"};  // dark to light: told apart in black and white
  for (std::size_t i = 0; i < names.size(); ++i) {
    script += (i == 0 ? "" : ", \\\n  ") + ("$part" + std::to_string(i)) +
              " using 1:5:2:3:4:5 with boxxyerror fc rgb '" + fills[i] + "' title '" + names[i] + "'";
  }
  return script + "\n";
}

}  // namespace plumbline
