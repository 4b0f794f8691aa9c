// Registered memory as NCCL's contract has it: between groups, with an idle communicator, once, and taken back before
// the communicator is finalised or the memory freed.
#include <algorithm>

#include "tests/strict_nccl/nccl_model.hpp"

namespace plumbline::strict {
namespace {

std::string name(int rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

std::optional<NcclRegistration> NcclModel::register_memory(int rank, NcclCommunicator communicator, Range range) {
  const Member& own = member(communicator);
  const Clique& all = clique(communicator);
  if (own.gone || own.finalising) throw GpuError("ncclCommRegister", "invalid usage: the communicator is closed");
  if (own.busy_answers > 0 || !own.not_started.empty() || !std::ranges::all_of(all.members, &Member::here)) {
    throw GpuError("ncclCommRegister",
                   "invalid argument: attempt to use a communicator before the previous operation was done");
  }
  if (settings_.registers_nothing_on.contains(rank)) return std::nullopt;
  const auto limit = settings_.registrations_before_refusal.find(rank);
  if (limit != settings_.registrations_before_refusal.end() && registered_by_rank_[rank] == limit->second) {
    throw GpuError("ncclCommRegister", "unhandled cuda error (planted)");
  }
  ++registered_by_rank_[rank];
  if (registrations_.overlap(communicator, range)) device_.note(name(rank) + " registers memory that is registered");
  return registrations_.add(communicator, range);
}

std::shared_ptr<Transfer> NcclModel::in_flight(NcclCommunicator communicator, Range range) {
  const int rank = member(communicator).rank;
  for (const auto& [ends, way] : clique(communicator).ways) {
    for (const auto* half : {&way.sends, &way.receives}) {
      for (const auto& transfer : *half) {
        if (transfer->rank() == rank && range.overlaps({transfer->data, transfer->bytes()})) return transfer;
      }
    }
  }
  return nullptr;
}

void NcclModel::deregister(int rank, NcclCommunicator communicator, NcclRegistration registration) {
  if (!handles_.contains(communicator)) {
    return device_.note(name(rank) + " deregisters memory with a communicator that is gone");
  }
  const Member& own = member(communicator);
  if (own.finalising) device_.note(name(rank) + " deregisters memory with a communicator that is finalised");
  if (own.busy_answers > 0 || !own.not_started.empty()) {
    device_.note(name(rank) + " deregisters memory while the communicator is busy");
  }
  const std::optional<Range> range = registrations_.remove(communicator, registration);
  if (!range) return device_.note(name(rank) + " deregisters memory that is not registered");
  if (const auto transfer = in_flight(communicator, *range)) {
    device_.note(name(rank) + " deregisters memory under " + transfer->text());
  }
}

void NcclModel::memory_goes(int rank, Range range) {
  for (const NcclCommunicator communicator : registrations_.of(range)) {
    if (member(communicator).rank == rank) device_.note(name(rank) + " frees memory that is still registered");
  }
}

}  // namespace plumbline::strict
