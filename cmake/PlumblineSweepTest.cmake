# SPDX-License-Identifier: BSD-3-Clause
# plumbline_add_sweep_test(<name> <sweep.toml> [GPUS <n>] [LABELS <label>...] [TIMEOUT <seconds>] [OPTIONS <option of plumbline sweep>...]
#                          [PROPERTIES <property> <value>...]): a test that runs the sweep; its exit code is the verdict (docs/ci.md). Its folder is
# <name> in the current binary folder. With GPUS it uses this many of CTest's resource "gpus", and is skipped if fewer are visible.
include("${CMAKE_CURRENT_LIST_DIR}/PlumblineGpuTest.cmake")

# The largest world size in the file; empty if there is none.
function(_plumbline_largest_world variable sweep)
  file(READ "${sweep}" text)
  string(REGEX REPLACE "#[^\n]*" "" text "${text}")
  string(REGEX MATCHALL "(world_sizes?|resume_world)[ \t]*=[ \t]*(\\[[^]]*\\]|[0-9]+)" worlds "${text}")
  string(REGEX MATCHALL "[0-9]+" worlds "${worlds}")
  list(SORT worlds COMPARE NATURAL ORDER DESCENDING)
  list(APPEND worlds "")
  list(GET worlds 0 largest)
  set(${variable} "${largest}" PARENT_SCOPE)
endfunction()

function(plumbline_add_sweep_test name sweep)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "GPUS;TIMEOUT" "LABELS;OPTIONS;PROPERTIES")
  cmake_path(ABSOLUTE_PATH sweep NORMALIZE)
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "plumbline_add_sweep_test(${name}): \"${arg_UNPARSED_ARGUMENTS}${arg_KEYWORDS_MISSING_VALUES}\" is not understood; "
                        "known are GPUS, TIMEOUT, LABELS, OPTIONS, PROPERTIES, each with a value")
  elseif(DEFINED arg_GPUS AND NOT arg_GPUS MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "plumbline_add_sweep_test(${name}): GPUS ${arg_GPUS} is no number of GPUs")
  elseif(NOT EXISTS "${sweep}")
    message(FATAL_ERROR "plumbline_add_sweep_test(${name}): there is no sweep file ${sweep}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${sweep}")
  _plumbline_largest_world(processors "${sweep}")

  set(command "${plumbline_PROGRAM}" sweep "${sweep}" --ctest "${CMAKE_CURRENT_BINARY_DIR}/${name}" ${arg_OPTIONS})
  set(properties "${arg_PROPERTIES}") # a value may be a list, which only APPEND and PREPEND do not change
  list(PREPEND properties SKIP_RETURN_CODE 77)
  foreach(property LABELS TIMEOUT)
    if(arg_${property})
      string(REPLACE ";" "\\;" value "${arg_${property}}")
      list(APPEND properties ${property} "${value}")
    endif()
  endforeach()
  if(processors)
    list(PREPEND properties PROCESSORS ${processors})
  endif()
  if(arg_GPUS)
    plumbline_add_gpu_test("${name}" GPUS ${arg_GPUS} PROGRAM "${plumbline_PROGRAM}" RESOURCES "${CMAKE_BINARY_DIR}/plumbline-gpus.json"
                           COMMAND ${command} --gpus ${arg_GPUS} PROPERTIES ${properties})
  else()
    add_test(NAME "${name}" COMMAND ${command})
    set_tests_properties("${name}" PROPERTIES ${properties})
  endif()
endfunction()
