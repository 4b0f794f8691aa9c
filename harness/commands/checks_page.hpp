// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record rules --markdown`: the part of docs/checks.md on each check, from its descriptor.
#pragma once

#include <string>

namespace plumbline {

std::string checks_in_markdown();

}  // namespace plumbline
