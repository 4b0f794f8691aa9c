// How many files this process holds open: what is left open once more for each launch ends a long sweep.
#pragma once

#include <cstddef>
#include <filesystem>

namespace plumbline::testing {

inline std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

}  // namespace plumbline::testing
