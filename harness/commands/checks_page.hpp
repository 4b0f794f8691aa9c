// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record rules --markdown`: what docs/checks.md says of each check, from the checks' own descriptors.
#pragma once

#include <string>

namespace plumbline {

std::string checks_in_markdown();

}  // namespace plumbline
