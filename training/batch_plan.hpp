// What every rank knows of the data before the first step: which tokens each microbatch of each step holds, and its
// shape.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/run_file.hpp"

namespace plumbline {

/// Tokens of a text (byte-level: one id a byte) or of a .bin file of little-endian uint16. Throws InputError: not UTF-8
/// (with the offset), empty, an id beyond the vocabulary (with its place).
std::vector<std::int32_t> load_tokens(const DataSettings& data, std::int64_t vocab_size);

struct Microbatch {
  at::Tensor ids;                 ///< int64 [batch, sequence]; padding is id 0
  at::Tensor labels;              ///< int64 [batch, sequence], shifted already; -100 = not valid
  std::int64_t tokens = 0;        ///< real positions, padding not counted
  std::int64_t valid_tokens = 0;  ///< labels other than -100
};

/// Its tensors on another device; nothing happens on the CPU.
Microbatch to_device(Microbatch microbatch, at::Device device);

/// Rows are read one after the other from a start that the seed picks, and on into the next step, round and round: a
/// row of S tokens at `position` takes ids [position, position + S) and labels one further; the next row begins at
/// position + S.
class BatchPlan {
 public:
  /// `data` as load_run_file validated it. Throws InputError when there are fewer tokens than one step needs.
  BatchPlan(const DataSettings& data, std::vector<std::int32_t> tokens);

  std::int64_t microbatches() const;
  std::int64_t batch(std::int64_t microbatch) const;
  std::int64_t sequence_length(std::int64_t microbatch) const;  ///< its longest row
  std::int64_t longest_sequence() const;
  std::int64_t padded_tokens(std::int64_t microbatch) const;  ///< batch x its longest row; 2^63 - 1 where beyond
  std::int64_t tokens(std::int64_t microbatch) const;         ///< the same in every step
  std::int64_t valid_tokens(std::int64_t microbatch) const;   ///< the same in every step
  /// Its tensors belong to MemoryOwner::data.
  Microbatch make(std::int64_t step, std::int64_t microbatch) const;
  std::int64_t step_tokens() const;        ///< of all microbatches, in every step
  std::int64_t step_valid_tokens() const;  ///< of all microbatches, in every step
  /// Distinct ids that stand, in some row, at a position with a valid label at or after it. Looks at every token.
  std::int64_t live_tokens(std::int64_t step) const;
  /// Microbatches of one step that are equal and hold valid tokens, each with the next one that is equal to it: a swap
  /// of these would be invisible.
  std::vector<std::pair<std::int64_t, std::int64_t>> equal_microbatches(std::int64_t step) const;

 private:
  const std::vector<std::int64_t>& rows(std::int64_t microbatch) const;
  bool masked(std::int64_t microbatch) const;
  std::int64_t token(std::int64_t position) const;
  /// Where the first row of a microbatch begins, before wrapping.
  std::int64_t first_position(std::int64_t step, std::int64_t microbatch) const;
  /// ids, then labels, each batch x sequence.
  std::vector<std::int64_t> numbers(std::int64_t step, std::int64_t microbatch) const;

  std::vector<std::vector<std::int64_t>> row_lengths_;
  std::vector<bool> masked_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int64_t> offsets_;  ///< of each microbatch within a step; the last entry is the step's tokens
  std::int64_t start_ = 0;
};

}  // namespace plumbline
