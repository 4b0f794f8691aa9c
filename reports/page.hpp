// SPDX-License-Identifier: BSD-3-Clause
// The report's page: one file, without network access or scripts.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

/// report.html as self-contained text; the same for the same verdict and evidence.
std::string make_page(const Verdict& verdict, const Evidence& evidence);

}  // namespace plumbline
