# SPDX-License-Identifier: BSD-3-Clause
# Tests that run under mpirun: one CTest test for each (program, world size), named mpi.<program>.<world size>.
set(PLUMBLINE_MPI_FLAGS "")
set(PLUMBLINE_MPI_ENVIRONMENT OMP_NUM_THREADS=1)
execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE _version ERROR_QUIET)
if(_version MATCHES "Open MPI|OpenRTE")
  # Allow more ranks than cores; use only shared memory, which starts faster; allow a container's root to run it.
  set(PLUMBLINE_MPI_FLAGS --map-by :OVERSUBSCRIBE --mca btl self,vader --mca pml ob1 --mca osc ^ucx)
  list(APPEND PLUMBLINE_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
endif()

# plumbline_mpi_command(<variable> <world size>): the words before the program on the command line.
function(plumbline_mpi_command variable world)
  set(${variable} "${MPIEXEC_EXECUTABLE}" ${MPIEXEC_NUMPROC_FLAG} ${world} ${PLUMBLINE_MPI_FLAGS} PARENT_SCOPE)
endfunction()

# plumbline_mpi_test(<program> SOURCES ... USES ... WORLD_SIZES ... [LABELS ...])
function(plumbline_mpi_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;WORLD_SIZES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_USES} MPI::MPI_C GTest::gmock GTest::gtest)
  plumbline_use_precompiled(torch_tests ${name})
  foreach(world IN LISTS arg_WORLD_SIZES)
    plumbline_mpi_command(command ${world})
    add_test(NAME mpi.${name}.${world} COMMAND ${command} $<TARGET_FILE:${name}>)
    set_tests_properties(mpi.${name}.${world} PROPERTIES LABELS "mpi;${arg_LABELS}" PROCESSORS ${world}
                         ENVIRONMENT "${PLUMBLINE_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
