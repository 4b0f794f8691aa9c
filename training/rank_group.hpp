// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a run, for what they must agree on outside a step's messages. One device agrees with itself.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

/// All ranks make the same calls in the same order.
class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual int rank() const { return 0; }
  virtual int size() const { return 1; }
  /// On rank 0 one entry a rank; elsewhere empty.
  virtual std::vector<std::string> gather(const std::string& bytes) { return {bytes}; }
  /// Rank 0's bytes, on every rank.
  virtual std::string broadcast(const std::string& bytes) { return bytes; }

  /// `asked` says whether this rank is asked to stop. On one device that is all; between ranks it goes with messages
  /// that they exchange anyway.
  virtual void carry_request(std::function<bool()> asked) { asked_ = std::move(asked); }
  /// After a step, the same on every rank: whether any was asked when they last agreed on something.
  virtual bool request_carried() const { return asked_ && asked_(); }
  /// Ranks may take long over what comes (a checkpoint), and then steps come again. No message.
  virtual void leave_steps() {}
  virtual void enter_steps() {}

  /// Of what the ranks say, the lowest rank's that is not empty, on every rank.
  std::string first_said(const std::string& mine) {
    const std::vector<std::string> all = gather(mine);
    const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
    return broadcast(first == all.end() ? "" : *first);
  }

 private:
  std::function<bool()> asked_;
};

}  // namespace plumbline
