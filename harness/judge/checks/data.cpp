// data: both runs were fed the same microbatches in the same order, on every rank that sees them.
#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "support/hash.hpp"

namespace plumbline::judging {
namespace {

struct Sizes {
  std::int64_t length, batch, tokens, valid;
  explicit Sizes(const MicrobatchRow& row)
      : length(row.sequence_length), batch(row.batch), tokens(row.tokens), valid(row.valid_tokens) {}
  friend bool operator==(const Sizes&, const Sizes&) = default;
  std::string words() const {
    return std::to_string(batch) + "x" + std::to_string(length) + ", " + std::to_string(tokens) + " tokens, " +
           std::to_string(valid) + " valid";
  }
};

class DataComparison {
 public:
  DataComparison(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  void microbatch(std::int64_t step, std::int64_t number) {
    const auto& theirs = evidence_.reference_rows.microbatches(step, number);
    const auto& mine = evidence_.candidate_rows.microbatches(step, number);
    if (theirs.size() != evidence_.reference.ranks.size()) {
      return report(step, number, {}, "a row a rank", std::to_string(theirs.size()), "rows of the reference");
    }
    if (mine.size() != evidence_.candidate.ranks.size()) {
      return report(step, number, {}, "a row a rank", std::to_string(mine.size()), "rows of the candidate");
    }
    const std::string expected = digest_of(theirs);
    if (evidence_.reference.manifest.schema == 1) reference_digests += expected;
    if (evidence_.candidate.manifest.schema == 1) candidate_digests += digest_of(mine);
    if (expected.empty()) return report(step, number, {}, "a digest", "none", "data digest of the reference");
    if (digest_of(mine).empty()) return report(step, number, {}, "a digest", "none", "data digest of the candidate");
    judgement_.look_at("microbatches");
    if (theirs.front().row->valid_tokens > 0) distinct_.insert(expected);
    const Sizes sizes(*theirs.front().row);
    for (const auto* rows : {&theirs, &mine}) {
      for (const auto& placed : *rows) {
        const auto& row = *placed.row;
        if (Sizes(row) != sizes) report(step, number, placed.rank, sizes.words(), Sizes(row).words(), "sizes");
        if (row.data_digest.empty()) continue;
        judgement_.compare_or_look_at(rows == &mine, "digests");
        if (row.data_digest != expected) report(step, number, placed.rank, expected, row.data_digest, "ids or labels");
      }
    }
  }

  void totals(std::int64_t step) {
    const auto& theirs = evidence_.reference_rows.steps(step);
    std::int64_t tokens = 0, valid = 0;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const auto& rows = evidence_.reference_rows.microbatches(step, m);
      if (rows.empty()) continue;
      tokens += rows.front().row->tokens;
      valid += rows.front().row->valid_tokens;
    }
    for (const auto* rows : {&theirs, &evidence_.candidate_rows.steps(step)}) {
      for (const auto& placed : *rows) {
        const auto& row = *placed.row;
        demand(step, placed.rank, "tokens of the step", tokens, row.tokens);
        demand(step, placed.rank, "valid tokens of the step", valid, row.valid_tokens);
        if (row.live_tokens && theirs.front().row->live_tokens) {
          demand(step, placed.rank, "live tokens of the step", *theirs.front().row->live_tokens, *row.live_tokens);
        }
      }
    }
  }

  std::int64_t distinct() const { return static_cast<std::int64_t>(distinct_.size()); }
  std::string reference_digests, candidate_digests;  ///< of all microbatches, where the manifest has their digest

 private:
  static std::string digest_of(const std::vector<Placed<MicrobatchRow>>& rows) {
    for (const auto& placed : rows) {
      if (!placed.row->data_digest.empty()) return placed.row->data_digest;
    }
    return "";
  }

  void demand(std::int64_t step, std::int64_t rank, const std::string& what, std::int64_t expected, std::int64_t got) {
    if (expected != got) report(step, {}, rank, std::to_string(expected), std::to_string(got), what);
  }

  void report(std::int64_t step, std::optional<std::int64_t> microbatch, std::optional<std::int64_t> rank,
              const std::string& expected, const std::string& got, const std::string& what) {
    FirstDivergence divergence;
    divergence.step = step;
    divergence.microbatch = microbatch;
    divergence.rank = rank;
    divergence.item = "data";
    divergence.expected = expected;
    divergence.got = got;
    divergence.words = what + " differ at " + step_words(step, microbatch) +
                       (rank ? " on rank " + std::to_string(*rank) : "") + ": expected " + expected + ", got " + got;
    judgement_.diverge(at_data(step, microbatch.value_or(0)), std::move(divergence));
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
  std::set<std::string> distinct_;
};

/// The one digest that a record gives of all its data, against the digests of its microbatches.
class WholeDigest {
 public:
  WholeDigest(const Record& record, std::string whose, Judgement& judgement)
      : record_(record), whose_(std::move(whose)), judgement_(judgement) {}

  /// `digests`: of all microbatches in order.
  void of_manifest(const std::string& digests) {
    const std::string computed = hash_hex(digests);
    if (computed == record_.manifest.data_digest) return;
    report({}, "data.digest", computed, record_.manifest.data_digest, "data.digest in the " + whose_ + "'s manifest");
  }

  /// Of every rank, of what its own table says that it was fed: all microbatches, or none.
  void of_ranks() {
    for (const auto& rank : record_.ranks) {
      Hasher hasher;
      std::int64_t fed = 0;
      for (const auto& row : rank.microbatches) {
        hasher.update(row.data_digest);
        fed += row.data_digest.empty() ? 0 : 1;
      }
      const auto all = record_.manifest.steps * record_.manifest.microbatches;
      const std::string name = whose_ + ", rank " + std::to_string(rank.rank);
      if (fed != all && (fed > 0 || must_see(rank.rank))) {
        report(rank.rank, "data_digest", std::to_string(all) + " digests", std::to_string(fed),
               name + ": digests in microbatches.csv" +
                   (must_see(rank.rank) ? " of a rank that holds embed_tokens or lm_head" : ""));
      }
      const auto& told = rank.exit->data_digest;
      const auto computed = fed > 0 ? std::optional(hasher.hex()) : std::nullopt;
      judgement_.compare("whole_digests");
      if (record_.manifest.schema > 1 && told != computed) {
        report(rank.rank, "data_digest", computed.value_or("null"), told.value_or("null"),
               name + ": data_digest in exit.json, against the digests in microbatches.csv");
      }
    }
  }

 private:
  /// Ids go into embed_tokens, labels into the loss behind lm_head.
  bool must_see(std::int64_t rank) const {
    const auto takes_data = [](const std::string& unit) { return unit == "embed_tokens" || unit == "lm_head"; };
    const auto& stages = record_.manifest.stages;
    return std::any_of(stages.begin(), stages.end(), [&](const auto& stage) {
      return stage.rank == rank && std::any_of(stage.units.begin(), stage.units.end(), takes_data);
    });
  }

  void report(std::optional<std::int64_t> rank, const std::string& item, const std::string& expected,
              const std::string& got, const std::string& what) {
    FirstDivergence divergence;
    divergence.rank = rank;
    divergence.item = item;
    divergence.expected = expected;
    divergence.got = got;
    divergence.words = what + ": expected " + expected + ", got " + got;
    // Behind the microbatches: where one of those differs, this only follows from it.
    judgement_.diverge(beside(-1, -1, rank.value_or(0)), std::move(divergence));
  }

  const Record& record_;
  std::string whose_;
  Judgement& judgement_;
};

void compare_whole_digests(const Record& record, const std::string& whose, const std::string& digests,
                           Judgement& judgement) {
  WholeDigest whole(record, whose, judgement);
  if (record.manifest.schema == 1) whole.of_manifest(digests);
  whole.of_ranks();
}

}  // namespace

Judged check_data(const CellEvidence& evidence) {
  Judgement judgement("data", "data", "0 bits: ids and labels of every microbatch");
  DataComparison comparison(evidence, judgement);
  for (std::int64_t step = 0; step < evidence.steps(); ++step) {
    for (std::int64_t m = 0; m < evidence.microbatches(); ++m) comparison.microbatch(step, m);
    comparison.totals(step);
  }
  compare_whole_digests(evidence.reference, "reference", comparison.reference_digests, judgement);
  compare_whole_digests(evidence.candidate, "candidate", comparison.candidate_digests, judgement);
  judgement.look_at("distinct_microbatches", comparison.distinct());
  const auto all = evidence.steps() * evidence.microbatches();
  return judgement.conclude(std::to_string(all) + " microbatches hold the same ids and labels in both records",
                            {{"microbatches", all}}, {"distinct_microbatches"});
}

}  // namespace plumbline::judging
