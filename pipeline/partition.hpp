// SPDX-License-Identifier: BSD-3-Clause
// Assigns the model's units to pipeline stages: contiguous ranges, embed_tokens on the first stage, norm and lm_head on
// the last.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/unit.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// The units of each of `stages` stages, in unit_names() order; every unit is on exactly one stage. A stage in the
/// middle may be empty (`first == end`); it forwards its input.
/// * `uniform`: layers spread evenly, extra layers on the earliest stages; with more stages than layers, one layer each
/// on stages 1, 2, ...
/// * `cost`: minimizes the FLOPs of the most expensive stage (the functions below; an embedding lookup costs 0) over
/// the numbers of layers on the head's stage, the most of them among equals; the other stages share the rest as in
/// `uniform`.
/// * `balance`: the given number of layers per stage; 0 is allowed anywhere.
/// `row_lengths`: padded length of every row of one step, in tokens; only `cost` uses it. Throws InputError for no
/// stage, an unknown partition, or a balance whose length or sum is wrong.
std::vector<UnitRange> partition(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                                 const std::vector<std::int64_t>& row_lengths);

}  // namespace plumbline
