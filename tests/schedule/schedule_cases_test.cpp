// SPDX-License-Identifier: BSD-3-Clause
// Lists as they are made, read, checked, lowered, simulated and drawn: the cases of tests/approved/schedules, each a
// line with a command and its options, and lists or a file's rows. Without schedule=NAME, the lists are the rows.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <list>
#include <map>
#include <sstream>

#include "schedule/accumulation_order.hpp"
#include "schedule/bubble.hpp"
#include "schedule/csv_import.hpp"
#include "schedule/drawing.hpp"
#include "schedule/forward_only.hpp"
#include "schedule/lowering.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/simulator.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/schedule/schedules.hpp"
#include "tests/split.hpp"

namespace plumbline {
namespace {

using testing::split;

std::string lists_of(const Schedule& schedule) {
  std::vector<std::string> rows;
  for (const ActionList& list : schedule.ranks) rows.push_back(texts(list));
  return join(rows, "\n");
}

std::string texts_of(const std::vector<ListFinding>& findings) {
  std::vector<std::string> lines;
  for (const ListFinding& finding : findings)
    lines.push_back(std::string(name(finding.rule)) + ": " + to_text(finding));
  return lines.empty() ? "accepted" : join(lines, "\n");
}

std::vector<StageTimes> times_of(const std::string& text) {
  std::vector<StageTimes> times;
  for (const std::string& stage : split(text, ';')) {
    std::vector<double> each;
    for (const std::string& number : split(stage, ',')) each.push_back(std::stod(number));
    times.push_back({each.at(0), each.at(1), each.at(2), {}});
    if (each.size() > 3) times.back().backward = each[3];
  }
  return times;
}

struct Drawn {
  std::string title;
  Schedule schedule;
  Simulation simulation = {};
  std::vector<std::vector<double>> waits = {};
};

class ScheduleCase {
 public:
  explicit ScheduleCase(const std::string& input) : rows_(input.substr(input.find('\n') + 1)) {
    for (const std::string& word : split(input.substr(0, input.find('\n')), ' ')) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) {
        words_.push_back(word);
      } else {
        options_[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
  }

  std::string answer() const {
    try {
      return commands_.at(words_.at(0))(*this);
    } catch (const OtherSizes& error) {
      return "other sizes: " + testing::in_folder(folder_, error.what());
    } catch (const InputError& error) {
      return "refused: " + testing::in_folder(folder_, error.what());
    }
  }

 private:
  bool has(const std::string& word) const { return std::ranges::count(words_, word) > 0; }
  /// "KEY=" is an empty text.
  std::string text(const std::string& option, const std::string& otherwise = "") const {
    const auto found = options_.find(option);
    return found == options_.end() ? otherwise : found->second;
  }
  std::int32_t number(const std::string& option, std::int32_t otherwise) const {
    return std::stoi(text(option, std::to_string(otherwise)));
  }
  std::string file() const { return folder_.file("mine.csv", rows_).string(); }

  /// The named schedule, or the lists in the rows; of two microbatches unless an option says otherwise.
  Schedule given() const {
    const std::string name = text("schedule");
    if (!name.empty())
      return make_schedule(name, number("ranks", 2), number("microbatches", 2), number("chunks", default_chunks(name)));
    Schedule made{"mine", {}, number("microbatches", 2), {}};
    for (const std::string& row : split(rows_, '\n')) made.ranks.push_back(actions(row == "-" ? "" : row));
    made.placement = {number("ranks", static_cast<std::int32_t>(made.ranks.size())), number("chunks", 1),
                      has("v") ? PlacementKind::v : PlacementKind::loop};
    return made;
  }
  Durations durations() const {
    Durations given{times_of(text("times", "1,1,1")), {}, !has("without-overlap")};
    for (const std::string& edge : split(text("edges"), ',')) given.edges.push_back(std::stod(edge));
    return given;
  }

  std::string known() const {
    std::vector<std::string> lines;
    for (const std::string& each : split(rows_, '\n'))
      lines.push_back(each + ": " + known_schedule(each == "-" ? "" : each).value_or("(unknown)"));
    return join(lines, "\n");
  }
  std::string verified() const {
    VerifyOptions options{.ascending = has("ascending")};
    if (has("ending")) options.tied = has("tied");
    if (!text("slots").empty()) options.slot_limit = number("slots", 0);
    return texts_of(verify(given(), options));
  }
  std::string imported() const {
    std::optional<PlacementKind> placement;
    if (!text("placement").empty()) placement = text("placement") == "v" ? PlacementKind::v : PlacementKind::loop;
    const ImportedSchedule read = import_schedule(file(), placement);
    std::vector<std::string> lines{(read.schedule.placement.kind == PlacementKind::v ? "v, " : "loop, ") +
                                   std::to_string(read.schedule.microbatches) +
                                   (read.schedule.microbatches == 1 ? " microbatch" : " microbatches") +
                                   (read.has_messages ? ", has messages" : "")};
    std::string commas = lists_of(read.schedule);
    std::ranges::replace(commas, ' ', ',');
    if (commas + "\n" != rows_) lines.push_back(lists_of(read.schedule));
    for (const std::string& note : read.notes) lines.push_back("note: " + note);
    lines.push_back(texts_of(check_imported(read, text("transport", "mpi"))));
    return join(lines, "\n");
  }
  ScheduleRequest request() const {
    return {.schedule = text("schedule", file()),
            .ranks = number("ranks", 2),
            .microbatches = number("microbatches", 4),
            .chunks = number("chunks", 0),
            .tied = has("tied"),
            .transport = text("transport", "mpi")};
  }
  static std::string shown(const RunnableSchedule& made) {
    const bool all = made.csv() == to_csv(made.lowered);
    EXPECT_EQ(made.csv(), to_csv(all ? made.lowered : made.compute));
    return made.compute.name + (made.own_messages ? ", own messages" : "") +
           (all ? ", all in schedule.csv\n" : ", compute actions in schedule.csv\n") + lists_of(made.lowered);
  }
  std::string summed() const {
    std::vector<std::vector<std::string>> units;
    for (const std::string& stage : split(text("units"), ';')) units.push_back(split(stage, ','));
    const std::string csv = accumulation_csv(given(), units, number("replicas", 1));
    return csv.empty() ? "(no file)" : csv.substr(0, csv.size() - 1);
  }

  static std::string times_text(const Schedule& schedule, const Simulation& run) {
    std::ostringstream text;
    for (std::size_t rank = 0; rank < run.actions.size(); ++rank) {
      for (std::size_t i = 0; i < run.actions[rank].size(); ++i)
        text << (i == 0 ? "" : "  ") << to_text(schedule.ranks[rank][i]) << " " << run.actions[rank][i].start << "-"
             << run.actions[rank][i].end;
      text << "\n";
    }
    text << "makespan " << run.makespan << ", bubble " << run.bubble << " (" << run.bubble_rate << "), slots";
    for (const std::int64_t slots : run.peak_slots) text << " " << slots;
    return text.str();
  }
  std::string simulated() const {
    const Schedule schedule = has("lowered") ? lower(given(), has("tied")) : given();
    return times_text(schedule, simulate(schedule, durations()));
  }
  /// Rows such as "0F0[0,2] 0B0[5,10,3]": start, end, and how long the rank waited before it. ":TITLE" begins another.
  std::list<Drawn> measured() const {
    std::list<Drawn> drawn;
    std::vector<std::vector<std::vector<ActionTime>>> times;
    for (const std::string& row : split(rows_, '\n')) {
      if (row.starts_with(":") || drawn.empty()) {
        drawn.push_back({row.starts_with(":") ? row.substr(1) : "", {"hand", {1, 1}, number("microbatches", 1), {}}});
        times.emplace_back();
        if (row.starts_with(":")) continue;
      }
      ActionList& list = drawn.back().schedule.ranks.emplace_back();
      auto& own = times.back().emplace_back();
      std::vector<double> waits;
      for (const std::string& word : row == "-" ? std::vector<std::string>() : split(row, ' ')) {
        ActionTime time;
        double wait = -1;
        std::sscanf(word.c_str() + word.find('['), "[%lf,%lf,%lf]", &time.start, &time.end, &wait);
        list.push_back(parse_action(word.substr(0, word.find('['))).value());
        own.push_back(time);
        waits.push_back(std::max(wait, 0.0));
        if (wait >= 0) drawn.back().waits = {{}};
      }
      if (!drawn.back().waits.empty()) drawn.back().waits.back() = waits;
    }
    std::size_t next = 0;
    for (Drawn& each : drawn) {
      each.schedule.placement.ranks = static_cast<std::int32_t>(each.schedule.ranks.size());
      each.simulation = summarize(each.schedule, times[next++]);
    }
    return drawn;
  }
  std::string drawing() const {
    std::list<Drawn> drawn;
    if (rows_.empty()) {
      drawn.push_back({"", given()});
      drawn.back().simulation = simulate(drawn.back().schedule, durations());
    } else {
      drawn = measured();
    }
    std::vector<Timeline> timelines;
    for (const Drawn& each : drawn) timelines.push_back({each.title, each.schedule, each.simulation, each.waits});
    std::string picture;
    if (has("svg")) {
      picture = draw_svg(timelines, number("width", 0));
      for (const char* element : {"><rect", "><text"})
        for (std::size_t at = 0; (at = picture.find(element, at)) != std::string::npos;) picture.insert(++at, "\n");
      if (has("head")) picture.erase(picture.find('\n'));
    } else {
      picture = draw_text(timelines, static_cast<std::size_t>(number("columns", 20)), false);
    }
    return picture.substr(0, picture.find_last_not_of('\n') + 1);
  }

  const testing::TemporaryFolder folder_;
  std::string rows_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;

  using Command = std::function<std::string(const ScheduleCase&)>;
  static inline const std::map<std::string, Command> commands_ = {
      {"names", &ScheduleCase::known},
      {"make", [](const ScheduleCase& own) { return lists_of(own.given()); }},
      {"evaluate",
       [](const ScheduleCase& own) {
         return lists_of(forward_only(own.given().placement, own.number("microbatches", 2)));
       }},
      {"lower", [](const ScheduleCase& own) { return lists_of(lower(own.given(), own.has("tied"))); }},
      {"complete", [](const ScheduleCase& own) { return texts_of(find_incomplete(own.given())); }},
      {"verify", &ScheduleCase::verified},
      {"import", &ScheduleCase::imported},
      {"read",
       [](const ScheduleCase& own) {
         return lists_of(schedule_from_csv(own.file(), "mine", own.number("chunks", 1)));
       }},
      {"run", [](const ScheduleCase& own) { return shown(make_runnable(own.request())); }},
      {"record",
       [](const ScheduleCase& own) {
         return shown(runnable_from_record(own.file(), "mine.csv", own.number("chunks", 1), own.has("tied")));
       }},
      {"sum", &ScheduleCase::summed},
      {"simulate", &ScheduleCase::simulated},
      {"measure",
       [](const ScheduleCase& own) {
         const Drawn drawn = own.measured().front();
         return times_text(drawn.schedule, drawn.simulation);
       }},
      {"draw", &ScheduleCase::drawing}};
};

class ScheduleCases : public ::testing::TestWithParam<const char*> {};

TEST_P(ScheduleCases, AreAsApproved) {
  testing::expect_answers(std::string("schedules/") + GetParam() + ".txt",
                          [](const std::string& input) { return ScheduleCase(input).answer(); });
}

INSTANTIATE_TEST_SUITE_P(Schedules, ScheduleCases, ::testing::Values("lists", "checks", "files", "times"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace plumbline
