#include "reports/ulp_plot.hpp"

#include <algorithm>
#include <cmath>

#include "reports/plot/panel.hpp"
#include "reports/plot/svg.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t kibi = 1024;

/// "4Ki" for 4096: buckets begin at powers of two.
std::string power_of_two_text(std::int64_t value) {
  static const char* const units[] = {"", "Ki", "Mi", "Gi"};
  std::size_t unit = 0;
  while (unit < 3 && value >= kibi && value % kibi == 0) {
    value /= kibi;
    ++unit;
  }
  return std::to_string(value) + units[unit];
}

}  // namespace

std::string bucket_text(const UlpBucket& bucket) {
  if (bucket.to <= bucket.from) return std::to_string(bucket.from);
  if (bucket.to < kibi) return std::to_string(bucket.from) + "-" + std::to_string(bucket.to);
  return power_of_two_text(bucket.from) + "+";
}

std::string draw_ulps(const std::vector<UlpBucket>& buckets, const std::string& title) {
  if (buckets.empty()) return "";
  std::int64_t most = 1;
  for (const UlpBucket& bucket : buckets) most = std::max(most, bucket.elements);
  const auto count = static_cast<double>(buckets.size());
  plot::Axis across{-0.5, count - 0.5, {}, "units in the last place (ULP) between the two values"};
  for (std::size_t i = 0; i < buckets.size(); ++i)
    across.ticks.push_back({static_cast<double>(i), bucket_text(buckets[i])});
  const double top = std::log10(static_cast<double>(most)) + 0.3;
  plot::Axis up{-0.1, top, {}, "elements"};
  for (int power = 0; power <= top; ++power)
    up.ticks.push_back({static_cast<double>(power), grouped(static_cast<std::int64_t>(std::pow(10, power)))});
  const double right = std::clamp(90 + 62 * count + 120, 460.0, 960.0);
  const plot::Panel panel({90, 20, right, 170}, across, up);
  std::string body = panel.draw_axes();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const double x = panel.x(static_cast<double>(i)), width = (panel.x(1) - panel.x(0)) * 0.7;
    const double y = panel.y(std::log10(static_cast<double>(std::max<std::int64_t>(buckets[i].elements, 1))));
    body += plot::rectangle(x - width / 2, y, width, panel.frame().bottom - y,
                            buckets[i].from == 0 ? " fill=\"#b0b0b0\"" : " fill=\"#9c2f00\"");
    body += plot::label(x, y - 4, grouped(buckets[i].elements), " text-anchor=\"middle\" font-size=\"10\"");
  }
  return plot::picture(right + 20, 216, title, body);
}

}  // namespace plumbline
