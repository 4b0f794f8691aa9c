// SPDX-License-Identifier: BSD-3-Clause
// The bytes each unit saves for its backward pass: nothing twice, and never its own output.
#include <ATen/Context.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "model/llama_slice.hpp"
#include "model/saved_bytes.hpp"
#include "model/unit.hpp"
#include "tests/model/counting_allocator.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::forward;
using testing::live_tensor_bytes;
using testing::make_ids;
using testing::make_slice;
using testing::mean_loss;
using testing::small_batch;
using testing::small_config;
using testing::small_sequence;
using testing::small_tokens;
using testing::whole;

/// Bytes allocated by a unit's forward pass that remain, with its input and without its output.
std::int64_t kept_bytes(const LlamaSlice& slice, Unit unit, at::ScalarType dtype = at::kFloat) {
  const std::int64_t before = live_tensor_bytes();
  at::Tensor input = at::ones({small_batch, small_sequence, slice.config().hidden_size}, dtype);
  input.set_requires_grad(true);
  const at::Tensor output = slice.forward(unit, input);
  EXPECT_EQ(output.storage().use_count(), 1) << "a unit keeps its own output";
  return live_tensor_bytes() - before - static_cast<std::int64_t>(output.storage().nbytes());
}

TEST(SavedMemory, OfALayerMatchesTheClosedForm) {
  for (const char* changes : {"{}", R"({"head_dim": 16})", R"({"num_key_value_heads": 4})",
                              R"({"num_key_value_heads": 1})", R"({"attention_bias": true, "mlp_bias": true})"}) {
    const LlamaConfig config = small_config(Json::parse(changes));
    live_tensor_bytes();
    const LlamaSlice slice = make_slice(config, whole(config));
    const std::int64_t width = 6 * config.hidden_size + 2 * config.attention_width() + 2 * config.kv_width() +
                               4 * config.intermediate_size + config.heads + 2;

    EXPECT_EQ(kept_bytes(slice, {UnitKind::layer, 1}), 4 * small_tokens * width) << changes;
    EXPECT_EQ(saved_bytes(config, {UnitKind::layer, 1}, small_tokens, at::kFloat), 4 * small_tokens * width) << changes;
    live_tensor_bytes();
    const LlamaSlice wide = make_slice(config, whole(config), at::kDouble);
    EXPECT_EQ(kept_bytes(wide, {UnitKind::layer, 1}, at::kDouble),
              saved_bytes(config, {UnitKind::layer, 1}, small_tokens, at::kDouble));
  }
}

TEST(SavedMemory, OfTheHalvesOfALayerMatchesTheClosedForms) {
  const LlamaConfig config = small_config();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {  // in bfloat16 a unit does not keep its input itself
    live_tensor_bytes();
    const LlamaSlice slice = make_slice(config, whole(config), dtype);
    const auto closed = [&](UnitKind kind) { return saved_bytes(config, {kind}, small_tokens, dtype); };

    EXPECT_EQ(kept_bytes(slice, {UnitKind::attention, 1}, dtype), closed(UnitKind::attention));
    EXPECT_EQ(kept_bytes(slice, {UnitKind::mlp, 1}, dtype), closed(UnitKind::mlp));
    EXPECT_EQ(closed(UnitKind::layer), closed(UnitKind::attention) + closed(UnitKind::mlp));
  }
}

/// In its lifetime attention runs as matrix products and softmax, as on GPUs in float32. LibTorch's code that decides
/// what is saved is the same for every device.
class MathAttention {
 public:
  MathAttention() { use(true); }
  ~MathAttention() { use(false); }

 private:
  static void use(bool math) {
    at::globalContext().setSDPUseMath(math);
    at::globalContext().setSDPUseFlash(!math);
  }
};

TEST(SavedMemory, OfALayerWithMathAttentionMatchesTheClosedForm) {
  const MathAttention kernel;
  for (const char* changes :
       {"{}", R"({"head_dim": 16})", R"({"num_key_value_heads": 4})", R"({"num_key_value_heads": 1})"}) {
    const LlamaConfig config = small_config(Json::parse(changes));
    live_tensor_bytes();
    const LlamaSlice slice = make_slice(config, whole(config));
    const std::int64_t width = 6 * config.hidden_size + 2 + 4 * config.attention_width() +
                               4 * config.intermediate_size + config.heads * small_sequence;

    EXPECT_EQ(kept_bytes(slice, {UnitKind::layer, 1}), 4 * small_tokens * width) << changes;
  }
}

TEST(SavedMemory, OfTheNormMatchesTheClosedForm) {
  const LlamaConfig config = small_config();
  live_tensor_bytes();
  const LlamaSlice slice = make_slice(config, whole(config));

  EXPECT_EQ(kept_bytes(slice, {UnitKind::norm}), 4 * small_tokens * (2 * config.hidden_size + 1));
  EXPECT_EQ(kept_bytes(slice, {UnitKind::norm}), saved_bytes(config, {UnitKind::norm}, small_tokens, at::kFloat));
}

TEST(SavedMemory, OfTheEmbeddingIsZero) {
  const LlamaConfig config = small_config();
  live_tensor_bytes();
  const LlamaSlice slice = make_slice(config, whole(config));
  const at::Tensor ids = make_ids(config, small_batch, small_sequence);
  const std::int64_t before = live_tensor_bytes();

  const at::Tensor output = slice.forward_unit(0, ids);

  EXPECT_EQ(live_tensor_bytes() - before, static_cast<std::int64_t>(output.storage().nbytes()));
}

TEST(SavedMemory, OfTheHeadWithLossMatchesTheClosedForm) {
  const LlamaConfig config = small_config();
  live_tensor_bytes();
  const LlamaSlice slice = make_slice(config, whole(config));
  const at::Tensor labels = make_ids(config, small_batch, small_sequence);
  const std::int64_t before = live_tensor_bytes();

  at::Tensor loss;
  {
    at::Tensor input = at::ones({small_batch, small_sequence, config.hidden_size}, at::kFloat);
    input.set_requires_grad(true);
    loss = mean_loss(slice.forward_unit(5, input), labels);
  }

  const auto output = static_cast<std::int64_t>(loss.storage().nbytes());
  const std::int64_t sum_of_weights = 4;  // LibTorch's loss keeps it, token_weighted_loss does not
  const std::int64_t kept = live_tensor_bytes() - before - output - sum_of_weights;
  EXPECT_EQ(kept, 4 * small_tokens * (config.vocab_size + config.hidden_size));
  EXPECT_EQ(kept, saved_bytes(config, {UnitKind::head}, small_tokens, at::kFloat));
}

TEST(SavedMemory, IsFreedByTheBackwardPass) {
  const LlamaConfig config = small_config();
  live_tensor_bytes();
  const LlamaSlice slice = make_slice(config, whole(config));
  const at::Tensor ids = make_ids(config, small_batch, small_sequence);
  const std::int64_t before = live_tensor_bytes();
  const at::Tensor loss = mean_loss(forward(slice, ids), ids);

  loss.backward();

  EXPECT_EQ(live_tensor_bytes() - before, static_cast<std::int64_t>(loss.storage().nbytes()));
}

TEST(SavedMemory, OfARecomputedLayerIsItsInput) {
  const LlamaConfig config = small_config();
  const auto bytes = [&](at::ScalarType dtype) {
    return saved_bytes(config, {UnitKind::layer, 1}, small_tokens, dtype, Recompute::layer);
  };
  EXPECT_EQ(bytes(at::kFloat), 4 * small_tokens * config.hidden_size);
  EXPECT_EQ(bytes(at::kBFloat16), 2 * small_tokens * config.hidden_size);
}

}  // namespace
}  // namespace plumbline
