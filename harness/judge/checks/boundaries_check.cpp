// SPDX-License-Identifier: BSD-3-Clause
// boundaries (R2): every boundary tensor is, at both ends, the reference's tensor there; and the transport moved
// exactly what the list demands.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/expected/expected_traffic.hpp"
#include "harness/judge/expected/zero_digests.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

void report_traffic(std::int64_t step, std::int64_t rank, const TrafficEdge& edge, const Moved& expected,
                    const Moved& got, CheckResultBuilder& builder) {
  const auto words = [](const Moved& moved) {
    return fmt::format("{} operations, {} bytes", moved.operations, moved.bytes);
  };
  const bool send = edge.side == "send";
  const std::string item = fmt::format("rank {} -> rank {}", send ? rank : edge.peer, send ? edge.peer : rank);
  builder.diverge(off_path_action(step, 0, rank),
                  {.step = step,
                   .rank = rank,
                   .direction = edge.direction,
                   .item = item,
                   .what = fmt::format("traffic {}, {}, {}", item, edge.direction, edge.side),
                   .expected = words(expected),
                   .got = words(got),
                   .why = "not what the schedule implies"});
}

std::map<TrafficEdge, Moved> counted(const RankRecord& rank) {
  std::map<TrafficEdge, Moved> traffic;
  for (const auto& row : rank.traffic) {
    Moved& moved = traffic[{row.peer, row.direction, row.side}];
    moved.operations += row.operations;
    moved.bytes += row.bytes;
  }
  return traffic;
}

bool lacks_traffic(const Record& record) {
  return std::ranges::any_of(record.ranks, [](const RankRecord& rank) {
    return std::ranges::find(rank.absent, "traffic.csv") != rank.absent.end();
  });
}

/// Compares the candidate's traffic.csv with its lowered list.
class TrafficComparison {
 public:
  TrafficComparison(const CellEvidence& evidence, CheckResultBuilder& builder)
      : evidence_(evidence),
        builder_(builder),
        lacking_(lacks_traffic(evidence.candidate) || !evidence.lowered_list || !evidence.model.llama ||
                 !evidence.sizes_recorded()) {
    if (!evidence.sizes_recorded())
      builder_.leave_out("bytes moved (the reference's recorder could not see how large microbatches are)");
    else if (!evidence.model.llama)
      builder_.leave_out("bytes moved (the boundary tensors of this model have their own sizes)");
    else if (lacking_ && evidence.candidate.manifest.role != "reference")
      builder_.leave_out("bytes moved (traffic.csv or schedule.csv is absent)");
    if (lacking_) return;
    for (const auto& rank : evidence.candidate.ranks) {
      if (is_listed(rank)) builder_.inspect("ranks");
    }
  }

  void step(const StepEvidence& now) {
    if (lacking_) return;
    expect(now.boundary_bytes());
    for (const auto& rank : evidence_.candidate.ranks) {
      if (!is_listed(rank)) continue;
      auto expected = expected_[static_cast<std::size_t>(rank.rank)];
      auto got = counted(rank);
      for (const auto& [edge, moved] : expected) got.try_emplace(edge);
      for (const auto& [edge, moved] : got) {
        builder_.compare("traffic_edges");
        builder_.compare("bytes_moved", moved.bytes);
        if (!(moved == expected[edge])) report_traffic(now.step, rank.rank, edge, expected[edge], moved, builder_);
      }
    }
  }

 private:
  /// conformance reports the others.
  bool is_listed(const RankRecord& rank) const { return rank.rank < std::ssize(evidence_.lowered_list->ranks); }

  /// Sizes usually equal those of the previous step.
  void expect(std::vector<std::int64_t> bytes) {
    if (!expected_.empty() && bytes == bytes_) return;
    bytes_ = std::move(bytes);
    expected_.clear();
    for (const auto& list : evidence_.lowered_list->ranks)
      expected_.push_back(expected_traffic(list, evidence_.stages, bytes_));
  }

  const CellEvidence& evidence_;
  CheckResultBuilder& builder_;
  bool lacking_;
  std::vector<std::int64_t> bytes_;                     ///< of a boundary tensor, by microbatch
  std::vector<std::map<TrafficEdge, Moved>> expected_;  ///< by rank, for `bytes_`
};

/// For each stage boundary and microbatch in both directions: the required rows exist, have the expected form and the
/// reference's digest. If the candidate records its inner boundaries, all of them are compared as well. Counts
/// crossings, computed, tensors, elements, bytes.
class BoundaryComparison {
 public:
  BoundaryComparison(const CellEvidence& evidence, CheckResultBuilder& builder)
      : evidence_(evidence),
        builder_(builder),
        reference_may_lack_(!evidence.reference.manifest.recorded({"sends", "receives", "boundaries"})) {}

  void step(const StepEvidence& now) {
    now_ = &now;
    step_ = now.step;
    seen_.clear();
    const auto crossings = evidence_.stages.crossings.size();
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      for (std::size_t i = 0; i < crossings; ++i) crossing(m, "forward", i);
      for (std::size_t i = crossings; i-- > 0;) crossing(m, "backward", i);
    }
    cuts();
    rest();
    reference_cuts();
  }

  /// True if both records have one rank and the candidate, with one stage, lists `computed` tensors at its boundaries,
  /// as a reference or an external trainer does. Derived from the steps so far.
  bool candidate_records_its_cuts() const { return records_its_cuts_; }

 private:
  /// If the candidate records its stage boundaries in any step, it does so in all.
  void cuts() {
    const auto& rows = now_->candidate_rows.all_boundaries();
    const bool alone = evidence_.reference.manifest.world_size == 1 && evidence_.candidate.manifest.world_size == 1 &&
                       evidence_.stages.crossings.empty();
    const bool any = alone && std::any_of(rows.begin(), rows.end(),
                                          [](const auto& placed) { return placed.row->side == "computed"; });
    if (any && !records_its_cuts_) {
      records_its_cuts_ = true;
      for (step_ = evidence_.first_step(); step_ < now_->step; ++step_)
        for_each_cut(evidence_.first_own(), evidence_.end_own(), [&] { report_absent(); });
      step_ = now_->step;
    }
    if (records_its_cuts_) for_each_cut(evidence_.first_own(), evidence_.end_own(), [&] { computed(); });
  }

  /// Visits every boundary of the model's units, as the current one.
  template <class Visit>
  void for_each_cut(std::int64_t first_microbatch, std::int64_t end_microbatch, Visit visit) {
    for (microbatch_ = first_microbatch; microbatch_ < end_microbatch; ++microbatch_) {
      for (std::size_t unit = 1; unit < evidence_.model.units.size(); ++unit) {
        for (const char* direction : {"forward", "backward"}) {
          number_ = static_cast<std::int64_t>(unit);
          direction_ = direction, cut_ = evidence_.model.units[unit];
          from_stage_.reset(), to_stage_.reset();
          visit();
        }
      }
    }
  }

  void report_absent() {
    if (may_lack("computed")) return;
    report(BoundaryEnd::sent, 0, "a row", "none", "the candidate records no tensor at this boundary");
  }

  void report_no_reference(std::optional<std::int64_t> rank) {
    if (reference_may_lack_) return;
    report(BoundaryEnd::sent, rank, "the reference's tensor", "no row",
           "the reference records no tensor at this boundary");
  }

  /// True if the candidate's recorder could not see rows of this side. The receiver records tensors passed within a
  /// rank.
  bool may_lack(const std::string& side) const {
    const Manifest& manifest = evidence_.candidate.manifest;
    if (!manifest.recorded({"boundaries"})) return true;
    if (side == "computed") return false;
    return !manifest.recorded({side == "send" ? "sends" : "receives"});
  }

  void crossing(std::int64_t microbatch, const std::string& direction, std::size_t number) {
    const Crossing& crossing = evidence_.stages.crossings[number];
    const bool forward = direction == "forward";
    microbatch_ = microbatch, number_ = static_cast<std::int64_t>(number);
    direction_ = direction, cut_ = crossing.cut;
    from_stage_ = forward ? crossing.from_stage : crossing.to_stage;
    to_stage_ = forward ? crossing.to_stage : crossing.from_stage;
    const std::int64_t from_rank = forward ? crossing.from_rank : crossing.to_rank;
    const std::int64_t to_rank = forward ? crossing.to_rank : crossing.from_rank;

    const BoundaryRow* computed = now_->reference_rows.boundary(microbatch, direction, cut_);
    const bool unneeded = !computed && is_unneeded();
    const Manifest& reference = evidence_.reference.manifest;
    const bool elsewhere = reference.world_size > 1 || reference.role == "pipeline";  // it has its own stage boundaries
    const bool alone = !computed && !unneeded && (elsewhere || reference_may_lack_);
    if (!computed && !unneeded && !alone) return report_no_reference({});
    builder_.inspect("crossings");
    if (alone) builder_.inspect("crossings_of_the_candidate_alone");
    if (unneeded && now_->candidate_rows.boundaries(microbatch, direction, cut_).empty()) return;
    if (crossing.local()) return compare_end(find("local", to_rank, to_rank), computed, nullptr, to_rank);
    const BoundaryRow* sent = find("send", from_rank, to_rank);
    compare_end(sent, computed, nullptr, from_rank);
    compare_end(find("receive", to_rank, from_rank), computed, sent, to_rank);
  }

  /// `computed`: null if the reference has none here; then only what was sent must arrive.
  void compare_end(const BoundaryRow* row, const BoundaryRow* computed, const BoundaryRow* sent, std::int64_t rank) {
    if (!row) return;
    // Computed tensors may differ within limits, transferred ones may not.
    const bool transferred = sent && !evidence_.values->exact();
    if (computed && !transferred) {
      compare(*row, *computed, rank, *evidence_.values);
    } else if (sent) {
      compare(*row, *sent, rank, in_bits());
    }
  }

  /// The candidate's tensor at a stage boundary, in a record of one rank that calls it `computed`, as a reference does.
  void computed() {
    const BoundaryRow* mine = now_->candidate_rows.boundary(microbatch_, direction_, cut_);
    const auto* theirs = now_->reference_rows.boundary(microbatch_, direction_, cut_);
    if (mine && mine->side == "computed") seen_.insert(mine);
    if ((!mine || !theirs) && is_unneeded()) return builder_.inspect("computed");
    if (!mine || mine->side != "computed") return report_absent();
    if (!theirs) return report_no_reference(0);
    builder_.inspect("computed");
    compare(*mine, *theirs, 0, *evidence_.values);
  }

  /// Rows of the candidate beyond the expected ones. `computed` ones are compared with the reference's.
  void rest() {
    for (const auto& placed : now_->candidate_rows.all_boundaries()) {
      const BoundaryRow& row = *placed.row;
      if (seen_.contains(&row)) continue;
      microbatch_ = row.microbatch, number_ = 0;
      direction_ = row.direction, cut_ = row.cut;
      from_stage_ = row.from_stage, to_stage_ = row.to_stage;
      if (row.side != "computed") {
        report(BoundaryEnd::sent, placed.rank, "no row", "a row",
               fmt::format("a {} that the partition does not imply, or a duplicate", row.side));
        continue;
      }
      const auto* theirs = now_->reference_rows.boundary(microbatch_, direction_, cut_);
      if (!theirs && evidence_.reference.manifest.world_size > 1)
        continue;  // a stage boundary that only one of them has
      if (!theirs) {
        report_no_reference(placed.rank);
        continue;
      }
      builder_.inspect("computed");
      compare(row, *theirs, placed.rank, *evidence_.values);
    }
  }

  /// A reference has a tensor at every boundary of its units, also where this candidate has none.
  void reference_cuts() {
    if (evidence_.reference.manifest.role != "reference") return;
    for_each_cut(0, evidence_.microbatches(), [&] {
      if (now_->reference_rows.boundary(microbatch_, direction_, cut_) == nullptr)
        report(BoundaryEnd::sent, 0, "a tensor", "no row", "", "reference");
    });
    for (const auto& placed : now_->reference_rows.all_boundaries()) {
      const BoundaryRow& row = *placed.row;
      if (evidence_.model.unit_position(row.cut).value_or(0) != 0) continue;
      microbatch_ = row.microbatch, number_ = 0;
      direction_ = row.direction, cut_ = row.cut;
      from_stage_.reset(), to_stage_.reset();
      report(BoundaryEnd::sent, 0, "no such boundary in this model", "a row", "", "reference");
    }
  }

  /// True for a gradient that no trainable parameter needs: one device does not compute it, but a pipeline may send it.
  bool is_unneeded() const {
    if (direction_ == "forward") return false;
    const auto position = evidence_.model.unit_position(cut_).value_or(0);
    const RecordIndex& rows = now_->reference_rows;
    const bool external = evidence_.reference.manifest.traits.may_lack;
    const bool has_gradients =
        std::ranges::any_of(rows.all_tensors(), [](const auto& placed) { return placed.row->kind == "gradient"; });
    return std::ranges::all_of(evidence_.model.parameters, [&](const ExpectedParameter& parameter) {
      if (evidence_.model.unit_position(parameter.unit).value_or(0) >= position) return true;
      if (is_frozen(evidence_.reference.manifest, parameter.name)) return true;
      // In this step: frozen until later, or computed without autograd.
      return external && has_gradients && rows.tensors("gradient", parameter.name).empty();
    });
  }

  static BoundaryEnd end_of(const std::string& side) {
    return side == "receive" ? BoundaryEnd::received : BoundaryEnd::sent;
  }

  /// The candidate's row of one end of a stage boundary; reports it if missing.
  const BoundaryRow* find(const std::string& side, std::int64_t rank, std::int64_t peer) {
    const BoundaryRow* found = nullptr;
    for (const auto& placed : now_->candidate_rows.boundaries(microbatch_, direction_, cut_)) {
      const BoundaryRow& row = *placed.row;
      const bool fits = row.side == side && placed.rank == rank && row.from_stage == from_stage_ &&
                        row.to_stage == to_stage_ && row.peer == peer;
      if (!fits || found) continue;
      found = &row;
      seen_.insert(found);
    }
    if (!found && !may_lack(side)) {
      report(end_of(side), rank, "a row", "none", fmt::format("no {} row with peer {}", side, peer));
    }
    return found;
  }

  void compare(const BoundaryRow& row, const BoundaryRow& theirs, std::int64_t rank, ValueComparison& values) {
    const BoundaryEnd side = end_of(row.side);
    builder_.compare("tensors");
    builder_.compare("elements", element_count(row.shape));
    builder_.compare("bytes", row.bytes);
    const std::string end = row.side == "receive" ? " as received" : row.side == "send" ? " as sent" : "";
    if (row.dtype != theirs.dtype)
      return report(side, rank, theirs.dtype, row.dtype, fmt::format("the dtype{} differs", end));
    if (row.shape != theirs.shape) {
      return report(side, rank, shape_text(theirs.shape), shape_text(row.shape),
                    fmt::format("the shape{} differs{}", end, crossing_hint(row, theirs)));
    }
    if (theirs.digest != zeros_.digest(theirs.dtype, theirs.shape)) builder_.compare("nonzero_tensors");
    if (const auto wrong = builder_.take(values.boundary(rank, theirs, row)))
      report(side, rank, wrong->expected, wrong->got, wrong->why + end + find_owner(row) + scaling_hint());
  }

  /// Boundary gradients of losses that are scaled otherwise differ, even if the gradients of the parameters agree.
  std::string scaling_hint() const {
    const Manifest &theirs = evidence_.reference.manifest, &mine = evidence_.candidate.manifest;
    if (direction_ == "forward" ||
        (theirs.loss_scaling == mine.loss_scaling && theirs.boundary_gradient_factor == mine.boundary_gradient_factor))
      return "";
    return "; by loss_scaling and boundary_gradient_factor the two scale them by other factors: record a reference "
           "that "
           "scales where the candidate does";
  }

  /// On one device the recorder chooses the tensors of a boundary, and may choose others than a pipeline sends.
  std::string crossing_hint(const BoundaryRow& row, const BoundaryRow& theirs) const {
    if (evidence_.reference.manifest.traits.own || theirs.side != "computed" || row.side == "computed") return "";
    return "; if the pipeline sends other tensors here than the one device's recorder took, select those by "
           "watch_model(..., crossing=)";
  }

  /// Finds where a wrong tensor would be right: another microbatch, or the previous step.
  std::string find_owner(const BoundaryRow& row) const {
    for (const auto& [rows, step] :
         {std::pair(&now_->reference_rows, row.step), std::pair(&now_->reference_rows_before, row.step - 1)}) {
      for (std::int64_t m = 0; step >= 0 && m < evidence_.microbatches(); ++m) {
        const auto* other = rows->boundary(m, row.direction, row.cut);
        if (other && other->digest == row.digest) return ": it is the tensor of " + step_words(step, m);
      }
    }
    return "";
  }

  void report(BoundaryEnd side, std::optional<std::int64_t> rank, const std::string& expected, const std::string& got,
              const std::string& why, const std::string& whose = "") {
    const auto stage_text = [](std::optional<std::int64_t> stage) {
      return stage ? std::to_string(*stage) : std::string("?");
    };
    const std::string stages =
        from_stage_ || to_stage_ ? fmt::format(", stage {} -> {}", stage_text(from_stage_), stage_text(to_stage_)) : "";
    builder_.diverge(at_boundary(step_, microbatch_, direction_, number_, side),
                     {.step = step_,
                      .microbatch = microbatch_,
                      .stage = side == BoundaryEnd::received ? to_stage_ : from_stage_,
                      .rank = rank,
                      .direction = direction_,
                      .source = whose,
                      .item = cut_,
                      .what = fmt::format("{} boundary {}{}", direction_, cut_, stages),
                      .expected = expected,
                      .got = got,
                      .why = why});
  }

  const CellEvidence& evidence_;
  CheckResultBuilder& builder_;
  bool reference_may_lack_;  ///< its recorder could not see all boundary tensors
  const StepEvidence* now_ = nullptr;
  bool records_its_cuts_ = false;
  std::set<const BoundaryRow*> seen_;
  ZeroDigests zeros_;
  std::int64_t step_ = 0, microbatch_ = 0, number_ = 0;
  std::string direction_, cut_;
  std::optional<std::int64_t> from_stage_, to_stage_;
};

class BoundariesCheck : public StepCheck {
 public:
  explicit BoundariesCheck(const CellEvidence& evidence)
      : StepCheck(evidence,
                  {"boundaries", "R2",
                   evidence.values->demand() +
                       ": sender = receiver = the reference's tensor at the boundary; traffic equal to the byte"}),
        tensors_(evidence, builder_),
        traffic_(evidence, builder_) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    tensors_.step(now);
    traffic_.step(now);
  }

  LocatedResult conclude() override {
    if (tensors_.candidate_records_its_cuts()) return conclude_cuts();
    if (evidence_.stages.crossings.empty()) {
      // One stage: the claim is that nothing was transferred, and only the ranks' tables are inspected.
      builder_.inspect("tables", 2 * static_cast<std::int64_t>(evidence_.candidate.ranks.size()));
      return builder_.conclude(
          "one stage holds the whole model: no tensor crossed a stage boundary and no byte was moved", {{"tables", 1}});
    }
    if (builder_.count("crossings_of_the_candidate_alone") > 0)
      builder_.leave_out("tensors at boundaries that only the candidate has: the reference is itself a pipeline");
    if (builder_.count("crossings") == builder_.count("crossings_of_the_candidate_alone")) {
      return builder_.conclude_as(Outcome::not_applicable, "the two pipelines have no stage boundary in common");
    }
    const auto least = 2 * evidence_.compared_steps() * evidence_.own_microbatches() *
                       static_cast<std::int64_t>(evidence_.stages.crossings.size());
    return builder_.conclude(
        evidence_.values->exact()
            ? "every tensor that crosses a stage boundary equals the reference's at both ends"
            : "every tensor that crosses a stage boundary is within its limit, and arrives as it was sent",
        {{"crossings", least}}, {"nonzero_tensors"});
  }

 private:
  LocatedResult conclude_cuts() {
    const auto cuts = static_cast<std::int64_t>(evidence_.model.units.size()) - 1;
    return builder_.conclude(
        fmt::format(
            "nothing crossed between stages; the tensors that both computed at the model's {} boundaries are {}", cuts,
            evidence_.values->agreement()),
        {{"computed", 2 * evidence_.compared_steps() * evidence_.own_microbatches() * cuts}}, {"nonzero_tensors"});
  }

  BoundaryComparison tensors_;
  TrafficComparison traffic_;
};

}  // namespace

CheckDescriptor boundaries_check() {
  return {.name = "boundaries",
          .place = 60,
          .claims =
              "every activation and gradient that crosses a stage boundary equals the reference's tensor at both ends; "
              "the transport moved what the schedule says, to the byte.",
          .needs_in_words = "level full, the same start; both records must scale the loss alike.",
          .cannot_see = "errors between two stage boundaries that cancel before the next.",
          .level = RecordLevel::full,
          .same_start = true,
          .values = Values::before_update,
          .compares_without = {"sends", "receives", "boundaries"},
          .make = make_check<BoundariesCheck>};
}

}  // namespace plumbline::judging
