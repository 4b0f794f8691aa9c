#include "harness/judge/judge.hpp"

#include <algorithm>
#include <exception>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/checks/tensor_comparison.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/judge_records.hpp"
#include "support/error.hpp"
#include "support/failure.hpp"
#include "support/text.hpp"

namespace plumbline {

using namespace judging;

namespace {

const Check& find_check(const std::string& name) {
  for (const auto& check : all_checks()) {
    if (check.name == name) return check;
  }
  const auto nearest = nearest_word(name, check_names());
  throw InputError("no check is called `" + name + "`" +
                   (nearest ? "; did you mean `" + *nearest + "`?" : "; there are " + join(check_names(), ", ")));
}

/// Why the rows after the start say nothing; empty when both runs start from the same finite parameters.
std::string why_not_the_same_start(const CellEvidence& evidence) {
  if (evidence.reference.manifest.level < RecordLevel::full || evidence.candidate.manifest.level < RecordLevel::full)
    return "";
  Judgement judgement("parameters", "R5", "");
  compare_tensors(evidence, -1, "parameter", judgement);
  if (!judgement.diverged()) return "";
  return "not the same start: " + judgement.conclude_as(Outcome::fails, "").result.reason +
         (evidence.limits ? ". Within limits too the start is the same in bits: give the candidate the reference's own "
                            "(weights = \"<reference>/rank-0/dumps/step-initial.safetensors\")"
                          : "");
}

bool asked_for(const CellPlan& plan, const std::string& check) {
  return plan.checks.empty() || std::find(plan.checks.begin(), plan.checks.end(), check) != plan.checks.end();
}

/// What is not asked for is told, and so is what only data chosen for it can show.
Requirement requirement_of(const CellPlan& plan, const CheckResult& result) {
  if (result.outcome == Outcome::not_applicable) return Requirement::not_applicable;
  // A run that broke off, or that was another than the one asked for, fails whatever checks were asked for.
  if (result.name == "completion" || result.name == "as_asked") return Requirement::required;
  if (!asked_for(plan, result.name)) return Requirement::told;
  return result.name == "variable_lengths" && !plan.bench ? Requirement::told : Requirement::required;
}

Json versions_of(const RecordReading& reading) {
  if (!reading.record) return nullptr;
  const Manifest& manifest = reading.record->manifest;
  const auto found = manifest.json.find("versions");
  Json versions = found != manifest.json.end() && found->is_object() ? *found : Json::object();
  versions["device"] = manifest.device;
  versions["transport"] = manifest.transport.empty() ? Json(nullptr) : Json(manifest.transport);
  return versions;
}

class CellJudge {
 public:
  CellJudge(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
            const RecordReading* repeated, WithinLimits* limits)
      : plan_(plan), reference_(reference), candidate_(candidate), repeated_(repeated), limits_(limits) {}

  std::vector<Judged> run() {
    std::vector<Judged> judged;
    judged.push_back(check_as_asked(plan_, reference_, candidate_));
    Judged completion = check_completion(plan_, reference_, candidate_);
    std::string blocked;  // why nothing more can be judged
    if (completion.result.outcome != Outcome::holds) blocked = "a run is not complete: see completion";
    judged.push_back(std::move(completion));
    if (blocked.empty() && reference_.record->manifest.level == RecordLevel::none)
      blocked = "the reference's record has level none";
    if (blocked.empty() && candidate_.record->manifest.level == RecordLevel::none)
      blocked = "the candidate's record has level none";

    std::vector<std::string> differences;
    if (blocked.empty()) {
      differences = why_not_comparable(*reference_.record, *candidate_.record, limits_ ? Tier::calibrated : Tier::bits);
    }
    if (!differences.empty()) blocked = "the records are not comparable: see data";
    std::optional<CellEvidence> evidence;
    if (blocked.empty()) {
      evidence.emplace(plan_, *reference_.record, *candidate_.record, repeated_, limits_);
      start_ = why_not_the_same_start(*evidence);
    }
    for (const auto& check : all_checks()) {
      if (!check.run) continue;
      if (check.name == "data" && !differences.empty()) {
        judged.push_back(not_comparable(differences));
      } else {
        judged.push_back(judge(check, evidence ? &*evidence : nullptr, blocked));
      }
    }
    return judged;
  }

 private:
  static Judged not_comparable(const std::vector<std::string>& differences) {
    Judgement judgement("data", "data",
                        "the same training: model, data, seed, dtype, optimiser, clip, order of accumulation");
    for (const auto& words : differences) {
      FirstDivergence divergence;
      divergence.item = "manifest.json";
      divergence.words = "not comparable: " + join(differences, "; ");
      judgement.diverge(at_structure(static_cast<std::int64_t>(&words - differences.data())), std::move(divergence));
    }
    return judgement.conclude_as(Outcome::fails, "");
  }

  Judged judge(const Check& check, const CellEvidence* evidence, const std::string& blocked) const {
    const auto not_run = [&](const std::string& why) { return without_looking(check.name, Outcome::not_run, why); };
    if (!asked_for(plan_, check.name)) return not_run("not asked for in this cell");
    if (candidate_.record && check.not_applicable) {
      const auto reason = check.not_applicable(plan_, candidate_.record->manifest);
      if (reason) return without_looking(check.name, Outcome::not_applicable, *reason);
    }
    if (check.name == "memory" && reference_.record && reference_.record->manifest.world_size > 1) {
      return without_looking(check.name, Outcome::not_applicable,
                             "the law is made from what one device keeps, and this reference ran on " +
                                 std::to_string(reference_.record->manifest.world_size) + " ranks");
    }
    if (!blocked.empty()) return not_run(blocked);
    const bool tensors = evidence->reference.manifest.level >= RecordLevel::full &&
                         evidence->candidate.manifest.level >= RecordLevel::full;
    if (check.needs_tensors && !tensors) return not_run("a record of level summary holds no tensors");
    if (check.needs_same_start && !start_.empty()) return not_run(start_);
    try {
      return check.run(*evidence);
    } catch (const std::exception& error) {  // a record that says what cannot be: never the end of the sweep
      Judgement judgement(check.name, check.name, "");
      FirstDivergence divergence;
      divergence.item = "record";
      divergence.words = describe_failure(error).words;
      judgement.diverge(at_structure(1000), std::move(divergence));
      return judgement.conclude_as(Outcome::fails, "");
    }
  }

  const CellPlan& plan_;
  const RecordReading &reference_, &candidate_;
  const RecordReading* repeated_;
  WithinLimits* limits_;
  std::string start_;
};

}  // namespace

CellVerdict judging::judge_records(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate,
                                   const RecordReading* repeated, WithinLimits* limits) {
  for (const auto& name : plan.checks) find_check(name);
  CellVerdict verdict;
  verdict.id = plan.id;
  verdict.run = plan.run;
  verdict.model = plan.model;
  verdict.schedule = plan.schedule;
  verdict.optimizer = plan.optimizer;
  verdict.world = plan.world;
  verdict.balance = plan.balance;
  verdict.variant = plan.variant;
  verdict.reference = plan.reference;
  verdict.versions = versions_of(candidate);
  verdict.command = plan.command;
  if (plan.launch) verdict.seconds = plan.launch->seconds;

  std::optional<Moment> earliest;
  for (auto& judged : CellJudge(plan, reference, candidate, repeated, limits).run()) {
    judged.result.requirement = requirement_of(plan, judged.result);
    if (judged.moment && stands_in_the_way(judged.result) && (!earliest || *judged.moment < *earliest)) {
      earliest = judged.moment;
      verdict.first_divergence = judged.result.first_divergence;
    }
    verdict.checks.push_back(std::move(judged.result));
  }
  verdict.holds = all_required_hold(verdict);
  return verdict;
}

bool judging::all_required_hold(const CellVerdict& verdict) {
  return std::none_of(verdict.checks.begin(), verdict.checks.end(), stands_in_the_way);
}

CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate, const std::optional<std::filesystem::path>& repeated) {
  const RecordReading reference_reading = read_for_judging(reference), candidate_reading = read_for_judging(candidate);
  if (!repeated) return judge_in_tier(plan, reference_reading, candidate_reading, nullptr);
  const RecordReading repeated_reading = read_for_judging(*repeated);
  return judge_in_tier(plan, reference_reading, candidate_reading, &repeated_reading);
}

std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate) {
  const Check& found = find_check(check);
  return found.not_applicable ? found.not_applicable(plan, candidate) : std::nullopt;
}

const std::vector<std::string>& check_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& check : all_checks()) list.push_back(check.name);
    return list;
  }();
  return names;
}

}  // namespace plumbline
