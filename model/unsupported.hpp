// SPDX-License-Identifier: BSD-3-Clause
// What a config.json may ask for that this Llama does not do.
#pragma once

#include "model/config_reader.hpp"

namespace plumbline {

/// Throws InputError naming the first key whose value would make another model than the one computed here: another
/// family or activation, dropout, quantised weights, windows and caps on attention, experts, partial or interleaved
/// rotation, scales; and the first key that is not known, since what it changes is not known either.
void refuse_unsupported(const ConfigReader& config);

}  // namespace plumbline
