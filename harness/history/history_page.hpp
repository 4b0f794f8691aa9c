// A history as one self-contained HTML page.
#pragma once

#include <string>

#include "harness/history/history_file.hpp"

namespace plumbline {

/// The same history gives the same bytes. Whatever names it holds are escaped.
std::string history_page(const History& history);

}  // namespace plumbline
