# SPDX-License-Identifier: BSD-3-Clause
# Headers that many files use and that take longer to read than the files themselves, compiled once. Each set is one file for all targets that use it.
# Sources still name their own includes: only the preset `alone` compiles without these headers, and tests/structure compiles every header by itself.

# plumbline_precompiled(<set> USES <libraries> HEADERS <header>... [OPTIONS <option>...]): every target that uses the set must have the same options,
# since the compiler refuses headers compiled with others.
function(plumbline_precompiled set)
  cmake_parse_arguments(arg "" "" "USES;HEADERS;OPTIONS" ${ARGN})
  set(source "${CMAKE_BINARY_DIR}/generated/precompiled_${set}.cpp") # a target needs a source, even an empty one
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(plumbline_precompiled_${set} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(plumbline_precompiled_${set} PRIVATE plumbline_options ${arg_USES})
  target_compile_options(plumbline_precompiled_${set} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(plumbline_precompiled_${set} PRIVATE ${arg_HEADERS})
endfunction()

# plumbline_use_precompiled(<set> <target>...)
function(plumbline_use_precompiled set)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:plumbline_precompiled_${set},COMPILE_OPTIONS>)
    target_precompile_headers(${target} REUSE_FROM plumbline_precompiled_${set})
  endforeach()
endfunction()

set(plumbline_common_headers <algorithm> <filesystem> <fstream> <functional> <map> <nlohmann/json.hpp> <optional> <set> <span>
                             <sstream> <string> <vector>)
plumbline_precompiled(common USES plumbline::json HEADERS ${plumbline_common_headers})
set(plumbline_torch_headers ${plumbline_common_headers} <ATen/Tensor.h> <ATen/TensorOperators.h> <ATen/core/grad_mode.h> <ATen/ops/empty.h>
                            <ATen/ops/zeros.h>)
