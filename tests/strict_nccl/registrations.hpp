// Which memory each communicator has registered, and what is wrong with a registration.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/transport/nccl/gpu_api.hpp"
#include "tests/strict_nccl/access_log.hpp"

namespace plumbline::strict {

class Registrations {
 public:
  /// Whether the memory overlaps what this communicator has registered already.
  bool overlap(NcclCommunicator communicator, Range range) const;
  NcclRegistration add(NcclCommunicator communicator, Range range);
  /// What was registered; no value when this is no registration of the communicator's (any more).
  std::optional<Range> remove(NcclCommunicator communicator, NcclRegistration registration);
  void forget(NcclCommunicator communicator) { all_.erase(communicator); }

  std::size_t count(NcclCommunicator communicator) const;
  /// Whether one registration holds all of it.
  bool cover(NcclCommunicator communicator, Range range) const;
  /// Communicators that have any of it registered.
  std::vector<NcclCommunicator> of(Range range) const;

 private:
  std::map<NcclCommunicator, std::map<NcclRegistration, Range>> all_;
  std::uintptr_t last_ = 0;
};

}  // namespace plumbline::strict
