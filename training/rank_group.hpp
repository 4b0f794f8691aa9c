// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a run as a group, for agreement outside a step's messages. A single device is a group of one.
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
  /// One entry per rank on rank 0; empty elsewhere.
  virtual std::vector<std::string> gather(const std::string& bytes) { return {bytes}; }
  /// Returns rank 0's bytes on every rank.
  virtual std::string broadcast(const std::string& bytes) { return bytes; }

  /// `asked` returns whether this rank is asked to stop. Between ranks the answer is sent with other control messages.
  virtual void carry_request(std::function<bool()> asked) { asked_ = std::move(asked); }
  /// After a step, the same on every rank: whether any rank was asked when they last exchanged control messages.
  virtual bool request_carried() const { return asked_ && asked_(); }
  /// Begins a phase outside steps with the time limit of a checkpoint; enter_steps ends it. No message.
  virtual void leave_steps() {}
  virtual void enter_steps() {}

  /// The lowest rank's text that is not empty, on every rank.
  std::string first_nonempty(const std::string& local) {
    const std::vector<std::string> all = gather(local);
    const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
    return broadcast(first == all.end() ? "" : *first);
  }

 private:
  std::function<bool()> asked_;
};

}  // namespace plumbline
