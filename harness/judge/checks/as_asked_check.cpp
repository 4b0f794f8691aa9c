// SPDX-License-Identifier: BSD-3-Clause
// as_asked: each run matches its request. Compares both manifests and tables with request.json, before any comparison
// of records.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/predicates/forms.hpp"
#include "harness/judge/request/token_source.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Relative limit of a rate: four roundings of float64.
constexpr double rate_limit = 1e-15;
/// As a share of the peak: two last bits of a cosine, which may differ in another program's library. Near the
/// schedule's end 1 + cosine cancels, so that no relative limit would hold.
constexpr double cosine_limit = 0x1p-53;

/// For a sentence.
const char* or_nothing(const std::string& value) {
  return value.empty() ? "absent" : value.c_str();
}

std::string text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json_text(json);
}

std::string stage_words(const std::vector<StageEntry>& stages) {
  std::vector<std::string> parts;
  for (const auto& stage : stages) {
    parts.push_back(fmt::format("stage {} on rank {}: {}", stage.stage, stage.rank,
                                stage.units.empty() ? "nothing" : join(stage.units, " ")));
  }
  return join(parts, "; ");
}

/// A run on one device has neither stages nor a transport; a pipeline's order of sums follows from its list.
bool belongs_to_another_role(const std::optional<std::string>& role, const std::string& key) {
  if (role == "reference") return key == "schedule" || key == "stages" || key == "transport";
  return role == "pipeline" && key == "accumulation_digest";
}

}  // namespace

/// Compares one record with its request.
class AsAskedCheck::OfRecord {
 public:
  OfRecord(std::string whose, const Request& request, const Record& record, CheckResultBuilder& builder)
      : whose_(std::move(whose)),
        candidate_(whose_ == "the candidate"),
        request_(request),
        record_(record),
        builder_(builder) {
    if (request.learning_rate_schedule && request.optimizer)
      rates_ = predicates::learning_rate_form(*request.optimizer, *request.learning_rate_schedule);
    manifest();
    open_source();
  }

  void step() {
    rates();
    microbatches();
    data();
    evaluated_data();
  }

 private:
  /// In the order of reporting, for the reference and then for the candidate.
  enum class Part : std::int8_t { manifest, rates, microbatches, data, parts };

  void manifest() {
    const Manifest& manifest = record_.manifest;
    demand("role", request_.role, manifest.role);
    demand("world_size", request_.world_size, ranks_of_run());
    mesh();
    demand("model_digest", request_.model_digest, model_digest(manifest.json.value("model", Json())));
    if (request_.seed) demand_equal("seed", *request_.seed, manifest.seed);
    demand("dtype", request_.dtype, manifest.dtype);
    if (request_.steps)  // one in `every` steps is recorded
      demand_equal("steps", (*request_.steps + manifest.every - 1) / manifest.every, manifest.steps);
    demand("first_step", request_.first_step, manifest.first_step);
    demand("device", request_.device, manifest.device);
    if (request_.threads && manifest.json.contains("threads"))
      demand_equal("threads", *request_.threads, manifest.json.at("threads"));
    demand("recompute", request_.recompute, manifest.recompute);
    demand("transport", request_.transport, manifest.transport);
    demand("data.microbatches", request_.microbatch_count, manifest.microbatches_of_step());
    demand("level", request_.level, to_text(manifest.level));
    demand("accumulation_digest", request_.accumulation_digest, manifest.accumulation_digest);
    if (request_.clip_norm) demand_equal("clip_norm", *request_.clip_norm, manifest.json.value("clip_norm", Json()));
    demand_object("optimizer", request_.optimizer);
    if (manifest.json.contains("learning_rate_schedule"))
      demand_object("learning_rate_schedule", request_.learning_rate_schedule);
    evaluation();
    schedule();
    stages();
    if (request_.microbatches)
      demand_equal("data.microbatches", std::ssize(*request_.microbatches), manifest.microbatches_of_step(), {}, -1,
                   Part::microbatches);
  }

  /// The request counts all ranks that a command starts, in all places. Without a mesh it gives a reference one
  /// device, although there may be one per place.
  std::int64_t ranks_of_run() const {
    const Manifest& manifest = record_.manifest;
    return (candidate_ || request_.mesh) && manifest.mesh ? manifest.mesh->world_size() : manifest.world_size;
  }

  void mesh() {
    if (!request_.mesh) return;
    const auto ran = record_.manifest.mesh ? record_.manifest.mesh->axes : std::vector<MeshAxis>();
    for (const auto& [name, size] : request_.mesh->items()) {
      const auto axis = std::ranges::find(ran, name, &MeshAxis::name);
      const bool found = axis != ran.end() && axis->kind != "pipeline";
      demand_equal("mesh." + name, size, found ? Json(axis->size) : Json("none"));
    }
  }

  template <class Value>
  void demand(const char* key, const std::optional<Value>& requested, const Value& ran) {
    if (requested) demand_equal(key, Json(*requested), Json(ran));
  }

  void demand_equal(const std::string& item, const Json& requested, const Json& ran,
                    std::optional<std::int64_t> rank = {}, std::int64_t step = -1, Part part = Part::manifest) {
    builder_.compare_or_inspect(candidate_, "facts");
    if (!same_content(requested, ran)) report(part, item, text(requested), text(ran), rank, step);
  }

  void demand_object(const char* key, const std::optional<Json>& requested) {
    if (!requested) return;
    const Json ran = record_.manifest.json.value(key, Json());
    for (const auto& [name, value] : requested->items()) {
      Json recorded = ran.is_object() ? ran.value(name, Json()) : Json();
      if (name == "decay" && recorded.is_null()) recorded = "all";  // the default of the manifest
      demand_equal(fmt::format("{}.{}", key, name), value, recorded);
    }
  }

  void evaluation() {
    if (!request_.evaluation) return;
    const auto& requested = *request_.evaluation;
    const auto& ran = record_.manifest.evaluation;
    demand_equal("evaluation", requested ? "made" : "none", ran ? "made" : "none");
    if (!requested || !ran) return;
    demand_equal("evaluation.every", requested->every, ran->every);
    demand_equal("evaluation.microbatches", std::ssize(requested->microbatches), ran->microbatches);
  }

  void schedule() {
    if (!request_.schedule) return;
    const Manifest& manifest = record_.manifest;
    demand_equal("schedule.name", request_.schedule->name, manifest.schedule_name);
    demand("schedule.chunks_per_rank", request_.schedule->chunks_per_rank, manifest.chunks_per_rank);
    demand("schedule.digest", request_.schedule->digest, manifest.schedule_digest);
  }

  void stages() {
    if (!request_.stages) return;
    builder_.compare_or_inspect(candidate_, "facts", std::ssize(*request_.stages));
    const auto& ran = record_.manifest.stages;  // in order, as the manifest's reader requires
    const auto same = [](const StageEntry& one, const StageEntry& other) {
      return one.stage == other.stage && one.rank == other.rank && one.units == other.units;
    };
    if (!std::ranges::equal(*request_.stages, ran, same))
      report(Part::manifest, "stages", stage_words(*request_.stages), stage_words(ran), {}, -1);
  }

  void rates() {
    if (!rates_) return;
    for (const auto& rank : record_.ranks) {
      for (const auto& row : rank.steps) {
        if (!row.learning_rate) continue;
        builder_.compare_or_inspect(candidate_, "learning_rates");
        const double requested = rates_->at(step_of_run(row.step));
        const double allowed =
            rate_limit * requested + (record_.manifest.conventions.exact_formulas ? 0 : cosine_limit * rates_->peak);
        if (!(std::abs(*row.learning_rate - requested) <= allowed))
          report(Part::rates, "learning_rate", to_text(requested), to_text(*row.learning_rate), rank.rank, row.step);
      }
    }
  }

  void microbatches() {
    if (!request_.microbatches || !data_recorded()) return;
    const auto& requested = *request_.microbatches;
    for (const auto& rank : record_.ranks) {
      for (const auto& row : rank.microbatches) {
        if (row.microbatch < 0 || row.microbatch >= std::ssize(requested)) continue;  // reported for the manifest
        const auto& one = requested[static_cast<std::size_t>(row.microbatch)];
        const auto tokens = std::accumulate(one.lengths.begin(), one.lengths.end(), std::int64_t{0});
        const auto demand_size = [&](const char* what, std::int64_t size, std::int64_t ran) {
          demand_equal(what + (" of microbatch " + std::to_string(row.microbatch)), size, ran, rank.rank, row.step,
                       Part::microbatches);
        };
        demand_size("batch", std::ssize(one.lengths), row.batch);
        demand_size("sequence_length", std::ranges::max(one.lengths), row.sequence_length);
        demand_size("tokens", tokens, row.tokens);
        demand_size("valid_tokens", valid_tokens(one, row, tokens), row.valid_tokens);
      }
    }
  }

  /// docs/data.md gives every position of our data a label unless it is masked or ignored; users' data may lack any.
  std::int64_t valid_tokens(const RequestedMicrobatch& requested, const MicrobatchRow& row, std::int64_t tokens) {
    if (requested.masked) return 0;
    std::int64_t valid = std::clamp<std::int64_t>(row.valid_tokens, 1, tokens);
    if (!request_.data) return valid;
    if (request_.data->ignore.empty()) return tokens;
    valid = row.valid_tokens;
    with_source(source_, "", [&] {
      if (source_) valid = source_->valid_tokens(step_of_run(row.step), row.microbatch);
    });
    return valid;
  }

  /// Converts a step of the record to a step of the run.
  std::int64_t step_of_run(std::int64_t step) const { return step * record_.manifest.every; }

  bool data_recorded() const { return recorded_throughout(record_, {"inputs", "labels"}); }

  /// Opens the token source to read the ids and labels again.
  void open_source() {
    if (!data_recorded())
      builder_.leave_out(whose_ + "'s ids and labels, which were not recorded");
    else if (request_.data && request_.microbatches)
      with_source(source_, "", [&] { source_.emplace(*request_.data, *request_.microbatches); });
    if (!request_.evaluation || !*request_.evaluation) return;
    const RequestedEvaluation& requested = **request_.evaluation;
    with_source(evaluated_, "evaluation, ", [&] {
      evaluated_.emplace(requested.data, requested.microbatches);
      for (std::int64_t m = 0; m < std::ssize(requested.microbatches); ++m)
        evaluated_digests_.push_back(evaluated_->data_digest(0, m));
    });
  }

  /// All evaluations use the same data, as in step 0.
  void evaluated_data() {
    for (const auto& rank : record_.ranks) {
      for (const auto& row : rank.evaluation) {
        const std::int64_t microbatch = row.microbatch.value_or(std::ssize(evaluated_digests_));
        if (!evaluated_ || row.data_digest.empty() || microbatch >= std::ssize(evaluated_digests_)) continue;
        const std::string& expected = evaluated_digests_[static_cast<std::size_t>(microbatch)];
        builder_.compare_or_inspect(candidate_, "data_digests");
        if (expected != row.data_digest)
          report(Part::data, fmt::format("ids and labels of microbatch {} of an evaluation", microbatch), expected,
                 row.data_digest, rank.rank, row.step);
      }
    }
  }

  void data() {
    with_source(source_, "", [&] {
      std::map<std::int64_t, std::string> expected;  // by microbatch
      for (const auto& rank : record_.ranks) {
        for (const auto& row : rank.microbatches) {
          if (!source_ || row.data_digest.empty() || row.microbatch >= std::ssize(*request_.microbatches)) continue;
          auto& digest = expected[row.microbatch];
          if (digest.empty()) digest = source_->data_digest(step_of_run(row.step), row.microbatch);
          builder_.compare_or_inspect(candidate_, "data_digests");
          if (digest != row.data_digest)
            report(Part::data, "ids and labels of microbatch " + std::to_string(row.microbatch), digest,
                   row.data_digest, rank.rank, row.step);
        }
      }
    });
  }

  template <class Use>
  void with_source(std::optional<TokenSource>& source, const char* whose, Use use) {
    try {
      use();
    } catch (const InputError& error) {
      source.reset();
      builder_.leave_out(whose + std::string("ids and labels: ") + error.what());
    }
  }

  void report(Part part, const std::string& item, const std::string& requested, const std::string& ran,
              std::optional<std::int64_t> rank, std::int64_t step) {
    const int before = candidate_ ? static_cast<int>(Part::parts) : 0;
    const int position = before + static_cast<int>(part);  // of each part the first one found
    std::string words =
        fmt::format("{}{}{}: {} is {}, requested was {}", whose_, rank ? ", rank " + std::to_string(*rank) : "",
                    step >= 0 ? ", step " + std::to_string(step) : "", item, or_nothing(ran), or_nothing(requested));
    builder_.diverge(
        at_structure(Structure::as_asked, position),
        {.step = step, .rank = rank, .item = item, .expected = requested, .got = ran, .words = std::move(words)});
  }

  std::string whose_;
  bool candidate_;
  const Request& request_;
  const Record& record_;
  CheckResultBuilder& builder_;
  std::optional<predicates::LearningRateForm> rates_;  ///< the requested ones
  std::optional<TokenSource> source_, evaluated_;
  std::vector<std::string> evaluated_digests_;  ///< by microbatch
};

AsAskedCheck::AsAskedCheck(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate)
    : plan_(plan),
      reference_(reference),
      candidate_(candidate),
      builder_("as_asked", "as_asked", "exact: the run is what request.json requests") {
  const auto hold = [&](const char* whose, const std::optional<Request>& request, const RecordReading& reading) {
    if (request && reading.record())
      records_.push_back(std::make_unique<OfRecord>(whose, *request, *reading.record(), builder_));
  };
  hold("the reference", plan.reference_request, reference);
  hold("the candidate", plan.request, candidate);
}

AsAskedCheck::~AsAskedCheck() = default;

void AsAskedCheck::step() {
  for (const auto& record : records_) record->step();
}

LocatedResult AsAskedCheck::conclude() {
  if (!plan_.request && !plan_.reference_request)
    return without_looking("as_asked", Outcome::does_not_apply, "nothing was requested (request.json is missing)");
  std::vector<std::string> missing, absent;
  const auto look = [&](const char* whose, const std::optional<Request>& request, const RecordReading& reading) {
    if (!request) return;
    for (const auto& key : not_requested(*request)) {
      if (!belongs_to_another_role(request->role, key)) absent.push_back(fmt::format("{} {}", whose, key));
    }
    if (!reading.record()) missing.emplace_back(whose);
  };
  look("the reference", plan_.reference_request, reference_);
  look("the candidate", plan_.request, candidate_);
  if (!missing.empty())
    return builder_.conclude_as(Outcome::incomplete,
                                join(missing, " and ") + " left no readable record: see completion");
  return builder_.conclude("model, data, hyperparameters, schedule, stages and ranks are as requested" +
                               (absent.empty() ? std::string() : "; not requested: " + join(absent, ", ")),
                           {{"facts", 1}});
}

CheckDescriptor as_asked_check() {
  return {
      .name = "as_asked",
      .claims =
          "the run matches its request, in manifest and tables. Ids and labels are read again from the token source.",
      .needs_in_words = "a [request](request.md); a sweep writes one for every run.",
      .cannot_see = "a program that records what was requested but computes something else.",
      .required = Required::always};
}

}  // namespace plumbline::judging
