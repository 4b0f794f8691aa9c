// The ranks of a run, for what they must agree on outside a step's messages. One device agrees with itself.
#pragma once

#include <algorithm>
#include <string>
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

  /// Of what the ranks say, the lowest rank's that is not empty, on every rank.
  std::string first_said(const std::string& mine) {
    const std::vector<std::string> all = gather(mine);
    const auto first = std::ranges::find_if(all, [](const std::string& each) { return !each.empty(); });
    return broadcast(first == all.end() ? "" : *first);
  }
};

}  // namespace plumbline
