// SPDX-License-Identifier: BSD-3-Clause
// Small shell programs that replace trainers and mpirun in tests of the harness.
#pragma once

#include <filesystem>
#include <string>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// Writes an executable bash program into the folder. It may use `page RECORD RANK STEP PEER ACTION [PID]`, which
/// writes a heartbeat (of the calling process unless PID is given), and `ended RECORD RANK STATUS CODE`, which writes
/// exit.json. `looked_at RECORD RANKS` waits until this number of ranks has a heartbeat and a launch has polled them
/// after that; its at_glance() must append a byte to the folder's file `glances`.
std::filesystem::path program(const TemporaryFolder& folder, const std::string& name, const std::string& body);

/// A fake of `mpirun -n N program...`: starts N processes with FAKE_RANK set; if a signal ends one, it ends all and
/// names that one, as mpirun does.
std::string fake_mpirun();

/// Empties the heartbeats in records that a test wrote: they name its own process, not a rank's.
void forget_processes(const std::filesystem::path& folder);

}  // namespace plumbline::testing
