// SPDX-License-Identifier: BSD-3-Clause
// The model of two records: a Llama by its config, or another model defined by the reference.
#pragma once

#include "harness/judge/expected/expected_model.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// A Llama with Hugging Face's names if the reference is a record of our own trainers, or an external one with such
/// config, units and names. Otherwise the reference's units and the parameters of its start, in its order: a parameter
/// belongs to the unit whose name is a prefix ("conv1" of "conv1.weight"), or else to the stage of the candidate that
/// lists it. Reads the start of both records itself.
ExpectedModel model_of_records(const Record& reference, const Record& candidate);

}  // namespace plumbline::judging
