// In what two runs differ beside their work: libraries, instruction sets, flags. Where bits differ this is asked first.
#pragma once

#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

struct EnvironmentValue {
  std::string key, reference, candidate;  ///< "versions/libtorch"; "-" where one of them does not tell
};

/// Keys of `device`, `versions`, `machine` and `environment` that are not the same in both. What only one of the two
/// programs can have (a pipeline's MPI) is no difference.
std::vector<EnvironmentValue> environment_difference(const Manifest& reference, const Manifest& candidate);

}  // namespace plumbline
