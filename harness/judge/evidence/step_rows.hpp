// The rows of one step of a table: tables are in the order of their steps (the reader sees to it), so that a search by
// halves finds them and no check passes over the whole table for each step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace plumbline::judging {

template <class Row>
std::span<const Row> step_rows(const std::vector<Row>& rows, std::int64_t step) {
  const auto found = std::ranges::equal_range(rows, step, {}, &Row::step);
  return {found.begin(), found.end()};
}

}  // namespace plumbline::judging
