// SPDX-License-Identifier: BSD-3-Clause
// The page as mustache: reports/page.html, which CMake embeds (cmake/embed.cmake).
#pragma once

namespace plumbline {

const char* page_template();

}  // namespace plumbline
