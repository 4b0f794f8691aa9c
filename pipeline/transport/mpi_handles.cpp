// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/mpi_handles.hpp"

#include "pipeline/transport/mpi_library.hpp"

namespace plumbline {

MpiCommunicator::MpiCommunicator() {
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void MpiCommunicator::free() {
  check_mpi(MPI_Comm_free(&communicator_), "MPI_Comm_free");
}

}  // namespace plumbline
