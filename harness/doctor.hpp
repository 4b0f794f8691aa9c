// What this machine offers a sweep, and what stands in the way.
#pragma once

#include <filesystem>
#include <string>

#include "support/json.hpp"

namespace plumbline {

/// {"trainers": {"plumbline-reference": <its --capabilities> | {"missing": why}, ...}, "programs": {"mpirun": path |
/// null, ...}, "cores": 2,
///  "can": ["sweep over MPI processes on the CPU", ...], "missing": ["mpirun: install openmpi-bin", ...]}
Json examine_machine(const std::filesystem::path& trainers);

/// The same for people.
std::string doctor_text(const Json& findings);

}  // namespace plumbline
