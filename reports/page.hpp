// The page a person opens to decide: one file, no network, no script.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"
#include "reports/gnuplot.hpp"

namespace plumbline {

/// report.html as text; the same for the same verdict, evidence and gnuplot. Without gnuplot the tables remain and the
/// page says so.
std::string make_page(const Verdict& verdict, const Evidence& evidence, Gnuplot& gnuplot);

}  // namespace plumbline
