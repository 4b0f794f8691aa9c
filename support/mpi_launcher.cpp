// SPDX-License-Identifier: BSD-3-Clause
#include "support/mpi_launcher.hpp"

#include <cstdlib>

namespace plumbline {
MpiLauncher mpi_launcher_of(const std::string& version) {
  const std::string open_mpi = "(Open MPI) ";
  if (const auto at = version.find(open_mpi); at != std::string::npos) {
    return std::atoi(version.c_str() + at + open_mpi.size()) >= 5 ? MpiLauncher::open_mpi_5 : MpiLauncher::open_mpi_4;
  }
  if (version.starts_with("slurm")) return MpiLauncher::slurm;
  // MPICH and its derivatives start ranks with Hydra.
  const bool hydra = version.find("HYDRA") != std::string::npos || version.find("Intel(R) MPI") != std::string::npos;
  return hydra ? MpiLauncher::mpich : MpiLauncher::unknown;
}

std::string launcher_command(MpiLauncher kind, const std::string& program) {
  // Ranks on one machine: only shared memory, so that Open MPI does not search for networks; no binding, because other
  // jobs may share the cores.
  switch (kind) {
    case MpiLauncher::open_mpi_4:
      return program + " --oversubscribe --bind-to none --mca btl self,vader --mca pml ob1 --mca osc ^ucx -n {world}";
    case MpiLauncher::open_mpi_5:
      return program +
             " --map-by :OVERSUBSCRIBE --bind-to none --mca btl self,sm --mca pml ob1 --mca osc ^ucx -n {world}";
    case MpiLauncher::mpich:
      return program + " -bind-to none -n {world}";
    case MpiLauncher::slurm:
      return program + " --overcommit --cpu-bind=none -n {world}";
    case MpiLauncher::unknown:
      break;
  }
  return "";
}

std::map<std::string, std::string> single_copy_variables() {
  return {{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}, {"OMPI_MCA_smsc", "^cma"}};
}

std::map<std::string, std::string> launcher_environment(const std::string& scratch, bool as_root) {
  std::map<std::string, std::string> values;
  // Open MPI 4 and 5 use different variables for the folders of their session and shared memory.
  for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base",
                           "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    if (!scratch.empty()) values[name] = scratch;
  }
  if (!as_root) return values;
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT",
                           "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"})
    values[name] = "1";
  return values;
}

std::string how_to_install(const std::string& program) {
  return program == mpirun
             ? "install the Debian package openmpi-bin; without root: make setup, and .deps/tools/bin on PATH"
             : "install it";
}

}  // namespace plumbline
