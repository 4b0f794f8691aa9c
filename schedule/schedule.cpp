// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

#include "schedule/generators.hpp"
#include "schedule/schedule_words.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Of one microbatch: forward, input gradient, weight gradient.
constexpr std::int64_t most_actions_of_a_chunk = 3;
/// With its messages, and what the verifier and the simulator note of it.
constexpr std::int64_t bytes_of_an_action = 400;

struct Sizes {
  std::int32_t ranks;
  std::int32_t microbatches;
  std::int32_t chunks;
};

/// What sets one schedule apart: how many chunks, where they lie, one rank's list, and what else the sizes must meet.
struct Generator {
  std::string name, words;
  std::int32_t fixed_chunks;  ///< 0: any number
  PlacementKind placement;
  std::function<ActionList(std::int32_t rank, const Sizes&)> list;
  std::function<std::string(const Sizes&)> objection = [](const Sizes&) { return std::string(); };
};

std::string interleaved_objection(const Sizes& sizes) {
  if (interleaved_group(sizes.ranks, sizes.microbatches) > 0) return "";
  std::int32_t fewer = sizes.microbatches;
  while (interleaved_group(sizes.ranks, fewer) == 0) --fewer;
  std::int32_t more = sizes.microbatches;
  while (interleaved_group(sizes.ranks, more) == 0) ++more;
  const std::int32_t rounds = sizes.microbatches / sizes.ranks;
  return fmt::format(
      "{} microbatches do not divide into {} equal rounds (microbatches / ranks, rounded down); {} or {} would fit",
      sizes.microbatches, rounds, fewer, more);
}

std::string dualpipe_objection(const Sizes& sizes) {
  if (sizes.microbatches >= 2 * sizes.ranks) return "";
  return fmt::format(
      "it needs at least 2 microbatches per rank, {}; add microbatches{}", 2 * sizes.ranks,
      sizes.microbatches >= 2 ? fmt::format(" or take fewer ranks, at most {}", sizes.microbatches / 2) : "");
}

const std::vector<Generator>& generators() {
  using enum PlacementKind;
  static const std::vector<Generator> all = {
      {"afab", "all forwards, then all backwards (GPipe)", 1, loop,
       [](auto rank, const Sizes& s) { return afab_list(rank, s.microbatches); }},
      {"1f1b", "one forward, one backward", 1, loop,
       [](auto rank, const Sizes& s) { return one_f_one_b_list(rank, s.ranks, s.microbatches); }},
      {"interleaved-1f1b", "1F1B over several chunks a rank; rounds of about p microbatches must divide m", 0, loop,
       [](auto rank, const Sizes& s) { return interleaved_1f1b_list(rank, s.ranks, s.microbatches, s.chunks); },
       interleaved_objection},
      {"looped-bfs", "breadth first over several chunks a rank", 0, loop,
       [](auto rank, const Sizes& s) { return looped_bfs_list(rank, s.ranks, s.microbatches, s.chunks); }},
      {"zb-h1", "zero bubble, on every rank the slots of 1F1B's first rank; closed form for m >= p", 1, loop,
       [](auto rank, const Sizes& s) { return zero_bubble_h_list(rank, s.ranks, s.microbatches, 1); }},
      {"zb-h2", "zero bubble with 2p-1 slots; closed form for m >= 2p-1", 1, loop,
       [](auto rank, const Sizes& s) { return zero_bubble_h_list(rank, s.ranks, s.microbatches, 2); }},
      {"zb-v", "zero bubble, two chunks a rank in a V; closed form for m >= 2p-1", 2, v,
       [](auto rank, const Sizes& s) { return zero_bubble_v_list(rank, s.ranks, s.microbatches); }},
      {"dualpipe-v", "DualPipe folded into a V of two chunks a rank; m >= 2p", 2, v,
       [](auto rank, const Sizes& s) { return dualpipe_v_list(rank, s.ranks, s.microbatches); }, dualpipe_objection},
  };
  return all;
}

/// Small letters and digits alone, without torch's "Schedule" before them.
std::string spelling(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::string_view torchs = "schedule";
  return letters.starts_with(torchs) ? letters.substr(torchs.size()) : letters;
}

const Generator* find_generator(const std::string& name) {
  static const std::map<std::string, std::string> aliases = {
      {"gpipe", "afab"},          {"allforwardallbackward", "afab"},   {"fthenb", "afab"},
      {"pipedreamflush", "1f1b"}, {"interleaved", "interleaved-1f1b"}, {"breadthfirst", "looped-bfs"},
      {"zbvzerobubble", "zb-v"}};
  const auto alias = aliases.find(spelling(name));
  const std::string own = spelling(alias == aliases.end() ? name : alias->second);
  const auto& all = generators();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Generator& each) { return spelling(each.name) == own; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::int32_t> Placement::stages_on(std::int32_t rank) const {
  std::vector<std::int32_t> held;
  for (std::int32_t chunk = 0; chunk < chunks_per_rank; ++chunk) {
    const bool upwards = kind == PlacementKind::v && chunk % 2 == 1;
    held.push_back(chunk * ranks + (upwards ? ranks - 1 - rank : rank));
  }
  return held;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Generator& generator : generators()) all.push_back(generator.name);
    return all;
  }();
  return names;
}

std::optional<std::string> known_schedule(const std::string& name) {
  const Generator* generator = find_generator(name);
  return generator != nullptr ? std::optional(generator->name) : std::nullopt;
}

std::string schedule_words(const std::string& name) {
  const Generator* generator = find_generator(name);
  return generator != nullptr ? generator->words : "";
}

std::string unknown_schedule_words(const std::string& name) {
  if (spelling(name) == "interleavedzerobubble")
    return fmt::format(
        "schedule \"{}\" does not exist here: torch's has several chunks a rank in a loop, and splits the backward "
        "passes; nearest are zb-v (split, two chunks in a V), zb-h1 (split, one chunk) and interleaved-1f1b (a loop, "
        "not split), or torch's own list in a .csv file",
        name);
  return fmt::format("schedule \"{}\" is unknown; choose one of {}{}", name, join(schedule_names(), ", "),
                     did_you_mean(name, schedule_names()));
}

std::int32_t default_chunks(const std::string& name) {
  const Generator* generator = find_generator(name);
  return generator != nullptr && generator->fixed_chunks == 1 ? 1 : 2;
}

Schedule make_schedule(const std::string& name, std::int32_t ranks, std::int32_t microbatches,
                       std::int32_t chunks_per_rank) {
  const Generator* generator = find_generator(name);
  if (generator == nullptr) {
    const bool path = name.find_first_of("./") != std::string::npos;
    throw InputError(unknown_schedule_words(name) + (path ? "; the name of a file must end in .csv" : ""));
  }
  const Sizes sizes{ranks, microbatches, chunks_per_rank};
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("schedule {} on {} with {} and {} a rank: {}", generator->name,
                                 quantity(ranks, "rank"), quantity(microbatches, "microbatch"),
                                 quantity(chunks_per_rank, "chunk"), why));
  };
  if (ranks < 1) refuse("the world size must be at least 1");
  if (microbatches < 1) refuse("at least 1 microbatch is needed; add lengths to the run file");
  const std::int32_t fixed = generator->fixed_chunks;
  if (fixed == 1 && chunks_per_rank != 1) refuse(generator->name + " has one chunk a rank; set chunks = 1");
  if (fixed == 2 && chunks_per_rank != 2) refuse(generator->name + " has two chunks a rank; set chunks = 2");
  if (chunks_per_rank < 1) refuse("at least 1 chunk a rank is needed; set chunks = 2");
  // Stages and actions are counted in 32 bits, and a list that long would not fit in memory either.
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() / 8;
  if (!(std::int64_t{ranks} * chunks_per_rank <= limit && std::int64_t{microbatches} * chunks_per_rank <= limit)) {
    refuse(fmt::format("more than {} stages or microbatches x chunks; take fewer", limit));
  }
  const std::int64_t actions = product_of_sizes({ranks, microbatches, chunks_per_rank, most_actions_of_a_chunk});
  const std::int64_t bytes = product_of_sizes({actions, bytes_of_an_action});
  if (bytes > memory_limit()) {
    refuse(fmt::format("its lists of up to {} actions take up to {} of memory, this machine has {}; take fewer",
                       actions, bytes_text(bytes), bytes_text(memory_limit())));
  }
  if (const std::string objection = generator->objection(sizes); !objection.empty()) refuse(objection);

  Schedule schedule{generator->name, {ranks, chunks_per_rank, generator->placement}, microbatches, {}};
  schedule.ranks.reserve(static_cast<std::size_t>(ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank) schedule.ranks.push_back(generator->list(rank, sizes));
  return schedule;
}

}  // namespace plumbline
