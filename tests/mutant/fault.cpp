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
        {"P1", "a layer is dropped between two stages (rank >= 1: the first layer of its stage)"},
        {"P2", "two stages hold the same layer (rank >= 1: the last layer of the stage before)"},
        {"P5", "layers start with the values of layers numbered from the rank's own first one (rank >= 1)"},
        {"P4", "the rank builds the whole model and owns all its parameters"},
        {"C1", "a receive takes its shape from the last send to the same peer"},
        {"C2", "every receive of an edge is as large as the first one"},
        {"C5", "an activation is used before all of it has arrived"},
        {"C7", "the data of two microbatches is swapped (the named one and the next)"},
        {"C12", "the boundary gradient of the previous microbatch is used, if it has the same shape"},
        {"C13", "a receive assumes another dtype"},
        {"C8", "a boundary gradient is zeroed where it is used"},
        {"C9", "an activation is narrowed to bfloat16 on the wire"},
        {"C10", "an activation lacks its last token, and the header agrees"},
        {"C10z", "the last token of an activation is zeroed, with the same shape"},
        {"C11", "two microbatches are swapped on an edge, header and payload"},
        {"C11h", "two microbatches' payloads are swapped, headers as expected"},
        {"G1", "gradients are summed over microbatches and not scaled; the reported loss is right"},
        {"G2", "the sum of gradients is scaled again with each microbatch"},
        {"G3", "the loss is differentiated before it is divided by the step's tokens"},
        {"G4", "the loss is the mean of the microbatches' means"},
        {"G5", "gradients are zeroed when the length changes"},
        {"G7", "the norm covers only rank 0's own stage"},
        {"G8", "a tied weight counts twice in the norm"},
        {"G9", "gradients are scaled at every stage"},
        {"G10", "only the last microbatch's gradients are used"},
        {"G11", "W of a microbatch is added twice (split backward passes)"},
        {"M4", "a stage's output is normalized as after the last layer"},
        {"O1", "the update is skipped in the step"},
        {"O2", "the learning rate advances with every microbatch"},
        {"O4", "the rank has another seed"},
        {"T2", "the head's copy of a tied weight has its own weight decay"},
        {"H3", "one bit of an activation is flipped"},
        {"H3b", "one bit of a boundary gradient is flipped"},
        {"G6", "gradients are not zeroed from the step on"},
        {"T1", "the head's gradient is not added into the tied weight"},
        {"T3", "the update leaves out lm_head"},
        {"NaN", "one NaN in a stage's output"},
        {"U2", "one element of an activation is one ULP off"},
        {"U2b", "one element of a boundary gradient is one ULP off"},
        {"U3", "one element of an accumulated parameter gradient is one ULP off (rank >= 1, whole backward passes)"},
        {"U5", "one element of a parameter is one ULP off after the update"},
        {"U6", "one element of the first moment of the rank's copy of a tied weight is one ULP off after the update"},
        {"H1", "stage inputs are kept until the step ends (only those of the microbatch if named)"},
        {"K-parameters", "a tensor of 64 MiB is kept from within the step on, as parameters; likewise for each owner:"},
        {"K-gradients", ""},
        {"K-optimizer", ""},
        {"K-activations", ""},
        {"R-steps", "resumed run: the optimizer's step count is lost"},
        {"R-moments", "resumed run: the optimizer's moments are lost"},
        {"R-data", "resumed run: its place in the data is lost"},
        {"R-rate", "resumed run: the learning rate starts again"},
        {"R-tied", "resumed run: the head's copy of a tied weight is not loaded"},
        {"R-layers", "resumed run: layers are loaded by their number within the rank (rank >= 1)"},
        {"E-gradients", "an evaluation leaves gradients behind, to which the next step adds"},
        {"E-data", "an evaluation moves the place in the training data"},
        {"E-loss", "an evaluation reports the second microbatch's loss for the first"},
        {"A1", "layers are saved instead of recomputed"},
        {"A2", "layers are recomputed from another input"},
        {"X1", "mixed precision: microbatches' gradients are summed in bfloat16"},
        {"X2", "mixed precision: copies are not updated in the step"},
        {"X3", "mixed precision: masters are rounded to the values of their copies"},
        {"D1", "the sum over replicas leaves out the gradients of one replica (rank=R)"},
        {"D2", "the gradients of a replica are added twice"},
        {"D3", "the mean over replicas replaces the sum"},
        {"D4", "a replica's gradients are summed before its last backward pass, which adds only to its own"},
        {"D5", "a replica keeps its own gradients instead of the sum"},
        {"D6", "all replicas get the first one's microbatches"},
        {"H5", "two actions run in the wrong order"},
        {"H5s", "another schedule runs than requested"},
        {"N3", "equivalent change: slow links, jitter, a late start"},
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

/// The first backward action and the next forward action run in the wrong order.
void swap_two_actions(ActionList& list) {
  const auto backward = std::ranges::find(list, ActionType::backward, &Action::type);
  const auto forward =
      std::find_if(backward, list.end(), [](const Action& a) { return a.type == ActionType::forward; });
  if (forward != list.end()) std::swap(*backward, *forward);
}

/// All forwards first, whatever schedule was requested.
void put_forwards_first(ActionList& list) {
  std::stable_partition(list.begin(), list.end(), [](const Action& action) {
    return action.type == ActionType::forward || direction_of(action.type) == Direction::forward;
  });
}

}  // namespace

void change_plan(const Fault& fault, PipelinePlan& plan) {
  const auto rank = static_cast<std::size_t>(fault.rank);
  // a partition covers the whole pipeline, so every rank must use the same wrong one
  if (fault.id == "P1") ++plan.stages.at(rank).first;
  if (fault.id == "P2") --plan.stages.at(rank).first;
  if (fault.id == "H5") swap_two_actions(plan.lowered.ranks.at(rank));
  if (fault.id == "H5s") std::ranges::for_each(plan.lowered.ranks, put_forwards_first);
}

std::unique_ptr<Seams> make_seams(const Fault& fault, int rank) {
  if (fault.id == "P1") return std::make_unique<NormsOfDroppedLayer>();
  if (fault.id.starts_with("H5")) return std::make_unique<Seams>();
  if (fault.id.starts_with("D")) return make_replica_fault(fault);
  // All ranks lose it, or the rank that has what is lost.
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
