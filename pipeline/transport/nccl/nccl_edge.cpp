// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/nccl_edge.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/direction.hpp"

namespace plumbline {
namespace {

NcclType nccl_type(at::ScalarType type) {
  switch (type) {
    case at::kChar:
      return NcclType::int8;
    case at::kByte:
    case at::kBool:
      return NcclType::uint8;
    case at::kInt:
      return NcclType::int32;
    case at::kLong:
      return NcclType::int64;
    case at::kHalf:
      return NcclType::float16;
    case at::kFloat:
      return NcclType::float32;
    case at::kDouble:
      return NcclType::float64;
    case at::kBFloat16:
      return NcclType::bfloat16;
    default:
      throw std::logic_error(std::string("NCCL does not carry ") + at::toString(type));
  }
}

}  // namespace

NcclEdge::NcclEdge(GpuApi gpu, GpuEvents& events, Ends ends, const std::string& id, const NcclConfig& config)
    : gpu_(gpu),
      events_(events),
      ends_(std::move(ends)),
      stream_(gpu.cuda),
      memory_(gpu.cuda, events),
      communicator_(gpu.nccl.init_rank(id, static_cast<int>(ends_.ranks.size()), number_of(ends_.rank), config)) {}

NcclEdge::~NcclEdge() {
  if (communicator_ != NcclCommunicator::none) gpu_.nccl.abort(release());
}

NcclCommunicator NcclEdge::release() noexcept {
  return std::exchange(communicator_, NcclCommunicator::none);
}

int NcclEdge::number_of(int rank) const {
  return static_cast<int>(std::ranges::find(ends_.ranks, rank) - ends_.ranks.begin());
}

std::string NcclEdge::text() const {
  std::string ranks;
  for (const int rank : ends_.ranks) {
    ranks += rank == ends_.ranks.front() ? "" : rank == ends_.ranks.back() ? " and " : ", ";
    ranks += std::to_string(rank);
  }
  return "the NCCL communicator of ranks " + ranks +
         (ends_.direction == Direction::forward ? ", forward" : ", backward");
}

NcclProgress NcclEdge::state() {
  const NcclState now = gpu_.nccl.state(communicator_);
  if (now.progress == NcclProgress::failed) {
    throw RunError("rank " + std::to_string(ends_.rank) + ": " + text() + " failed: " + now.text);
  }
  return now.progress;
}

bool NcclEdge::connected() {
  return state() == NcclProgress::done;
}

void NcclEdge::progress() {
  if (communicator_ == NcclCommunicator::none) return;  // closed, while other edges are not
  memory_.note_freed();
  const NcclProgress now = state();
  if (now == NcclProgress::busy) return;
  if (starting()) started();
  complete_reached();
}

void NcclEdge::start(std::shared_ptr<NcclTransfer> transfer, GpuEvent computed) {
  if (transfer->after_compute &&
      std::ranges::none_of(
          starting_, &NcclTransfer::after_compute, [](const auto& each) -> auto& { return *each; })) {
    gpu_.cuda.wait(stream_.get(), computed);
  }
  const at::Tensor& tensor = transfer->tensor;
  const auto count = static_cast<std::size_t>(tensor.numel());
  const NcclType type = nccl_type(tensor.scalar_type());
  const int peer = number_of(transfer->peer);
  if (transfer->sends) {
    gpu_.nccl.send(tensor.const_data_ptr(), count, type, peer, communicator_, stream_.get());
  } else {
    gpu_.nccl.receive(tensor.mutable_data_ptr(), count, type, peer, communicator_, stream_.get());
  }
  starting_.push_back(std::move(transfer));
}

void NcclEdge::started() {
  const GpuEvent event = events_.record(stream_.get());
  for (const auto& transfer : starting_) transfer->event = event;
  in_flight_.push_back(std::exchange(starting_, {}));
}

void NcclEdge::complete_reached() {
  while (!in_flight_.empty() && gpu_.cuda.reached(in_flight_.front().front()->event)) {
    const GpuEvent event = in_flight_.front().front()->event;
    // The host has seen the event; this also orders the compute stream after it explicitly.
    gpu_.cuda.wait(gpu_.cuda.compute_stream(), event);
    events_.recycle(event);
    for (const auto& transfer : in_flight_.front()) transfer->arrived = true;
    in_flight_.pop_front();
  }
}

void NcclEdge::begin_close() {
  gpu_.nccl.finalize(communicator_);
}

bool NcclEdge::closed() {
  if (communicator_ == NcclCommunicator::none) return true;
  if (state() == NcclProgress::busy) return false;
  gpu_.nccl.destroy(release());
  return true;
}

}  // namespace plumbline
