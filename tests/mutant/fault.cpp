// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/fault.hpp"

#include <algorithm>
#include <array>

#include "schedule/direction.hpp"
#include "schedule/message.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/mutant/disturbance.hpp"
#include "tests/mutant/faults.hpp"
#include "tests/mutant/faulty_evaluation.hpp"
#include "tests/mutant/faulty_resume.hpp"
#include "tests/mutant/gradient_faults.hpp"
#include "tests/mutant/replica_faults.hpp"
#include "tests/mutant/state_faults.hpp"

namespace plumbline::mutant {

const std::vector<KnownFault>& known_faults() {
  static const std::vector<KnownFault> faults = [] {
    std::vector<KnownFault> all = {
        {"P1", "a layer dropped between two stages (rank >= 1: the first layer of its stage)"},
        {"P2", "a layer that two stages hold (rank >= 1: the last layer of the stage before)"},
        {"P5", "layers that begin with the values of those counted from the rank's own first one (rank >= 1)"},
        {"P4", "the whole model built on the rank, its parameters owned as such"},
        {"C1", "the shape of a receive taken from the send that crosses it"},
        {"C2", "a receive sized by the first one of its edge"},
        {"C5", "an activation used before all of it has come"},
        {"C7", "data of two microbatches in each other's place (the one named and the next)"},
        {"C12", "the boundary gradient of the microbatch before, where the two are of one shape"},
        {"C13", "the dtype of a receive taken for another"},
        {"C8", "a boundary gradient dropped where it is used"},
        {"C9", "an activation narrowed to bfloat16 on the wire"},
        {"C10", "an activation without its last token, header in accord"},
        {"C10z", "an activation whose last token is zeroed, shape kept"},
        {"C11", "two microbatches swapped on an edge, header and payload"},
        {"C11h", "two microbatches' payloads swapped, headers as expected"},
        {"G1", "gradients summed over microbatches, not scaled; the loss reported right"},
        {"G2", "what was added is scaled again with each microbatch"},
        {"G3", "the loss differentiated before it was divided by the step's tokens"},
        {"G4", "the mean of the microbatches' means"},
        {"G5", "gradients wiped when the length changes"},
        {"G7", "the norm of rank 0's own stage"},
        {"G8", "a tied weight counted twice in the norm"},
        {"G9", "gradients scaled at every stage"},
        {"G10", "the last microbatch's gradients alone"},
        {"G11", "W of a microbatch added twice (split backward passes)"},
        {"M4", "what a stage hands on normalized as behind the last layer"},
        {"O1", "the update skipped in the step"},
        {"O2", "the learning rate stepped with every microbatch"},
        {"O4", "another seed on the rank"},
        {"T2", "the head's copy of a tied weight decayed by itself"},
        {"H3", "one bit of an activation flipped"},
        {"H3b", "one bit of a boundary gradient flipped"},
        {"G6", "gradients not zeroed from the step on"},
        {"T1", "the head's gradient not added into the tied weight"},
        {"T3", "lm_head left out of the update"},
        {"NaN", "one NaN in what a stage makes"},
        {"U2", "one element of an activation one ULP off"},
        {"U2b", "one element of a boundary gradient one ULP off"},
        {"U3", "one element of an accumulated parameter gradient one ULP off (rank >= 1, whole backward passes)"},
        {"U5", "one element of a parameter one ULP off after the update"},
        {"U6", "one element of the first moment of the rank's copy of a tied weight one ULP off after the update"},
        {"H1", "stage inputs kept until the step ends (of one microbatch when named)"},
        {"K-parameters", "64 MiB of tensor kept from within the step on, as parameters; and so for each owner:"},
        {"K-gradients", ""},
        {"K-optimizer", ""},
        {"K-activations", ""},
        {"R-steps", "of a run that is gone on with: the optimizer's count of steps lost"},
        {"R-moments", "of a run that is gone on with: the optimizer's moments lost"},
        {"R-data", "of a run that is gone on with: its place in the data lost"},
        {"R-rate", "of a run that is gone on with: the learning rate begins anew"},
        {"R-tied", "of a run that is gone on with: the head's copy of a tied weight not loaded"},
        {"R-layers", "of a run that is gone on with: layers loaded by their number within the rank (rank >= 1)"},
        {"E-gradients", "an evaluation leaves gradients behind, to which the next step adds"},
        {"E-data", "an evaluation moves the place in the data that are trained on"},
        {"E-loss", "of an evaluation's first microbatch the second one's loss reported"},
        {"A1", "layers kept that were to be computed again"},
        {"A2", "layers computed again from another input"},
        {"X1", "mixed precision: microbatches' gradients summed in bfloat16"},
        {"X2", "mixed precision: copies not made anew in the step"},
        {"X3", "mixed precision: masters rounded to what their copies hold"},
        {"D1", "the gradients of a replica (rank=R) left out of the sum over replicas"},
        {"D2", "those of a replica added twice"},
        {"D3", "their mean in place of the sum"},
        {"D4", "a replica's gradients summed before its last backward pass, which adds to its own alone"},
        {"D5", "a replica that keeps its own gradients in place of the sum"},
        {"D6", "all replicas fed the first one's microbatches"},
        {"H5", "two actions run in the other order"},
        {"H5s", "another schedule run than was asked for"},
        {"N3", "harmless: slow links, jitter, a late start"},
    };
    all.insert(all.end(), disturbances().begin(), disturbances().end());
    return all;
  }();
  return faults;
}

Fault parse_fault(const std::string& text) {
  Fault fault;
  const auto at = text.find('@');
  fault.id = text.substr(0, at);
  std::vector<std::string> ids;
  for (const KnownFault& known : known_faults()) ids.emplace_back(known.id);
  if (std::ranges::find(ids, fault.id) == ids.end()) {
    throw InputError("--fault " + text + ": no fault \"" + fault.id + "\"; there are " + join(ids, ", "));
  }
  for (std::size_t begin = at; begin != std::string::npos && begin < text.size();) {
    const auto end = text.find(',', begin + 1);
    const std::string part = text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
    const auto equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const auto value = equals == std::string::npos ? std::nullopt : parse_integer(part.substr(equals + 1));
    if (!value || (key != "rank" && key != "microbatch" && key != "step")) {
      throw InputError("--fault " + text + ": \"" + part + "\" is not rank=R, microbatch=M or step=K");
    }
    if (key == "rank") fault.rank = *value;
    if (key == "microbatch") fault.microbatch = *value;
    if (key == "step") fault.step = *value;
    begin = end;
  }
  return fault;
}

namespace {

constexpr std::pair<const char*, MemoryOwner> owners[] = {
    {"parameters", MemoryOwner::parameters},
    {"gradients", MemoryOwner::gradients},
    {"optimizer", MemoryOwner::optimizer},
    {"activations", MemoryOwner::activations},
};

/// The first backward action and the forward action after it run in the other order.
void swap_two_actions(ActionList& list) {
  const auto backward = std::ranges::find(list, ActionType::backward, &Action::type);
  const auto forward =
      std::find_if(backward, list.end(), [](const Action& a) { return a.type == ActionType::forward; });
  if (forward != list.end()) std::swap(*backward, *forward);
}

/// All forwards first, whatever was asked for.
void put_forwards_first(ActionList& list) {
  std::stable_partition(list.begin(), list.end(), [](const Action& action) {
    return action.type == ActionType::forward || direction_of(action.type) == Direction::forward;
  });
}

}  // namespace

void change_plan(const Fault& fault, PipelinePlan& plan) {
  const auto rank = static_cast<std::size_t>(fault.rank);
  // a partition is the whole pipeline's: every rank must believe in the same wrong one
  if (fault.id == "P1") ++plan.stages.at(rank).first;
  if (fault.id == "P2") --plan.stages.at(rank).first;
  if (fault.id == "H5") swap_two_actions(plan.lowered.ranks.at(rank));
  if (fault.id == "H5s") std::ranges::for_each(plan.lowered.ranks, put_forwards_first);
}

std::unique_ptr<Seams> make_seams(const Fault& fault, int rank) {
  if (fault.id == "P1") return std::make_unique<NormsOfDroppedLayer>();
  if (fault.id.starts_with("H5")) return std::make_unique<Seams>();
  if (fault.id.starts_with("D")) return make_replica_fault(fault);
  // All ranks lose it, or whoever holds what is lost.
  if (fault.id.starts_with("R-")) return make_faulty_resume(fault);
  if (fault.id == "E-data" || fault.id == "E-loss") return make_faulty_evaluation(fault);
  constexpr std::array of_all_ranks = {"G6", "T1", "N3", "P2", "G9"};
  if (rank != fault.rank && std::ranges::find(of_all_ranks, fault.id) == of_all_ranks.end()) {
    return std::make_unique<Seams>();
  }
  if (is_gradient_fault(fault.id)) return make_gradient_fault(fault);
  if (is_state_fault(fault.id)) return make_state_fault(fault);
  if (fault.id.starts_with("H4-")) return make_disturbance(fault);
  if (fault.id == "P4") return std::make_unique<WholeModel>();
  for (const auto& [name, owner] : owners)
    if (fault.id == "K-" + std::string(name)) return std::make_unique<ExtraTensor>(fault, owner);
  if (fault.id == "C8") return std::make_unique<DroppedGradient>(fault);
  if (fault.id == "G1") return std::make_unique<UnscaledLoss>();
  if (fault.id == "G6") return std::make_unique<GradientsNotZeroed>(fault);
  if (fault.id == "T1") return std::make_unique<TiedNotReduced>();
  if (fault.id == "T3") return std::make_unique<FrozenHead>();
  if (fault.id == "NaN") return std::make_unique<OneNan>(fault);
  if (fault.id.starts_with("U")) return std::make_unique<OneUlp>(fault);
  if (fault.id == "E-gradients") return make_faulty_evaluation(fault);
  if (fault.id == "A1") return std::make_unique<NotRecomputed>();
  if (fault.id == "A2") return std::make_unique<RecomputedFromAnotherInput>();
  if (fault.id.starts_with("X")) return std::make_unique<MixedFault>(fault);
  if (fault.id == "H1") return std::make_unique<KeptInputs>(fault);
  return std::make_unique<FaultyWire>(fault, rank);
}

}  // namespace plumbline::mutant
