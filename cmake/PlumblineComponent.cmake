# SPDX-License-Identifier: BSD-3-Clause
# A component is a folder and one static library of all its sources but main.cpp; `USES` is what it may include and link, and nothing else
# (tests/structure checks the includes against this), `PRIVATE` what only its .cpp files see. The target of harness/judge is plumbline_harness_judge.
set(_werror OFF)
if(DEFINED ENV{PLUMBLINE_WERROR})
  set(_werror "$ENV{PLUMBLINE_WERROR}")
endif()
option(PLUMBLINE_WERROR "Take warnings for errors, as .ci/run does; other compilers than ours warn of other things" ${_werror})
add_library(plumbline_options INTERFACE)
target_include_directories(plumbline_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(plumbline_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -ffp-contract=off $<$<BOOL:${PLUMBLINE_WERROR}>:-Werror>
                       $<$<BOOL:${PLUMBLINE_UNITY}>:$<IF:$<CXX_COMPILER_ID:GNU>,-Wno-subobject-linkage,-Wno-shadow>>) # of files in one
if(PLUMBLINE_SANITIZE STREQUAL "fuzzer")
  set(sanitizers -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_compile_options(plumbline_options INTERFACE ${sanitizers} -w) # warnings are g++'s to give
  target_link_options(plumbline_options INTERFACE ${sanitizers})
elseif(PLUMBLINE_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread -fno-omit-frame-pointer -g1)
  target_compile_options(plumbline_options INTERFACE ${sanitizers} -Wno-tsan) # of fences, of which ThreadSanitizer sees nothing
  target_link_options(plumbline_options INTERFACE ${sanitizers})
elseif(PLUMBLINE_SANITIZE)
  # g++ sees uninitialized values in instrumented code (std::regex, for one) that are none. The check of vptr opens a pipe for each new type and
  # calls every object wrong where it cannot: tests of a full table of open files would be red.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -Wno-maybe-uninitialized)
  target_compile_options(plumbline_options INTERFACE ${sanitizers})
  target_link_options(plumbline_options INTERFACE -fsanitize=address,undefined
                      LINKER:--export-dynamic-symbol=__vasprintf_chk LINKER:--export-dynamic-symbol=__asprintf_chk
                      LINKER:--export-dynamic-symbol=dlclose)
  add_library(plumbline_leaks OBJECT "${PROJECT_SOURCE_DIR}/cmake/leaks_of_open_mpi.cpp")
  target_compile_options(plumbline_leaks PRIVATE ${sanitizers})
  target_link_libraries(plumbline_options INTERFACE $<TARGET_OBJECTS:plumbline_leaks>)
endif()

# plumbline_unity_sources(<variable> <name> <source>...): sets the variable to files that include twelve sources each, and the sources that have
# SKIP_UNITY_BUILD_INCLUSION. CMake's own UNITY_BUILD includes absolute paths, so that ccache finds nothing for a checkout in another folder.
function(plumbline_unity_sources variable name)
  set(batch "")
  set(result "")
  set(count 0)
  foreach(source IN LISTS ARGN)
    get_source_file_property(alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      list(APPEND result "${source}")
      continue()
    endif()
    math(EXPR number "${count} / 12")
    math(EXPR count "${count} + 1")
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${source}")
    list(APPEND batch "${number}")
    string(APPEND text_${number} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES batch)
  foreach(number IN LISTS batch)
    set(file "${CMAKE_BINARY_DIR}/unity/${name}_${number}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text_${number}}" @ONLY)
    list(APPEND result "${file}")
  endforeach()
  set(${variable} "${result}" PARENT_SCOPE)
endfunction()

function(plumbline_component folder)
  cmake_parse_arguments(arg "" "" "USES;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  string(REPLACE "/" "_" name "${folder}")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/((no_)?cuda|python)_module\\.cpp$") # chosen in PlumblineGpu.cmake; plumbline-measure.so
  if(sources)
    if(PLUMBLINE_UNITY)
      plumbline_unity_sources(sources ${name} ${sources})
    endif()
    add_library(plumbline_${name} STATIC ${sources})
    target_link_libraries(plumbline_${name} PUBLIC plumbline_options ${arg_USES} PRIVATE ${arg_PRIVATE})
  else()
    add_library(plumbline_${name} INTERFACE)
    target_link_libraries(plumbline_${name} INTERFACE plumbline_options ${arg_USES})
  endif()
  add_library(plumbline::${name} ALIAS plumbline_${name})
endfunction()

function(plumbline_program name)
  cmake_parse_arguments(arg "" "COMPONENT;PRECOMPILED" "" ${ARGN})
  if(EXISTS "${PROJECT_SOURCE_DIR}/${arg_COMPONENT}/main.cpp")
    add_executable(${name} "${PROJECT_SOURCE_DIR}/${arg_COMPONENT}/main.cpp")
    string(REPLACE "/" "_" component "${arg_COMPONENT}")
    target_link_libraries(${name} PRIVATE plumbline::${component} plumbline::cli)
    plumbline_use_precompiled(${arg_PRECOMPILED} ${name})
    if(TARGET plumbline_gpu_module)
      add_dependencies(${name} plumbline_gpu_module)
    endif()
  endif()
endfunction()

# Compiled several at a time, tests hide each other's helpers; named last, so that it comes after -Wshadow.
add_library(plumbline_test_options INTERFACE)
target_compile_options(plumbline_test_options INTERFACE $<$<BOOL:${PLUMBLINE_UNITY}>:-Wno-shadow>)

function(plumbline_shares name program filter shares labels)
  foreach(share RANGE 1 ${shares})
    math(EXPR index "${share} - 1")
    add_test(NAME ${name}.${share} COMMAND ${program} ${filter})
    set_tests_properties(${name}.${share} PROPERTIES LABELS "${labels}" ENVIRONMENT
                                                     "GTEST_TOTAL_SHARDS=${shares};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# Tests start bare, without OMP_NUM_THREADS: their own main (tests/main.cpp) sets one thread.
# All tests of one component: tests/<name>/*_test.cpp in one executable. CTest runs it in SHARDS (1) parts, "<name>.1" and so on: a process
# for each test would cost more than most tests do. Tests that the filter SLOW names are shares of their own with the labels slow and nightly, "<name>.slow.1" and so on.
function(plumbline_component_test name)
  cmake_parse_arguments(arg "" "SHARDS;COMPONENT;PRECOMPILED;SLOW" "USES;LABELS" ${ARGN})
  if(NOT arg_COMPONENT)
    set(arg_COMPONENT ${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE plumbline::${arg_COMPONENT} ${arg_USES} plumbline_test_main plumbline_test_options)
  plumbline_use_precompiled(${arg_PRECOMPILED} ${name}_test)
  set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${PLUMBLINE_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  target_compile_definitions(${name}_test PRIVATE PLUMBLINE_FIXTURES="${PROJECT_SOURCE_DIR}/fixtures"
                                                  PLUMBLINE_BIN="${CMAKE_BINARY_DIR}/bin")
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  set(filter "")
  if(arg_SLOW)
    set(filter "--gtest_filter=-${arg_SLOW}")
    plumbline_shares(${name}.slow ${name}_test "--gtest_filter=${arg_SLOW}" ${arg_SHARDS} "slow;nightly")
  endif()
  plumbline_shares(${name} ${name}_test "${filter}" ${arg_SHARDS} "${arg_LABELS}")
endfunction()
