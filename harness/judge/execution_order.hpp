// Places in the order in which one device computes, so that "first divergence" means the same in every check.
#pragma once

#include <compare>
#include <cstdint>

#include "record/verdict.hpp"

namespace plumbline::judging {

/// A place in the execution order of docs/exactness.md; the earlier one compares less. What is no value on the ladder
/// has a place too: structure before everything, memory, schedule and traffic (`beside`) after everything.
struct Moment {
  std::int64_t group = 0;
  std::int64_t step = 0;
  std::int64_t phase = 0;
  std::int64_t microbatch = 0;
  std::int64_t part = 0;
  std::int64_t position = 0;
  std::int64_t detail = 0;

  friend auto operator<=>(const Moment&, const Moment&) = default;
};

inline Moment at_structure(std::int64_t position = 0) {
  return {0, 0, 0, 0, 0, position, 0};
}
inline Moment at_data(std::int64_t step, std::int64_t microbatch) {
  return {1, step, 0, microbatch, 0, 0, 0};
}
/// `boundary`: index of the crossing along the model; `side`: 0 send or local, 1 receive.
inline Moment at_forward(std::int64_t step, std::int64_t microbatch, std::int64_t boundary, std::int64_t side) {
  return {1, step, 0, microbatch, 1, boundary, side};
}
inline Moment at_loss(std::int64_t step, std::int64_t microbatch) {
  return {1, step, 0, microbatch, 2, 0, 0};
}
/// Backward boundaries run from the last cut to the first.
inline Moment at_backward(std::int64_t step, std::int64_t microbatch, std::int64_t boundary, std::int64_t side) {
  return {1, step, 0, microbatch, 3, -boundary, side};
}
inline Moment at_step_loss(std::int64_t step) {
  return {1, step, 1, 0, 0, 0, 0};
}
/// `position`: the parameter's place in canonical order.
inline Moment at_gradient(std::int64_t step, std::int64_t position, std::int64_t stage) {
  return {1, step, 2, 0, 0, position, stage};
}
inline Moment at_norm(std::int64_t step, std::int64_t detail = 0) {
  return {1, step, 3, 0, 0, 0, detail};
}
inline Moment at_learning_rate(std::int64_t step) {
  return {1, step, 4, 0, 0, 0, 0};
}
/// `part`: 0 parameter, 1 moment1, 2 moment2. Step -1 is the start.
inline Moment at_parameter(std::int64_t step, std::int64_t position, std::int64_t part, std::int64_t stage) {
  return {1, step, 5, 0, 0, position, part * 1'000'000 + stage};
}
inline Moment beside(std::int64_t step, std::int64_t index, std::int64_t rank) {
  return {2, step, 0, 0, 0, index, rank};
}

}  // namespace plumbline::judging
