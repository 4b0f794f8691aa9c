// SPDX-License-Identifier: BSD-3-Clause
// The data of every microbatch of every step, known to every rank before the first step: tokens and shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "training/microbatch.hpp"
#include "training/run_file.hpp"
#include "training/tokens.hpp"

namespace plumbline {

/// Rows are read consecutively from a start that the seed selects, across steps and around the end of the source: a row
/// of S tokens at `position` has ids [position, position + S) and labels shifted by one; the next row begins at
/// position + S. If shuffled, each row begins a window of the longest row's length, and an epoch uses every window
/// once.
/// Copies share the rows and the tokens.
class BatchPlan {
 public:
  /// `data` as validated by load_run_file. `ignored`: for each token, whether it is not a label (other than 0); null:
  /// every token is one. Throws InputError if there are fewer tokens than one step needs.
  BatchPlan(const DataSettings& data, Tokens tokens, std::optional<Tokens> ignored = std::nullopt);

  /// Part number `part` of `parts` equal, contiguous parts of each step's microbatches, which it numbers from 0. Shares
  /// the tokens. Functions about a step or the source are still about the whole step.
  BatchPlan part(std::int64_t part, std::int64_t parts) const;

  std::int64_t source_tokens() const { return step_->tokens.size(); }
  /// How often the first `steps` steps read the source: 1.5 is one and a half times.
  double epochs(std::int64_t steps) const;
  std::int64_t microbatches() const { return count_; }
  std::int64_t batch(std::int64_t microbatch) const { return std::ssize(rows(first_ + microbatch)); }
  std::int64_t sequence_length(std::int64_t microbatch) const;      ///< its longest row
  std::int64_t longest_sequence() const { return step_->longest; }  ///< of the whole step
  std::int64_t padded_tokens(std::int64_t microbatch) const;        ///< batch x its longest row; saturates at 2^63 - 1
  /// The padded length of every row of this part, in tokens.
  std::vector<std::int64_t> padded_rows() const;
  std::int64_t tokens(std::int64_t microbatch) const;  ///< the same in every step
  /// Positions with a label. With `ignored` reads the bytes of the microbatch.
  std::int64_t valid_tokens(std::int64_t step, std::int64_t microbatch) const {
    return labels_of(step, first_ + microbatch);
  }
  /// Its tensors belong to MemoryOwner::data.
  Microbatch make(std::int64_t step, std::int64_t microbatch) const;
  std::int64_t step_tokens() const { return step_->offsets.back(); }  ///< of all microbatches, in every step
  /// Labels of all microbatches; remembers the last step. Throws InputError if there is none: such a step has no loss.
  std::int64_t step_valid_tokens(std::int64_t step) const;
  /// Number of distinct ids at positions with a valid label at or after them in their row. Reads every token.
  std::int64_t live_tokens(std::int64_t step) const;
  /// Microbatches of one step that are equal and contain valid tokens, each with the next equal one: swapping them
  /// would be undetectable.
  std::vector<std::pair<std::int64_t, std::int64_t>> equal_microbatches(std::int64_t step) const;

 private:
  /// Of the whole step; its parts share it.
  struct Step {
    std::vector<std::vector<std::int64_t>> row_lengths;  ///< by microbatch
    std::vector<bool> masked;                            ///< by microbatch
    Tokens tokens;
    std::optional<Tokens> ignored;
    std::vector<std::int64_t> offsets;  ///< start of each microbatch; the last entry is the step's number of tokens
    std::vector<std::int64_t>
        rows_before;         ///< rows before each microbatch; the last entry is the step's number of rows
    std::int64_t start = 0;  ///< position of step 0
    bool shuffled = false;
    std::uint64_t seed = 1;
    std::int64_t longest = 0;  ///< row
    std::int64_t windows = 0;  ///< per epoch, each of `longest` tokens
  };
  // `index`: a microbatch's number in the whole step.
  const std::vector<std::int64_t>& rows(std::int64_t index) const {
    return step_->row_lengths.at(static_cast<std::size_t>(index));
  }
  bool masked(std::int64_t index) const { return step_->masked.at(static_cast<std::size_t>(index)); }
  std::int64_t microbatches_of_step() const { return std::ssize(step_->row_lengths); }
  /// Number of positions with a label.
  std::int64_t labels_of(std::int64_t step, std::int64_t index) const;
  /// Where each row of a microbatch begins, before wrapping.
  std::vector<std::int64_t> positions(std::int64_t step, std::int64_t index) const;
  /// ids, then labels, each batch x sequence.
  std::vector<std::int64_t> numbers(std::int64_t step, std::int64_t index) const;

  /// With `ignored` a count reads bytes of the whole step, and trainer and recorder both need it.
  struct LastCount {
    std::mutex mutex;
    std::int64_t step = -1;
    std::int64_t labels = 0;
  };

  std::shared_ptr<const Step> step_;
  std::shared_ptr<LastCount> last_count_ = std::make_shared<LastCount>();
  std::int64_t first_ = 0;  ///< microbatch of this part
  std::int64_t count_ = 0;  ///< microbatches of this part
};

}  // namespace plumbline
