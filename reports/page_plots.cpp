// For each reference: loss and memory of all that was compared with it, drawn and in numbers.
#include <algorithm>
#include <array>
#include <set>

#include "reports/loss_plot.hpp"
#include "reports/memory_plot.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Longer runs show their first and last steps: the page stays readable and small.
constexpr std::size_t most_step_rows = 60;

/// One reference and the cells that were compared with it, in the verdict's order.
struct Plotted {
  const RunSummary& reference;
  std::vector<const CellVerdict*> cells;
  const Evidence& evidence;

  const RunSummary& run(const CellVerdict& cell) const { return evidence.cells.at(cell.id); }
};

std::string run_label(const CellVerdict& cell) {
  std::string label = cell.schedule + ", P = " + std::to_string(cell.world);
  if (!cell.balance.empty()) label += ", " + balance_text(cell.balance);
  return label;
}

std::vector<LossSeries> loss_series(const Plotted& plotted) {
  std::vector<LossSeries> all;
  for (const auto* cell : plotted.cells) {
    all.push_back({.world = cell->world, .label = run_label(*cell), .losses = plotted.run(*cell).losses});
  }
  return all;
}

std::string loss_caption(const Losses& reference, const std::vector<LossSeries>& series) {
  LossDifference total;
  for (const auto& one : series) {
    const LossDifference difference = loss_difference(reference, one);
    total.compared += difference.compared;
    total.differing += difference.differing;
    total.largest = std::max(total.largest, difference.largest);
  }
  std::string text =
      "Above: the reference's loss and each pipeline's, side by side at every step. Below: pipeline minus reference. ";
  if (total.compared == 0) return text + "No loss was there to compare.";
  if (total.differing == 0) return text + "All " + grouped(total.compared) + " differences are exactly 0.";
  return text + grouped(total.differing) + " of " + grouped(total.compared) + " losses differ, the largest by " +
         short_number(total.largest) + ".";
}

PageData loss_rows(const Losses& reference, const std::vector<LossSeries>& series) {
  PageData rows = page_list();
  for (const auto& one : series) {
    const LossDifference difference = loss_difference(reference, one);
    PageData row;
    row.set("run", page_text(one.label));
    row.set("compared", grouped(difference.compared));
    row.set("differing", grouped(difference.differing));
    row.set("largest", short_number(difference.largest));
    rows.push_back(row);
  }
  return rows;
}

PageData step_rows(const Losses& reference) {
  PageData rows = page_list();
  std::size_t at = 0;
  for (const auto& [step, loss] : reference) {
    const bool left_out =
        reference.size() > most_step_rows && at >= most_step_rows / 2 && at + most_step_rows / 2 < reference.size();
    if (!left_out || at == most_step_rows / 2) {
      PageData row;
      row.set("step", left_out ? "..." : to_text(step));
      row.set("loss", left_out ? "(the rest is in the record's steps.csv)" : to_text(loss));
      rows.push_back(row);
    }
    ++at;
  }
  return rows;
}

std::vector<MemoryPanel> memory_panels(const Plotted& plotted) {
  std::vector<MemoryPanel> panels;
  for (const auto* cell : plotted.cells) {
    if (!cell->balance.empty()) continue;
    auto panel =
        std::find_if(panels.begin(), panels.end(), [&](const MemoryPanel& p) { return p.title == cell->schedule; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), MemoryPanel{cell->schedule, {}});
    const bool there = std::any_of(panel->groups.begin(), panel->groups.end(),
                                   [&](const MemoryGroup& group) { return group.world == cell->world; });
    if (!there) panel->groups.push_back({.world = cell->world, .ranks = plotted.run(*cell).ranks});
  }
  for (auto& panel : panels) {
    std::sort(panel.groups.begin(), panel.groups.end(), [](const auto& a, const auto& b) { return a.world < b.world; });
  }
  return panels;
}

std::string activation_caption(const std::vector<MemoryPanel>& panels) {
  std::int64_t predicted = 0, equal = 0;
  for (const auto& panel : panels) {
    for (const auto& group : panel.groups) {
      for (const auto& rank : group.ranks) {
        if (!rank.predicted_bytes || !rank.activation_bytes) continue;
        ++predicted;
        if (*rank.predicted_bytes == *rank.activation_bytes) ++equal;
      }
    }
  }
  std::string text = "Peak activation bytes of each rank, first rank to the left. ";
  if (predicted == 0) return text + "The records hold nothing to predict them from.";
  return text + "The dash is where the memory law puts it, from the reference's saved bytes and the schedule alone: " +
         grouped(equal) + " of " + grouped(predicted) + " equal to the byte.";
}

bool has_activations(const std::vector<MemoryPanel>& panels) {
  return std::any_of(panels.begin(), panels.end(), [](const MemoryPanel& panel) {
    return std::any_of(panel.groups.begin(), panel.groups.end(), [](const MemoryGroup& group) {
      return std::any_of(group.ranks.begin(), group.ranks.end(),
                         [](const RankMemory& r) { return r.activation_bytes.has_value(); });
    });
  });
}

PageData picture(const std::optional<std::string>& svg, const std::string& caption) {
  if (!svg) return PageData(false);
  PageData data;
  data.set("svg", PageData(*svg));
  data.set("caption", page_text(caption));
  return data;
}

std::string bytes_or_dash(const std::optional<std::int64_t>& bytes) {
  return bytes ? grouped(*bytes) : "-";
}

/// "embed_tokens, layers.0-2": layers in a row are one range.
std::string units_text(const std::vector<std::string>& units) {
  constexpr std::string_view layer = "layers.";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < units.size() && units[i].starts_with(layer) && units[last + 1].starts_with(layer)) ++last;
    parts.push_back(last == i ? units[i] : units[i] + "-" + units[last].substr(layer.size()));
    i = last;
  }
  return parts.empty() ? "(none)" : join(parts, ", ");
}

void append_memory_rows(PageData& rows, const std::string& label, const RunSummary& run) {
  for (const auto& rank : run.ranks) {
    PageData row;
    row.set("run", page_text(label));
    row.set("rank", std::to_string(rank.rank));
    row.set("units", page_text(units_text(rank.units)));
    row.set("measured", bytes_or_dash(rank.activation_bytes));
    row.set("law", bytes_or_dash(rank.predicted_bytes));
    row.set("parameters", bytes_or_dash(rank.parameter_bytes));
    row.set("gradients", bytes_or_dash(rank.gradient_bytes));
    row.set("optimizer", bytes_or_dash(rank.optimizer_bytes));
    rows.push_back(row);
  }
}

PageData memory_rows(const Plotted& plotted) {
  PageData rows = page_list();
  append_memory_rows(rows, "reference", plotted.reference);
  for (const auto* cell : plotted.cells) append_memory_rows(rows, run_label(*cell), plotted.run(*cell));
  return rows;
}

PageData plot_data(const Plotted& plotted, const std::string& title) {
  const auto series = loss_series(plotted);
  const auto panels = memory_panels(plotted);
  const Losses& losses = plotted.reference.losses;
  PageData data;
  data.set("title", page_text(title));
  data.set("loss_svg", PageData(losses.empty() ? "" : draw_losses(losses, series, "Loss, " + title)));
  data.set("loss_caption", page_text(loss_caption(losses, series)));
  data.set("loss_rows", loss_rows(losses, series));
  data.set("step_rows", step_rows(losses));
  const RankMemory alone = plotted.reference.ranks.empty() ? RankMemory{} : plotted.reference.ranks.front();
  std::optional<std::string> activations, state;
  if (has_activations(panels))
    activations = draw_activations(panels, alone.activation_bytes, "Peak activations, " + title);
  if (!panels.empty() && alone.parameter_bytes)
    state = draw_state(panels.front().groups, alone, "Model state, " + title);
  data.set("activation_svg", picture(activations, activation_caption(panels)));
  data.set("state_svg",
           picture(state, panels.empty()
                              ? ""
                              : "Parameters, gradients and optimiser state of each rank, first rank to the left (" +
                                    panels.front().title + "; the schedule changes none of it)."));
  data.set("memory_rows", memory_rows(plotted));
  return data;
}

/// In the order in which the verdict first comes to them; a reference that no cell could be compared with has no curve
/// to stand beside.
std::vector<std::string> references_in_order(const Verdict& verdict, const Evidence& evidence) {
  std::vector<std::string> ids;
  for (const auto& cell : verdict.cells) {
    const auto found = evidence.reference_of.find(cell.id);
    if (found == evidence.reference_of.end()) continue;
    if (std::find(ids.begin(), ids.end(), found->second) == ids.end()) ids.push_back(found->second);
  }
  return ids;
}

}  // namespace

void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData plots = page_list();
  std::set<std::string> titles;
  for (const auto& id : references_in_order(verdict, evidence)) {
    Plotted plotted{evidence.references.at(id), {}, evidence};
    for (const auto& cell : verdict.cells) {
      const auto found = evidence.reference_of.find(cell.id);
      if (found != evidence.reference_of.end() && found->second == id) plotted.cells.push_back(&cell);
    }
    std::string title = plotted.cells.front()->model + ", " + plotted.cells.front()->optimizer;
    if (titles.contains(title)) title += " (" + id + ")";
    plots.push_back(plot_data(plotted, title));
    titles.insert(title);
  }
  page.set("plots", plots);
}

}  // namespace plumbline
