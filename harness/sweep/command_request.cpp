// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/command_request.hpp"

#include "support/numbers.hpp"

namespace plumbline {

Request request_of_command(const PlannedCommand& command, const std::string& level) {
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = command.values.find(name);
    return found == command.values.end() ? std::nullopt : std::optional(found->second);
  };
  const auto number = [&](const char* name) -> std::optional<std::int64_t> {
    const auto text = value(name);
    return text ? parse_integer(*text) : std::nullopt;
  };
  Request request;
  request.world_size = command.ranks;
  // A reference has no schedule, however its command uses the case's.
  if (const auto schedule = value("schedule"); schedule && command.is_candidate)
    request.schedule = RequestedSchedule{*schedule, {}, {}};
  request.steps = number("steps");
  request.microbatch_count = number("microbatches");
  if (const auto seed = number("seed")) request.seed = static_cast<std::uint64_t>(*seed);
  request.threads = number("threads");
  request.dtype = value("dtype");
  request.device = value("device");
  request.level = level.empty() ? value("level") : level;
  return request;
}

}  // namespace plumbline
