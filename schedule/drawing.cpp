// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace plumbline {
namespace {

struct Style {
  ActionType type;
  const char* word;
  const char* ansi;
  const char* fill;
};

constexpr std::array<Style, 4> styles = {{{ActionType::forward, "forward", "\x1b[44;97m", "#7aa6da"},
                                          {ActionType::backward, "backward", "\x1b[42;30m", "#8fbf8f"},
                                          {ActionType::backward_input, "input gradient", "\x1b[46;30m", "#8cd0c8"},
                                          {ActionType::backward_weight, "weight gradient", "\x1b[43;30m", "#e8c878"}}};
constexpr const char* waiting_fill = "#949494";
constexpr const char* sending_fill = "#444444";

const Style& style_of(ActionType type) {
  return styles.at(static_cast<std::size_t>(type));
}

double first_start(const Timeline& timeline) {
  double first = INFINITY;
  for (std::size_t rank = 0; rank < timeline.schedule.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < timeline.schedule.ranks[rank].size(); ++i) {
      if (!is_compute(timeline.schedule.ranks[rank][i].type)) continue;
      first = std::min(first, timeline.simulation.actions[rank][i].start);
    }
  }
  return std::isfinite(first) ? first : 0;
}

/// Pixels or characters per unit of time, so that the longest timeline fits into `available`.
double scale_of(const std::vector<Timeline>& timelines, double available) {
  double longest = 0;
  for (const Timeline& timeline : timelines) longest = std::max(longest, timeline.simulation.makespan);
  return longest > 0 ? available / longest : 0;
}

std::string number(double value) {
  std::string shown = fmt::format("{:.2f}", value);
  while (shown.back() == '0') shown.pop_back();
  if (shown.back() == '.') shown.pop_back();
  return shown;
}

std::string attribute(const char* name, double value) {
  return fmt::format(" {}=\"{}\"", name, number(value));
}

class Svg {
 public:
  Svg(const std::vector<Timeline>& timelines, double width) : timelines_(timelines), width_(width) {
    if (width_ > 0) return;
    std::size_t most = 0;
    for (const Timeline& timeline : timelines) {
      for (const ActionList& list : timeline.schedule.ranks) {
        const auto compute = std::ranges::count_if(list, [](const Action& action) { return is_compute(action.type); });
        most = std::max(most, static_cast<std::size_t>(compute));
      }
    }
    width_ = std::clamp(22.0 * static_cast<double>(most), 720.0, 4000.0);
  }

  std::string draw() {
    scale_ = scale_of(timelines_, width_);
    std::string rows;
    for (const Timeline& timeline : timelines_) rows += section(timeline);
    const std::string below = legend(rows);
    const double across = left + width_ + 10;
    std::string sizes;
    if (!timelines_.empty())
      sizes = fmt::format(", {} ranks, {} microbatches", timelines_[0].schedule.ranks.size(),
                          timelines_[0].schedule.microbatches);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{}{} viewBox=\"0 0 {} {}\" role=\"img\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n<title>schedule{}</title>\n<rect width=\"100%\" "
        "height=\"100%\" fill=\"#ffffff\"/>\n{}{}</svg>\n",
        attribute("width", across), attribute("height", y_), number(across), number(y_), sizes, rows, below);
  }

 private:
  static constexpr double row_height = 26;
  static constexpr double bar_height = 20;
  static constexpr double left = 60;

  static std::string bar(double x, double y, double width, double height, const char* fill, const char* end = "/>") {
    return fmt::format("<rect{}{}{}{} fill=\"{}\"{}", attribute("x", x), attribute("y", y), attribute("width", width),
                       attribute("height", height), fill, end);
  }
  static std::string label(double x, double y, const std::string& text) {
    return fmt::format("<text{}{}>{}</text>", attribute("x", x), attribute("y", y), text);
  }

  std::string section(const Timeline& timeline) {
    std::string svg;
    if (!timeline.title.empty()) {
      svg += label(5, y_ + 14, timeline.title) + "\n";
      y_ += 20;
    }
    origin_ = first_start(timeline);
    for (std::size_t rank = 0; rank < timeline.schedule.ranks.size(); ++rank) {
      svg += row(timeline, rank);
      y_ += row_height;
    }
    y_ += 8;
    return svg;
  }

  /// One rank: its compute actions, waits and messages in progress.
  std::string row(const Timeline& timeline, std::size_t rank) const {
    const ActionList& list = timeline.schedule.ranks[rank];
    std::string compute, thin, numbers;
    double idle_since = origin_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const ActionTime& time = timeline.simulation.actions[rank][i];
      const double x = left + (time.start - origin_) * scale_;
      const double span = (time.end - time.start) * scale_;
      if (list[i].type == ActionType::send_forward || list[i].type == ActionType::send_backward) {
        const double shown = std::min(span, left + width_ - x);  // a message may end long after the last compute action
        if (shown > 0) thin += bar(x, y_ + bar_height + 1, shown, 2, sending_fill);
      }
      if (!is_compute(list[i].type)) continue;
      const double wait = timeline.waits.empty() ? time.start - idle_since : timeline.waits[rank][i];
      if (wait * scale_ >= 0.05) {
        thin += bar(x - wait * scale_, y_ + bar_height / 2 - 2, wait * scale_, 4, waiting_fill);
      }
      idle_since = time.end;
      const std::string tooltip = fmt::format("><title>{}</title></rect>", to_text(list[i]));
      compute += bar(x, y_, span, bar_height, style_of(list[i].type).fill, tooltip.c_str());
      if (span > 14) numbers += label(x + span / 2, y_ + 15, std::to_string(list[i].microbatch));
    }
    return fmt::format("{}{}<g stroke=\"#ffffff\">{}</g><g text-anchor=\"middle\" pointer-events=\"none\">{}</g>\n",
                       label(5, y_ + 15, fmt::format("rank {}", rank)), thin, compute, numbers);
  }

  /// Of the colors in the rows.
  std::string legend(const std::string& rows) {
    std::string svg;
    double x = left;
    const auto entry = [&](const char* fill, const std::string& word) {
      if (rows.find(fmt::format("fill=\"{}\"", fill)) == std::string::npos) return;
      svg += fmt::format("{}{}\n", bar(x, y_, 12, 12, fill), label(x + 16, y_ + 10, word));
      x += 110;
    };
    for (const Style& style : styles) entry(style.fill, style.word);
    entry(waiting_fill, "waiting");
    entry(sending_fill, "sending");
    y_ += 18;
    return svg;
  }

  const std::vector<Timeline>& timelines_;
  double width_;
  double scale_ = 0;
  double origin_ = 0;
  double y_ = 5;
};

}  // namespace

std::string draw_text(const std::vector<Timeline>& timelines, std::size_t columns, bool color) {
  const double scale = scale_of(timelines, static_cast<double>(columns));
  std::string text;
  std::set<ActionType> drawn;
  for (const Timeline& timeline : timelines) {
    if (!timeline.title.empty()) text += timeline.title + "\n";
    const double origin = first_start(timeline);
    const auto column = [&](double time) {
      return std::min(columns, static_cast<std::size_t>(std::llround((time - origin) * scale)));
    };
    for (std::size_t rank = 0; rank < timeline.schedule.ranks.size(); ++rank) {
      text += fmt::format("rank {}{}", rank, rank < 10 ? "  " : " ");
      std::size_t at = 0;
      for (std::size_t i = 0; i < timeline.schedule.ranks[rank].size(); ++i) {
        const Action& action = timeline.schedule.ranks[rank][i];
        if (!is_compute(action.type)) continue;
        const std::size_t begin = std::max(at, column(timeline.simulation.actions[rank][i].start));
        const std::size_t end = column(timeline.simulation.actions[rank][i].end);
        if (end <= begin) continue;  // shorter than a character
        text.append(begin - at, color ? ' ' : '.');
        std::string cell = (color ? "" : std::string(name(action.type))) + std::to_string(action.microbatch);
        if (cell.size() > end - begin) cell = name(action.type);
        cell.resize(end - begin, color ? ' ' : '-');
        text += color ? style_of(action.type).ansi + cell + "\x1b[0m" : cell;
        drawn.insert(action.type);
        at = end;
      }
      text.append(columns - at, color ? ' ' : '.');
      text += '\n';
    }
  }
  for (const Style& style : styles) {
    if (!drawn.contains(style.type)) continue;
    text += color ? fmt::format("{} {} \x1b[0m ", style.ansi, style.word)
                  : fmt::format("{} {}, ", name(style.type), style.word);
  }
  return text + (color ? "\n" : ". idle\n");
}

std::string draw_svg(const std::vector<Timeline>& timelines, double width) {
  return Svg(timelines, width).draw();
}

}  // namespace plumbline
