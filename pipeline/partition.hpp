// SPDX-License-Identifier: BSD-3-Clause
// Which units of the model each pipeline stage holds: a contiguous cut, embed_tokens on the first stage, norm and
// lm_head on the last.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.hpp"
#include "model/unit.hpp"
#include "training/batch_plan.hpp"
#include "training/run_file.hpp"

namespace plumbline {

/// The units of each of `stages` stages, in unit_names() order; together all units once. A stage in between may be
/// empty (`first == end`: where its units would stand); it relays.
/// * `uniform`: layers spread evenly, extra ones to the earliest stages; with more stages than layers, one layer each
/// on stages 1, 2, ...
/// * `cost`: the cut whose largest stage has the fewest FLOPs (`layer_flops`, `head_flops`; a lookup costs none). Of
/// several such cuts the one
///   with most layers beside the head; the other stages share the rest as `uniform` does.
/// * `balance`: the given layers a stage, zeros anywhere.
/// `row_lengths`: padded length of every row of one step, in tokens; `cost` alone looks at them.
/// Throws InputError: no stage, an unknown partition, a balance that has not one number a stage or does not add up to
/// the layers.
std::vector<UnitRange> partition(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                                 const std::vector<std::int64_t>& row_lengths);
/// The same, with the rows of the batch plan.
std::vector<UnitRange> partition(const LlamaConfig& config, const PipelineSettings& settings, std::int32_t stages,
                                 const BatchPlan& plan);

/// Forward FLOPs of one decoder layer over all rows: 2 a weight and token in the seven projections, and 2 S^2 (heads x
/// head size) a row of S tokens for the two products of causal attention (half of the square is masked). Backward is
/// twice that everywhere, so it changes no cut.
double layer_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths);
/// Forward FLOPs of norm, lm_head and loss over all rows: 2 H V a token, 4 H for the norm, 5 V for the softmax of the
/// logits.
double head_flops(const LlamaConfig& config, const std::vector<std::int64_t>& row_lengths);

}  // namespace plumbline
