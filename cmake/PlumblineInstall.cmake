# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` installs: programs, the package of find_package(plumbline) (plumbline::record, plumbline_add_sweep_test), schemas, docs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS plumbline RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(TARGETS plumbline_measure LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}") # the Python recorder looks next to the program
if(PLUMBLINE_TRAINERS)
  # LibTorch stays in its folder; if that is inside the project, CMake's own INSTALL_RPATH_USE_LINK_PATH omits it.
  # The same is true for an MPI of scripts/dependencies, and for the CUDA runtime and NCCL of its wheels.
  set(rpath "${LibTorch_LIBRARY_DIR}")
  foreach(library IN LISTS MPI_C_LIBRARIES CudaRuntime_LIBRARY NCCL_LIBRARY)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${library}" ours)
    if(ours)
      cmake_path(GET library PARENT_PATH folder)
      list(APPEND rpath "${folder}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rpath)
  set_target_properties(plumbline-reference plumbline-pipeline PROPERTIES INSTALL_RPATH "${rpath}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS plumbline-reference plumbline-pipeline RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  if(TARGET plumbline_gpu_module)
    set_target_properties(plumbline_gpu_module PROPERTIES INSTALL_RPATH "${rpath}" INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS plumbline_gpu_module LIBRARY DESTINATION "${CMAKE_INSTALL_BINDIR}") # programs look in their own folder
  endif()
endif()

# Tab completion, printed by the programs themselves, in the folders where installed shells look for it.
set(completed plumbline)
if(PLUMBLINE_TRAINERS)
  list(APPEND completed plumbline-reference plumbline-pipeline)
endif()
foreach(program IN LISTS completed)
  set(scripts "${CMAKE_BINARY_DIR}/completions")
  install(CODE "
    file(MAKE_DIRECTORY \"${scripts}/bash\" \"${scripts}/zsh\")
    execute_process(COMMAND \"$<TARGET_FILE:${program}>\" --completion bash OUTPUT_FILE \"${scripts}/bash/${program}\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"$<TARGET_FILE:${program}>\" --completion zsh OUTPUT_FILE \"${scripts}/zsh/_${program}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES "${scripts}/bash/${program}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${scripts}/zsh/_${program}" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
endforeach()

# One header that needs only the standard library; an imported target joins the two archives.
install(FILES record/external_record.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/plumbline")
install(FILES $<TARGET_FILE:plumbline_record> $<TARGET_FILE:plumbline_support> DESTINATION "${CMAKE_INSTALL_LIBDIR}/plumbline")
foreach(library xxhash csv) # libraries that scripts/sources built are nowhere else
  cmake_path(IS_PREFIX PLUMBLINE_PREFIX "${PLUMBLINE_${library}_LIBRARY}" ours)
  if(ours)
    install(FILES "${PLUMBLINE_${library}_LIBRARY}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/plumbline")
  endif()
endforeach()
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/plumbline")
configure_package_config_file(cmake/plumblineConfig.cmake.in "${CMAKE_BINARY_DIR}/generated/plumblineConfig.cmake" INSTALL_DESTINATION "${package}"
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/generated/plumblineConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/generated/plumblineConfig.cmake" "${CMAKE_BINARY_DIR}/generated/plumblineConfigVersion.cmake"
              cmake/PlumblineGpuTest.cmake cmake/PlumblineSweepTest.cmake DESTINATION "${package}")

install(DIRECTORY docs/schemas DESTINATION "${CMAKE_INSTALL_DATADIR}/plumbline")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN schemas EXCLUDE)
install(FILES CHANGELOG.md VERSION DESTINATION "${CMAKE_INSTALL_DOCDIR}")
