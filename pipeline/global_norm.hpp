// What ranks agree on at a step's end: the norm of all gradients, and that tied copies are still the same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "model/llama_slice.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// Rank 0 gets every rank's norms, adds them in canonical order and sends the total back: the same bits on every rank,
/// whatever their number.
double global_norm(Transport& transport, const LlamaConfig& config, const std::vector<Parameter>& parameters);

/// Throws RunError on rank 0 when the two copies of a tied weight differ.
void compare_tied_copies(Transport& transport, std::int64_t step, const std::vector<Parameter>& parameters);

}  // namespace plumbline
