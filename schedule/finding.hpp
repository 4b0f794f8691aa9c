// SPDX-License-Identifier: BSD-3-Clause
// What a static check found: which rule, where, and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/action.hpp"

namespace plumbline {

enum class Rule : std::uint8_t {
  size,           ///< ranks, chunks, microbatches, number of lists
  range,          ///< stage or microbatch does not exist
  rank,           ///< a stage's action on another rank than the stage's
  kind,           ///< an action that such a list may not hold
  duplicate,      ///< done twice
  missing,        ///< never done
  order,          ///< before what it needs on its own rank
  message,        ///< a SEND without its RECV, a RECV without its SEND, or one that has no other end
  channel_order,  ///< the two ends of a channel differ in order
  deadlock,       ///< ranks wait for each other in a circle
  slots,          ///< more open microbatches than allowed
  accumulation,   ///< gradients are not summed in ascending microbatch order
  ending,         ///< REDUCE and STEP
};

std::string_view name(Rule rule);  ///< "range", "channel-order", ...

struct Finding {
  Rule rule = Rule::size;
  std::int32_t rank = 0;
  std::size_t position = 0;  ///< from 0; the list's length where something is missing at its end
  Action action;
  std::string text;  ///< what is wrong; what to do
};

/// "rank 2, position 7, 2B3: ..."
std::string to_text(const Finding& finding);

/// Stops taking in after `limit`: a file that is wrong throughout must not make millions of texts.
class Findings {
 public:
  static constexpr std::size_t limit = 100;

  void add(Rule rule, std::int32_t rank, std::size_t position, const Action& action, std::string text) {
    if (found_.size() < limit) found_.push_back({rule, rank, position, action, std::move(text)});
  }
  bool full() const { return found_.size() == limit; }
  bool empty() const { return found_.empty(); }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  std::vector<Finding> found_;
};

}  // namespace plumbline
