// SPDX-License-Identifier: BSD-3-Clause
// Settings of the process, applied once; and those and the machine's properties that determine bits, recorded.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// Deterministic algorithms, one compute thread (until the run sets another number), TF32 off, no filling of
/// uninitialized memory, flush-denormal off, the attention kernel (exactness.md, 8). Call before the first tensor.
/// Throws SystemError if another LibTorch is loaded than the one compiled against.
void apply_deterministic_settings();
/// Keeps memory that is freed for the next step. By default glibc returns it to the system and faults it in again page
/// by page: at hidden 256, 9 ms of system time a step in one process, 17 to 20 ms in two ranks. Up to 32 MiB a block,
/// the most that glibc takes from its heap.
void keep_freed_memory();
/// Flushes the standard streams and ends the process with this code without LibTorch's destructors, which take 0.18 s
/// of processor time, a third of a short run. Returns the code, for main to return, in builds that report at a regular
/// exit: Debug (coverage) and sanitizers.
int exit_quickly(int code);
/// Selects the only allowed attention kernel for this device and dtype: flash on the CPU and for bfloat16; on a GPU for
/// float32 and float64 matrix products and softmax, since flash does not support them there.
void choose_attention_kernel(at::Device device, at::ScalarType dtype);
/// Whether that kernel is flash.
bool attends_by_flash(bool on_cpu, at::ScalarType dtype);
/// Whether version major.minor is newer than `tested` ("2.15.0"), ignoring patch numbers.
bool is_newer_minor(int major, int minor, const std::string& tested);
/// "versions": LibTorch, its oneDNN, compiler, commit; a note if LibTorch is newer than the newest tested one.
/// "machine": CPU vendor, family, model, ATen capability, MKL version, cores. "environment": variables that change
/// bits.
Json versions_json();
Json machine_json();
Json environment_json();
/// The same three of this process, written by every rank, since ranks may run on different machines.
Json rank_machine_json();

/// For --capabilities: what this build and machine support. `gpu`: gpu_capabilities(); `own`: the program's own
/// entries.
Json capabilities_json(const std::string& program, const Json& gpu, const Json& own = Json::object());

}  // namespace plumbline
