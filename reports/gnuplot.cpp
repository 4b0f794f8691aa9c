#include "reports/gnuplot.hpp"

#include "reports/child_process.hpp"
#include "reports/inline_svg.hpp"

namespace plumbline {
namespace {

std::string first_line(const std::string& text) {
  const auto start = text.find_first_not_of(" \n\t");
  return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
}

}  // namespace

std::optional<std::string> Gnuplot::draw(const std::string& script, int width, int height, const std::string& prefix,
                                         const std::string& title) {
  if (absent_) return std::nullopt;
  // `noenhanced`: an underscore in a name is an underscore. `-d`: the user's own start-up file does not change the
  // page.
  const std::string whole = "set terminal svg noenhanced size " + std::to_string(width) + "," + std::to_string(height) +
                            " font 'Helvetica,Arial,sans-serif,13'\nset encoding utf8\n" + script;
  const ChildResult result = run_child({program_, "-d"}, whole, std::chrono::seconds(60));
  std::optional<std::string> picture;
  if (result.started && result.in_time && result.exit_code == 0) picture = inline_svg(result.out, prefix, title);
  if (!result.started) absent_ = true;
  if (!picture && trouble_.empty()) {
    trouble_ = !result.started   ? program_ + " could not be started (" + result.error + ")"
               : !result.in_time ? program_ + " did not end within 60 s"
                                 : program_ + " could not draw: " + first_line(result.error);
  }
  return picture;
}

}  // namespace plumbline
