# SPDX-License-Identifier: BSD-3-Clause
# Lists the checks of the judge: every harness/judge/checks/<name>_check.cpp defines <name>_check(). A check that is added is
# in the table without a line elsewhere.
file(GLOB checks CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/harness/judge/checks/*_check.cpp")
set(declarations "")
set(calls "")
foreach(check ${checks})
  get_filename_component(check "${check}" NAME_WE)
  string(APPEND declarations "CheckDescriptor ${check}();\n")
  string(APPEND calls "${check}(), ")
endforeach()
set(list_source "${PROJECT_BINARY_DIR}/generated/list_of_checks.cpp")
file(CONFIGURE OUTPUT "${list_source}" @ONLY CONTENT [[
#include "harness/judge/claims.hpp"

namespace plumbline::judging {

@declarations@
std::vector<CheckDescriptor> list_of_checks() { return {@calls@}; }

}  // namespace plumbline::judging
]])
target_sources(plumbline_harness_judge PRIVATE "${list_source}")
set_source_files_properties("${list_source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
