// A contiguous run of the model's units: the reference holds all of them, a pipeline stage its own, an empty stage none.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
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
  at::Tensor value;    ///< leaf that requires a gradient; `value.grad()` is preallocated, zeroed
  bool alias = false;  ///< lm_head.weight of a tied model in a slice that holds embed_tokens too: embed_tokens' storage, a gradient of its own
};

class LlamaSlice {
 public:
  /// Creates the parameters of these units only, uninitialised, with zeroed gradients. `dtype`: kFloat or kDouble.
  LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype);
  ~LlamaSlice();
  LlamaSlice(LlamaSlice&&) noexcept;
  LlamaSlice& operator=(LlamaSlice&&) noexcept;

  const LlamaConfig& config() const;
  UnitRange units() const;
  /// In canonical order.
  std::vector<Parameter>& parameters();
  const std::vector<Parameter>& parameters() const;

  /// One unit. embed_tokens: ids int64 [batch, sequence] -> [batch, sequence, hidden]; a layer and norm keep [batch, sequence, hidden];
  /// lm_head -> logits [batch, sequence, vocabulary]. Positions count from 0 in each row. Throws std::logic_error for a unit not held.
  at::Tensor forward_unit(std::int64_t unit, const at::Tensor& input) const;
  /// All units of the slice, one after the other.
  at::Tensor forward(const at::Tensor& input) const;

  /// Makes the RoPE tables for rows of up to this many tokens (held for the slice's life; never made within a step once called).
  void prepare_tables(std::int64_t longest_sequence);

 private:
  struct Units;
  std::unique_ptr<Units> impl_;
};

/// Matrices and embeddings N(0, initializer_range), norm weights 1, biases 0; each tensor from its own generator seeded by
/// hash("<seed>/<name>"), so independent of the partition. A tied lm_head.weight takes embed_tokens' name and so its bits.
void initialise(LlamaSlice& slice, std::uint64_t seed);

/// Weights of the slice's own parameters from a Hugging Face model.safetensors (other entries are left alone; a tied file may lack lm_head.weight).
/// Throws InputError naming file, tensor, expected and found shape or dtype.
void load_weights(LlamaSlice& slice, const std::filesystem::path& path);

}  // namespace plumbline
