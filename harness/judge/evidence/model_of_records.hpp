// SPDX-License-Identifier: BSD-3-Clause
// The model that two records are of: a Llama by its config, or one of which only the reference can tell.
#pragma once

#include "harness/judge/expected/expected_model.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// A Llama with Hugging Face's names wherever a record of our own stands as reference, and where an external one says
/// so in config, units and names. Else the reference's own units and the parameters that it lists at its start, in its
/// order: a parameter belongs to the unit whose name begins its own ("conv1" of "conv1.weight"), where there is none
/// to the stage of the candidate that lists it. Reads that start of both records for itself.
ExpectedModel model_of_records(const Record& reference, const Record& candidate);

}  // namespace plumbline::judging
