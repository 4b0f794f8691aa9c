// SPDX-License-Identifier: BSD-3-Clause
// Signatures of boundary tensors that differ from the reference's.
#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/predicates/number_format.hpp"
#include "harness/sweep/fault_signatures/fault_signatures.hpp"
#include "harness/sweep/fault_signatures/relation.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// One microbatch at the stage boundary.
struct Crossing {
  const DumpedTensor* expected = nullptr;  ///< the reference's
  const DumpedTensor* sent = nullptr;
  const DumpedTensor* received = nullptr;  ///< or passed within a rank

  bool sent_right() const { return sent != nullptr && sent->equals(*expected); }
  /// The first one that differs from the reference's; null if none does.
  const DumpedTensor* wrong() const {
    if (sent != nullptr && !sent->equals(*expected)) return sent;
    if (received != nullptr && !received->equals(*expected)) return received;
    return nullptr;
  }
};

using Crossings = std::map<std::int64_t, Crossing>;

Crossings boundary_tensors_at(const DumpedRuns& runs, const std::string& direction, const std::string& cut) {
  Crossings found;
  for (const auto& [key, tensor] : runs.reference.tensors()) {
    const auto place = parse_crossing_key(key);
    if (place && place->direction == direction && place->cut == cut) found[place->microbatch].expected = &tensor;
  }
  for (const auto& [key, tensor] : runs.candidate.tensors()) {
    const auto place = parse_crossing_key(key);
    if (!place || place->direction != direction || place->cut != cut || !found.contains(place->microbatch)) continue;
    (place->side == "send" ? found[place->microbatch].sent : found[place->microbatch].received) = &tensor;
  }
  std::erase_if(found, [](const auto& each) { return each.second.expected == nullptr; });
  return found;
}

/// The differing microbatches, which are inspected in turn.
struct Wrong {
  std::string what;  ///< "the gradient at boundary layers.3"
  const Crossings& all;
  std::vector<std::int64_t> microbatches;
  const StepFacts& facts;

  const Crossing& at(std::int64_t microbatch) const { return all.at(microbatch); }
  std::string of() const {
    return (microbatches.size() == 1 ? "microbatch " : "microbatches ") + join(microbatches, ", ");
  }
};

std::optional<FaultSignature> another_microbatch(const Wrong& wrong) {
  std::map<std::int64_t, std::int64_t> taken;  // microbatch -> whose
  for (const auto microbatch : wrong.microbatches) {
    const DumpedTensor& got = *wrong.at(microbatch).wrong();
    const Relation own = relation_of(got.entry, got.entry);
    if (own.zero) return std::nullopt;  // so is that of any masked microbatch
    for (const auto& [other, crossing] : wrong.all) {
      if (other != microbatch && got.equals(*crossing.expected)) taken.emplace(microbatch, other);
    }
  }
  if (taken.empty() || taken.size() != wrong.microbatches.size()) return std::nullopt;
  std::vector<std::string> pairs;
  for (const auto& [microbatch, other] : taken)
    pairs.push_back(std::to_string(microbatch) + " has the tensor of " + std::to_string(other));
  return FaultSignature{"another_microbatch", wrong.what + " of " + wrong.of() + " is another microbatch's",
                        "equal in every bit: microbatch " + join(pairs, ", "),
                        "messages were matched in the wrong order, or a buffer was reused too early"};
}

std::optional<FaultSignature> dropped(const Wrong& wrong) {
  for (const auto microbatch : wrong.microbatches) {
    const Relation relation = relation_of(wrong.at(microbatch).expected->entry, wrong.at(microbatch).wrong()->entry);
    if (!relation.comparable || !relation.zero || relation.reference_zero) return std::nullopt;
  }
  return FaultSignature{
      "zero", wrong.what + " of " + wrong.of() + " is all zero, the reference's is not",
      std::to_string(wrong.microbatches.size()) + " of " + std::to_string(wrong.all.size()) + " microbatches",
      "a gradient was dropped or the graph detached at or after this boundary"};
}

std::optional<FaultSignature> not_a_number(const Wrong& wrong) {
  std::int64_t elements = 0;
  for (const auto microbatch : wrong.microbatches)
    elements += relation_of(wrong.at(microbatch).expected->entry, wrong.at(microbatch).wrong()->entry).not_finite;
  if (elements == 0) return std::nullopt;
  return FaultSignature{"not_finite", wrong.what + " holds NaN or infinity where the reference's is finite",
                        quantity(elements, "element"), "an overflow, or memory that was never written"};
}

/// The sent tensor is correct and the received one is not: it changed in transfer.
std::vector<FaultSignature> on_the_way(const Wrong& wrong) {
  bool narrow = true;
  std::int64_t differing = 0, elements = 0;
  for (const auto microbatch : wrong.microbatches) {
    const Crossing& crossing = wrong.at(microbatch);
    if (!crossing.sent_right() || crossing.received == nullptr) return {};
    const auto sent = numbers_of(crossing.sent->entry), received = numbers_of(crossing.received->entry);
    const Relation relation = relation_of(crossing.sent->entry, crossing.received->entry);
    differing += relation.differing;
    elements += relation.elements;
    if (!relation.comparable) return {};
    const bool single = crossing.sent->entry.dtype == "float32";
    for (std::size_t i = 0; i < sent.size(); ++i)
      narrow = narrow && single && received[i] == predicates::rounded(predicates::Storage::bfloat16, sent[i]);
  }
  const std::string evidence = "what was sent equals the reference in every bit; " + std::to_string(differing) +
                               " of " + std::to_string(elements) + " received elements differ";
  if (narrow)
    return {{"narrowed_on_the_wire", wrong.what + " arrived rounded to bfloat16", evidence,
             "the transport narrows float32 to 2 bytes"}};
  return {{"changed_on_the_wire", wrong.what + " was sent correctly and arrived different", evidence,
           "a buffer reused before the transfer ended, or a fault of the transport"}};
}

std::vector<FaultSignature> scaled(const Wrong& wrong) {
  std::optional<double> ratio;
  double worst = 0, tolerance = 0;
  for (const auto microbatch : wrong.microbatches) {
    const Crossing& crossing = wrong.at(microbatch);
    const Relation relation = relation_of(crossing.expected->entry, crossing.wrong()->entry);
    tolerance = relation_tolerance(crossing.expected->entry.dtype);
    if (!relation.comparable || relation.reference_zero) return {};
    if (!ratio) ratio = relation.ratio;
    if (!relation.is_multiple(*ratio, tolerance)) return {};
    worst = std::max(worst, relation.residual);
  }
  if (!ratio || *ratio == 0 || std::fabs(*ratio - 1) <= 10 * tolerance) return {};
  std::vector<FaultSignature> found;
  for (const FactorCause& cause : causes_of_factor(*ratio, 10 * tolerance, wrong.facts)) {
    found.push_back({cause.name, wrong.what + " is " + factor_text(*ratio) + " x the reference's; " + cause.meaning,
                     "ratio " + factor_text(*ratio) + " in all " + std::to_string(wrong.microbatches.size()) +
                         " microbatches that differ, largest residual " + factor_text(worst),
                     cause.suggests});
  }
  return found;
}

}  // namespace

std::vector<FaultSignature> boundary_signatures(const DumpedRuns& runs, const Finding& first) {
  if (first.direction.empty() || first.item.empty()) return {};
  const Crossings all = boundary_tensors_at(runs, first.direction, first.item);
  Wrong wrong{
      "the " + std::string(first.direction == "forward" ? "activation" : "gradient") + " at boundary " + first.item,
      all,
      {},
      runs.facts};
  for (const auto& [microbatch, crossing] : all) {
    if (crossing.wrong() != nullptr) wrong.microbatches.push_back(microbatch);
  }
  if (wrong.microbatches.empty()) return {};
  std::vector<FaultSignature> found;
  const auto take = [&](const std::optional<FaultSignature>& each) {
    if (each) found.push_back(*each);
  };
  take(another_microbatch(wrong));
  take(dropped(wrong));
  take(not_a_number(wrong));
  if (found.empty() || found.front().name == "not_finite") {
    for (const FaultSignature& each : on_the_way(wrong)) found.push_back(each);
  }
  for (const FaultSignature& each : scaled(wrong)) found.push_back(each);
  const Crossing& earliest =
      wrong.at(first.microbatch && all.contains(*first.microbatch) && wrong.all.at(*first.microbatch).wrong() != nullptr
                   ? *first.microbatch
                   : wrong.microbatches.front());
  const SafetensorsEntry &expected = earliest.expected->entry, &got = earliest.wrong()->entry;
  take(few_elements(wrong.what, expected, got));
  if (found.empty()) take(rounding(wrong.what, relation_of(expected, got), relation_tolerance(expected.dtype)));
  return found;
}

}  // namespace plumbline
