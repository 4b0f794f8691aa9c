// The commit that was built: apart from the rest, so that a new one compiles two lines again.
#pragma once

#include <string>

namespace plumbline {

/// Abbreviated hash, "-dirty" behind it where the tree had changes; empty in a build outside a checkout.
std::string source_commit();

}  // namespace plumbline
