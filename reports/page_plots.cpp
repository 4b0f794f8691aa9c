// For each reference: loss and memory of all that was compared with it, drawn and in numbers.
#include <algorithm>
#include <limits>
#include <set>

#include "reports/loss_plot.hpp"
#include "reports/memory_plot.hpp"
#include "reports/page_parts.hpp"
#include "reports/slots_plot.hpp"
#include "reports/words.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Longer runs show their first and last steps: the page stays readable and small.
constexpr std::size_t most_step_rows = 60;
/// More signs than these cannot be told apart.
constexpr std::size_t most_ratio_runs = 8;
/// Of the plot of slots; what grows with M shows it by then.
constexpr std::int32_t most_microbatches = 16;

/// One reference and the cells that were compared with it, in the verdict's order.
struct Plotted {
  const RunSummary& reference;
  std::vector<const CellVerdict*> cells;
  const Evidence& evidence;

  const RunSummary& run(const CellVerdict& cell) const { return evidence.cells.at(cell.id); }
};

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

/// 3 of "layers.3"; nothing of a unit that is no layer.
std::optional<std::int64_t> layer_of(const std::string& unit) {
  constexpr std::string_view layer = "layers.";
  return unit.starts_with(layer) ? parse_integer(unit.substr(layer.size())) : std::nullopt;
}

/// "embed_tokens, layers.0-2, layers.7": layers in a row are one range; a rank of several stages may have others.
std::string units_text(const std::vector<std::string>& units) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto first = layer_of(units[i]);
    std::int64_t more = 0;
    while (first && i + 1 < units.size() && layer_of(units[i + 1]) == *first + more + 1) ++more, ++i;
    parts.push_back(more == 0 ? units[i] : "layers." + to_text(*first) + "-" + to_text(*first + more));
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

/// Drawn where there is something to see; that all are 1 is said in a sentence.
void add_ratios(PageData& data, const Plotted& plotted, const std::string& title) {
  std::vector<NamedRatios> unlike;
  std::int64_t compared = 0;
  for (const auto* cell : plotted.cells) {
    const GradientRatios& ratios = plotted.run(*cell).ratios;
    compared += ratios.compared;
    if (!ratios.all_one() && unlike.size() < most_ratio_runs) unlike.push_back({run_label(*cell), ratios});
  }
  data.set("ratios_equal", compared > 0 && unlike.empty() ? PageData("count", grouped(compared)) : PageData(false));
  data.set("ratios_svg",
           unlike.empty()
               ? PageData(false)
               : picture(draw_gradient_ratios(unlike, "Gradient norms over the reference's, " + title),
                         "The norm of each parameter's gradient over the reference's, the smallest and the largest of "
                         "all steps. 1 is right."));
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
  add_ratios(data, plotted, title);
  add_speed(data, plotted.reference, plotted.cells, plotted.evidence, title);
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

/// Each schedule at its largest world size in the verdict.
std::vector<SlotCurve> slot_curves(const Verdict& verdict) {
  std::vector<std::pair<std::string, std::int64_t>> largest;
  for (const auto& cell : verdict.cells) {
    auto same = std::ranges::find(largest, cell.schedule, [](const auto& each) { return each.first; });
    if (same == largest.end()) same = largest.insert(largest.end(), {cell.schedule, 0});
    same->second = std::max(same->second, cell.world);
  }
  std::vector<SlotCurve> curves;
  for (const auto& [schedule, world] : largest) {
    if (world > std::numeric_limits<std::int16_t>::max()) continue;
    SlotCurve curve = slot_curve(schedule, static_cast<std::int32_t>(world), most_microbatches);
    if (!curve.slots.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

PageData slots_data(const Verdict& verdict, const Evidence& evidence) {
  const auto curves = slot_curves(verdict);
  if (curves.empty()) return PageData(false);
  std::set<std::int64_t> counts;
  for (const auto& [id, run] : evidence.cells) counts.insert(run.manifest.microbatches);
  const auto marked = counts.size() == 1 && *counts.begin() <= most_microbatches ? *counts.begin() : 0;
  PageData data =
      picture(draw_slots(curves, static_cast<std::int32_t>(marked), "Activation slots against microbatches"),
              "By the schedules' own lists, each at its largest world size here: the most microbatches that "
              "a rank keeps at once, a share of one for each of its stages. What grows with M is bounded "
              "by memory, what levels off by the pipeline's depth.");
  PageData rows = page_list();
  for (const SlotCurve& curve : curves) {
    std::vector<std::string> numbers;
    for (const auto& [microbatches, slots] : curve.slots)
      numbers.push_back(std::to_string(microbatches) + ": " + short_number(slots));
    PageData row;
    row.set("schedule", page_text(curve.schedule + ", P = " + std::to_string(curve.world)));
    row.set("numbers", join(numbers, ", "));
    rows.push_back(row);
  }
  data.set("rows", rows);
  return data;
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
  page.set("slots", slots_data(verdict, evidence));
}

}  // namespace plumbline
