// What a config.json may ask for that this Llama does not do.
#pragma once

#include "model/config_reader.hpp"

namespace plumbline {

/// Throws InputError naming the first key whose value would make another model than the one computed here: another
/// architecture or activation, dropout, quantised weights, windows and caps on attention, experts, partial or
/// interleaved rotation.
void refuse_unsupported(const ConfigReader& config);

}  // namespace plumbline
