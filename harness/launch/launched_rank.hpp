// SPDX-License-Identifier: BSD-3-Clause
// The rank that a launcher assigned to a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace plumbline {

/// From the variables of Open MPI, MPICH, Slurm and torchrun in the process' initial environment, except those that
/// this process has, too: they belong to an outer job. nullopt if there is none or it cannot be read.
std::optional<std::int64_t> launched_rank(pid_t pid);

}  // namespace plumbline
