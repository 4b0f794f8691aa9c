// SPDX-License-Identifier: BSD-3-Clause
// replicas: all data parallel pipelines of a run agree, and each is fed its own data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/positions.hpp"
#include "harness/judge/predicates/norm_rounding.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

namespace fs = std::filesystem;

using Key = std::pair<std::string, std::string>;  // kind, name
/// Digests of a stage's tensor of one step, by replica.
using Digests = std::map<std::size_t, std::string>;

struct OneTensor {
  const TensorRow* row = nullptr;  ///< row of the first replica that has it
  Digests digests;
};

/// "replica 1", "replicas 1, 3"
std::string named(const std::set<std::size_t>& replicas) {
  std::vector<std::string> numbers;
  for (const auto replica : replicas) numbers.push_back(std::to_string(replica));
  return (replicas.size() == 1 ? "replica " : "replicas ") + join(numbers, ", ");
}

/// Of a run whose replicas are all recorded.
class ReplicaComparison {
 public:
  explicit ReplicaComparison(const std::vector<fs::path>& paths)
      : builder_("replicas", "replicas", "0 bits between replicas; a different part of the data for each") {
    for (const auto& path : paths) records_.emplace_back(path);
  }

  LocatedResult run() {
    const auto& first = *records_.front().record();
    if (std::ranges::any_of(records_, [](const RecordReading& reading) {
          return reading.record()->manifest.level < RecordLevel::full;
        }))
      return without_looking("replicas", Outcome::incomplete, "a record of level summary holds no tensors");
    own_gradients_ = first.manifest.mesh->own_gradients;
    model_ = model_of_records(first, first);
    for (std::optional<std::int64_t> step = -1; step;) {
      for (auto& reading : records_) reading.go_to(*step);
      tensors(*step);
      parts(*step);
      if (*step >= 0) data(*step);
      if (*step >= 0 && first.manifest.part_of_step()) sums(*step);
      if (*step >= 0 && !sharded().empty()) norm(*step);
      step = std::nullopt;
      for (const auto& reading : records_) step = earlier(step, reading.next_step());
    }
    if (own_gradients_)
      builder_.not_shown("gradients of the replicas: by the mesh each records its own, before they are summed");
    if (unrecorded_data_) builder_.not_shown("whether replicas are fed different data: a replica has no data digest");
    std::string words = fmt::format("start, {}parameters and moments have the same bits in all {} replicas",
                                    own_gradients_ ? "" : "gradients, ", records_.size());
    if (!sharded().empty())
      words = fmt::format("{} parameters are complete in the parts of {} replicas, and the norm covers all parts",
                          sharded().size(), records_.size());
    return builder_.conclude(words + (unrecorded_data_ ? "" : ", and each is fed its own data"),
                             {{sharded().empty() ? "tensors" : "parts", 1}});
  }

 private:
  const std::map<std::string, Sharding>& sharded() const { return records_.front().record()->manifest.mesh->sharded; }

  /// Every part of a parameter that the mesh names has its row; the mesh's parts make up the whole (read_mesh).
  void parts(std::int64_t step) {
    if (sharded().empty()) return;
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      std::set<std::string> rows;
      for (const auto& rank : records_[replica].record()->ranks) {
        for (const auto& row : rank.tensors) {
          if (row.kind == "parameter") rows.insert(row.name);
        }
      }
      for (const auto& [name, sharding] : sharded()) {
        const std::string part = sharding.name_of(name, static_cast<std::int64_t>(replica));
        if (part.empty()) continue;
        builder_.compare("parts");
        if (rows.contains(part)) continue;
        report(at_data(step, 0), replica, {}, name, "a row of " + part, "none",
               fmt::format("parameter {}, {}: replica {} has no row of {}, which is its part by the mesh", name,
                           step_words(step), replica, part));
      }
    }
  }

  /// The gradient norm that the ranks used, against the gradients of all parts.
  void norm(std::int64_t step) {
    std::vector<const Record*> records;
    for (const auto& reading : records_) records.push_back(reading.record());
    const auto by_rows = predicates::norm_by_rows(records);
    if (!by_rows || by_rows->limit > predicates::widest_norm_limit) {
      builder_.not_shown("the gradient norm over all parts");
      return;
    }
    for (std::size_t replica = 0; replica < records.size(); ++replica) {
      for (const auto& rank : records[replica]->ranks) {
        for (const auto& row : rank.steps) {
          if (!row.gradient_norm) continue;
          builder_.compare("norms");
          if (std::abs(*row.gradient_norm - by_rows->norm) <= by_rows->limit * by_rows->norm) continue;
          const std::string expected = to_text(by_rows->norm), got = to_text(*row.gradient_norm);
          report(
              at_norm(step), replica, rank.rank, "gradient_norm", expected, got,
              fmt::format("gradient norm, {}, replica {}: the root of the sum of l2 squared over all parts is {}, got "
                          "{}, ratio {}",
                          step_words(step), replica, expected, got, to_text(*row.gradient_norm / by_rows->norm)));
        }
      }
    }
  }

  void tensors(std::int64_t step) {
    std::map<std::pair<std::int64_t, Key>, OneTensor> found;  // by stage
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      for (const auto& rank : records_[replica].record()->ranks) {
        for (const auto& row : rank.tensors) {
          if (row.kind == "gradient" && own_gradients_) continue;
          OneTensor& tensor = found[{row.stage, {row.kind, row.name}}];
          if (!tensor.row) tensor.row = &row;
          tensor.digests.try_emplace(replica, row.digest);
        }
      }
    }
    std::map<Key, Digests> now;
    for (auto& [place, tensor] : found) {
      compare(step, tensor);
      if (place.second.first == "parameter") now[place.second] = std::move(tensor.digests);
    }
    before_ = std::move(now);
  }

  /// Moments may be missing in some replicas (a sharded optimizer); missing parameters are the check census's.
  void compare(std::int64_t step, const OneTensor& tensor) {
    std::map<std::string, std::set<std::size_t>> by_digest;
    for (const auto& [replica, digest] : tensor.digests) by_digest[digest].insert(replica);
    if (tensor.digests.size() < 2) return;
    builder_.compare("tensors", std::ssize(tensor.digests) - 1);
    if (by_digest.size() == 1) return;
    // The majority's digest counts as correct; in a tie, that of the lowest number.
    const auto most = std::ranges::max_element(by_digest, {}, [](const auto& group) {
      return std::pair(group.second.size(), -static_cast<std::int64_t>(*group.second.begin()));
    });
    std::set<std::size_t> others;
    for (const auto& [replica, digest] : tensor.digests) {
      if (digest != most->first) others.insert(replica);
    }
    const TensorRow& row = *tensor.row;
    const auto first = *others.begin();
    // The point at which a replica is compared with its reference, which explains more.
    const auto position = position_of(model_, records_.front().record()->manifest, row.kind, row.name);
    builder_.diverge(
        tensor_point(step, row.kind, position, row.stage),
        {.step = step,
         .stage = row.stage,
         .replica = static_cast<std::int64_t>(first),
         .item = row.name,
         .what = fmt::format("{} {}", row.kind, row.name),
         .expected = most->first,
         .got = tensor.digests.at(first),
         .why = fmt::format("{}{} other bits than {}{}", named(others), others.size() == 1 ? " has" : " have",
                            named(most->second), why(row, step, tensor.digests))});
  }

  std::string why(const TensorRow& row, std::int64_t step, const Digests& digests) const {
    if (row.kind == "gradient") return "; gradients are recorded after they are summed over replicas";
    const auto before = before_.find({row.kind, row.name});
    if (step < 0 || row.kind != "parameter" || before == before_.end()) return "";
    std::set<std::size_t> unchanged;
    for (const auto& [replica, digest] : digests) {
      const auto was = before->second.find(replica);
      if (was != before->second.end() && was->second == digest) unchanged.insert(replica);
    }
    return unchanged.empty() ? "" : fmt::format("; in {} it is unchanged by the step", named(unchanged));
  }

  /// A whole step with another replica's data: its gradients add nothing, and no other check detects it. Single
  /// microbatches may be equal if data are sampled.
  void data(std::int64_t step) {
    std::map<std::vector<std::string>, std::size_t> fed;
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      std::vector<std::string> digests = fed_to(replica);
      if (digests.empty()) {
        unrecorded_data_ = true;
        continue;
      }
      builder_.inspect("microbatches", std::ssize(digests));
      std::ranges::sort(digests);
      const auto [same, added] = fed.try_emplace(std::move(digests), replica);
      if (!added) report_same_data(step, same->second, replica);
    }
  }

  /// Our replicas' rows of a step are of the whole: tokens and loss are the sums over all replicas' microbatches.
  void sums(std::int64_t step) {
    std::int64_t tokens = 0, valid = 0;
    std::optional<float> loss = 0.0F;  // from left to right
    for (const auto& reading : records_) {
      std::map<std::int64_t, std::optional<float>> losses;  // by microbatch
      for (const auto& rank : reading.record()->ranks) {
        for (const auto& row : rank.microbatches) {
          auto& own = losses[row.microbatch];
          if (row.loss) own = row.loss;
          if (rank.rank > 0) continue;
          tokens += row.tokens;
          valid += row.valid_tokens;
        }
      }
      for (const auto& [microbatch, own] : losses) loss = loss && own ? std::optional(*loss + *own) : std::nullopt;
    }
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      for (const auto& rank : records_[replica].record()->ranks) {
        for (const auto& row : rank.steps) {
          builder_.compare("sums", 2);
          if (row.tokens != tokens) report_sum(step, replica, "tokens", to_text(tokens), to_text(row.tokens));
          if (row.valid_tokens != valid)
            report_sum(step, replica, "valid_tokens", to_text(valid), to_text(row.valid_tokens));
          if (!row.loss || !loss) continue;
          builder_.compare("sums");
          if (!same_bits(*row.loss, *loss)) report_sum(step, replica, "loss", to_text(*loss), to_text(*row.loss));
        }
      }
    }
  }

  void report_sum(std::int64_t step, std::size_t replica, const std::string& item, const std::string& expected,
                  const std::string& got) {
    report(at_step_loss(step), replica, {}, item + " of the step", expected, got,
           fmt::format("{} of the step, {}: replica {} says {}; the microbatches of all replicas add up to {}", item,
                       step_words(step), replica, got, expected));
  }

  void report(const ExecutionPoint& point, std::size_t replica, std::optional<std::int64_t> rank,
              const std::string& item, const std::string& expected, const std::string& got, const std::string& words) {
    builder_.diverge(point, {.step = point.step,
                             .rank = rank,
                             .replica = static_cast<std::int64_t>(replica),
                             .item = item,
                             .expected = expected,
                             .got = got,
                             .words = words});
  }

  /// Digests of the microbatches of the current step; nullopt if one is missing.
  std::vector<std::string> fed_to(std::size_t replica) const {
    const Record& record = *records_[replica].record();
    if (!recorded_throughout(record, {"inputs", "labels"})) return {};
    std::vector<std::string> digests(static_cast<std::size_t>(record.manifest.microbatches));
    for (const auto& rank : record.ranks) {
      for (const auto& row : rank.microbatches) {
        if (row.microbatch >= 0 && row.microbatch < std::ssize(digests) && !row.data_digest.empty())
          digests[static_cast<std::size_t>(row.microbatch)] = row.data_digest;
      }
    }
    return std::ranges::find(digests, "") == digests.end() ? digests : std::vector<std::string>();
  }

  void report_same_data(std::int64_t step, std::size_t one, std::size_t other) {
    builder_.diverge(at_data(step, 0),
                     {.step = step,
                      .replica = static_cast<std::int64_t>(other),
                      .item = "data",
                      .expected = fmt::format("other microbatches than replica {}'s", one),
                      .got = "the same",
                      .why = fmt::format("replica {} is fed the same microbatches as replica {}, so it adds nothing "
                                         "to the batch; give each replica its own part (if the same data are "
                                         "intended, omit the check replicas, or judge one with --replica)",
                                         other, one)});
  }

  std::vector<RecordReading> records_;
  CheckResultBuilder builder_;
  ExpectedModel model_;
  std::map<Key, Digests> before_;  ///< parameters after the previous step
  bool own_gradients_ = false;
  bool unrecorded_data_ = false;
};

/// For a record that is judged alone, without the other pipelines of its run.
class OneReplica : public StepCheck {
 public:
  explicit OneReplica(const CellEvidence& evidence) : StepCheck(evidence, {"replicas", "replicas", ""}) {}

  void step(const StepEvidence&) override {}

  LocatedResult conclude() override {
    const std::string name = evidence_.candidate.manifest.mesh->name();
    builder_.not_shown("other pipelines of the mesh: this is " + name);
    return builder_.conclude_as(Outcome::does_not_apply,
                                fmt::format("this is {}: the others were neither inspected nor compared with it; the "
                                            "folder that holds them all is judged whole without --replica",
                                            name));
  }
};

std::optional<std::string> one_pipeline(const CellPlan&, const Manifest& candidate) {
  if (candidate.mesh && candidate.mesh->replicas.size() > 1) return std::nullopt;
  return "a single pipeline trained";
}

}  // namespace

LocatedResult compare_replicas(const std::vector<fs::path>& records) {
  return ReplicaComparison(records).run();
}

CheckDescriptor replicas_check() {
  return {.name = "replicas",
          .place = 180,
          .claims =
              "pipelines that train in parallel have the same start, the same reduced gradients, and after each step "
              "the same parameters and moments, and each is fed its own data; of Plumbline's replicas the loss and the "
              "tokens of a step are the sums over all.",
          .needs_in_words =
              "level full, and the [records of all pipelines](record-format.md#one-pipeline-of-several) in one "
              "folder. It does not apply to a single pipeline, nor to one selected of several. Every other check runs "
              "for each replica and names it.",
          .cannot_see = "a sum over replicas that is wrong in all alike (`gradients`, against a correct reference).",
          .level = RecordLevel::full,
          .needs = {"parameters", "moments"},
          .not_applicable = one_pipeline,
          .make = make_check<OneReplica>};
}

}  // namespace plumbline::judging
