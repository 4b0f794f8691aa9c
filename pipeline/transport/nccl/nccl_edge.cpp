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

void NcclEdge::send(Handle handle, const at::Tensor& payload) {
  waiting_.push_back({handle, true, payload, batch_});
}

void NcclEdge::receive(Handle handle) {
  waiting_.push_back({handle, false, {}, batch_});
}

void NcclEdge::supply(Handle handle, const at::Tensor& buffer) {
  std::ranges::find(waiting_, handle, &Message::handle)->tensor = buffer;
}

void NcclEdge::progress() {
  if (communicator_ == NcclCommunicator::none) return;  // closed, while other edges are not
  const NcclProgress now = state();
  if (now == NcclProgress::busy) return;
  if (starting_) finish_start();
  complete_reached();
}

bool NcclEdge::launch() {
  if (launched_ == batch_) throw std::logic_error(text() + " has no batch to launch");
  if (!starting_) start_group();
  if (starting_) return false;
  if (!waiting_.empty() && waiting_.front().batch == launched_) return false;  // a receive without a buffer
  ++launched_;
  return true;
}

void NcclEdge::start_group() {
  Group group;
  while (!waiting_.empty() && waiting_.front().batch == launched_ && waiting_.front().tensor.defined()) {
    group.messages.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (group.messages.empty()) return;

  // The payloads are computed by work queued on the compute stream, and that work may still use memory that became a
  // receive buffer.
  const GpuEvent computed = events_.record(gpu_.cuda.compute_stream());
  gpu_.cuda.wait(stream_.get(), computed);
  events_.recycle(computed);

  const int peer = ends_.rank < ends_.peer ? 1 : 0;
  OpenGroup open(gpu_.nccl);
  for (const Message& message : group.messages) {
    const auto count = static_cast<std::size_t>(message.tensor.numel());
    const NcclType type = nccl_type(message.tensor.scalar_type());
    if (message.send) {
      gpu_.nccl.send(message.tensor.const_data_ptr(), count, type, peer, communicator_, stream_.get());
    } else {
      gpu_.nccl.receive(message.tensor.mutable_data_ptr(), count, type, peer, communicator_, stream_.get());
    }
  }
  starting_ = std::move(group);
  if (open.close() == NcclProgress::done) finish_start();
}

void NcclEdge::finish_start() {
  starting_->event = events_.record(stream_.get());
  in_flight_.push_back(std::move(*starting_));
  starting_.reset();
}

void NcclEdge::complete_reached() {
  while (!in_flight_.empty() && gpu_.cuda.reached(in_flight_.front().event)) {
    Group& group = in_flight_.front();
    // The host has seen the event; this also orders the compute stream after it explicitly.
    gpu_.cuda.wait(gpu_.cuda.compute_stream(), group.event);
    events_.recycle(group.event);
    for (const Message& message : group.messages) ended_[message.handle] = message.tensor.nbytes();
    in_flight_.pop_front();
  }
}

std::optional<std::size_t> NcclEdge::collect_completed(Handle handle) {
  const auto node = ended_.extract(handle);
  if (node.empty()) return std::nullopt;
  return node.mapped();
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
