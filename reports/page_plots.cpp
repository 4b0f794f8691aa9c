// SPDX-License-Identifier: BSD-3-Clause
// Loss, gradients and activation memory: a sentence if nothing differs, otherwise a plot. Timelines of the slowest
// case, measured above planned.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>

#include "reports/loss_plot.hpp"
#include "reports/memory_plot.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "schedule/drawing.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// More marks than these cannot be distinguished.
constexpr std::size_t most_marks = 8;

/// One reference and the cases that were compared with it, in the verdict's order.
struct Plotted {
  std::string id;
  const RunSummary& reference;
  std::vector<const CellVerdict*> cells;
};

const RunSummary& run_of(const Evidence& evidence, const CellVerdict& cell) {
  return evidence.cells.at(cell.id);
}

/// In the order in which the verdict first names their references.
std::vector<Plotted> plotted_of(const Verdict& verdict, const Evidence& evidence) {
  std::vector<Plotted> all;
  for (const auto& cell : verdict.cells) {
    const auto reference = evidence.reference_of.find(cell.id);
    if (reference == evidence.reference_of.end()) continue;
    auto same = std::ranges::find(all, reference->second, &Plotted::id);
    if (same == all.end()) {
      all.push_back({reference->second, evidence.references.at(reference->second), {}});
      same = all.end() - 1;
    }
    same->cells.push_back(&cell);
  }
  return all;
}

PageData picture(const std::string& svg, const std::string& caption) {
  PageData data("svg", PageData(svg));
  data.set("caption", page_text(caption));
  return data;
}

/// Cases whose losses are the same, and not the reference's: one line.
struct DepartingLosses {
  std::string first;
  std::int64_t cases = 0;
  Losses losses;
};

bool same_bits(const Losses& one, const Losses& other) {
  return std::ranges::equal(one, other, [](const auto& left, const auto& right) {
    return left.first == right.first &&
           std::bit_cast<std::uint32_t>(left.second) == std::bit_cast<std::uint32_t>(right.second);
  });
}

void add_case(std::vector<DepartingLosses>& departing, const CellVerdict& cell, const Losses& losses) {
  auto same = std::ranges::find_if(departing, [&](const auto& each) { return same_bits(each.losses, losses); });
  if (same == departing.end()) same = departing.insert(same, {run_label(cell), 0, losses});
  ++same->cases;
}

std::string and_others(const std::string& first, std::int64_t cases) {
  return cases == 1 ? first : fmt::format("{} and {} with the same losses", first, count_text(cases - 1, "case"));
}

/// Sentences and pictures of the comparisons, reference by reference.
class Comparisons {
 public:
  explicit Comparisons(const Evidence& evidence) : evidence_(evidence) {}

  void add(const Plotted& plotted, const std::string& title) {
    add_losses(plotted, title);
    add_ratios(plotted, title);
  }
  PageData pictures() const { return pictures_; }
  std::vector<std::string> sentences() const {
    std::vector<std::string> texts;
    if (total_.compared > 0) {
      const std::string values = count_text(total_.compared, "value");
      texts.push_back(total_.differing == 0
                          ? fmt::format("Loss: all {} equal the reference's.", values)
                          : fmt::format("Loss: {} of {} differ from the reference's, the largest by {}.",
                                        grouped(total_.differing), values, short_number(total_.largest)));
    }
    if (norms_ > 0 && unlike_ == 0)
      texts.push_back(fmt::format("Gradient norms: all {} equal the reference's.", count_text(norms_, "value")));
    if (unlike_ > 0)
      texts.push_back(
          fmt::format("Gradient norms: different from the reference's in {}.", count_text(unlike_, "case")));
    return texts;
  }

 private:
  void add_losses(const Plotted& plotted, const std::string& title) {
    const Losses& reference = plotted.reference.losses;
    std::vector<DepartingLosses> departing;
    LossDifference here;
    std::int64_t cases = 0, equal = 0;
    for (const auto* cell : plotted.cells) {
      const Losses& losses = run_of(evidence_, *cell).losses;
      const LossDifference difference = loss_difference(reference, losses);
      here.compared += difference.compared;
      here.differing += difference.differing;
      here.largest = std::max(here.largest, difference.largest);
      if (difference.differing > 0) {
        ++cases;
        add_case(departing, *cell, losses);
      } else if (difference.compared == std::ssize(reference)) {
        ++equal;
      }
    }
    total_.compared += here.compared;
    total_.differing += here.differing;
    total_.largest = std::max(total_.largest, here.largest);
    if (cases == 0) return;
    const std::size_t shown = std::min(departing.size(), most_marks);
    std::vector<LossSeries> series;
    for (const DepartingLosses& each : std::span(departing).first(shown))
      series.push_back({and_others(each.first, each.cases), each.losses});
    pictures_.push_back(picture(
        draw_losses(reference, series, "Loss, " + title,
                    equal == 0 ? "reference" : fmt::format("reference, and {} equal to it", count_text(equal, "case"))),
        fmt::format(
            "{}, of {}{}: above the loss, below the difference from the reference. {} of {} differ, the "
            "largest by {}.",
            title,
            shown == departing.size() ? "" : fmt::format("the first {} of {} lines of ", shown, departing.size()),
            count_text(cases, "case"), grouped(here.differing), count_text(here.compared, "value"),
            short_number(here.largest))));
  }

  void add_ratios(const Plotted& plotted, const std::string& title) {
    std::vector<NamedRatios> shown;
    std::int64_t unlike = 0;
    for (const auto* cell : plotted.cells) {
      const GradientRatios& ratios = run_of(evidence_, *cell).ratios;
      norms_ += ratios.compared;
      if (ratios.all_one()) continue;
      ++unlike;
      if (shown.size() < most_marks) shown.push_back({run_label(*cell), ratios});
    }
    unlike_ += unlike;
    if (shown.empty()) return;
    const bool all = static_cast<std::int64_t>(shown.size()) == unlike;
    pictures_.push_back(picture(
        draw_gradient_ratios(shown, "Gradient norms, " + title),
        fmt::format("{}, of {}{}: the norm of each parameter's gradient over the reference's, less 1; the smallest and "
                    "the largest of all steps. 0 is right.",
                    title, all ? "" : fmt::format("the first {} of ", shown.size()), count_text(unlike, "case"))));
  }

  const Evidence& evidence_;
  LossDifference total_;
  std::int64_t norms_ = 0, unlike_ = 0;
  PageData pictures_ = page_list();
};

/// References of one model with the same activations, for any optimizer: one figure.
struct MemoryFigure {
  std::string model;
  std::optional<std::int64_t> peak;  ///< the reference's
  std::vector<std::string> optimizers;
  std::vector<MemoryPanel> panels;

  bool over_ranks() const {
    return std::ranges::any_of(panels, [](const MemoryPanel& panel) { return panel.groups.size() > 1; });
  }
};

void add_memory(std::vector<MemoryFigure>& figures, const Plotted& plotted, const Evidence& evidence) {
  const auto peak = plotted.reference.ranks.empty() ? std::nullopt : plotted.reference.ranks.front().activation_bytes;
  for (const auto* cell : plotted.cells) {
    const std::vector<RankMemory>& ranks = run_of(evidence, *cell).ranks;
    const bool measured =
        std::ranges::any_of(ranks, [](const RankMemory& rank) { return rank.activation_bytes.has_value(); });
    if (!cell->balance.empty() || !cell->variant.empty() || !measured) continue;
    auto figure = std::ranges::find_if(
        figures, [&](const MemoryFigure& each) { return each.model == cell->model && each.peak == peak; });
    if (figure == figures.end()) figure = figures.insert(figure, {cell->model, peak, {}, {}});
    if (std::ranges::find(figure->optimizers, cell->optimizer) == figure->optimizers.end())
      figure->optimizers.push_back(cell->optimizer);
    auto panel = std::ranges::find(figure->panels, cell->schedule, &MemoryPanel::title);
    if (panel == figure->panels.end()) panel = figure->panels.insert(panel, MemoryPanel{cell->schedule, {}});
    if (std::ranges::find(panel->groups, cell->world, &MemoryGroup::world) == panel->groups.end())
      panel->groups.push_back({.world = cell->world, .ranks = ranks});
    std::ranges::sort(panel->groups, {}, &MemoryGroup::world);
  }
}

/// On one scale. Figures with a single world size are only in the sentence.
PageData memory_pictures(std::vector<MemoryFigure> figures) {
  std::erase_if(figures, [](const MemoryFigure& figure) { return !figure.over_ranks(); });
  std::int64_t largest = 1;
  for (const MemoryFigure& figure : figures)
    largest = std::max(largest, largest_activation(figure.panels, figure.peak));
  PageData pictures = page_list();
  for (const MemoryFigure& figure : figures) {
    const std::string title = "Peak activations, " + training_title(figure.model, join(figure.optimizers, " and "));
    pictures.push_back(picture(draw_activations(figure.panels, figure.peak, largest, title),
                               title + ". One bar per rank, the first on the left; one scale for all."));
  }
  return pictures;
}

std::optional<std::string> memory_sentence(const Verdict& verdict, const Evidence& evidence) {
  std::int64_t predicted = 0, equal = 0;
  for (const CellVerdict& cell : verdict.cells) {
    const auto run = evidence.cells.find(cell.id);
    if (run == evidence.cells.end()) continue;
    for (const RankMemory& rank : run->second.ranks) {
      if (!rank.predicted_bytes || !rank.activation_bytes) continue;
      ++predicted;
      if (*rank.predicted_bytes == *rank.activation_bytes) ++equal;
    }
  }
  if (predicted == 0) return std::nullopt;
  return fmt::format(
      "Activation memory: the peaks of {} {} are what the reference's saved bytes and the schedule predict, to the "
      "byte.",
      equal == predicted ? "all" : grouped(equal) + " of", count_text(predicted, "rank"));
}

constexpr double timeline_width = 1220;

std::string milliseconds(double value) {
  return (value < 100 ? short_number(value) : grouped(static_cast<std::int64_t>(value + 0.5))) + " ms";
}

std::optional<std::int64_t> cores_of(const Manifest& manifest) {
  const auto machine = manifest.json.find("machine");
  if (machine == manifest.json.end() || !machine->is_object()) return std::nullopt;
  const auto cores = machine->find("cores");
  if (cores == machine->end() || !cores->is_number_integer()) return std::nullopt;
  return cores->get<std::int64_t>();
}

std::string caption(const CellVerdict& cell, const Manifest& manifest, const MeasuredTimeline& timeline) {
  std::string text = fmt::format(
      "{}, step {} (of median length; the first step is left out). Measured: {}, bubble {}. Planned, from the median "
      "times over {} of each stage and kind of action{}, messages taking no time: {}, bubble {}. The bubble is the "
      "idle "
      "share of the rank that idles most.",
      cell_title(cell), timeline.step, milliseconds(timeline.measured.makespan),
      percent_of(timeline.measured.bubble_rate), count_text(timeline.steps_timed, "step"),
      timeline.lengths_differ ? " and length of microbatch" : "", milliseconds(timeline.planned.makespan),
      percent_of(timeline.planned.bubble_rate));
  if (timeline.closed_form_rate)
    text += fmt::format(" Closed form, for equal stages: bubble {}.", percent_of(*timeline.closed_form_rate));
  const std::optional<std::int64_t> cores = cores_of(manifest);
  if (!cores) return text + " The record lacks the number of cores.";
  if (cell.world > *cores) {
    text += fmt::format(" {} shared {}: this measures the machine, not the schedule.", count_text(cell.world, "rank"),
                        count_text(*cores, "core"));
  }
  return text;
}

}  // namespace

void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  Comparisons comparisons(evidence);
  std::vector<MemoryFigure> figures;
  std::set<std::string> titles;
  const std::vector<Plotted> all = plotted_of(verdict, evidence);
  for (const Plotted& plotted : all) {
    std::string title = training_title(plotted.cells.front()->model, plotted.cells.front()->optimizer);
    if (!titles.insert(title).second) title += fmt::format(" ({})", plotted.id);
    comparisons.add(plotted, title);
    add_memory(figures, plotted, evidence);
  }
  std::vector<std::string> sentences = comparisons.sentences();
  if (auto memory = memory_sentence(verdict, evidence)) sentences.push_back(std::move(*memory));
  page.set("nothing_drawn", PageData(all.empty()));
  page.set("sentences", page_texts(sentences));
  page.set("comparisons", comparisons.pictures());
  page.set("memory", memory_pictures(std::move(figures)));
}

void fill_timeline(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData data(false);
  if (const auto& slowest = evidence.slowest) {
    const auto cell = std::ranges::find(verdict.cells, slowest->id, &CellVerdict::id);
    data = PageData("svg", PageData(draw_svg(timelines_of(slowest->timeline), timeline_width)));
    data.set("caption", page_text(caption(*cell, evidence.cells.at(slowest->id).manifest, slowest->timeline)));
  }
  page.set("timeline", data);
}

}  // namespace plumbline
