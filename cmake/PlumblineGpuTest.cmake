# SPDX-License-Identifier: BSD-3-Clause
# Tests that need GPUs. `ctest -j --resource-spec-file` gives each its own GPUs; if there are too few, the test still runs and prints why it is
# skipped. CTest itself (3.25 to 4.4) fails a test that requests more resources than its file has, so the request is decided when ctest reads its
# list, from the GPUs that are visible then.

# plumbline_count_gpus(<variable> <program> <file>): writes the visible GPUs into the resource-spec file, once for each ctest, and counts them.
function(plumbline_count_gpus variable program file)
  if(NOT "$ENV{PLUMBLINE_GPUS_COUNTED_IN}" STREQUAL file)
    execute_process(COMMAND "${program}" doctor --ctest-resources "${file}" RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT code EQUAL 0) # for example, CUDA_VISIBLE_DEVICES names one twice: the tests get no GPU and fail with this message
      file(WRITE "${file}" [[{"version": {"major": 1, "minor": 0}, "local": [{"gpus": []}]}]])
    endif()
    set(ENV{PLUMBLINE_GPUS_COUNTED_IN} "${file}")
  endif()
  file(READ "${file}" spec)
  string(JSON count LENGTH "${spec}" local 0 gpus)
  set(${variable} "${count}" PARENT_SCOPE)
endfunction()

# plumbline_add_gpu_test(<name> GPUS <n> PROGRAM <plumbline> RESOURCES <file> COMMAND <word>... PROPERTIES <property> <value>...): like add_test and
# set_tests_properties, for the list that ctest reads. The words may be generator expressions.
function(plumbline_add_gpu_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GPUS;PROGRAM;RESOURCES" "COMMAND;PROPERTIES")
  foreach(list COMMAND PROPERTIES)
    list(TRANSFORM arg_${list} REPLACE "(.+)" "[==[\\1]==]")
    list(JOIN arg_${list} " " ${list})
  endforeach()
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}.gpu-test.cmake")
  file(GENERATE OUTPUT "${script}" CONTENT "\
include([==[${CMAKE_CURRENT_FUNCTION_LIST_FILE}]==])
plumbline_count_gpus(gpus [==[${arg_PROGRAM}]==] [==[${arg_RESOURCES}]==])
add_test([==[${name}]==] ${COMMAND})
set_tests_properties([==[${name}]==] PROPERTIES ${PROPERTIES})
if(NOT gpus LESS ${arg_GPUS})
  set_tests_properties([==[${name}]==] PROPERTIES RESOURCE_GROUPS ${arg_GPUS},gpus:1)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()
