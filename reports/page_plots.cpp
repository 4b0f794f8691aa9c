// SPDX-License-Identifier: BSD-3-Clause
// Loss, gradients and activation memory: sentences, plots of losses that differ, and tables of memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/loss_plot.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

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

/// The losses of all cases in a sentence, with a picture of those that differ for each reference.
class LossComparison {
 public:
  void add(const Plotted& plotted, const std::string& title, const Evidence& evidence) {
    const Losses& reference = plotted.reference.losses;
    std::vector<LossSeries> differing;
    LossDifference here;
    for (const auto* cell : plotted.cells) {
      LossSeries one{.world = cell->world, .losses = run_of(evidence, *cell).losses};
      const LossDifference difference = loss_difference(reference, one);
      here.add(difference);
      if (difference.differing > 0) differing.push_back(std::move(one));
    }
    total_.add(here);
    if (differing.empty()) return;
    pictures_.push_back(picture(draw_losses(reference, differing, "Loss, " + title),
                                fmt::format("{}, of {}: above the loss, below the difference from the reference. {} "
                                            "of {} differ, the largest by {}.",
                                            title, count_text(std::ssize(differing), "case"), grouped(here.differing),
                                            count_text(here.compared, "value"), short_number(here.largest))));
  }

  PageData pictures() const { return pictures_; }
  std::optional<std::string> sentence() const {
    if (total_.compared == 0) return std::nullopt;
    const std::string values = count_text(total_.compared, "value");
    if (total_.differing == 0) return fmt::format("Loss: all {} equal the reference's.", values);
    return fmt::format("Loss: {} of {} differ from the reference's, the largest by {}.", grouped(total_.differing),
                       values, short_number(total_.largest));
  }

 private:
  LossDifference total_;
  PageData pictures_ = page_list();
};

/// A constant factor, such as one over the number of ranks, is a likely cause.
std::optional<std::string> gradient_sentence(const Evidence& evidence) {
  GradientNorms all;
  std::int64_t unlike = 0;
  for (const auto& [id, run] : evidence.cells) {
    all.compared += run.norms.compared;
    all.differing += run.norms.differing;
    all.low = std::min(all.low, run.norms.low);
    all.high = std::max(all.high, run.norms.high);
    unlike += run.norms.differing > 0 ? 1 : 0;
  }
  if (all.compared == 0) return std::nullopt;
  const std::string values = count_text(all.compared, "value");
  if (unlike == 0) return fmt::format("Gradient norms: all {} equal the reference's.", values);
  return fmt::format(
      "Gradient norms: {} of {} differ from the reference's, in {}; the relative differences are from {} to {}.",
      grouped(all.differing), values, count_text(unlike, "case"), short_number(all.low), short_number(all.high));
}

/// Largest activation peak of any rank, by schedule and world size; false if none was recorded.
PageData memory_data(const Plotted& plotted, const std::string& title, const Evidence& evidence) {
  std::map<std::string, std::map<std::int64_t, std::int64_t>> largest;
  std::set<std::int64_t> worlds;
  for (const auto* cell : plotted.cells) {
    if (!cell->balance.empty() || !cell->variant.empty()) continue;
    for (const RankMemory& rank : run_of(evidence, *cell).ranks) {
      if (!rank.activation_bytes) continue;
      worlds.insert(cell->world);
      std::int64_t& bytes = largest[cell->schedule][cell->world];
      bytes = std::max(bytes, *rank.activation_bytes);
    }
  }
  if (largest.empty()) return PageData(false);
  PageData heads = page_list(), rows = page_list();
  for (const std::int64_t world : worlds) heads.push_back(PageData("world", std::to_string(world)));
  for (const auto& [schedule, peaks] : largest) {
    PageData row = page_row({{"schedule", schedule}}), fields = page_list();
    for (const std::int64_t world : worlds)
      fields.push_back(PageData("peak", peaks.contains(world) ? bytes_text(peaks.at(world)) : ""));
    row.set("peaks", fields);
    rows.push_back(row);
  }
  const auto& alone = plotted.reference.ranks;
  const bool known = !alone.empty() && alone.front().activation_bytes;
  PageData data = page_row({{"title", title}});
  data.set("reference", page_section(known ? bytes_text(*alone.front().activation_bytes) : ""));
  data.set("worlds", heads);
  data.set("rows", rows);
  return data;
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

}  // namespace

void fill_plots(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  LossComparison losses;
  PageData memory = page_list();
  std::set<std::string> titles;
  const std::vector<Plotted> all = plotted_of(verdict, evidence);
  for (const Plotted& plotted : all) {
    std::string title = training_title(plotted.cells.front()->model, plotted.cells.front()->optimizer);
    if (!titles.insert(title).second) title += fmt::format(" ({})", plotted.id);
    losses.add(plotted, title, evidence);
    if (const PageData table = memory_data(plotted, title, evidence); !table.is_false()) memory.push_back(table);
  }
  std::vector<std::string> sentences;
  for (const auto& sentence : {losses.sentence(), gradient_sentence(evidence), memory_sentence(verdict, evidence)}) {
    if (sentence) sentences.push_back(*sentence);
  }
  page.set("nothing_drawn", PageData(all.empty()));
  page.set("sentences", page_texts(sentences));
  page.set("losses", losses.pictures());
  set_list(page, "memory", memory);
}

}  // namespace plumbline
