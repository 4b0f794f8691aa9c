// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/boundary_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/judge/expected/zero_digests.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

struct Expectation {
  const char* side;
  std::int64_t rank;
  std::int64_t peer;
};

}  // namespace

class BoundaryComparison::Rows {
 public:
  Rows(const CellEvidence& evidence, bool compare_gradients, CheckResultBuilder& builder)
      : evidence_(evidence),
        compare_gradients_(compare_gradients),
        builder_(builder),
        reference_may_lack_(!evidence.reference.manifest.recorded({"sends", "receives", "boundaries"})) {}

  void all_of(const StepEvidence& now) {
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
  }

  bool records_its_cuts() const { return records_its_cuts_; }

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
        for_each_cut([&](std::int64_t m, const std::string& direction, std::size_t unit) {
          at_cut(m, direction, unit);
          report_absent();
        });
      step_ = now_->step;
    }
    if (records_its_cuts_)
      for_each_cut(
          [&](std::int64_t m, const std::string& direction, std::size_t unit) { computed(m, direction, unit); });
  }

  template <class Visit>
  void for_each_cut(Visit visit) const {
    const std::size_t units = evidence_.model.units.size();
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      for (std::size_t unit = 1; unit < units; ++unit) visit(m, "forward", unit);
      for (std::size_t unit = units; unit-- > 1;) visit(m, "backward", unit);
    }
  }

  void at_cut(std::int64_t microbatch, const std::string& direction, std::size_t unit) {
    microbatch_ = microbatch, number_ = static_cast<std::int64_t>(unit);
    direction_ = direction, cut_ = evidence_.model.units[unit];
    from_stage_.reset(), to_stage_.reset();
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

    const BoundaryRow* computed = reference_boundary(now_->reference_rows, microbatch, direction, crossing.cut);
    if (!computed && !forward && all_frozen_before(crossing.cut)) return unneeded(crossing, from_rank, to_rank);
    if (!computed && (evidence_.reference.manifest.world_size > 1 || reference_may_lack_))
      return carried(crossing, from_rank, to_rank);
    if (!computed) return report_no_reference({});
    builder_.inspect("crossings");
    const auto* first = crossing.local() ? end({"local", to_rank, to_rank}, BoundaryEnd::sent, *computed, nullptr)
                                         : end({"send", from_rank, to_rank}, BoundaryEnd::sent, *computed, nullptr);
    if (!crossing.local()) end({"receive", to_rank, from_rank}, BoundaryEnd::received, *computed, first);
  }

  /// The candidate's tensor at a stage boundary, in a record of one rank that calls it `computed`, as a reference does.
  void computed(std::int64_t microbatch, const std::string& direction, std::size_t unit) {
    at_cut(microbatch, direction, unit);
    const BoundaryRow* mine = nullptr;
    for (const auto& placed : now_->candidate_rows.boundaries(microbatch, direction, cut_)) {
      if (placed.row->side == "computed" && !mine) mine = placed.row;
    }
    if (!mine) return report_absent();
    seen_.insert(mine);
    const auto* theirs = reference_boundary(now_->reference_rows, microbatch, direction, cut_);
    if (!theirs) return report_no_reference(0);
    builder_.inspect("computed");
    if (direction == "forward" || compare_gradients_) compare(*mine, *theirs, 0, BoundaryEnd::sent, *evidence_.values);
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
      const auto* theirs = reference_boundary(now_->reference_rows, row.microbatch, row.direction, row.cut);
      if (!theirs && evidence_.reference.manifest.world_size > 1)
        continue;  // a stage boundary that only one of them has
      if (!theirs) {
        report_no_reference(placed.rank);
        continue;
      }
      builder_.inspect("computed");
      compare(row, *theirs, placed.rank, BoundaryEnd::sent, *evidence_.values);
    }
  }

  bool all_frozen_before(const std::string& cut) const {
    const auto position = evidence_.model.unit_position(cut).value_or(0);
    return std::ranges::all_of(evidence_.model.parameters, [&](const ExpectedParameter& parameter) {
      return evidence_.model.unit_position(parameter.unit).value_or(0) >= position ||
             is_frozen(evidence_.reference.manifest, parameter.name);
    });
  }

  /// A gradient that no trainable parameter needs: one device does not compute it, but a pipeline may send it.
  void unneeded(const Crossing& crossing, std::int64_t from_rank, std::int64_t to_rank) {
    builder_.inspect("crossings");
    if (now_->candidate_rows.boundaries(microbatch_, direction_, cut_).empty()) return;
    arrives(crossing, from_rank, to_rank);
  }

  /// At a stage boundary that the reference, itself a pipeline, does not have.
  void carried(const Crossing& crossing, std::int64_t from_rank, std::int64_t to_rank) {
    builder_.inspect("crossings");
    builder_.inspect("crossings_of_the_candidate_alone");
    arrives(crossing, from_rank, to_rank);
  }

  /// The received tensor equals the sent one.
  void arrives(const Crossing& crossing, std::int64_t from_rank, std::int64_t to_rank) {
    if (crossing.local()) {
      find({"local", to_rank, to_rank}, BoundaryEnd::sent);
      return;
    }
    const BoundaryRow* sent = find({"send", from_rank, to_rank}, BoundaryEnd::sent);
    const BoundaryRow* received = find({"receive", to_rank, from_rank}, BoundaryEnd::received);
    if (sent && received) compare(*received, *sent, to_rank, BoundaryEnd::received, in_bits());
  }

  const BoundaryRow* end(const Expectation& expected, BoundaryEnd side, const BoundaryRow& computed,
                         const BoundaryRow* sent) {
    const BoundaryRow* found = find(expected, side);
    if (!found) return nullptr;
    const bool gradient = direction_ == "backward";
    // Computed tensors may differ within limits, transferred ones may not.
    const bool carried = sent && !evidence_.values->exact();
    if ((!gradient || compare_gradients_) && !carried) {
      compare(*found, computed, expected.rank, side, *evidence_.values);
    } else if (sent) {
      compare(*found, *sent, expected.rank, side, in_bits());
    }
    return found;
  }

  /// The candidate's row of one end of a stage boundary; reports it if missing.
  const BoundaryRow* find(const Expectation& expected, BoundaryEnd side) {
    const BoundaryRow* found = nullptr;
    for (const auto& placed : now_->candidate_rows.boundaries(microbatch_, direction_, cut_)) {
      const BoundaryRow& row = *placed.row;
      const bool fits = row.side == expected.side && placed.rank == expected.rank && row.from_stage == from_stage_ &&
                        row.to_stage == to_stage_ && row.peer == expected.peer;
      if (!fits || found) continue;
      found = &row;
      seen_.insert(found);
    }
    if (!found && !may_lack(expected.side)) {
      report(side, expected.rank, "a row", "none", fmt::format("no {} row with peer {}", expected.side, expected.peer));
    }
    return found;
  }

  void compare(const BoundaryRow& row, const BoundaryRow& theirs, std::int64_t rank, BoundaryEnd side,
               ValueComparison& values) {
    builder_.compare("tensors");
    builder_.compare("elements", element_count(row.shape));
    builder_.compare("bytes", row.bytes);
    const std::string end = row.side == "receive" ? " as received" : row.side == "send" ? " as sent" : "";
    if (row.dtype != theirs.dtype)
      return report(side, rank, theirs.dtype, row.dtype, fmt::format("the dtype{} differs", end));
    if (row.shape != theirs.shape) {
      return report(side, rank, shape_text(theirs.shape), shape_text(row.shape),
                    fmt::format("the shape{} differs", end));
    }
    if (row.bytes != theirs.bytes) {
      return report(side, rank, std::to_string(theirs.bytes), std::to_string(row.bytes),
                    fmt::format("the number of bytes{} differs", end));
    }
    if (theirs.digest != zeros_.digest(theirs.dtype, theirs.shape)) builder_.compare("nonzero_tensors");
    if (const auto wrong = builder_.take(values.boundary(rank, theirs, row)))
      report(side, rank, wrong->expected, wrong->got, wrong->why + end + find_owner(row));
  }

  /// Finds where a wrong tensor would be right: another microbatch, or the previous step.
  std::string find_owner(const BoundaryRow& row) const {
    for (const auto& [rows, step] :
         {std::pair(&now_->reference_rows, row.step), std::pair(&now_->reference_rows_before, row.step - 1)}) {
      for (std::int64_t m = 0; step >= 0 && m < evidence_.microbatches(); ++m) {
        const auto* other = reference_boundary(*rows, m, row.direction, row.cut);
        if (other && other->digest == row.digest) return ": it is the tensor of " + step_words(step, m);
      }
    }
    return "";
  }

  void report(BoundaryEnd side, std::optional<std::int64_t> rank, const std::string& expected, const std::string& got,
              const std::string& why) {
    const auto stage_text = [](std::optional<std::int64_t> stage) {
      return stage ? std::to_string(*stage) : std::string("?");
    };
    const std::string stages =
        from_stage_ || to_stage_ ? fmt::format(", stage {} -> {}", stage_text(from_stage_), stage_text(to_stage_)) : "";
    const auto point = direction_ == "backward" ? at_backward(step_, microbatch_, number_, side)
                                                : at_forward(step_, microbatch_, number_, side);
    builder_.diverge(point, {.step = step_,
                             .microbatch = microbatch_,
                             .stage = side == BoundaryEnd::received ? to_stage_ : from_stage_,
                             .rank = rank,
                             .direction = direction_,
                             .item = cut_,
                             .what = fmt::format("{} boundary {}{}", direction_, cut_, stages),
                             .expected = expected,
                             .got = got,
                             .why = why});
  }

  const CellEvidence& evidence_;
  bool compare_gradients_;
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

namespace {

/// A reference has a tensor at every boundary of its units, also where this candidate has none.
void demand_every_cut(const StepEvidence& now, CheckResultBuilder& builder) {
  const CellEvidence& evidence = now.cell;
  if (evidence.reference.manifest.role != "reference") return;
  const auto& units = evidence.model.units;
  const auto report = [&](std::int64_t microbatch, const std::string& direction, const std::string& cut,
                          const std::string& expected, const std::string& got) {
    const std::int64_t step = now.step;
    const auto position = evidence.model.unit_position(cut).value_or(0);
    builder.diverge(direction == "backward" ? at_backward(step, microbatch, position, BoundaryEnd::sent)
                                            : at_forward(step, microbatch, position, BoundaryEnd::sent),
                    {.step = step,
                     .microbatch = microbatch,
                     .rank = 0,
                     .direction = direction,
                     .source = "reference",
                     .item = cut,
                     .what = fmt::format("{} boundary {}", direction, cut),
                     .expected = expected,
                     .got = got});
  };
  for (std::int64_t m = 0; m < evidence.microbatches(); ++m) {
    for (const std::string direction : {"forward", "backward"}) {
      for (std::size_t unit = 1; unit < units.size(); ++unit) {
        if (now.reference_rows.boundaries(m, direction, units[unit]).empty())
          report(m, direction, units[unit], "a tensor", "no row");
      }
    }
  }
  for (const auto& placed : now.reference_rows.all_boundaries()) {
    const BoundaryRow& row = *placed.row;
    if (evidence.model.unit_position(row.cut).value_or(0) == 0)
      report(row.microbatch, row.direction, row.cut, "no such boundary in this model", "a row");
  }
}

}  // namespace

const BoundaryRow* reference_boundary(const RecordIndex& reference_rows, std::int64_t microbatch,
                                      const std::string& direction, const std::string& cut) {
  const auto& rows = reference_rows.boundaries(microbatch, direction, cut);
  for (const auto& placed : rows) {
    if (placed.row->side == "computed") return placed.row;
  }
  return rows.empty() ? nullptr : rows.front().row;
}

BoundaryComparison::BoundaryComparison(const CellEvidence& evidence, bool compare_gradients,
                                       CheckResultBuilder& builder)
    : rows_(std::make_unique<Rows>(evidence, compare_gradients, builder)), builder_(builder) {}
BoundaryComparison::~BoundaryComparison() = default;

void BoundaryComparison::step(const StepEvidence& now) {
  rows_->all_of(now);
  demand_every_cut(now, builder_);
}

bool BoundaryComparison::candidate_records_its_cuts() const {
  return rows_->records_its_cuts();
}

}  // namespace plumbline::judging
