// What a bench measured, as one self-contained HTML page.
#pragma once

#include <string>

#include "record/bench_result.hpp"

namespace plumbline {

/// The same result gives the same bytes. Whatever names it holds are escaped.
std::string bench_page(const BenchResult& result);

/// The same in a few lines for a terminal.
std::string bench_text(const BenchResult& result);

}  // namespace plumbline
