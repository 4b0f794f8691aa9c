// A contiguous run of the model's units: the reference holds all of them, a pipeline stage its own, an empty stage
// none.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"

namespace plumbline {

/// Units [first, end) in unit_names() order.
struct UnitRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool empty() const { return first == end; }
  std::int64_t size() const { return end - first; }
};

struct Parameter {
  std::string name;
  std::string unit;
  /// Leaf that requires a gradient; `value.grad()` is preallocated by allocate_gradients(). The slice computes with
  /// this very tensor: change it in place, never assign another.
  at::Tensor value;
  bool alias = false;  ///< lm_head.weight of a tied model in a slice that holds embed_tokens too: embed_tokens'
                       ///< storage, a gradient of its own
};

class LlamaSlice {
 public:
  /// Creates the parameters of these units only, uninitialised and without gradients. `dtype`: kFloat, kDouble or
  /// kBFloat16, of parameters, gradients and activations alike. Throws std::logic_error for a range that is no part of
  /// the model, or another dtype.
  LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device = at::kCPU);
  ~LlamaSlice();
  LlamaSlice(LlamaSlice&&) noexcept;
  LlamaSlice& operator=(LlamaSlice&&) noexcept;

  /// Gives every parameter its zeroed gradient, so that a first backward adds in place as all later ones do. Apart from
  /// the constructor, so that a caller can account for values and gradients separately. Gradients that exist are kept.
  void allocate_gradients();
  /// Makes the RoPE tables for rows of up to this many tokens, shared by all layers and held for the slice's life. Call
  /// before the first forward; never made within one. A slice without layers needs none and makes none. `made_in`: the
  /// tables of a model of this dtype, taken over exactly where the slice's own is wider.
  void prepare_tables(std::int64_t longest_sequence, std::optional<at::ScalarType> made_in = std::nullopt);

  const LlamaConfig& config() const;
  UnitRange units() const;
  /// In canonical order.
  std::vector<Parameter>& parameters() &;
  const std::vector<Parameter>& parameters() const&;
  std::vector<Parameter>& parameters() && = delete;  // they would die with the slice before a loop's first turn

  /// One unit, by its number in unit_names(). embed_tokens: ids int64 [batch, sequence] -> [batch, sequence, hidden]; a
  /// layer and norm keep [batch, sequence, hidden]; lm_head -> logits [batch, sequence, vocabulary]. Positions count
  /// from 0 in each row. Throws std::logic_error for a unit not held, and for rows longer than the tables.
  at::Tensor forward_unit(std::int64_t unit, const at::Tensor& input) const;
  /// All units of the slice, one after the other; an empty slice hands its input on.
  at::Tensor forward(const at::Tensor& input) const;

 private:
  struct Units;
  std::unique_ptr<Units> impl_;
};

/// Matrices and embeddings N(0, initializer_range), norm weights 1, biases 0; each tensor from its own generator seeded
/// by hash64("<seed>/<name>"), so independent of the partition. A tied lm_head.weight takes embed_tokens' name and so
/// its bits. All are drawn in float32, then widened to float64 or rounded to bfloat16: every precision starts from the
/// same numbers.
void initialise(LlamaSlice& slice, std::uint64_t seed);

/// Weights of the slice's own parameters from a Hugging Face model.safetensors (other entries are left alone; a tied
/// file may hold either of lm_head.weight and model.embed_tokens.weight, or both with equal bytes), or from a record's
/// dump of a step, such as dumps/step-initial.safetensors of a reference. bfloat16 and
/// float16 are widened, float32 also to a float64 slice; a bfloat16 slice, which somebody asked for by name, takes
/// float32 and float16 rounded to the nearest, ties to even, as transformers' from_pretrained(dtype=bfloat16) does.
/// Nothing else is narrowed. Throws InputError naming file, tensor, expected and found shape or dtype.
void load_weights(LlamaSlice& slice, const std::filesystem::path& path);

/// Moves every element of every parameter by -1, 0 or +1 unit in the last place of the slice's dtype, zeros excepted:
/// what a rounding elsewhere might have done. Each parameter's moves come from a generator seeded by `seed` and its
/// name (a tied lm_head takes embed_tokens'), so that they are the same on every machine and in every partition.
void perturb(LlamaSlice& slice, std::uint64_t seed);

/// The parameters of a slice of the same units, converted: exact where `slice` is wider.
void take_values(LlamaSlice& slice, const LlamaSlice& from);

}  // namespace plumbline
