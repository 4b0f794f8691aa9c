// SPDX-License-Identifier: BSD-3-Clause
#include "tests/schedule/integer_model.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace plumbline {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15ULL + b + 0x632BE59BD9B4E019ULL;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 32);
}

/// Rank 0's value of stage and microbatch, by kind: 'x' a stage's input, 'y' its output, 'g' the gradient of its
/// output, 'd' that of its input.
using Values = std::map<std::tuple<char, std::int32_t, std::int32_t>, std::uint64_t>;

/// The n-th value meets the n-th RECV: messages carry no tag.
struct Channel {
  std::deque<std::uint64_t> values;
  std::deque<std::tuple<char, std::int32_t, std::int32_t>> receives;
};

struct World {
  const Schedule& schedule;
  std::vector<Values> values;
  std::map<std::tuple<std::int32_t, std::int32_t, bool>, Channel> channels;
  std::vector<std::uint64_t> sums;   // one per stage, in summation order
  std::vector<std::uint64_t> steps;  // one per stage: the sums at STEP

  std::int32_t stages() const { return schedule.placement.stages(); }
  std::int32_t rank_of(std::int32_t stage) const { return schedule.placement.rank_of(stage); }
};

enum class Outcome { done, waits, wrong };

bool is_posted(const World& world, std::int32_t rank, const std::tuple<char, std::int32_t, std::int32_t>& what) {
  for (const auto& [key, channel] : world.channels) {
    if (std::get<1>(key) != rank) continue;
    if (std::find(channel.receives.begin(), channel.receives.end(), what) != channel.receives.end()) return true;
  }
  return false;
}

void deliver(World& world) {
  for (auto& [key, channel] : world.channels) {
    while (!channel.values.empty() && !channel.receives.empty()) {
      world.values[static_cast<std::size_t>(std::get<1>(key))][channel.receives.front()] = channel.values.front();
      channel.values.pop_front();
      channel.receives.pop_front();
    }
  }
}

Outcome perform(World& world, std::int32_t rank, const Action& a) {
  using enum ActionType;
  Values& own = world.values[static_cast<std::size_t>(rank)];
  const auto get = [&](char what, std::int32_t stage) -> std::optional<std::uint64_t> {
    const auto found = own.find({what, stage, a.microbatch});
    return found == own.end() ? std::nullopt : std::optional(found->second);
  };
  const auto put = [&](char what, std::int32_t stage, std::uint64_t value) {
    return own.insert_or_assign({what, stage, a.microbatch}, value).second ? Outcome::done : Outcome::wrong;
  };
  const auto stage = static_cast<std::uint64_t>(a.stage);
  const auto add_weight_gradient = [&] {
    const auto x = get('x', a.stage), g = get('g', a.stage);
    if (!x || !g) return Outcome::wrong;
    std::uint64_t& sum = world.sums[static_cast<std::size_t>(a.stage)];
    sum = mix(sum, mix(*x, *g));
    return put('w', a.stage, 1);
  };
  switch (a.type) {
    case forward: {
      std::optional<std::uint64_t> x = get('x', a.stage);
      if (a.stage == 0) x = static_cast<std::uint64_t>(a.microbatch) + 17;
      if (!x && a.stage > 0 && world.rank_of(a.stage - 1) == rank) x = get('y', a.stage - 1);
      if (!x) return is_posted(world, rank, {'x', a.stage, a.microbatch}) ? Outcome::waits : Outcome::wrong;
      own[{'x', a.stage, a.microbatch}] = *x;
      return put('y', a.stage, mix(*x, stage));
    }
    case backward:
    case backward_input: {
      std::optional<std::uint64_t> g = get('g', a.stage);
      const auto y = get('y', a.stage);
      if (a.stage + 1 == world.stages() && y) g = mix(*y, 5);
      if (!g && a.stage + 1 < world.stages() && world.rank_of(a.stage + 1) == rank) g = get('d', a.stage + 1);
      if (!y) return Outcome::wrong;
      if (!g) return is_posted(world, rank, {'g', a.stage, a.microbatch}) ? Outcome::waits : Outcome::wrong;
      own[{'g', a.stage, a.microbatch}] = *g;
      if (put('d', a.stage, mix(*g, stage + 99)) != Outcome::done) return Outcome::wrong;
      return a.type == backward ? add_weight_gradient() : Outcome::done;
    }
    case backward_weight:
      return get('d', a.stage) ? add_weight_gradient() : Outcome::wrong;
    case send_forward:
    case send_backward: {
      const bool is_forward = a.type == send_forward;
      const std::int32_t to = is_forward ? a.stage + 1 : a.stage - 1;
      const auto value = get(is_forward ? 'y' : 'd', a.stage);
      if (!value || to < 0 || to >= world.stages() || world.rank_of(to) == rank) return Outcome::wrong;
      world.channels[{rank, world.rank_of(to), is_forward}].values.push_back(*value);
      return Outcome::done;
    }
    case receive_forward:
    case receive_backward: {
      const bool is_forward = a.type == receive_forward;
      const std::int32_t from = is_forward ? a.stage - 1 : a.stage + 1;
      if (from < 0 || from >= world.stages() || world.rank_of(from) == rank) return Outcome::wrong;
      const char what = is_forward ? 'x' : 'g';
      if (is_posted(world, rank, {what, a.stage, a.microbatch})) return Outcome::wrong;
      if (get(what, a.stage)) return Outcome::wrong;
      world.channels[{world.rank_of(from), rank, is_forward}].receives.push_back({what, a.stage, a.microbatch});
      return Outcome::done;
    }
    case reduce: {
      std::uint64_t& sum = world.sums[static_cast<std::size_t>(a.stage)];
      sum = mix(sum, 12345);
      return Outcome::done;
    }
    case step:
      for (const std::int32_t stage : world.schedule.placement.stages_on(rank)) {
        std::uint64_t& result = world.steps[static_cast<std::size_t>(stage)];
        result = mix(result, world.sums[static_cast<std::size_t>(stage)]);
      }
      return a.stage == world.schedule.placement.stages_on(rank).front() ? Outcome::done : Outcome::wrong;
  }
  return Outcome::wrong;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> execute(const Schedule& lowered) {
  const auto stages = static_cast<std::size_t>(lowered.placement.stages());
  World world{lowered,
              std::vector<Values>(lowered.ranks.size()),
              {},
              std::vector<std::uint64_t>(stages, 1),
              std::vector<std::uint64_t>(stages, 0)};
  std::vector<std::size_t> next(lowered.ranks.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < lowered.ranks.size(); ++rank) {
      while (next[rank] < lowered.ranks[rank].size()) {
        const Action& action = lowered.ranks[rank][next[rank]];
        if (action.stage < 0 || action.stage >= lowered.placement.stages() ||
            lowered.placement.rank_of(action.stage) != static_cast<std::int32_t>(rank)) {
          return std::nullopt;
        }
        const Outcome outcome = perform(world, static_cast<std::int32_t>(rank), action);
        if (outcome == Outcome::wrong) return std::nullopt;
        if (outcome == Outcome::waits) break;
        deliver(world);
        ++next[rank];
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < lowered.ranks.size(); ++rank) {
    if (next[rank] < lowered.ranks[rank].size()) return std::nullopt;
  }
  for (const auto& [key, channel] : world.channels) {
    if (!channel.values.empty() || !channel.receives.empty()) return std::nullopt;
  }
  return world.steps;
}

}  // namespace plumbline
