// SPDX-License-Identifier: BSD-3-Clause
// Traces of made-up and of scheduled runs must follow the rules of the Trace Event Format.
#include "reports/trace/trace.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/simulator.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A record with a lowered schedule's own times; one time unit is 1 ms.
Record scheduled(const std::string& name, std::int32_t ranks, std::int32_t microbatches, std::int64_t steps) {
  const Schedule lowered = lower(make_schedule(name, ranks, microbatches, default_chunks(name)), false);
  const Simulation run = simulate(lowered, Durations{{{}}, {0.5}});
  Record record;
  record.manifest.world_size = ranks;
  record.manifest.schedule_name = name;
  record.ranks.resize(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < record.ranks.size(); ++rank) {
    record.ranks[rank].rank = static_cast<std::int64_t>(rank);
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < lowered.ranks[rank].size(); ++i) {
        const ActionTime& time = run.actions[rank][i];
        const auto ns = [&](double ms) {
          return static_cast<std::int64_t>((ms + 1000.0 * static_cast<double>(step)) * 1e6);
        };
        record.ranks[rank].actions.push_back({step,
                                              static_cast<std::int64_t>(i),
                                              to_text(lowered.ranks[rank][i]),
                                              0,
                                              {},
                                              ns(time.start),
                                              ns(time.end),
                                              0,
                                              100});
      }
      MemoryRow memory;
      memory.step = step;
      memory.parameter_bytes = 5;
      record.ranks[rank].memory.push_back(memory);
    }
  }
  return record;
}

using Thread = std::pair<std::int64_t, std::int64_t>;

struct Slice {
  double start = 0, end = 0;
};

/// Checks what the Trace Event Format requires of every trace; returns the violations in words.
std::vector<std::string> offences(const Json& trace) {
  std::vector<std::string> found;
  std::set<std::int64_t> named_processes, processes;
  std::set<Thread> named_threads, threads;
  std::map<Thread, std::vector<Slice>> slices;
  std::map<std::int64_t, std::vector<Json>> starts, ends;
  for (const Json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph").get<std::string>();
    const std::int64_t process = event.at("pid").get<std::int64_t>();
    const Thread thread{process, event.at("tid").get<std::int64_t>()};
    if (phase == "M") {
      if (event.at("name") == "process_name") named_processes.insert(process);
      if (event.at("name") == "thread_name") named_threads.insert(thread);
      continue;
    }
    processes.insert(process);
    threads.insert(thread);
    const double at = event.at("ts").get<double>();
    if (at < 0) found.push_back("a time below 0");
    if (phase == "X") {
      const double duration = event.at("dur").get<double>();
      if (duration < 0) found.push_back("a negative duration");
      slices[thread].push_back({at, at + duration});
    } else if (phase == "C") {
      for (const auto& [name, value] : event.at("args").items()) {
        if (!value.is_number()) found.push_back("a counter that is no number: " + name);
      }
    } else if (phase == "s") {
      starts[event.at("id").get<std::int64_t>()].push_back(event);
    } else if (phase == "f") {
      if (event.value("bp", "") != "e") found.push_back("a flow's end that is not bound to its slice");
      ends[event.at("id").get<std::int64_t>()].push_back(event);
    } else {
      found.push_back("a phase that is not used: " + phase);
    }
  }
  for (const auto process : processes) {
    if (!named_processes.contains(process)) found.push_back("a process without a name");
  }
  for (const Thread& thread : threads) {
    if (!named_threads.contains(thread)) found.push_back("a thread without a name");
  }
  for (auto& [thread, all] : slices) {
    std::ranges::sort(
        all, [](const Slice& a, const Slice& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
    std::vector<Slice> open;
    for (const Slice& each : all) {
      while (!open.empty() && open.back().end <= each.start) open.pop_back();
      if (!open.empty() && each.end > open.back().end) found.push_back("slices that cross");
      open.push_back(each);
    }
  }
  const auto inside = [&](const Json& event) {
    const double at = event.at("ts").get<double>();
    return std::ranges::any_of(slices[{event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()}],
                               [&](const Slice& each) { return each.start <= at && at <= each.end; });
  };
  for (const auto& [id, all] : starts) {
    if (all.size() != 1 || ends[id].size() != 1) {
      found.push_back("flow " + std::to_string(id) + " does not have one start and one end");
    } else if (ends[id][0].at("ts") < all[0].at("ts")) {
      found.push_back("a flow backward in time");
    } else if (!inside(all[0]) || !inside(ends[id][0])) {
      found.push_back("a flow that is bound to no slice");
    }
  }
  for (const auto& [id, all] : ends) {
    if (!starts.contains(id)) found.push_back("a flow without a start");
  }
  return found;
}

std::size_t count_of(const Json& trace, const std::string& phase) {
  return static_cast<std::size_t>(
      std::ranges::count_if(trace.at("traceEvents"), [&](const Json& event) { return event.at("ph") == phase; }));
}

TEST(Trace, FollowsTheRulesForEverySchedule) {
  for (const std::string& name : schedule_names()) {
    const Json trace = trace_of(scheduled(name, 4, 8, 2));

    EXPECT_THAT(offences(trace), IsEmpty()) << name;
    EXPECT_GT(count_of(trace, "s"), 0U) << name;
    EXPECT_EQ(count_of(trace, "s"), count_of(trace, "f")) << name;
    EXPECT_EQ(trace.at("otherData").at("messages_without_arrow"), 0) << name;
  }
}

TEST(Trace, HasASlicePerActionAnArrowPerMessageAndOnlyTheRequestedStep) {
  const Record record = scheduled("1f1b", 2, 2, 3);

  const Json all = trace_of(record), one = trace_of(record, 1);

  std::size_t actions = 0;
  for (const auto& rank : record.ranks) actions += rank.actions.size();
  EXPECT_EQ(count_of(all, "X"), actions);
  EXPECT_EQ(count_of(all, "s"), 3U * 2 * 2) << "steps x microbatches x directions";
  EXPECT_EQ(count_of(one, "s"), 2U * 2);
  EXPECT_EQ(count_of(all, "C"), 2U * 3 * 4 + 2U * 3) << "each F and B, and each step of each rank";
}

TEST(Trace, OverlappingMessagesHaveTheirOwnThreads) {
  Record record = scheduled("1f1b", 2, 2, 1);
  for (auto& row : record.ranks[0].actions) {
    if (row.action.find("SEND") != std::string::npos) row.end_ns += 50'000'000;
  }

  const Json trace = trace_of(record);

  EXPECT_THAT(offences(trace), IsEmpty());
  EXPECT_THAT(trace.dump(), HasSubstr("messages 2"));
}

TEST(Trace, RefusesABackwardClockOnOneRankAndCountsItBetweenRanks) {
  Record broken = scheduled("1f1b", 2, 2, 1);
  broken.ranks[1].actions[0].end_ns = broken.ranks[1].actions[0].start_ns - 1;
  EXPECT_THAT(testing::error_of<InputError>([&] { trace_of(broken); }), HasSubstr("rank 1, step 0"));

  Record apart = scheduled("1f1b", 2, 2, 1);
  for (auto& row : apart.ranks[0].actions) row.start_ns += 1'000'000'000, row.end_ns += 1'000'000'000;
  const Json trace = trace_of(apart);
  EXPECT_THAT(offences(trace), IsEmpty());
  EXPECT_EQ(trace.at("otherData").at("messages_without_arrow"), 2) << "the activations of two microbatches";
}

TEST(Trace, NeedsActionsOfTheStep) {
  EXPECT_THAT(testing::error_of<InputError>([] { trace_of(Record{}); }), HasSubstr("has no actions"));
  EXPECT_THAT(testing::error_of<InputError>([] { trace_of(scheduled("1f1b", 2, 2, 1), 7); }), HasSubstr("in step 7"));
  Record unknown = scheduled("1f1b", 2, 2, 1);
  unknown.ranks[0].actions[0].action = "0X0";
  EXPECT_THAT(testing::error_of<InputError>([&] { trace_of(unknown); }), HasSubstr("0X0: is not an action"));
}

TEST(TraceRules, FindInjectedViolations) {
  const Json right = trace_of(scheduled("1f1b", 2, 2, 1));
  const auto broken = [&](const std::string& phase, auto change) {
    Json trace = right;
    for (Json& event : trace["traceEvents"]) {
      if (event.at("ph") != phase) continue;
      change(event);
      break;
    }
    return offences(trace);
  };
  EXPECT_THAT(broken("X", [](Json& e) { e["dur"] = -1; }), ::testing::Contains("a negative duration"));
  EXPECT_THAT(broken("s", [](Json& e) { e["id"] = 99; }), ::testing::Contains("a flow without a start"));
  EXPECT_THAT(broken("f", [](Json& e) { e["ts"] = 0; }), ::testing::Contains("a flow backward in time"));
  EXPECT_THAT(broken("M", [](Json& e) { e["name"] = "x"; }), ::testing::Contains("a process without a name"));
  EXPECT_THAT(broken("X", [](Json& e) { e["dur"] = 1500; }), ::testing::Contains("slices that cross"));
  EXPECT_THAT(broken("C", [](Json& e) { e["args"]["bytes"] = "many"; }), ::testing::Contains(HasSubstr("no number")));
}

/// Events of a phase and a name.
std::vector<Json> events_of(const Json& trace, const std::string& phase, const std::string& name) {
  std::vector<Json> found;
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase && event.at("name") == name) found.push_back(event);
  }
  return found;
}

TEST(Trace, ASliceHasItsActionsTimesAndKind) {
  Record record = scheduled("1f1b", 2, 2, 2);
  for (auto& row : record.ranks[1].actions) {
    if (row.action == "1F0") row.wait_ns = 200'000;
  }

  const Json trace = trace_of(record);

  EXPECT_THAT(offences(trace), IsEmpty()) << "a wait is inside the computation that waited";
  EXPECT_EQ(events_of(trace, "X", "waiting").at(0).at("dur"), 200.0);
  const auto forward = events_of(trace, "X", "1F0");
  ASSERT_EQ(forward.size(), 2U) << "one for each step";
  const auto& first = *std::ranges::find(record.ranks[1].actions, "1F0", &ActionRow::action);
  EXPECT_EQ(forward[0].at("ts"), static_cast<double>(first.start_ns) / 1000) << "microseconds";
  EXPECT_EQ(forward[0].at("cat"), "forward");
  EXPECT_EQ(forward[0].at("pid"), 1);
  EXPECT_EQ(forward[1].at("args").dump(), R"({"step":1,"stage":1,"wait_ms":0.2,"microbatch":0})");
  EXPECT_EQ(events_of(trace, "X", "0B0").at(0).at("cat"), "backward");
  EXPECT_EQ(events_of(trace, "X", "0STEP").at(0).at("cat"), "optimizer");
  EXPECT_EQ(events_of(trace, "X", "0SEND_F0").at(0).at("cat"), "message");
  EXPECT_EQ(events_of(trace, "M", "process_name").at(1).at("args").at("name"), "rank 1");
}

TEST(Trace, AnArrowGoesFromItsSendsStartToItsReceivesEnd) {
  const Record record = scheduled("1f1b", 2, 1, 2);

  const Json trace = trace_of(record);

  const auto times_of = [](const Json& at, const std::string& phase, const std::string& name) {
    std::vector<double> times;
    for (const Json& event : events_of(at, phase, name)) times.push_back(event.at("ts").get<double>());
    return times;
  };
  const auto of_actions = [&](std::size_t rank, const std::string& action, std::int64_t ActionRow::*time) {
    std::vector<double> times;
    for (const auto& row : record.ranks[rank].actions) {
      if (row.action == action) times.push_back(static_cast<double>(row.*time) / 1000);
    }
    return times;
  };
  EXPECT_EQ(times_of(trace, "s", "activation"), of_actions(0, "0SEND_F0", &ActionRow::start_ns));
  EXPECT_EQ(times_of(trace, "f", "activation"), of_actions(1, "1RECV_F0", &ActionRow::end_ns));
  EXPECT_EQ(times_of(trace, "s", "gradient"), of_actions(1, "1SEND_B0", &ActionRow::start_ns));
  EXPECT_EQ(times_of(trace, "f", "gradient"), of_actions(0, "0RECV_B0", &ActionRow::end_ns));
}

TEST(Trace, StateCounterSeparatesItsParts) {
  Record record = scheduled("1f1b", 2, 1, 1);
  record.ranks[0].memory[0].gradient_bytes = 7;
  record.ranks[0].memory[0].optimizer_bytes = 9;

  EXPECT_EQ(events_of(trace_of(record), "C", "model state, bytes").at(0).at("args"),
            Json::parse(R"({"parameters": 5, "gradients": 7, "optimizer": 9})"));
}

}  // namespace
}  // namespace plumbline
