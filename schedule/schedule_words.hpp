// SPDX-License-Identifier: BSD-3-Clause
// What a schedule is, in a line for people; or that there is none of a name.
#pragma once

#include <string>

namespace plumbline {

/// "one forward, one backward"; empty for a name that is none.
std::string schedule_words(const std::string& name);
/// "schedule "x" is unknown; choose one of ...", with the nearest.
std::string unknown_schedule_words(const std::string& name);

}  // namespace plumbline
