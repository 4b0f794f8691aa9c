// SPDX-License-Identifier: BSD-3-Clause
// replicas: pipelines that train together agree on shared tensors, and each is fed the data of its place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/predicates/forms.hpp"
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

/// The places of one axis of tensor parallelism are fed the same data; context parallel ones parts of the same rows,
/// and the others data of their own.
bool has_other_data(const MeshAxis& axis) {
  return axis.kind != "tensor" && axis.kind != "context";
}

bool is_not_tensor(const MeshAxis& axis) {
  return axis.kind != "tensor";
}

/// For a run whose places are all recorded.
class ReplicaComparison {
 public:
  explicit ReplicaComparison(const std::vector<fs::path>& paths)
      : builder_("replicas", "replicas", "0 bits between shared tensors; each place is fed its own data") {
    for (const auto& path : paths) records_.emplace_back(path);
  }

  LocatedResult run() {
    const auto& first = *records_.front().record();
    if (std::ranges::any_of(records_, [](const RecordReading& reading) {
          return reading.record()->manifest.level < RecordLevel::full;
        }))
      return without_looking("replicas", Outcome::incomplete, "a record of level summary has no tensors");
    own_gradients_ = first.manifest.mesh->own_gradients;
    model_ = model_of_records(first, first);
    for (std::optional<std::int64_t> step = -1; step;) {
      for (auto& reading : records_) reading.go_to(*step);
      tensors(*step);
      if (*step >= 0) data(*step);
      if (*step >= 0) losses(*step);
      if (*step >= 0 && first.manifest.part_of_step()) sums(*step);
      if (*step >= 0 && !mesh().parts.empty()) norm(*step);
      step = std::nullopt;
      for (const auto& reading : records_) step = earlier(step, reading.next_step());
    }
    if (own_gradients_) builder_.not_shown("gradients of the places (each records its own, before they are summed)");
    if (unjudged_norm_) builder_.not_shown("the gradient norm over all parts");
    if (unrecorded_data_) builder_.not_shown("whether places are fed the right data (one of them lacks a data digest)");
    if (std::ranges::any_of(mesh().axes, [](const MeshAxis& axis) { return axis.kind == "context" && axis.size > 1; }))
      builder_.not_shown("whether context parallel places are fed parts of the same rows");
    const bool compared = builder_.count("tensors") > 0;
    std::string words = fmt::format("start, {}parameters and moments have the same bits in all {} places",
                                    own_gradients_ ? "" : "gradients, ", records_.size());
    if (!mesh().parts.empty())
      words = fmt::format("{}{} {} in parts, and the norm covers each part once",
                          compared ? "shared tensors have the same bits; " : "",
                          quantity(std::ssize(mesh().parts), "parameter"), mesh().parts.size() == 1 ? "is" : "are");
    return builder_.conclude(words + (unrecorded_data_ ? "" : ", and each is fed the data of its place"),
                             {{compared ? "tensors" : "parts", 1}});
  }

 private:
  const Mesh& mesh() const { return *records_.front().record()->manifest.mesh; }

  std::string name_of(std::size_t place) const { return mesh().place_name(static_cast<std::int64_t>(place)); }

  /// "dp 1", "dp 1 and dp 3"
  std::string named(const std::set<std::size_t>& places) const {
    std::vector<std::string> names;
    for (const auto place : places) names.push_back(name_of(place));
    return join(names, " and ");
  }

  /// The gradient norm that the ranks used, against the gradients of all parts.
  void norm(std::int64_t step) {
    std::vector<const Record*> records;
    for (const auto& reading : records_) records.push_back(reading.record());
    const auto by_rows = predicates::norm_by_rows(records);
    if (!by_rows || by_rows->limit > predicates::widest_norm_limit) {
      unjudged_norm_ = true;
      return;
    }
    for (std::size_t replica = 0; replica < records.size(); ++replica) {
      for (const auto& rank : records[replica]->ranks) {
        for (const auto& row : rank.steps) {
          if (!row.gradient_norm) continue;
          builder_.compare("norms");
          if (std::abs(*row.gradient_norm - by_rows->norm) <= by_rows->limit * by_rows->norm) continue;
          const std::string expected = to_text(by_rows->norm), got = to_text(*row.gradient_norm);
          report(at_norm(step), replica, rank.rank, "gradient_norm", expected, got,
                 fmt::format(
                     "gradient norm, {}, {}: the root of the sum of l2 squared over all parts is {}, got {}, ratio {}",
                     step_words(step), name_of(replica), expected, got, to_text(*row.gradient_norm / by_rows->norm)));
        }
      }
    }
  }

  /// Places that hold the same part of a parameter, or the whole. Buffers may differ (statistics of a place's data).
  void tensors(std::int64_t step) {
    std::map<std::tuple<std::int64_t, Key, std::vector<std::int64_t>>, OneTensor> found;  // by stage and part
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      for (const auto& rank : records_[replica].record()->ranks) {
        for (const auto& row : rank.tensors) {
          if (row.kind == "buffer" || (row.kind == "gradient" && own_gradients_)) continue;
          const auto part = mesh().part_at(static_cast<std::int64_t>(replica), row.name);
          OneTensor& tensor = found[{row.stage, {row.kind, row.name}, part}];
          if (!tensor.row) tensor.row = &row;
          tensor.digests.try_emplace(replica, row.digest);
        }
      }
    }
    std::map<Key, Digests> now;
    for (auto& [where, tensor] : found) {
      compare(step, tensor);
      const Key& key = std::get<Key>(where);
      if (key.first == "parameter") now[key].merge(tensor.digests);
    }
    before_ = std::move(now);
  }

  /// Moments may be missing in some places (a sharded optimizer); missing parameters are the check census's.
  void compare(std::int64_t step, const OneTensor& tensor) {
    std::map<std::string, std::set<std::size_t>> by_digest;
    for (const auto& [replica, digest] : tensor.digests) by_digest[digest].insert(replica);
    if (tensor.digests.size() < 2) return builder_.inspect("parts");
    builder_.compare("tensors", std::ssize(tensor.digests) - 1);
    if (by_digest.size() == 1) return;
    // The majority's digest counts as correct; in a tie, the digest of the lowest number.
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
    if (row.kind == "gradient") return "; gradients are recorded after they are summed over places";
    const auto before = before_.find({row.kind, row.name});
    if (step < 0 || row.kind != "parameter" || before == before_.end()) return "";
    std::set<std::size_t> unchanged;
    for (const auto& [replica, digest] : digests) {
      const auto was = before->second.find(replica);
      if (was != before->second.end() && was->second == digest) unchanged.insert(replica);
    }
    return unchanged.empty() ? "" : fmt::format("; in {} it is unchanged by the step", named(unchanged));
  }

  /// A whole step with another place's data: its gradients add nothing, and no other check detects it. Single
  /// microbatches may be equal if data are sampled. Tensor parallel places that are fed other data compute nothing
  /// whole.
  void data(std::int64_t step) {
    std::map<std::vector<std::string>, std::size_t> fed;
    std::map<std::vector<std::int64_t>, std::pair<std::size_t, std::vector<std::string>>> along_tensor;
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      std::vector<std::string> digests = fed_to(replica);
      if (digests.empty()) {
        unrecorded_data_ = true;
        continue;
      }
      builder_.inspect("microbatches", std::ssize(digests));
      const auto place = static_cast<std::int64_t>(replica);
      const auto& [first, expected] =
          along_tensor.try_emplace(mesh().coordinates(place, is_not_tensor), replica, digests).first->second;
      if (digests != expected) report_other_data(step, first, expected, replica, digests);
      std::ranges::sort(digests);
      const auto same = fed.try_emplace(std::move(digests), replica).first->second;
      if (mesh().coordinates(static_cast<std::int64_t>(same), has_other_data) !=
          mesh().coordinates(place, has_other_data))
        report_same_data(step, same, replica);
    }
  }

  /// Tensor parallel places compute the same losses.
  void losses(std::int64_t step) {
    std::map<std::pair<std::vector<std::int64_t>, std::int64_t>, std::pair<std::size_t, float>> first;
    for (std::size_t replica = 0; replica < records_.size(); ++replica) {
      const auto group = mesh().coordinates(static_cast<std::int64_t>(replica), is_not_tensor);
      for (const auto& rank : records_[replica].record()->ranks) {
        for (const auto& row : rank.microbatches) {
          if (!row.loss) continue;
          const auto [one, added] = first.try_emplace({group, row.microbatch}, replica, *row.loss);
          const auto& [place, loss] = one->second;
          if (added || place == replica) continue;
          builder_.compare("losses");
          if (same_bits(loss, *row.loss)) continue;
          const std::string expected = to_text(loss), got = to_text(*row.loss);
          report(at_loss(step, row.microbatch), replica, rank.rank, "loss", expected, got,
                 fmt::format("loss, {}: {} has {}, {} has {}; tensor parallel places compute the same loss",
                             step_words(step, row.microbatch), name_of(replica), got, name_of(place), expected));
        }
      }
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
           fmt::format("{} of the step, {}: {} has {}; the microbatches of all places add up to {}", item,
                       step_words(step), name_of(replica), got, expected));
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
    builder_.diverge(
        at_data(step, 0),
        {.step = step,
         .replica = static_cast<std::int64_t>(other),
         .item = "data",
         .expected = fmt::format("microbatches other than {}'s", name_of(one)),
         .got = "the same",
         .why = fmt::format(
             "{} is fed the same microbatches as {}, so it adds nothing to the batch; give each place along these axes "
             "its own part (if the same data is intended, omit the check replicas, or judge one place with --replica)",
             name_of(other), name_of(one))});
  }

  void report_other_data(std::int64_t step, std::size_t one, const std::vector<std::string>& expected,
                         std::size_t other, const std::vector<std::string>& got) {
    const auto at = std::ranges::mismatch(expected, got).in1 - expected.begin();
    const bool shorter = at >= std::ssize(expected) || at >= std::ssize(got);
    builder_.diverge(
        at_data(step, at),
        {.step = step,
         .microbatch = at,
         .replica = static_cast<std::int64_t>(other),
         .item = "data",
         .expected = shorter ? quantity(std::ssize(expected), "microbatch") : expected[static_cast<std::size_t>(at)],
         .got = shorter ? quantity(std::ssize(got), "microbatch") : got[static_cast<std::size_t>(at)],
         .why = fmt::format("{} is fed other data than {}, but tensor parallel places compute parts of the "
                            "same batch",
                            name_of(other), name_of(one))});
  }

  std::vector<RecordReading> records_;
  CheckResultBuilder builder_;
  ExpectedModel model_;
  std::map<Key, Digests> before_;  ///< parameters after the previous step
  bool own_gradients_ = false;
  bool unrecorded_data_ = false, unjudged_norm_ = false;
};

/// For a record that is judged alone, without the other pipelines of its run.
class OneReplica : public StepCheck {
 public:
  explicit OneReplica(const CellEvidence& evidence) : StepCheck(evidence, {"replicas", "replicas", ""}) {}

  void step(const StepEvidence&) override {}

  LocatedResult conclude() override {
    const std::string name = evidence_.candidate.manifest.mesh->name();
    builder_.not_shown("other places of the mesh: this is " + name);
    return builder_.conclude_as(Outcome::does_not_apply,
                                fmt::format("only {} was judged; omit --replica to judge all places", name));
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
          .claims =
              "pipelines that train in parallel have the same start, the same reduced gradients, and the same "
              "parameters and moments after each step, except for tensors that each holds in part. Each is fed its own "
              "data; along an axis of tensor parallelism all are fed the same data and have the same losses. A norm "
              "counts each part once. For Plumbline's replicas, loss and tokens of a step are the sums over all.",
          .needs_in_words =
              "the [records of all pipelines](record-format.md#one-pipeline-of-several) in one folder. Every other "
              "check runs for each place and names it.",
          .cannot_see =
              "a sum over places that is wrong in all of them (`gradients`); whether context parallel places are fed "
              "parts of the same rows; buffers, which may differ.",
          .level = RecordLevel::full,
          .needs = {"parameters", "moments"},
          .not_applicable = one_pipeline,
          .make = make_check<OneReplica>};
}

}  // namespace plumbline::judging
