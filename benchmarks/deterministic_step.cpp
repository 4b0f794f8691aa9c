// SPDX-License-Identifier: BSD-3-Clause
// What deterministic algorithms cost on a GPU: the same step (forward, loss, backward) of the trainers' own model with
// them and without, in turn. Everything else stays as the trainers have it, TF32 and reduced sums off among it. Prints
// one line a turn, "with SECONDS" or "without SECONDS", and the ratio of the medians.
#include <ATen/Context.h>
#include <ATen/Tensor.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "model/llama_slice.hpp"
#include "model/unit.hpp"
#include "support/error.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/loss.hpp"

namespace plumbline {
namespace {

class Step {
 public:
  Step(const LlamaConfig& config, at::ScalarType dtype, std::int64_t batch, std::int64_t sequence)
      : slice_(config, all_units(config), dtype, device_) {
    const c10::NoGradGuard no_grad;
    for (Parameter& parameter : slice_.parameters()) parameter.value.normal_(0, 0.02);
    slice_.allocate_gradients();
    slice_.prepare_tables(sequence);
    ids_ = at::randint(config.vocab_size, {batch, sequence}, at::TensorOptions(at::kLong).device(device_));
  }

  double seconds(bool deterministic) {
    at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
    load_gpu_module().synchronize();
    const auto begin = std::chrono::steady_clock::now();
    at::Tensor x = ids_;
    for (std::int64_t unit = 0; unit < slice_.units().end; ++unit) x = slice_.forward_unit(unit, x);
    token_weighted_loss(x, ids_, ids_.numel()).backward();
    load_gpu_module().synchronize();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  at::Device device_{at::kCUDA, 0};
  LlamaSlice slice_;
  at::Tensor ids_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: deterministic_step CONFIG.json float32|bfloat16 BATCH SEQUENCE ROUNDS\n", stderr);
    return 2;
  }
  open_gpus();
  apply_deterministic_settings();
  const at::ScalarType dtype = std::string(argv[2]) == "bfloat16" ? at::kBFloat16 : at::kFloat;
  choose_attention_kernel(at::Device(at::kCUDA, 0), dtype);
  Step step(load_config(argv[1]), dtype, std::atoi(argv[3]), std::atoi(argv[4]));
  std::vector<double> with, without;
  for (int round = 0; round < std::atoi(argv[5]); ++round) {
    for (const bool deterministic : {true, false}) {
      const double seconds = step.seconds(deterministic);
      if (round == 0) continue;  // kernels are loaded
      std::printf("%s %.6f\n", deterministic ? "with" : "without", seconds);
      (deterministic ? with : without).push_back(seconds);
    }
  }
  std::printf("ratio %.3f\n", median(with) / median(without));
  return 0;
}

}  // namespace
}  // namespace plumbline

int main(int argc, char** argv) {
  return plumbline::run_main("deterministic_step", [&] { return plumbline::run(argc, argv); });
}
