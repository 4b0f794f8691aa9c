// The page of a verdict, and parts of its text.
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline::testing {

/// With the sample's evidence of two steps.
std::string rendered_page(const Verdict& verdict);
/// From the first of the one text to the first of the other behind it; a failure of the test where either is missing.
std::string section_of(const std::string& page, const std::string& from, const std::string& to);
/// Tags without their attributes: what stands in which row and column.
std::string bare(const std::string& markup);
/// What stands behind a fact's name in the first screen.
std::string fact_in(const std::string& page, const std::string& name);

}  // namespace plumbline::testing
