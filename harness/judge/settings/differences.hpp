// SPDX-License-Identifier: BSD-3-Clause
// Differences of two records' settings, in words.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/json.hpp"

namespace plumbline::judging {

class Differences {
 public:
  explicit Differences(std::string one = "the reference", std::string other = "the candidate")
      : one_(std::move(one)), other_(std::move(other)) {}

  /// Adds "<what> is ... in the reference and ... in the candidate" if they differ; an empty text is absent.
  void demand_equal(const std::string& what, const std::string& reference, const std::string& candidate);
  void demand_equal(const std::string& what, const Json& reference, const Json& candidate);

  std::vector<std::string> words;

 private:
  std::string one_, other_;
};

/// `fallback` also for null, and for what is no object.
Json value_or(const Json& object, const std::string& key, const Json& fallback);
/// Of either.
std::set<std::string> keys_of(const Json& one, const Json& other);

}  // namespace plumbline::judging
