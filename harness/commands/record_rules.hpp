// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record rules`: what the judge requires of each role, from its checks' descriptors and the record's tables;
// with --markdown the part of docs/checks.md on each check.
#pragma once

#include <string>

namespace plumbline {

std::string rules_text();

std::string checks_in_markdown();

}  // namespace plumbline
