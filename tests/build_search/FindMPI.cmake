# SPDX-License-Identifier: BSD-3-Clause
# A fake MPI.
set(MPI_FOUND TRUE)
set(MPI_C_FOUND TRUE)
set(MPI_C_VERSION 3.1)
set(MPI_C_COMPILER mpicc)
if(NOT DEFINED MPI_C_LIBRARIES)
  set(MPI_C_LIBRARIES libmpi.so)
endif()
if(NOT TARGET MPI::MPI_C)
  add_library(MPI::MPI_C INTERFACE IMPORTED)
endif()
