// as_asked: what ran is what was asked for. Both manifests and tables are held to request.json, before anything is
// compared with anything.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/request/token_source.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Relative: four roundings of float64.
constexpr double rate_limit = 1e-15;

std::string text(const Json& json) {
  return json.is_string() ? json.get<std::string>() : json_text(json);
}

Json value_or_null(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() ? Json(nullptr) : *found;
}

std::string stage_words(const std::vector<StageEntry>& stages) {
  std::vector<std::string> parts;
  for (const auto& stage : stages) {
    parts.push_back("stage " + std::to_string(stage.stage) + " on rank " + std::to_string(stage.rank) + ": " +
                    (stage.units.empty() ? "nothing" : join(stage.units, " ")));
  }
  return join(parts, "; ");
}

/// One device has no stages and no transport; a pipeline sums in the order that follows from its list.
bool belongs_to_another_role(const std::optional<std::string>& role, const std::string& key) {
  if (role == "reference") return key == "schedule" || key == "stages" || key == "transport";
  return role == "pipeline" && key == "accumulation_digest";
}

/// One record against its request.
class AsAsked {
 public:
  AsAsked(std::string whose, const Request& request, const Record& record, Judgement& judgement)
      : whose_(std::move(whose)), request_(request), record_(record), judgement_(judgement) {}

  void run() {
    const Manifest& manifest = record_.manifest;
    demand("role", request_.role, manifest.role);
    demand("world_size", request_.world_size, manifest.world_size);
    demand("model_digest", request_.model_digest, model_digest(value_or_null(manifest.json, "model")));
    demand("seed", request_.seed, static_cast<std::uint64_t>(manifest.seed));
    demand("dtype", request_.dtype, manifest.dtype);
    demand("steps", request_.steps, manifest.steps);
    demand("device", request_.device, manifest.device);
    demand("transport", request_.transport, manifest.transport);
    demand("level", request_.level, to_text(manifest.level));
    demand("accumulation_digest", request_.accumulation_digest, manifest.accumulation_digest);
    if (request_.clip_norm) demand_equal("clip_norm", *request_.clip_norm, value_or_null(manifest.json, "clip_norm"));
    demand_object("optimizer", request_.optimizer);
    if (manifest.json.contains("learning_rate_schedule"))
      demand_object("learning_rate_schedule", request_.learning_rate_schedule);
    schedule();
    stages();
    ranks();
    rates();
    microbatches();
    data();
  }

 private:
  template <class Value>
  void demand(const char* key, const std::optional<Value>& asked, const Value& ran) {
    if (asked) demand_equal(key, Json(*asked), Json(ran));
  }

  void demand_equal(const std::string& item, const Json& asked, const Json& ran, std::optional<std::int64_t> rank = {},
                    std::int64_t step = -1) {
    judgement_.compare_or_look_at(whose_ == "the candidate", "facts");
    // Numbers are compared as numbers: 1 and 1.0 are the same request.
    const bool equal = asked.is_number() && ran.is_number() ? asked.get<double>() == ran.get<double>() : asked == ran;
    if (!equal) report(item, text(asked), text(ran), rank, step);
  }

  void demand_object(const char* key, const std::optional<Json>& asked) {
    if (!asked) return;
    const Json ran = value_or_null(record_.manifest.json, key);
    for (const auto& [name, value] : asked->items()) {
      demand_equal(std::string(key) + "." + name, value, ran.is_object() ? value_or_null(ran, name.c_str()) : Json());
    }
  }

  void schedule() {
    if (!request_.schedule) return;
    const Manifest& manifest = record_.manifest;
    demand_equal("schedule.name", request_.schedule->name, manifest.schedule_name);
    demand_equal("schedule.chunks_per_rank", request_.schedule->chunks_per_rank, manifest.chunks_per_rank);
    demand_equal("schedule.digest", request_.schedule->digest, manifest.schedule_digest);
    if (record_.schedule_csv) demand_equal("schedule.csv", request_.schedule->digest, hash_hex(*record_.schedule_csv));
  }

  void stages() {
    if (!request_.stages) return;
    judgement_.compare_or_look_at(whose_ == "the candidate", "facts", std::ssize(*request_.stages));
    auto ran = record_.manifest.stages;
    std::ranges::stable_sort(ran, {}, &StageEntry::stage);
    const auto same = [](const StageEntry& one, const StageEntry& other) {
      return one.stage == other.stage && one.rank == other.rank && one.units == other.units;
    };
    if (!std::ranges::equal(*request_.stages, ran, same))
      report("stages", stage_words(*request_.stages), stage_words(ran), {}, -1);
  }

  /// Ranks by what stands in the folder, not by what the manifest says. Of a run that broke off completion tells that.
  void ranks() {
    const bool ended = std::ranges::all_of(
        record_.ranks, [](const RankRecord& rank) { return rank.exit && rank.exit->status == "ok"; });
    if (!ended) return;
    if (request_.world_size) demand_equal("ranks that left a folder", *request_.world_size, std::ssize(record_.ranks));
    if (!request_.steps || record_.manifest.level == RecordLevel::none) return;
    for (const auto& rank : record_.ranks) {
      demand_equal("steps.csv, rows", *request_.steps, std::ssize(rank.steps), rank.rank);
    }
  }

  /// The rate of each step by the closed form of docs/exactness.md, 7. Libraries' cosines differ in the last bit.
  void rates() {
    if (!request_.learning_rate_schedule || !request_.optimizer) return;
    const auto number = [](const Json& json, const char* key) { return json.value(key, std::nan("")); };
    const double peak = number(*request_.optimizer, "learning_rate");
    const double steps = number(*request_.learning_rate_schedule, "total_steps");
    const double warmup = number(*request_.learning_rate_schedule, "warmup_steps");
    const double start = number(*request_.learning_rate_schedule, "start_factor");
    const double end = number(*request_.learning_rate_schedule, "final_factor");
    if (std::isnan(peak + steps + warmup + start + end)) return;  // not asked
    for (const auto& rank : record_.ranks) {
      for (const auto& row : rank.steps) {
        if (!row.learning_rate) continue;
        judgement_.compare_or_look_at(whose_ == "the candidate", "learning_rates");
        const auto done = static_cast<double>(row.step);
        const double cosine = (1 + std::cos(std::numbers::pi * (done - warmup) / (steps - warmup))) / 2;
        const double asked =
            done < warmup ? peak * (start + (1 - start) * done / warmup) : peak * (end + (1 - end) * cosine);
        if (!(std::abs(*row.learning_rate - asked) <= rate_limit * asked))
          report("learning_rate", to_text(asked), to_text(*row.learning_rate), rank.rank, row.step);
      }
    }
  }

  void microbatches() {
    if (!request_.microbatches) return;
    const auto& asked = *request_.microbatches;
    demand_equal("data.microbatches", std::ssize(asked), record_.manifest.microbatches);
    for (const auto& rank : record_.ranks) {
      for (const auto& row : rank.microbatches) {
        if (row.microbatch < 0 || row.microbatch >= std::ssize(asked)) continue;  // told above
        const auto& one = asked[static_cast<std::size_t>(row.microbatch)];
        const auto tokens = std::accumulate(one.lengths.begin(), one.lengths.end(), std::int64_t{0});
        const std::string of = " of microbatch " + std::to_string(row.microbatch);
        demand_equal("batch" + of, std::ssize(one.lengths), row.batch, rank.rank, row.step);
        demand_equal("sequence_length" + of, std::ranges::max(one.lengths), row.sequence_length, rank.rank, row.step);
        demand_equal("tokens" + of, tokens, row.tokens, rank.rank, row.step);
        // Of somebody's own data any position may lack a label; docs/data.md gives every unmasked one of ours one.
        const auto valid = one.masked      ? 0
                           : request_.data ? tokens
                                           : std::clamp<std::int64_t>(row.valid_tokens, 1, tokens);
        demand_equal("valid_tokens" + of, valid, row.valid_tokens, rank.rank, row.step);
      }
    }
  }

  /// The ids and labels themselves, read again from where they were to come from.
  void data() {
    if (!request_.data || !request_.microbatches) return;
    try {
      TokenSource source(*request_.data, *request_.microbatches);
      std::map<std::pair<std::int64_t, std::int64_t>, std::string> expected;
      for (const auto& rank : record_.ranks) {
        for (const auto& row : rank.microbatches) {
          if (row.data_digest.empty() || row.microbatch < 0 || row.step < 0 ||
              row.microbatch >= std::ssize(*request_.microbatches))
            continue;
          auto& digest = expected[{row.step, row.microbatch}];
          if (digest.empty()) digest = source.data_digest(row.step, row.microbatch);
          judgement_.compare_or_look_at(whose_ == "the candidate", "data_digests");
          if (digest != row.data_digest)
            report("ids and labels of microbatch " + std::to_string(row.microbatch), digest, row.data_digest, rank.rank,
                   row.step);
        }
      }
    } catch (const InputError& error) {
      judgement_.leave_out(std::string("ids and labels: ") + error.what());
    }
  }

  void report(const std::string& item, const std::string& asked, const std::string& ran,
              std::optional<std::int64_t> rank, std::int64_t step) {
    std::string words = whose_ + (rank ? ", rank " + std::to_string(*rank) : "") +
                        (step >= 0 ? ", step " + std::to_string(step) : "") + ": " + item + " is " + ran +
                        ", asked for was " + asked;
    judgement_.diverge(at_structure(-1000 + judgement_.count("facts")), step, rank, item, asked, ran, words);
  }

  std::string whose_;
  const Request& request_;
  const Record& record_;
  Judgement& judgement_;
};

}  // namespace

Judged check_as_asked(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate) {
  if (!plan.request && !plan.reference_request)
    return without_looking("as_asked", Outcome::not_applicable, "nobody said what was asked for (request.json)");
  Judgement judgement("as_asked", "as_asked", "exact: what ran is what request.json asks for");
  std::vector<std::string> missing, absent;
  const auto hold = [&](const char* whose, const std::optional<Request>& request, const RecordReading& reading) {
    if (!request) return;
    for (const auto& key : not_asked(*request)) {
      if (!belongs_to_another_role(request->role, key)) absent.push_back(std::string(whose) + " " + key);
    }
    if (reading.record) {
      AsAsked(whose, *request, *reading.record, judgement).run();
    } else {
      missing.emplace_back(whose);
    }
  };
  hold("the reference", plan.reference_request, reference);
  hold("the candidate", plan.request, candidate);
  if (!missing.empty())
    return judgement.conclude_as(Outcome::not_run,
                                 join(missing, " and ") + " left no record that can be read: see completion");
  return judgement.conclude("model, data, hyperparameters, schedule, stages and ranks are those that were asked for" +
                                (absent.empty() ? std::string() : "; not asked: " + join(absent, ", ")),
                            {{"facts", 1}});
}

}  // namespace plumbline::judging
