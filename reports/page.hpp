// SPDX-License-Identifier: BSD-3-Clause
// The page a person opens to decide: one file, no network, no script.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

/// report.html as text that needs nothing beside it; the same for the same verdict and evidence.
std::string make_page(const Verdict& verdict, const Evidence& evidence);

}  // namespace plumbline
