// SPDX-License-Identifier: BSD-3-Clause
// Bytes that follow from shapes and dtype alone: model state of a stage, and what a unit keeps for backward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/expected/expected_model.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
  friend bool operator==(const StateBytes&, const StateBytes&) = default;
};

/// Model state of one stage with these units. A tied weight with both uses on one stage is one parameter with one
/// optimiser state, but two gradient accumulators (docs/exactness.md, 5). AdamW: two moments and a 4-byte step count
/// per parameter; SGD: a momentum buffer unless the momentum is 0. In mixed precision all of this is float32, and each
/// parameter has a bfloat16 copy. Nothing for an optimiser that the record format does not name. Frozen parameters have
/// only their value.
std::optional<StateBytes> state_bytes(const ExpectedModel& model, const std::vector<std::string>& units,
                                      const Manifest& manifest);

/// What the second copy of a tied weight adds to the sum over all ranks if its uses are on two stages: V H s to the
/// parameters, nothing to the gradients, 2 V H s + 4 (AdamW) or V H s (momentum) to the optimiser; s = bytes of the
/// dtype.
std::optional<StateBytes> tied_copy_bytes(const ExpectedModel& model, const Manifest& manifest);

/// The range of bytes that correct trainers may keep; a single number for records of our own trainers.
struct StateRange {
  StateBytes least, most;
  bool optimizer_known = true;  ///< false: the record format does not define this optimiser's state

  StateRange& operator+=(const StateRange& other);
};

/// Model state of one stage, as state_bytes. For external records the range covers implementation choices: a tied
/// weight with both uses on the stage kept once or twice, with one gradient or two, and up to 8 bytes per parameter for
/// the optimiser's step count (torch.optim keeps 4, if it keeps it in a tensor at all).
StateRange state_range(const ExpectedModel& model, const std::vector<std::string>& units, const Manifest& manifest);

/// The sum over the ranks minus that of one device: the second copy of a tied weight if its uses are `apart`, on two
/// stages; a range if one of the records is external.
StateRange beyond_one_device(const ExpectedModel& model, bool apart, const Manifest& reference,
                             const Manifest& candidate);

/// The attention kernel, the only choice that changes the saved bytes of a layer beyond shapes.
enum class AttentionKernel {
  cpu_flash,
  gpu_flash,
  math,  ///< matrix products and softmax, on any device
  unknown,
};
/// From `device` and `environment.attention`; on a CPU flash unless it names math.
AttentionKernel attention_kernel(const Manifest& manifest);

/// True if attention is recomputed in the backward pass, so that its kernel does not matter.
bool recomputes_attention(const std::string& recompute);

/// The reason why a layer of this model has no closed form with this kernel; empty if it has one.
std::string why_no_layer_form(const ExpectedModel& model, AttentionKernel kernel);

struct MicrobatchShape {
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
};

/// Closed form of saved_bytes for B rows of S positions, N = B S tokens, with V vocabulary, H hidden, A = heads x head
/// size, K = kv heads x head size, I intermediate, h heads, s bytes of the dtype, w bytes of what norms, softmax and
/// loss are computed in (4 for the 2-byte dtypes, else s). embedding 0; norm N(wH + w + sH): its input and 1/rms in w,
/// the normed input in s; layer 2N(wH + w + sH) + sN(2H + 2A + 2K + 4I) + wNh: both norms, whose outputs feed the
/// linear layers (2H), attention's q and output (2A), k, v (2K) and row sums (h), the MLP's gate, silu, up and product
/// (4I). Of its halves attention keeps N(wH + w + sH) + sN(H + 2A + 2K) + wNh, the MLP the rest; what is recomputed
/// keeps its input, sNH. lm_head with loss sNH + wNV + w. In float32 that is 4N(6H + 2A + 2K + 4I + h + 2), 4N(2H + 1),
/// 4N(V + H) + 4. Biases are saved nowhere. This holds for flash attention on a CPU. With two other kernels the part of
/// attention differs:
///
/// * math: the scaled query, the scaled key and the value as its products take them, each with all h heads, and the
///   output put back into rows (4A), and the softmax (s B h S^2), in place of 2A + 2K and the row sums. Source:
///   LibTorch's `_scaled_dot_product_attention_math`, which is the same code on every device; measured on a CPU
///   (tests/model/saved_memory_test.cpp).
/// * flash on a GPU: as on a CPU, and 24 bytes for the state of the dropout's generator (`rng_state`, two numbers of 8
///   bytes, and `unused`, one), made and saved also without dropout. Source: `mha_fwd` in LibTorch's flash_api.cpp and
///   what ScaledDotProductFlashAttentionBackward0 saves; not measured yet. A head size that is no multiple of 8 is
///   padded there, and has no closed form here.
///
/// nullopt for an unknown unit, and for attention with a reason in why_no_layer_form.
std::optional<std::int64_t> saved_bytes(const ExpectedModel& model, const std::string& unit,
                                        const MicrobatchShape& shape, const std::string& dtype, AttentionKernel kernel,
                                        const std::string& recompute = "none");

}  // namespace plumbline::judging
