// SPDX-License-Identifier: BSD-3-Clause
// Admission of parallel jobs: each run takes as many slots (cores or GPUs) as it has ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace plumbline {

class Slots {
 public:
  struct Begun {
    std::size_t run = 0;
    std::vector<std::int64_t> slots;  ///< slot numbers, from 0
  };

  explicit Slots(std::int64_t count);

  void add(std::size_t run, std::int64_t ranks);
  /// Starts the first waiting run for which enough slots are free. A run with more ranks than there are slots takes
  /// them all.
  std::optional<Begun> next();
  void ended(std::size_t run);

 private:
  struct Waiting {
    std::size_t run;
    std::int64_t slots;
  };
  std::int64_t count_;
  std::set<std::int64_t> free_;
  std::vector<Waiting> waiting_;
  std::map<std::size_t, std::vector<std::int64_t>> taken_;  ///< slots by run
};

}  // namespace plumbline
