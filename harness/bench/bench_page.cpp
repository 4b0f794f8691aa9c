#include "harness/bench/bench_page.hpp"

#include <cstdio>

#include "harness/bench/bench_plots.hpp"
#include "reports/plain_page.hpp"
#include "reports/words.hpp"

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

MedianInterval in_percent(const MedianInterval& of) {
  return {100 * of.median, 100 * of.low, 100 * of.high};
}

/// Whether the machine let anything be measured, in one sentence.
std::string quiet_words(const BenchResult& result) {
  const std::string difference =
      "the median over the rounds of a second run of the reference over the first lies, with 95 %, within " +
      number(100 * result.noise, "%.1f") + " % of 1";
  if (result.quiet())
    return "The machine was quiet enough: " + difference + " (limit " + number(100 * result.quiet_limit, "%.1f") +
           " %).";
  return "THE MACHINE WAS NOT QUIET: " + difference + ", and not within " + number(100 * result.quiet_limit, "%.1f") +
         " %. Something else ran beside it; take no figure below for the programs' own, and measure again.";
}

std::string heading(const std::vector<std::string>& columns, std::size_t numbers_from) {
  std::string html = "<div class=\"table\"><table><thead><tr>";
  for (std::size_t i = 0; i < columns.size(); ++i)
    html += html_element("th", columns[i], i < numbers_from ? " scope=\"col\"" : " scope=\"col\" class=\"num\"");
  return html + "</tr></thead><tbody>\n";
}

std::string figure_cell(const std::string& text) {
  return html_element("td", text, " class=\"num\"");
}

std::string cell_name(const BenchCell& cell) {
  return html_element("td", cell.id + (cell.oversubscribed ? " (more ranks than cores)" : "")) +
         figure_cell(std::to_string(cell.world));
}

std::string speed_rows(const BenchResult& result, const BenchReference& reference) {
  std::string html = heading(
      {"cell", "P", "step, ms", "tokens/s", "tokens/s over the reference's", "fastest tenth", "over P times"}, 1);
  for (const BenchCell& cell : result.cells) {
    if (cell.reference != reference.id) continue;
    html += "<tr>" + cell_name(cell);
    html += figure_cell(interval_text(cell.step_ms, "%.1f")) + figure_cell(interval_text(cell.tokens_per_s, "%.0f"));
    html += figure_cell(interval_text(cell.speed)) + figure_cell(number(cell.fast_speed));
    html += figure_cell(cell.efficiency ? interval_text(*cell.efficiency) : "-") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string schedule_rows(const BenchResult& result, const BenchReference& reference) {
  std::string html = heading(
      {"cell", "P", "bubble measured, %", "simulated, %", "closed form, %", "speed that it allows", "share reached"},
      1);
  for (const BenchCell& cell : result.cells) {
    if (cell.reference != reference.id || !cell.bubble) continue;
    html += "<tr>" + cell_name(cell);
    html += figure_cell(interval_text(in_percent(cell.bubble->measured), "%.1f"));
    html += figure_cell(number(100 * cell.bubble->simulated, "%.1f"));
    html += figure_cell(cell.bubble->closed_form ? number(100 * *cell.bubble->closed_form, "%.1f") : "-");
    const bool limit = cell.simulated_speed && !cell.oversubscribed;
    html += figure_cell(limit ? number(*cell.simulated_speed) : "-");
    html +=
        figure_cell(limit ? number(100 * cell.speed.median / *cell.simulated_speed, "%.0f") + " %" : "-") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string machine_words(const BenchResult& result) {
  const auto text = [&](const char* group, const char* key) {
    const Json found = result.machine.contains(group) ? result.machine[group] : Json();
    return found.contains(key) && found[key].is_string() ? found[key].get<std::string>() : std::string("unknown");
  };
  return "Processor " + text("machine", "cpu_model") + ", " + std::to_string(result.cores) + " cores; LibTorch " +
         text("versions", "libtorch") + ", commit " + text("versions", "commit");
}

}  // namespace

std::string bench_page(const BenchResult& result) {
  std::string html = html_element("h1", "Bench " + result.name) + "\n";
  html += html_element("p", machine_words(result) + "; begun " + result.started + ".") + "\n";
  html += html_element("p", quiet_words(result), result.quiet() ? "" : " class=\"bad\"") + "\n";
  html += html_element(
              "p",
              std::to_string(result.rounds) + " rounds, in each every reference twice and every cell once, in turn; " +
                  std::to_string(result.steps) +
                  " steps of each run count, the first is left out. A figure is the median of the rounds' medians, "
                  "with the "
                  "order statistics that hold it with " +
                  number(100 * result.coverage, "%.1f") +
                  " %. Ratios are of the same round. \"Fastest tenth\": of each program's steps of all rounds, what is "
                  "left "
                  "when neighbours leave the machine alone.",
              " class=\"soft\"") +
          "\n";
  for (const std::string& line : result.failed)
    html += html_element("p", "Left out, it did not end well: " + line, " class=\"bad\"") + "\n";
  for (const BenchReference& reference : result.references) {
    html += html_element("h2", reference.id) + "\n";
    html += html_element("p", "The reference: step " + interval_text(reference.step_ms, "%.1f") + " ms, " +
                                  interval_text(reference.tokens_per_s, "%.0f") +
                                  " tokens/s; its second run of each round over the first " +
                                  interval_text(reference.second) + ".") +
            "\n";
    const std::string efficiency = draw_efficiency(result, reference), bubbles = draw_bubbles(result, reference);
    html += "<h3>Speed</h3>\n";
    if (!efficiency.empty()) html += "<figure>" + efficiency + "</figure>\n";
    html += speed_rows(result, reference);
    html +=
        html_element(
            "p",
            "Cells of more ranks than cores share cores: their figures tell of this machine, not of the software, and "
            "are drawn nowhere.",
            " class=\"soft\"") +
        "\n<h3>Against the schedule</h3>\n";
    if (!bubbles.empty()) html += "<figure>" + bubbles + "</figure>\n";
    html += schedule_rows(result, reference);
    html += html_element(
                "p",
                "What a schedule allows is its simulation with the median times of the cell's own actions, messages "
                "taking no "
                "time, and the end of the step as measured.",
                " class=\"soft\"") +
            "\n";
  }
  return plain_page("Bench", html);
}

std::string bench_text(const BenchResult& result) {
  std::string text = quiet_words(result) + "\n";
  for (const BenchCell& cell : result.cells) {
    text += cell.id + ": tokens/s over the reference's " + interval_text(cell.speed);
    if (cell.oversubscribed)
      text += ", more ranks than cores";
    else if (cell.simulated_speed)
      text += ", its schedule allows " + number(*cell.simulated_speed);
    if (cell.bubble) {
      text += "; bubble " + number(100 * cell.bubble->measured.median, "%.1f") + " %, simulated " +
              number(100 * cell.bubble->simulated, "%.1f") + " %";
    }
    text += "\n";
  }
  for (const std::string& line : result.failed) text += "left out: " + line + "\n";
  return text;
}

}  // namespace plumbline
