// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/bench_result.hpp"

#include <fmt/format.h>

#include <vector>

#include "support/text.hpp"

namespace plumbline {
namespace {

std::string interval_text(const MedianInterval& of, int decimals = 3) {
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", of.median, decimals, of.low, decimals, of.high, decimals);
}

std::string quiet_words(const BenchResult& result) {
  const double noise = 100 * result.noise, limit = 100 * result.quiet_limit;
  if (result.quiet())
    return fmt::format(
        "The machine was quiet: two runs of the same reference are within {:.1f} % of each other (limit {:.1f} %).",
        noise, limit);
  return fmt::format(
      "THE MACHINE WAS NOT QUIET: two runs of the same reference differ by up to {:.1f} % (limit {:.1f} %). Do not use "
      "these figures; measure again on an idle machine.",
      noise, limit);
}

std::string name_of(const BenchCell& cell) {
  return cell.id + (cell.oversubscribed ? " (more ranks than cores)" : "");
}

std::string row_of(const BenchCell& cell) {
  const bool allows = cell.simulated_speed && !cell.oversubscribed;
  return fmt::format(
      "| {} | {} | {} | {} | {} |\n", name_of(cell), interval_text(cell.step_ms, 1), interval_text(cell.speed),
      allows ? fmt::format("{:.3f}", *cell.simulated_speed) : "-",
      cell.bubble ? fmt::format("{:.1f} % | {:.1f} %", 100 * cell.bubble->measured.median, 100 * cell.bubble->simulated)
                  : "- | -");
}

std::string lines_of(const BenchCell& cell) {
  std::vector<std::string> parts;
  if (cell.simulated_speed && !cell.oversubscribed)
    parts.push_back(fmt::format("the schedule allows {:.3f}", *cell.simulated_speed));
  if (cell.bubble)
    parts.push_back(fmt::format("bubble {:.1f} %, simulated {:.1f} %", 100 * cell.bubble->measured.median,
                                100 * cell.bubble->simulated));
  return fmt::format("{}\n  {} ms a step, {} of the reference's speed\n{}", name_of(cell),
                     interval_text(cell.step_ms, 1), interval_text(cell.speed),
                     parts.empty() ? "" : fmt::format("  {}\n", join(parts, "; ")));
}

std::string preface(const BenchResult& result) {
  return fmt::format("{}\n\nEach figure is the median of {} rounds [with its {:.0f} % interval].\n\n",
                     quiet_words(result), result.rounds, 100 * result.coverage);
}

void add_rounds(Json& benchmarks, const std::string& name, std::int64_t world, const BenchResult& result,
                const std::vector<BenchRoundFigures>& rounds) {
  const auto family = benchmarks.empty() ? 0 : benchmarks.back().at("family_index").get<std::int64_t>() + 1;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    Json entry = {{"name", name},
                  {"family_index", family},
                  {"per_family_instance_index", 0},
                  {"run_name", name},
                  {"run_type", "iteration"},
                  {"repetitions", rounds.size()},
                  {"repetition_index", i},
                  {"threads", world},
                  {"iterations", result.steps},
                  {"real_time", rounds[i].step_ms},
                  {"cpu_time", rounds[i].step_ms},
                  {"time_unit", "ms"},
                  {"tokens_per_s", rounds[i].tokens_per_s}};
    if (rounds[i].speed) entry["speed"] = *rounds[i].speed;
    benchmarks.push_back(std::move(entry));
  }
}

}  // namespace

std::string bench_text(const BenchResult& result) {
  std::string text = preface(result) +
                     "| case | step, ms | tokens/s over the reference's | its schedule allows | bubble | simulated |\n"
                     "|---|---|---|---|---|---|\n";
  for (const BenchReference& reference : result.references)
    text += fmt::format("| {} (reference) | {} | 1 | - | - | - |\n", reference.id, interval_text(reference.step_ms, 1));
  for (const BenchCell& cell : result.cells) text += row_of(cell);
  for (const std::string& line : result.failed) text += "\nskipped: " + line + "\n";
  return text;
}

std::string bench_lines(const BenchResult& result) {
  std::string text = preface(result);
  for (const BenchReference& reference : result.references)
    text += fmt::format("{} (reference)\n  {} ms a step\n", reference.id, interval_text(reference.step_ms, 1));
  for (const BenchCell& cell : result.cells) text += lines_of(cell);
  for (const std::string& line : result.failed) text += "skipped: " + line + "\n";
  return text;
}

Json google_benchmark_json(const BenchResult& result) {
  Json benchmarks = Json::array();
  for (const BenchReference& reference : result.references)
    add_rounds(benchmarks, reference.id, 1, result, reference.rounds);
  for (const BenchCell& cell : result.cells) add_rounds(benchmarks, cell.id, cell.world, result, cell.rounds);
  return {{"context",
           {{"date", result.started},
            {"executable", "plumbline bench " + result.name},
            {"num_cpus", result.cores},
            {"machine", result.machine},
            {"rounds", result.rounds},
            {"noise", result.noise},
            {"quiet", result.quiet()},
            {"failed", result.failed}}},
          {"benchmarks", std::move(benchmarks)}};
}

}  // namespace plumbline
