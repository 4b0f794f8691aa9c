// SPDX-License-Identifier: BSD-3-Clause
// The settings that decide bits, and what the machine is: applied once, and written down.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// Deterministic algorithms on, one compute thread (until a run says another number), TF32 off, no filling of
/// uninitialised memory, flush-denormal off, the attention kernel chosen (exactness.md, 8). Call before the first
/// tensor. Throws SystemError where another LibTorch is loaded than the one that this was compiled for.
void apply_deterministic_settings();
/// The attention kernel for tensors of this device and dtype, in place of any other: on the CPU and for bfloat16 flash,
/// on a GPU for float32 and float64 the plain one of matrix products and softmax, since flash takes neither there.
void choose_attention_kernel(at::Device device, at::ScalarType dtype);
/// Whether that is flash.
bool attends_by_flash(bool on_cpu, at::ScalarType dtype);
/// Whether version major.minor is newer than `tested`, "2.15.0", whatever its patch.
bool is_newer_minor(int major, int minor, const std::string& tested);
/// "versions": LibTorch, its oneDNN, compiler, commit; a note where LibTorch is newer than the newest that was tested.
/// "machine": CPU vendor, family, model, ATen capability, MKL version, cores. "environment": flags that change bits.
Json versions_json();
Json machine_json();
Json environment_json();
/// The three of this process: what a rank writes of its own, since ranks may lie on different machines.
Json rank_machine_json();

/// For --capabilities: what this build and machine can do. `gpu`: gpu_capabilities(); `own`: what the program says of
/// itself beside it.
Json capabilities_json(const std::string& program, const Json& gpu, const Json& own = Json::object());

/// The first thing in which the machine that computed a golden (`producer`, golden.json's "machine") has another code
/// path than this one, so that the same bits are not owed: processor vendor, family and model number, ATen capability,
/// MKL version, of a golden in bfloat16 its instructions too, or a switch in the environment that moves kernels. Empty
/// where there is none. What is absent differs.
std::string code_path_difference(const Json& producer, const Json& machine, const Json& environment);
/// Whether `torch`, a version or a list of them, has the LibTorch that runs.
bool names_this_torch(const Json& torch);
/// Why what `entry` holds need not be the bits of this LibTorch on this machine; empty where it has to be. `entry`: a
/// golden.json or one of its `also`, with `machine` and `torch`; without `torch` the golden's counts.
std::string why_other_bits(const Json& golden, const Json& entry, const Json& machine, const Json& environment);
/// Whether the golden or one of its `also` holds the bits of this LibTorch on this machine.
bool holds_bits_of_here(const Json& golden);

}  // namespace plumbline
