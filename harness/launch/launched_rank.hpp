// SPDX-License-Identifier: BSD-3-Clause
// The rank that a launcher has told a process to be.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace plumbline {

/// By the variables of Open MPI, MPICH, Slurm and torchrun in the environment that the process was started with, but
/// for those that this process has too: they are an outer job's. Nothing where there is none, or nothing can be read.
std::optional<std::int64_t> launched_rank(pid_t pid);

}  // namespace plumbline
