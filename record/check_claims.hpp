// What each check claims where it holds, in the words of docs/checks.md.
#pragma once

#include <string>

namespace plumbline {

/// Empty for a check that this version does not know.
std::string claim_of_check(const std::string& name);

}  // namespace plumbline
