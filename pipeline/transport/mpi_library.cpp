// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/mpi_library.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {

namespace {

/// Of the MPI that is loaded; empty if unknown.
std::filesystem::path library_path() {
  Dl_info library{};
  const bool known = dladdr(dlsym(RTLD_DEFAULT, "MPI_Init_thread"), &library) != 0 && library.dli_fname != nullptr;
  return known ? library.dli_fname : "";
}

/// A wheel's Open MPI is not where it was built for. Its mpirun sets OPAL_PREFIX; a process without mpirun would fail
/// in MPI_Init_thread.
void find_relocated_open_mpi() {
  std::error_code absent;
  const auto prefix = std::filesystem::canonical(library_path(), absent).parent_path().parent_path();
  const bool whole = std::filesystem::exists(prefix / "bin" / "orted", absent) &&
                     std::filesystem::exists(prefix / "share" / "openmpi", absent);
  if (whole) ::setenv("OPAL_PREFIX", prefix.c_str(), 0);
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw RunError(
      std::string(call) + " failed: " +
      (length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "MPI error " + std::to_string(code)));
}

bool initialize_mpi() {
  int started = 0;
  int ended = 0;
  check_mpi(MPI_Initialized(&started), "MPI_Initialized");
  check_mpi(MPI_Finalized(&ended), "MPI_Finalized");
  if (ended != 0) throw SystemError("MPI has ended in this process and cannot be started again");
  int provided = MPI_THREAD_SINGLE;
  if (started == 0) {
    find_relocated_open_mpi();
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  } else {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  }
  if (provided < MPI_THREAD_FUNNELED) {
    throw SystemError("this MPI does not give MPI_THREAD_FUNNELED (it gives level " + std::to_string(provided) +
                      "); use one that was built with thread support");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return started == 0;
}

void finalize_mpi() {
  check_mpi(MPI_Finalize(), "MPI_Finalize");
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string whole(text.data(), static_cast<std::size_t>(length));
  std::istringstream words(whole.substr(0, whole.find_first_of(",\n")));
  std::string version;
  for (std::string word; words >> word;) {
    if (word != "Version:") version += (version.empty() ? "" : " ") + word;  // "MPICH Version:\t4.0.2"
  }
  return version;
}

std::optional<ForeignLauncher> foreign_launcher(int world_size) {
  struct Variables {
    const char *launcher, *size, *rank;
  };
  // srun sets this variable for its steps, sbatch does not for its script.
  constexpr std::array variables = {Variables{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                    Variables{"MPICH's mpirun", "PMI_SIZE", "PMI_RANK"},
                                    Variables{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  const auto number = [](const char* name) -> std::optional<std::int64_t> {
    const char* value = std::getenv(name);
    return value != nullptr ? parse_integer(value) : std::nullopt;
  };
  if (world_size > 1) return std::nullopt;
  std::optional<ForeignLauncher> found;
  for (const Variables& each : variables) {
    const auto size = number(each.size);
    if (size == 1) return std::nullopt;  // the other variables belong to an outer launcher
    if (!size || *size < 1 || found) continue;
    const std::string library = library_path().string();
    found = {number(each.rank).value_or(0),
             each.launcher + (" started " + std::to_string(*size)) +
                 " processes, each alone in its MPI world: they run with " + mpi_version() + " (" +
                 (library.empty() ? "no path" : library) +
                 "), to which this launcher does not belong. Start them with the mpirun of that MPI" +
                 (each.launcher == std::string("srun") ? ", or try srun --mpi=pmix or --mpi=pmi2" : "") +
                 " (in a sweep: its path in the key launcher), or build for the launcher's MPI (-DMPI_HOME=DIR)"};
  }
  return found;
}

bool all_on_one_host() {
  MPI_Comm here = MPI_COMM_NULL;
  int processes_here = 0;
  int processes = 0;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(here, &processes_here), "MPI_Comm_size");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &processes), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&here), "MPI_Comm_free");
  return processes_here == processes;
}

void abort_mpi(int exit_code) noexcept {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace plumbline
