// SPDX-License-Identifier: BSD-3-Clause
#include "reports/trace/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/message.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t compute_thread = 1;

/// Microseconds, as the format requires; nanoseconds are decimals.
double microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}

struct PlacedAction {
  std::int64_t step = 0;
  Action action;
  std::int64_t start_ns = 0, end_ns = 0, wait_ns = 0;
  std::int64_t rank = 0, thread = compute_thread;
  std::optional<std::int64_t> peak_bytes;
};

std::string_view category(ActionType type) {
  switch (type) {
    case ActionType::forward:
      return "forward";
    case ActionType::backward:
    case ActionType::backward_input:
    case ActionType::backward_weight:
      return "backward";
    case ActionType::reduce:
      return "reduce";
    case ActionType::step:
      return "optimizer";
    default:
      return "message";
  }
}

PlacedAction placed(const Record& record, std::int64_t rank, const ActionRow& row) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(
        fmt::format("{}: rank {}, step {}, action {}: {}", record.path.string(), rank, row.step, row.action, what));
  };
  const auto action = parse_action(row.action);
  if (!action) refuse("is not an action");
  if (row.start_ns < 0 || row.end_ns < row.start_ns || row.wait_ns < 0 || row.wait_ns > row.end_ns - row.start_ns)
    refuse(
        fmt::format("its clock ran backwards (start {}, end {}, wait {} ns)", row.start_ns, row.end_ns, row.wait_ns));
  return {row.step, *action, row.start_ns, row.end_ns, row.wait_ns, rank, compute_thread, row.peak_bytes};
}

/// Messages overlap, but slices of one thread must not: each gets the first free thread.
void place_messages(std::vector<PlacedAction>& actions) {
  std::vector<PlacedAction*> messages;
  for (PlacedAction& each : actions) {
    if (is_communication(each.action.type)) messages.push_back(&each);
  }
  std::ranges::stable_sort(messages, {}, [](const PlacedAction* each) { return each->start_ns; });
  std::vector<std::int64_t> free_at;
  for (PlacedAction* each : messages) {
    auto thread = std::ranges::find_if(free_at, [&](std::int64_t at) { return at <= each->start_ns; });
    if (thread == free_at.end()) thread = free_at.insert(free_at.end(), 0);
    *thread = each->end_ns;
    each->thread = compute_thread + 1 + (thread - free_at.begin());
  }
}

Json metadata(const char* name, std::int64_t rank, std::int64_t thread, const Json& arguments) {
  return {{"ph", "M"}, {"name", name}, {"pid", rank}, {"tid", thread}, {"args", arguments}};
}

Json slice(const PlacedAction& each, const std::string& name, std::string_view kind, std::int64_t duration_ns) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", kind},
          {"pid", each.rank},
          {"tid", each.thread},
          {"ts", microseconds(each.start_ns)},
          {"dur", microseconds(duration_ns)}};
}

Json counter(std::int64_t rank, const char* name, std::int64_t at_ns, const Json& values) {
  return {{"ph", "C"},     {"name", name}, {"pid", rank}, {"tid", compute_thread}, {"ts", microseconds(at_ns)},
          {"args", values}};
}

void add_rank(Json& events, std::int64_t rank, const std::vector<PlacedAction>& actions) {
  events.push_back(metadata("process_name", rank, 0, {{"name", fmt::format("rank {}", rank)}}));
  events.push_back(metadata("process_sort_index", rank, 0, {{"sort_index", rank}}));
  std::int64_t threads = compute_thread;
  for (const PlacedAction& each : actions) threads = std::max(threads, each.thread);
  for (std::int64_t thread = compute_thread; thread <= threads; ++thread) {
    const std::string name =
        thread == compute_thread ? "computation" : fmt::format("messages {}", thread - compute_thread);
    events.push_back(metadata("thread_name", rank, thread, {{"name", name}}));
    events.push_back(metadata("thread_sort_index", rank, thread, {{"sort_index", thread}}));
  }
  for (const PlacedAction& each : actions) {
    Json event = slice(each, to_text(each.action), category(each.action.type), each.end_ns - each.start_ns);
    event["args"] = {{"step", each.step}, {"stage", each.action.stage}, {"wait_ms", microseconds(each.wait_ns) / 1000}};
    if (each.action.microbatch != no_microbatch) event["args"]["microbatch"] = each.action.microbatch;
    events.push_back(std::move(event));
    if (is_compute(each.action.type) && each.wait_ns > 0)
      events.push_back(slice(each, "waiting", "wait", each.wait_ns));
    if (is_compute(each.action.type) && each.peak_bytes)
      events.push_back(counter(rank, "activation peak, bytes", each.end_ns, {{"bytes", *each.peak_bytes}}));
  }
}

/// Counters at the end of each step, as far as they were recorded.
void add_memory(Json& events, const RankRecord& rank, const std::map<std::int64_t, std::int64_t>& ends) {
  for (const MemoryRow& row : rank.memory) {
    const auto end = ends.find(row.step);
    if (end == ends.end()) continue;
    Json values = Json::object();
    if (row.parameter_bytes) values["parameters"] = *row.parameter_bytes;
    if (row.gradient_bytes) values["gradients"] = *row.gradient_bytes;
    if (row.optimizer_bytes) values["optimizer"] = *row.optimizer_bytes;
    if (!values.empty()) events.push_back(counter(rank.rank, "model state, bytes", end->second, values));
  }
}

using MessageKey = std::tuple<std::int64_t, std::string>;  ///< step and receive, in its text form

Json flow_end(const char* phase, const PlacedAction& each, std::int64_t id, std::int64_t at_ns) {
  return {{"ph", phase},
          {"name", direction_of(each.action.type) == Direction::forward ? "activation" : "gradient"},
          {"cat", "message"},
          {"id", id},
          {"pid", each.rank},
          {"tid", each.thread},
          {"ts", microseconds(at_ns)}};
}

/// From the start of each send to the end of its receive. If clocks differ by more than the transfer took, there
/// would be an arrow backwards in time: it is omitted and counted.
std::int64_t add_flows(Json& events, const std::vector<PlacedAction>& all) {
  std::map<MessageKey, const PlacedAction*> receives;
  for (const PlacedAction& each : all) {
    if (is_communication(each.action.type) && !is_send(each.action.type))
      receives[{each.step, to_text(each.action)}] = &each;
  }
  std::int64_t id = 0, left_out = 0;
  for (const PlacedAction& each : all) {
    if (!is_send(each.action.type)) continue;
    const auto receive = receives.find({each.step, to_text(partner(each.action))});
    if (receive == receives.end() || receive->second->end_ns < each.start_ns) {
      ++left_out;
      continue;
    }
    ++id;
    events.push_back(flow_end("s", each, id, each.start_ns));
    events.push_back(flow_end("f", *receive->second, id, receive->second->end_ns));
    events.back()["bp"] = "e";
  }
  return left_out;
}

}  // namespace

Json trace_of(const Record& record, std::optional<std::int64_t> step) {
  Json events = Json::array();
  std::vector<PlacedAction> all;
  for (const RankRecord& rank : record.ranks) {
    std::vector<PlacedAction> actions;
    std::map<std::int64_t, std::int64_t> ends;  // of steps
    for (const ActionRow& row : rank.actions) {
      if (step && row.step != *step) continue;
      actions.push_back(placed(record, rank.rank, row));
      ends[row.step] = std::max(ends[row.step], row.end_ns);
    }
    place_messages(actions);
    add_rank(events, rank.rank, actions);
    add_memory(events, rank, ends);
    all.insert(all.end(), actions.begin(), actions.end());
  }
  if (all.empty())
    throw InputError(fmt::format("{}: has no actions {}", record.path.string(),
                                 step ? fmt::format("in step {}", *step) : "to draw; records of level none have none"));
  const std::int64_t left_out = add_flows(events, all);
  return {{"displayTimeUnit", "ms"},
          {"otherData",
           {{"run", record.manifest.run_id},
            {"schedule", record.manifest.schedule_name},
            {"ranks", record.manifest.world_size},
            {"messages_without_arrow", left_out}}},
          {"traceEvents", std::move(events)}};
}

}  // namespace plumbline
