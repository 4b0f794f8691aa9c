#include "schedule/drawing.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace plumbline {
namespace {

struct Look {
  ActionType type;
  const char* word;
  const char* ansi;
  const char* fill;
};

constexpr std::array<Look, 4> looks = {{{ActionType::forward, "forward", "\x1b[44;97m", "#7aa6da"},
                                        {ActionType::backward, "backward", "\x1b[42;30m", "#8fbf8f"},
                                        {ActionType::backward_input, "input gradient", "\x1b[46;30m", "#8cd0c8"},
                                        {ActionType::backward_weight, "weight gradient", "\x1b[43;30m", "#e8c878"}}};

const Look& look_of(ActionType type) {
  return looks.at(static_cast<std::size_t>(type));
}

double first_start(const Schedule& schedule, const Simulation& simulation) {
  double first = INFINITY;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      if (is_compute(schedule.ranks[rank][i].type)) first = std::min(first, simulation.actions[rank][i].start);
    }
  }
  return std::isfinite(first) ? first : 0;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

std::string draw_text(const Schedule& schedule, const Simulation& simulation, std::size_t columns, bool colour) {
  const double origin = first_start(schedule, simulation);
  const double scale = simulation.makespan > 0 ? static_cast<double>(columns) / simulation.makespan : 0;
  const auto column = [&](double time) {
    return std::min(columns, static_cast<std::size_t>(std::llround((time - origin) * scale)));
  };
  std::string text;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    text += "rank " + std::to_string(rank) + (rank < 10 ? "  " : " ");
    std::size_t at = 0;
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action& action = schedule.ranks[rank][i];
      if (!is_compute(action.type)) continue;
      const std::size_t begin = std::max(at, column(simulation.actions[rank][i].start));
      const std::size_t end = column(simulation.actions[rank][i].end);
      if (end <= begin) continue;  // shorter than a character
      text.append(begin - at, colour ? ' ' : '.');
      std::string cell = (colour ? "" : std::string(name(action.type))) + std::to_string(action.microbatch);
      if (cell.size() > end - begin) cell = name(action.type);
      cell.resize(end - begin, colour ? ' ' : '-');
      text += colour ? look_of(action.type).ansi + cell + "\x1b[0m" : cell;
      at = end;
    }
    text.append(columns - at, colour ? ' ' : '.');
    text += '\n';
  }
  if (!colour) return text + "F forward, B backward, I input gradient, W weight gradient, . idle\n";
  for (const Look& look : looks) text += std::string(look.ansi) + ' ' + look.word + " \x1b[0m ";
  return text + '\n';
}

std::string draw_svg(const Schedule& schedule, const Simulation& simulation) {
  constexpr double row_height = 24;
  constexpr double left = 60;
  const double width =
      std::clamp(22.0 * static_cast<double>(schedule.ranks.empty() ? 0 : schedule.ranks[0].size()), 600.0, 4000.0);
  const double origin = first_start(schedule, simulation);
  const double scale = simulation.makespan > 0 ? width / simulation.makespan : 0;
  const double height = row_height * static_cast<double>(schedule.ranks.size()) + 40;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width + left + 10) + "\" height=\"" +
                    number(height) + "\" font-family=\"sans-serif\" font-size=\"11\">\n" + "<title>schedule, " +
                    std::to_string(schedule.ranks.size()) + " ranks, " + std::to_string(schedule.microbatches) +
                    " microbatches</title>\n" + "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const double y = 5 + row_height * static_cast<double>(rank);
    svg += "<text x=\"5\" y=\"" + number(y + 15) + "\">rank " + std::to_string(rank) + "</text>\n";
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action& action = schedule.ranks[rank][i];
      if (!is_compute(action.type)) continue;
      const double x = left + (simulation.actions[rank][i].start - origin) * scale;
      const double span = (simulation.actions[rank][i].end - simulation.actions[rank][i].start) * scale;
      svg += "<g><title>" + to_text(action) + "</title><rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
             number(span) + "\" height=\"" + number(row_height - 4) + "\" fill=\"" + look_of(action.type).fill +
             "\" stroke=\"#ffffff\"/>";
      if (span > 14) {
        svg += "<text x=\"" + number(x + span / 2) + "\" y=\"" + number(y + 15) + "\" text-anchor=\"middle\">" +
               std::to_string(action.microbatch) + "</text>";
      }
      svg += "</g>\n";
    }
  }
  double x = left;
  for (const Look& look : looks) {
    svg += "<rect x=\"" + number(x) + "\" y=\"" + number(height - 24) + "\" width=\"12\" height=\"12\" fill=\"" +
           look.fill + "\"/><text x=\"" + number(x + 16) + "\" y=\"" + number(height - 14) + "\">" + look.word +
           "</text>\n";
    x += 120;
  }
  return svg + "</svg>\n";
}

}  // namespace plumbline
