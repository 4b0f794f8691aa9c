// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/clock_alignment.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

constexpr int round_trips = 8;

/// Bounds on a rank's clock relative to rank 0's: the answer was given between the question and its receipt.
struct Difference {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

std::vector<Difference> measure(Transport& transport) {
  std::vector<Difference> differences(static_cast<std::size_t>(transport.size()));
  for (int round = 0; round < round_trips; ++round) {
    const std::int64_t asked = monotonic_ns();
    transport.broadcast("time?");
    const std::vector<std::string> answers = transport.gather(std::to_string(monotonic_ns()));
    const std::int64_t answered = monotonic_ns();
    for (std::size_t rank = 1; rank < answers.size(); ++rank) {
      Difference& difference = differences[rank];
      const std::int64_t theirs = std::stoll(answers[rank]);
      difference.least = std::max(difference.least, theirs - answered);
      difference.most = std::min(difference.most, theirs - asked);
    }
  }
  return differences;
}

}  // namespace

AlignedClock align_clocks(Transport& transport, bool one_host) {
  const std::vector<Difference> differences = measure(transport);
  Json result;  // rank 0's result, sent to all
  if (transport.rank() == 0) {
    const std::int64_t origin = monotonic_ns();
    std::int64_t half_width = 0;
    result["origins"] = Json::array({origin});
    for (std::size_t rank = 1; rank < differences.size(); ++rank) {
      const auto [least, most] = differences[rank];
      const bool same = one_host && least <= 0 && most >= 0;
      result["origins"].push_back(same ? origin : origin + least + (most - least) / 2);
      if (!same) half_width = std::max(half_width, (most - least + 1) / 2);
    }
    result["skew"] = 2 * half_width;  // each of two ranks may be off by that much
  }
  const Json all = Json::parse(transport.broadcast(result.dump()));
  return {all.at("origins").at(static_cast<std::size_t>(transport.rank())).get<std::int64_t>(),
          all.at("skew").get<std::int64_t>()};
}

}  // namespace plumbline
