// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/bench_text.hpp"

#include <cstdio>
#include <vector>

#include "support/text.hpp"

namespace plumbline {
namespace {

std::string number(double value, const char* form = "%.3f") {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string interval_text(const MedianInterval& of, const char* form = "%.3f") {
  return number(of.median, form) + " [" + number(of.low, form) + ", " + number(of.high, form) + "]";
}

std::string quiet_words(const BenchResult& result) {
  const std::string noise = number(100 * result.noise, "%.1f") + " %", limit = number(100 * result.quiet_limit, "%.1f");
  if (result.quiet())
    return "The machine was quiet: two runs of the same reference are within " + noise + " of each other (limit " +
           limit + " %).";
  return "THE MACHINE WAS NOT QUIET: two runs of the same reference differ by up to " + noise + " (limit " + limit +
         " %). Do not use these figures; measure again on an idle machine.";
}

std::string row_of(const BenchCell& cell) {
  std::string row = "| " + cell.id + (cell.oversubscribed ? " (more ranks than cores)" : "") + " | " +
                    interval_text(cell.step_ms, "%.1f") + " | " + interval_text(cell.speed) + " | ";
  row += cell.simulated_speed && !cell.oversubscribed ? number(*cell.simulated_speed) : "-";
  if (!cell.bubble) return row + " | - | - |\n";
  return row + " | " + number(100 * cell.bubble->measured.median, "%.1f") + " % | " +
         number(100 * cell.bubble->simulated, "%.1f") + " % |\n";
}

std::string lines_of(const BenchCell& cell) {
  std::string lines = cell.id + (cell.oversubscribed ? " (more ranks than cores)" : "") + "\n  " +
                      interval_text(cell.step_ms, "%.1f") + " ms a step, " + interval_text(cell.speed) +
                      " of the reference's speed\n";
  std::vector<std::string> parts;
  if (cell.simulated_speed && !cell.oversubscribed)
    parts.push_back("the schedule allows " + number(*cell.simulated_speed));
  if (cell.bubble)
    parts.push_back("bubble " + number(100 * cell.bubble->measured.median, "%.1f") + " %, simulated " +
                    number(100 * cell.bubble->simulated, "%.1f") + " %");
  return lines + (parts.empty() ? "" : "  " + join(parts, "; ") + "\n");
}

std::string preface(const BenchResult& result) {
  return quiet_words(result) + "\n\nEach figure is the median of " + std::to_string(result.rounds) +
         " rounds [with its " + number(100 * result.coverage, "%.0f") + " % interval].\n\n";
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
    text += "| " + reference.id + " (reference) | " + interval_text(reference.step_ms, "%.1f") + " | 1 | - | - | - |\n";
  for (const BenchCell& cell : result.cells) text += row_of(cell);
  for (const std::string& line : result.failed) text += "\nskipped: " + line + "\n";
  return text;
}

std::string bench_lines(const BenchResult& result) {
  std::string text = preface(result);
  for (const BenchReference& reference : result.references)
    text += reference.id + " (reference)\n  " + interval_text(reference.step_ms, "%.1f") + " ms a step\n";
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
