// SPDX-License-Identifier: BSD-3-Clause
// Small shell programs in place of trainers and mpirun, so that the harness is tested without either.
#pragma once

#include <filesystem>
#include <string>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// Writes an executable bash program into the folder. It may use `page RECORD RANK STEP PEER ACTION [PID]`, which
/// writes a progress page (of the process that calls it unless PID is given), and `ended RECORD RANK STATUS CODE`,
/// which writes exit.json. `looked_at RECORD RANKS` waits, however loaded the machine, until so many ranks have a page
/// and a launch has looked at them after that; its at_glance() has to add a byte to the folder's file `glances`.
std::filesystem::path program(const TemporaryFolder& folder, const std::string& name, const std::string& body);

/// A stand-in for `mpirun -n N program...`: starts N processes with FAKE_RANK set, and ends all and says which when a
/// signal ends one, as mpirun does.
std::string fake_mpirun();

}  // namespace plumbline::testing
