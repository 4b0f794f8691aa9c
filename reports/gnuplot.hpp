// gnuplot as a function from a script to an SVG element that can stand inside a page.
#pragma once

#include <optional>
#include <string>

namespace plumbline {

/// A gnuplot that may not be there.
class Gnuplot {
 public:
  explicit Gnuplot(std::string program = "gnuplot") : program_(std::move(program)) {}

  /// Runs the script under `set terminal svg` of the given size in pixels and returns one <svg> element named `title`,
  /// its ids starting with `prefix` so that several may stand on one page. Nothing when gnuplot cannot do it; `trouble`
  /// then says why. Never throws.
  std::optional<std::string> draw(const std::string& script, int width, int height, const std::string& prefix,
                                  const std::string& title);
  /// Why the first drawing that failed did; empty while all went well.
  const std::string& trouble() const { return trouble_; }

 private:
  std::string program_, trouble_;
  bool absent_ = false;
};

}  // namespace plumbline
