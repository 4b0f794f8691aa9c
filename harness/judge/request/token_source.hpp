// SPDX-License-Identifier: BSD-3-Clause
// The tokens that a request names, read a second time: which ids and labels each microbatch of each step must hold
// (docs/data.md). The judge's own reading; it shares no code with the trainers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/request/request.hpp"
#include "harness/judge/request/token_file.hpp"

namespace plumbline::judging {

class TokenSource {
 public:
  /// Opens the files; reads none of them. Throws InputError naming a file that is not there, has another size than it
  /// had when the run was asked for, or is no whole number of ids, and a source without tokens.
  TokenSource(const RequestedData& data, const std::vector<RequestedMicrobatch>& microbatches);

  /// Digest of the int64 tensor [2, batch, sequence] of ids, then labels; reads the tokens of this microbatch alone.
  std::string data_digest(std::int64_t step, std::int64_t microbatch);

 private:
  struct Part {
    TokenFile file;
    std::int64_t first = 0;  ///< number of tokens before this file's
  };
  /// Where the row begins that is the `row`-th of microbatch `microbatch`, of which `before` tokens stand in front of
  /// it.
  std::int64_t begin(std::int64_t step, std::int64_t microbatch, std::int64_t row, std::int64_t before) const;
  /// `count` ids from `position` on, round and round.
  std::vector<std::int64_t> ids(std::int64_t position, std::int64_t count);

  const std::vector<RequestedMicrobatch>& microbatches_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> offsets_;  ///< of each microbatch's first token within a step, and the step's tokens last
  std::vector<std::int64_t> rows_;     ///< the same of rows
  std::int64_t longest_ = 1;           ///< row of a step
  bool windows_ = false;               ///< shuffled
  std::uint64_t seed_ = 1;
  std::int64_t tokens_ = 0;
  std::int64_t start_ = 0;
};

}  // namespace plumbline::judging
