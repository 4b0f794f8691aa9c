// SPDX-License-Identifier: BSD-3-Clause
// The pages as mustache: reports/*.html, which CMake embeds (cmake/embed.cmake).
#pragma once

namespace plumbline {

const char* page_template();        ///< of a sweep, with the style sheet of both
const char* comparison_template();  ///< of two sweeps

}  // namespace plumbline
