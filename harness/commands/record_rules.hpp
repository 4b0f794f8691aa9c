// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record rules`: what the judge requires of each role, from its table of rules and the record's tables.
#pragma once

#include <string>

namespace plumbline {

std::string rules_text();

}  // namespace plumbline
