// SPDX-License-Identifier: BSD-3-Clause
// A finding of a static check: rule, place, and remedy.
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
  rank,           ///< a stage's action in another rank's list
  kind,           ///< an action type not allowed in this list
  duplicate,      ///< an action occurs twice
  missing,        ///< an action is missing
  order,          ///< an action precedes one that it depends on, on the same rank
  message,        ///< a SEND without RECV, a RECV without SEND, or a message without a valid peer
  channel_order,  ///< the two ends of a channel differ in order
  deadlock,       ///< ranks wait for each other in a cycle
  slots,          ///< more open microbatches than allowed
  accumulation,   ///< gradients are not summed in ascending microbatch order
  ending,         ///< REDUCE and STEP
};

std::string_view name(Rule rule);  ///< "range", "channel-order", ...

struct ListFinding {
  Rule rule = Rule::size;
  std::int32_t rank = 0;
  std::size_t position = 0;  ///< from 0; the list's length if something is missing at its end
  Action action;
  std::string text;  ///< what is wrong, and what to do
};

/// "rank 2, position 7, 2B3: ..."
std::string to_text(const ListFinding& finding);

/// Stops collecting after `limit`, so that a completely wrong file does not produce millions of texts.
class ListFindings {
 public:
  static constexpr std::size_t limit = 100;

  void add(Rule rule, std::int32_t rank, std::size_t position, const Action& action, std::string text) {
    if (found_.size() < limit) found_.push_back({rule, rank, position, action, std::move(text)});
  }
  bool full() const { return found_.size() == limit; }
  bool empty() const { return found_.empty(); }
  std::vector<ListFinding> take() { return std::move(found_); }

 private:
  std::vector<ListFinding> found_;
};

}  // namespace plumbline
