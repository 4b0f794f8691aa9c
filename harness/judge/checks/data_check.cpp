// SPDX-License-Identifier: BSD-3-Clause
// data: both runs used the same microbatches in the same order, on every rank that sees them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Compares each rank's digest of all its data with the digests of its microbatches, hashed while they are read.
class WholeDigest {
 public:
  WholeDigest(const Record& record, std::string whose)
      : record_(record), whose_(std::move(whose)), ranks_(record.ranks.size()) {}

  void step() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      std::map<std::int64_t, std::string> in_order;  // by microbatch, for any order of the table
      for (const auto& row : record_.ranks[i].microbatches) in_order[row.microbatch] = row.data_digest;
      for (const auto& [microbatch, digest] : in_order) {
        ranks_[i].digests.update(digest);
        ranks_[i].fed += digest.empty() ? 0 : 1;
      }
    }
  }

  void conclude(CheckResultBuilder& builder) const {
    for (std::size_t i = 0; i < ranks_.size(); ++i) of_rank(record_.ranks[i], ranks_[i], builder);
  }

 private:
  struct Fed {
    Hasher digests;
    std::int64_t fed = 0;
  };

  /// Over a rank's data by its own table: all microbatches, or none.
  void of_rank(const RankRecord& rank, const Fed& fed, CheckResultBuilder& builder) const {
    const auto all = record_.steps() * record_.manifest.microbatches;
    const std::string name = fmt::format("{}, rank {}", whose_, rank.rank);
    if (fed.fed != all && (fed.fed > 0 || must_see(rank.rank))) {
      report(builder, rank.rank, "data_digest", std::to_string(all) + " digests", std::to_string(fed.fed),
             fmt::format("{}: digests in microbatches.csv{}", name,
                         must_see(rank.rank) ? " of a rank that holds embed_tokens or lm_head" : ""));
    }
    if (record_.in_part()) return;  // exit.json has the digest of all steps, but not all were read
    const auto& recorded = rank.exit->data_digest;
    const auto computed = fed.fed > 0 ? std::optional(fed.digests.hex()) : std::nullopt;
    builder.compare("whole_digests");
    if (recorded != computed) {
      report(builder, rank.rank, "data_digest", computed.value_or("null"), recorded.value_or("null"),
             name + ": data_digest in exit.json, against the digests in microbatches.csv");
    }
  }

  /// Ids are inputs of embed_tokens, labels of the loss after lm_head.
  bool must_see(std::int64_t rank) const {
    const auto takes_data = [](const std::string& unit) { return unit == "embed_tokens" || unit == "lm_head"; };
    const auto& stages = record_.manifest.stages;
    return std::ranges::any_of(
        stages, [&](const auto& stage) { return stage.rank == rank && std::ranges::any_of(stage.units, takes_data); });
  }

  static void report(CheckResultBuilder& builder, std::optional<std::int64_t> rank, const std::string& item,
                     const std::string& expected, const std::string& got, const std::string& what) {
    // Ordered after the microbatches: if one of those differs, this is a consequence.
    builder.diverge(off_path(-1, OffPath::whole_record, rank.value_or(0)),
                    {.rank = rank,
                     .item = item,
                     .expected = expected,
                     .got = got,
                     .words = fmt::format("{}: expected {}, got {}", what, expected, got)});
  }

  const Record& record_;
  std::string whose_;
  std::vector<Fed> ranks_;
};

class DataCheck : public StepCheck {
 public:
  explicit DataCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"data", "data", "0 bits: ids and labels of every microbatch"}),
        of_reference_(evidence.reference, "reference"),
        of_candidate_(evidence.candidate, "candidate") {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    step_ = now.step;
    compare_claim(now, "data", builder_);
    agree_within_reference(now);
    totals(now);
    of_reference_.step();
    of_candidate_.step();
  }

  LocatedResult conclude() override {
    of_reference_.conclude(builder_);
    of_candidate_.conclude(builder_);
    const auto all = evidence_.steps() * evidence_.own_microbatches();
    return builder_.conclude(quantity(all, "microbatch") + " with the same ids and labels in both records", {});
  }

 private:
  /// A reference on several ranks.
  void agree_within_reference(const StepEvidence& now) {
    CheckResultBuilder own_builder("data", "data", "");
    for (const Column column : {Column::ids, Column::sizes}) {
      const FactSpan own = of_column(now.facts.reference, column);
      Expectations expected;
      for (const Fact& fact : own)
        if (expected.empty() || expected.back().key() != fact.key()) expected.push_back({fact});
      compare_facts(now, expected, own, own_builder);
    }
    if (own_builder.diverged()) builder_.absorb(std::move(own_builder));
  }

  void totals(const StepEvidence& now) {
    const auto& theirs = now.reference_rows.steps();
    std::int64_t tokens = 0, valid = 0;
    std::set<std::int64_t> lengths;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const MicrobatchRow* row = now.reference_rows.microbatch(m);
      if (!row) continue;
      tokens += row->tokens;
      valid += row->valid_tokens;
      lengths.insert(row->sequence_length);
    }
    builder_.evidence("lengths_in_a_step", std::ssize(lengths));
    // Two replicas: their steps have the tokens of all replicas, and the check `replicas` sums them.
    if (evidence_.reference.manifest.part_of_step() && !theirs.empty()) {
      tokens = theirs.front().row->tokens;
      valid = theirs.front().row->valid_tokens;
    }
    for (const auto* rows : {&theirs, &now.candidate_rows.steps()}) {
      for (const auto& placed : *rows) {
        const auto& row = *placed.row;
        demand(placed.rank, "tokens of the step", tokens, row.tokens);
        demand(placed.rank, "valid tokens of the step", valid, row.valid_tokens);
        if (row.live_tokens) live_tokens(placed.rank, valid, *row.live_tokens);
        if (row.live_tokens && theirs.front().row->live_tokens) {
          demand(placed.rank, "live tokens of the step", *theirs.front().row->live_tokens, *row.live_tokens);
        }
      }
    }
  }

  /// Distinct ids at or before a valid label: at least one if there is such a label, at most the number of ids.
  void live_tokens(std::int64_t rank, std::int64_t valid, std::int64_t live) {
    if (!evidence_.model.has_sizes()) return;
    const std::int64_t least = valid > 0 ? 1 : 0, most = valid > 0 ? evidence_.model.vocabulary : 0;
    if (live >= least && live <= most) return;
    report({}, rank, fmt::format("{} to {}", least, most), std::to_string(live),
           "live tokens of the step, which are distinct ids,");
  }

  static std::string digest_of(const std::vector<Located<MicrobatchRow>>& rows) {
    for (const auto& placed : rows) {
      if (!placed.row->data_digest.empty()) return placed.row->data_digest;
    }
    return "";
  }

  void demand(std::int64_t rank, const std::string& what, std::int64_t expected, std::int64_t got) {
    if (expected != got) report({}, rank, std::to_string(expected), std::to_string(got), what);
  }

  void report(std::optional<std::int64_t> microbatch, std::optional<std::int64_t> rank, const std::string& expected,
              const std::string& got, const std::string& what) {
    builder_.diverge(at_data(step_, microbatch.value_or(0)), {.step = step_,
                                                              .microbatch = microbatch,
                                                              .rank = rank,
                                                              .item = "data",
                                                              .expected = expected,
                                                              .got = got,
                                                              .why = what + " differ"});
  }

  WholeDigest of_reference_, of_candidate_;
  std::int64_t step_ = 0;
};

}  // namespace

CheckDescriptor data_check() {
  return {.name = "data",
          .claims =
              "both runs were fed the same microbatches in the same order, and their manifests describe the same "
              "training, including every key of the model.",
          .cannot_see = "data that is wrong in both runs (`as_asked`).",
          .needs = {"inputs", "labels"},
          .make = make_check<DataCheck>};
}

}  // namespace plumbline::judging
