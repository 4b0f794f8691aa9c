// SPDX-License-Identifier: BSD-3-Clause
// The arguments of the Python recorder that may explain a difference: what a finding adds if that recorder wrote the
// record.
#pragma once

#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

enum class Advice { names, units, tied, batch, crossing, other_norm, own_norm, one_leaf, order };

/// Begins with "; ". Empty for records of our own trainers.
std::string advice(const Manifest& manifest, Advice of);

}  // namespace plumbline::judging
