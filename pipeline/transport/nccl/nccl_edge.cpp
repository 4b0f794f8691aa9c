// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/nccl_edge.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "schedule/direction.hpp"

namespace plumbline {
namespace {

/// Ends a group even if one of its calls throws: NCCL counts open groups per thread, and inside one even an abort would
/// only be queued.
class OpenGroup {
 public:
  explicit OpenGroup(NcclApi& nccl) : nccl_(nccl) { nccl_.group_start(); }
  ~OpenGroup() {
    if (closed_) return;
    try {
      nccl_.group_end();
    } catch (const RunError&) {  // the first error is already propagating
    }
  }
  OpenGroup(const OpenGroup&) = delete;
  OpenGroup& operator=(const OpenGroup&) = delete;

  NcclProgress close() {
    closed_ = true;
    return nccl_.group_end();
  }

 private:
  NcclApi& nccl_;
  bool closed_ = false;
};

}  // namespace

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

NcclEdge::NcclEdge(GpuApi gpu, GpuEvents& events, Ends ends, const std::string& id, const NcclConfig& config)
    : gpu_(gpu),
      events_(events),
      ends_(ends),
      stream_(gpu.cuda),
      memory_(gpu.cuda, events),
      communicator_(gpu.nccl.init_rank(id, 2, ends.rank < ends.peer ? 0 : 1, config)) {}

NcclEdge::~NcclEdge() {
  if (communicator_ != NcclCommunicator::none) gpu_.nccl.abort(release());
}

NcclCommunicator NcclEdge::release() noexcept {
  return std::exchange(communicator_, NcclCommunicator::none);
}

std::string NcclEdge::text() const {
  return "the NCCL communicator of ranks " + std::to_string(std::min(ends_.rank, ends_.peer)) + " and " +
         std::to_string(std::max(ends_.rank, ends_.peer)) +
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
  if (starting_) finish_start();
  complete_reached();
}

bool NcclEdge::launch(NcclGroup& group) {
  if (!starting_) start(group);
  return !starting_ && group.empty();
}

void NcclEdge::start(NcclGroup& group) {
  Launched launched;
  for (; !group.empty() && group.front()->tensor.defined(); group.pop_front()) {
    launched.transfers.push_back(std::move(group.front()));
  }
  if (launched.transfers.empty()) return;

  // What is sent is computed by work queued on the compute stream.
  if (std::ranges::any_of(launched.transfers, [](const auto& each) { return each->after_compute; })) {
    const GpuEvent computed = events_.record(gpu_.cuda.compute_stream());
    gpu_.cuda.wait(stream_.get(), computed);
    events_.recycle(computed);
  }

  const int peer = ends_.rank < ends_.peer ? 1 : 0;
  OpenGroup open(gpu_.nccl);
  for (const auto& transfer : launched.transfers) {
    const at::Tensor& tensor = transfer->tensor;
    const auto count = static_cast<std::size_t>(tensor.numel());
    const NcclType type = nccl_type(tensor.scalar_type());
    if (transfer->send) {
      gpu_.nccl.send(tensor.const_data_ptr(), count, type, peer, communicator_, stream_.get());
    } else {
      gpu_.nccl.receive(tensor.mutable_data_ptr(), count, type, peer, communicator_, stream_.get());
    }
  }
  starting_ = std::move(launched);
  if (open.close() == NcclProgress::done) finish_start();
}

void NcclEdge::finish_start() {
  starting_->event = events_.record(stream_.get());
  for (const auto& transfer : starting_->transfers) transfer->event = starting_->event;
  in_flight_.push_back(std::move(*starting_));
  starting_.reset();
}

void NcclEdge::complete_reached() {
  while (!in_flight_.empty() && gpu_.cuda.reached(in_flight_.front().event)) {
    const Launched& launched = in_flight_.front();
    // The host has seen the event; this also orders the compute stream after it explicitly.
    gpu_.cuda.wait(gpu_.cuda.compute_stream(), launched.event);
    events_.recycle(launched.event);
    for (const auto& transfer : launched.transfers) transfer->ended = true;
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
