// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/judge.hpp"
#include "record/mesh.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_reported = 3;

/// Converts the culprit's global rank to this pipeline's; nullopt if it belongs to another.
CellPlan with_ranks_of_pipeline(CellPlan plan, const Record* candidate) {
  if (!candidate || !candidate->manifest.mesh || !plan.launch || !plan.launch->culprit_rank) return plan;
  const Mesh& mesh = *candidate->manifest.mesh;
  const auto& ranks = mesh.replicas[static_cast<std::size_t>(mesh.replica)];
  const auto found = std::ranges::find(ranks, *plan.launch->culprit_rank);
  plan.launch->culprit_rank = found == ranks.end() ? std::nullopt : std::optional(found - ranks.begin());
  return plan;
}

/// A replica of our pipeline is compared with its part of one device's steps. The reading reports errors.
std::int64_t first_microbatch(const fs::path& reference, const fs::path& candidate) {
  try {
    const Manifest one = read_manifest(reference), other = read_manifest(candidate);
    return !one.mesh && other.part_of_step() ? other.mesh->replica * other.microbatches : 0;
  } catch (const InputError&) {
    return 0;
  }
}

JudgedCell judge_one(const CellPlan& plan, const RecordsOfPipeline& records, Unreadable unreadable) {
  const std::int64_t first = first_microbatch(records.reference, records.candidate);
  RecordReading other(records.candidate, 0, first);
  RecordReading one = read_reference_for(other, records.reference);
  std::optional<RecordReading> again;
  if (records.repeated) again.emplace(*records.repeated, 0, first);
  const auto throw_unreadable = [&] {
    if (unreadable == Unreadable::reported) return;
    one.rethrow();
    other.rethrow();
  };
  throw_unreadable();
  JudgedCell judged =
      judge_records(with_ranks_of_pipeline(plan, other.record()), one, other, again ? &*again : nullptr);
  throw_unreadable();  // for errors further down in the tables
  return judged;
}

/// Severity of an outcome for the case.
int weight(const CheckResult& check) {
  switch (check.outcome) {
    case Outcome::differs:
      return 4;
    case Outcome::incomplete:
      return is_blocking(check) ? 3 : 2;
    case Outcome::holds:
      return 1;
    case Outcome::does_not_apply:
      break;
  }
  return 0;
}

/// The names of all places ("dp 1, tp 0: "), as a prefix of their findings.
using PlaceNames = std::vector<std::string>;

PlaceNames names_of_places(const std::vector<RecordsOfPipeline>& pipelines) {
  const Mesh mesh = read_manifest(pipelines.front().candidate).mesh.value();  // the same of all (replica_folders)
  PlaceNames names;
  for (std::int64_t place = 0; place < std::ssize(pipelines); ++place) names.push_back(mesh.place_name(place) + ": ");
  return names;
}

void name_place(Finding& divergence, std::size_t place, const PlaceNames& names) {
  divergence.replica = static_cast<std::int64_t>(place);
  divergence.words = names[place] + divergence.words;
}

/// One check of all replicas, by their numbers.
class OneCheck {
 public:
  OneCheck(std::vector<const CheckResult*> of_replicas, const PlaceNames& names)
      : all_(std::move(of_replicas)),
        names_(names),
        worst_(static_cast<std::size_t>(
            std::ranges::max_element(all_, {}, [](const CheckResult* check) { return weight(*check); }) -
            all_.begin())) {}

  CheckResult together() const {
    CheckResult whole = *all_[worst_];
    whole.reason = reason();
    whole.compared.clear();
    whole.inspected.clear();
    for (const CheckResult* check : all_) {
      for (const auto& [what, number] : check->compared) whole.compared[what] += number;
      for (const auto& [what, number] : check->inspected) whole.inspected[what] += number;
      if (check->margin.value_or(-1) > whole.margin.value_or(-1)) {
        whole.margin = check->margin;
        whole.measured = check->measured;
      }
    }
    whole.not_shown = not_shown();
    if (whole.first_divergence) name_place(*whole.first_divergence, worst_, names_);
    return whole;
  }

 private:
  /// Words of the replicas with the worst outcome.
  std::string reason() const {
    std::vector<std::string> texts;
    std::set<std::string> distinct;
    std::size_t equal = 0;
    for (std::size_t replica = 0; replica < all_.size(); ++replica) {
      if (weight(*all_[replica]) != weight(*all_[worst_])) continue;
      ++equal;
      distinct.insert(all_[replica]->reason);
      if (texts.size() < most_reported) texts.push_back(names_[replica] + all_[replica]->reason);
    }
    if (distinct.size() == 1 && equal == all_.size())
      return fmt::format("each of {} places: {}", equal, *distinct.begin());
    return join(texts, "; ") + (equal > most_reported ? fmt::format("; and {} more", equal - most_reported) : "");
  }

  std::vector<std::string> not_shown() const {
    std::vector<std::string> lines;
    for (std::size_t replica = 0; replica < all_.size(); ++replica) {
      for (const auto& words : all_[replica]->not_shown) {
        const bool of_all = std::ranges::all_of(all_, [&](const CheckResult* check) {
          return std::ranges::find(check->not_shown, words) != check->not_shown.end();
        });
        const std::string line = of_all ? words : names_[replica] + words;
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
      }
    }
    return lines;
  }

  std::vector<const CheckResult*> all_;
  const PlaceNames& names_;
  std::size_t worst_;
};

LocatedResult compared_with_each_other(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                                       const std::vector<JudgedCell>& judged) {
  if (!is_selected(plan, "replicas"))
    return without_looking("replicas", Outcome::incomplete, "not requested in this case");
  const bool complete = std::ranges::all_of(judged, [](const JudgedCell& cell) {
    const auto& checks = cell.verdict.checks;
    return std::ranges::find(checks, "completion", &CheckResult::name)->outcome == Outcome::holds;
  });
  if (!complete) return without_looking("replicas", Outcome::incomplete, "a run did not complete: see completion");
  std::vector<fs::path> records;
  for (const auto& pipeline : pipelines) records.push_back(pipeline.candidate);
  return compare_replicas(records);
}

CellVerdict together(const CellPlan& plan, const std::vector<JudgedCell>& judged, const PlaceNames& names,
                     LocatedResult replicas) {
  CellVerdict whole = judged.front().verdict;
  whole.replicas = std::ssize(judged);
  replicas.result.required = is_required(plan, check_of("replicas"), judged.front().own);
  std::optional<ExecutionPoint> earliest = replicas.point;
  whole.first_divergence = replicas.result.first_divergence;
  for (std::size_t number = judged.size();
       number-- > 0;) {  // at one point the lowest number, and the comparison with the reference
    const auto& [verdict, point, own] = judged[number];
    if (!verdict.first_divergence || (earliest && point && *earliest < *point)) continue;
    earliest = point;
    whole.first_divergence = verdict.first_divergence;
    name_place(*whole.first_divergence, number, names);
  }
  for (const auto& one : judged) {
    for (const auto& unrecorded : one.verdict.not_recorded)
      if (std::ranges::find(whole.not_recorded, unrecorded) == whole.not_recorded.end())
        whole.not_recorded.push_back(unrecorded);
  }
  for (std::size_t i = 0; i < whole.checks.size(); ++i) {
    if (whole.checks[i].name == "replicas") {
      whole.checks[i] = replicas.result;
      continue;
    }
    std::vector<const CheckResult*> of_replicas;
    for (const auto& one : judged) of_replicas.push_back(&one.verdict.checks[i]);
    whole.checks[i] = OneCheck(std::move(of_replicas), names).together();
  }
  whole.holds = none_blocks(whole.checks);
  return whole;
}

/// Before a table is read; all places of a record have the same mesh. Manifests that cannot be read are reported later.
void refuse_other_places(const fs::path& reference, const fs::path& candidate) {
  std::optional<Mesh> one, other;
  try {
    one = read_manifest(reference).mesh;
    other = read_manifest(candidate).mesh;
  } catch (const InputError&) {
    return;
  }
  const auto words = why_other_places(one, other);
  if (!words.empty())
    throw InputError(fmt::format("{}: {}", (candidate / "manifest.json").string(), join(words, "; ")));
}

}  // namespace

std::vector<RecordsOfPipeline> pipelines_of(const fs::path& reference, const fs::path& candidate,
                                            const std::optional<fs::path>& repeated) {
  const auto replicas = replica_folders(candidate), references = replica_folders(reference);
  refuse_other_places(references.empty() ? reference : references.front(),
                      replicas.empty() ? candidate : replicas.front());
  if (replicas.empty()) return {{{}, reference, candidate, repeated}};
  std::vector<RecordsOfPipeline> pipelines;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const fs::path& counterpart = references.empty() ? reference : references.at(i);
    pipelines.push_back({number, counterpart, replicas[i],
                         repeated ? std::optional(record_of_replica(*repeated, number)) : std::nullopt});
  }
  return pipelines;
}

CellVerdict judge_pipelines(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                            Unreadable unreadable) {
  std::vector<JudgedCell> judged;
  for (const auto& records : pipelines) judged.push_back(judge_one(plan, records, unreadable));
  if (judged.size() == 1) return std::move(judged.front().verdict);
  LocatedResult replicas = compared_with_each_other(plan, pipelines, judged);
  return together(plan, judged, names_of_places(pipelines), std::move(replicas));
}

}  // namespace plumbline::judging
