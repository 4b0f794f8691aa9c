// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/record_reading.hpp"

#include <algorithm>

#include "support/error.hpp"

namespace plumbline::judging {

template <typename Read>
void RecordReading::keep_error_of(Read read) {
  try {
    read();
  } catch (const RecordError& error) {
    failure_ = std::current_exception();
    error_ = error.what();
    place_ = error.place();
  } catch (const std::exception& error) {
    failure_ = std::current_exception();
    error_ = describe_failure(error).words;
  }
}

RecordReading::RecordReading(const std::filesystem::path& path, std::int64_t from, std::int64_t first_microbatch)
    : path_(path), from_(from), first_microbatch_(first_microbatch) {
  begin_again();
}

void RecordReading::begin_again() {
  stream_.reset();
  failure_ = nullptr;
  keep_error_of([&] {
    stream_.emplace(path_, from_, first_microbatch_);
    progress_.assign(stream_->record().ranks.size(), {});
  });
}

void RecordReading::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

void RecordReading::go_to(std::int64_t step) {
  if (failure_) return;
  keep_error_of([&] { stream_->go_to(step); });
  if (failure_) return;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const RankRecord& rank = stream_->record().ranks[i];
    progress_[i].whole_steps += std::ssize(rank.steps);
    const auto last = std::ranges::max_element(rank.actions, {}, &ActionRow::index);  // the table may be in any order
    if (last != rank.actions.end()) progress_[i].last_action = last->action;
  }
}

void RecordReading::read_to_end() {
  while (const auto step = next_step()) go_to(*step);
}

RecordReading read_beside(const RecordReading& candidate, const std::filesystem::path& reference) {
  return RecordReading(reference, candidate.record() ? candidate.record()->first_step : 0);
}

std::optional<std::int64_t> earlier(std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

}  // namespace plumbline::judging
