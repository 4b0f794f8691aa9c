// SPDX-License-Identifier: BSD-3-Clause
// Folders of this checkout. Only one small file is compiled with their absolute names, so that ccache serves all other
// files in every checkout.
#pragma once

#include <string>

namespace plumbline::testing {

/// The checkout.
std::string source_path();

/// fixtures/ of the checkout.
std::string fixtures_path();

/// The built programs.
std::string bin_path();

}  // namespace plumbline::testing
