// The settings that decide bits, and what the machine is: applied once, and written down.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// Deterministic algorithms on, one compute thread (until a run says another number), TF32 off, no filling of
/// uninitialised memory, flush-denormal off, the attention kernel chosen (exactness.md, 8). Call before the first
/// tensor.
void apply_deterministic_settings();
/// The attention kernel for tensors of this device and dtype, in place of any other: on the CPU and for bfloat16 flash,
/// on a GPU for float32 and float64 the plain one of matrix products and softmax, since flash takes neither there.
void choose_attention_kernel(at::Device device, at::ScalarType dtype);
/// "versions": LibTorch, compiler, commit. "machine": CPU vendor, family, model, ATen capability, MKL version, cores.
/// "environment": flags that change bits.
Json versions_json();
Json machine_json();
Json environment_json();

/// For --capabilities: what this build and machine can do. `gpu`: gpu_capabilities(); `own`: what the program says of
/// itself beside it.
Json capabilities_json(const std::string& program, const Json& gpu, const Json& own = Json::object());

/// The first thing in which the machine that computed a golden (`producer`, golden.json's "machine") has another code
/// path than this one, so that the same bits are not owed: processor vendor, family and model number, ATen capability,
/// MKL version, of a golden in bfloat16 its instructions too, or a switch in the environment that moves kernels. Empty
/// where there is none. What is absent differs.
std::string code_path_difference(const Json& producer, const Json& machine, const Json& environment);
/// Whether there is none, on this machine.
bool same_code_path(const Json& producer);

}  // namespace plumbline
