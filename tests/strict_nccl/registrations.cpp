#include "tests/strict_nccl/registrations.hpp"

#include <algorithm>

namespace plumbline::strict {

bool Registrations::overlap(NcclCommunicator communicator, Range range) const {
  const auto found = all_.find(communicator);
  return found != all_.end() &&
         std::ranges::any_of(found->second, [&](const auto& entry) { return entry.second.overlaps(range); });
}

NcclRegistration Registrations::add(NcclCommunicator communicator, Range range) {
  const auto made = static_cast<NcclRegistration>(++last_);
  all_[communicator][made] = range;
  return made;
}

std::optional<Range> Registrations::remove(NcclCommunicator communicator, NcclRegistration registration) {
  const auto found = all_.find(communicator);
  if (found == all_.end()) return std::nullopt;
  const auto node = found->second.extract(registration);
  if (node.empty()) return std::nullopt;
  return node.mapped();
}

std::size_t Registrations::count(NcclCommunicator communicator) const {
  const auto found = all_.find(communicator);
  return found == all_.end() ? 0 : found->second.size();
}

bool Registrations::cover(NcclCommunicator communicator, Range range) const {
  const auto found = all_.find(communicator);
  return found != all_.end() && std::ranges::any_of(found->second, [&](const auto& entry) {
           const Range& whole = entry.second;
           return whole.begin <= range.begin && range.begin + range.bytes <= whole.begin + whole.bytes;
         });
}

std::vector<NcclCommunicator> Registrations::of(Range range) const {
  std::vector<NcclCommunicator> communicators;
  for (const auto& [communicator, registered] : all_) {
    if (overlap(communicator, range)) communicators.push_back(communicator);
  }
  return communicators;
}

}  // namespace plumbline::strict
