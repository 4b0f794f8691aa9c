// What the columns of memory.csv imply of one another.
#pragma once

#include <string>

#include "harness/judge/judgement.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Of every rank and step: the peak is no less than the model state, than that state's parameters and gradients with
/// the activations at their peak, and than what is alive at the step's end; what is alive then is no less than the
/// model state; a reference has no transport buffers. Empty cells of an external record
/// imply nothing.
void compare_memory_bounds(const Record& record, const std::string& whose, Judgement& judgement);

}  // namespace plumbline::judging
