// SPDX-License-Identifier: BSD-3-Clause
// Refuses config.json values that this Llama does not implement.
#pragma once

#include "model/config_reader.hpp"

namespace plumbline {

/// Throws InputError naming the first key whose value selects a model that is not implemented: another family or
/// activation, dropout, quantised weights, sliding windows and logit caps, experts, partial or interleaved rotation,
/// scales; or the first unknown key.
void refuse_unsupported(const ConfigReader& config);

}  // namespace plumbline
