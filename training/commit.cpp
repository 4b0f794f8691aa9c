#include "training/commit.hpp"

#include "plumbline_commit.hpp"  // written by cmake/commit.cmake

namespace plumbline {

std::string source_commit() {
  return PLUMBLINE_COMMIT;
}

}  // namespace plumbline
