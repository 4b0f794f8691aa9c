// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/nccl/nccl_payloads.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "pipeline/transport/group.hpp"
#include "schedule/direction.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

bool call_bounded(std::chrono::milliseconds limit, std::vector<std::function<void()>> calls) noexcept {
  struct Shared {
    std::mutex lock;
    std::condition_variable returned;
    std::size_t done = 0;
  };
  try {
    const auto shared = std::make_shared<Shared>();
    const std::size_t all = calls.size();
    for (auto& call : calls) {
      std::thread([shared, call = std::move(call)] {
        call();
        const std::lock_guard guard(shared->lock);
        ++shared->done;
        shared->returned.notify_all();
      }).detach();
    }
    std::unique_lock guard(shared->lock);
    return shared->returned.wait_for(guard, limit, [&] { return shared->done == all; });
  } catch (const std::system_error&) {  // no thread available: leave it to the end of the process
    return false;
  }
}

namespace {

constexpr std::array directions = {Direction::forward, Direction::backward};

std::string version_text(const std::string& version) {
  const int code = std::stoi(version);
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

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

/// The result of `body`, or '!' and the text of its error.
template <typename Body>
std::string answer_or_error(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    return std::string("!") + error.what();
  }
}

/// Why these versions, one per rank, are incompatible; empty if they are compatible.
std::string version_mismatch(const std::vector<std::string>& versions) {
  for (std::size_t rank = 0; rank < versions.size(); ++rank) {
    const std::string& version = versions[rank];
    if (version.starts_with('!')) return "rank " + std::to_string(rank) + ": " + version.substr(1);
    if (version != versions.front()) {
      return "rank " + std::to_string(rank) + " runs with NCCL " + version_text(version) + ", rank 0 with " +
             version_text(versions.front()) + ": all ranks must load the same library";
    }
  }
  return {};
}

}  // namespace

NcclPayloads::NcclPayloads(GpuApi gpu, int rank, NcclSettings settings)
    : gpu_(gpu), rank_(rank), settings_(settings), events_(gpu.cuda) {}

NcclEdge& NcclPayloads::find_edge(int peer, Direction direction) {
  const auto found = by_peer_.find({peer, direction});
  if (found == by_peer_.end()) {
    throw std::logic_error("ranks " + std::to_string(rank_) + " and " + std::to_string(peer) +
                           " exchange messages without a connection");
  }
  return *found->second;
}

std::vector<std::string> NcclPayloads::agree_on_ids(std::size_t count, Control& control) {
  const std::vector<std::string> versions =
      control.gather(answer_or_error([&] { return std::to_string(gpu_.nccl.version()); }));
  std::string answer;
  if (!versions.empty()) {  // rank 0
    const std::string mismatch = version_mismatch(versions);
    answer = !mismatch.empty() ? "!" + mismatch : answer_or_error([&] {
      std::string ids = "+";
      for (std::size_t i = 0; i < count; ++i) ids += gpu_.nccl.unique_id();
      return ids;
    });
  }
  answer = control.broadcast(answer);
  if (answer.starts_with('!')) throw RunError("NCCL cannot start: " + answer.substr(1));
  const std::size_t bytes = (answer.size() - 1) / count;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(answer.substr(1 + i * bytes, bytes));
  return ids;
}

void NcclPayloads::connect(const std::vector<ConnectedRanks>& connections, Control& control,
                           const Control::Wait& wait) {
  if (connections.empty()) return;
  const std::vector<std::string> ids = agree_on_ids(connections.size() * directions.size(), control);
  std::size_t next = 0;
  for (const ConnectedRanks& ranks : connections) {
    for (const Direction direction : directions) {
      const std::string& id = ids.at(next++);
      if (std::ranges::count(ranks, rank_) == 0) continue;
      const NcclConfig config{direction == Direction::forward ? "plumbline forward" : "plumbline backward",
                              settings_.max_ctas};
      NcclEdge& made = *edges_.emplace_back(
          std::make_unique<NcclEdge>(gpu_, events_, NcclEdge::Ends{rank_, ranks, direction}, id, config));
      for (const int peer : ranks) {
        if (peer == rank_ || by_peer_.emplace(std::pair(peer, direction), &made).second) continue;
        throw std::logic_error("two connections of the same ranks");
      }
      wait(made.text(), [&] { return made.connected(); });
      warm_up(made, wait);
    }
  }
}

void NcclPayloads::warm_up(NcclEdge& edge, const Control::Wait& wait) {
  const MemoryScope scope(MemoryOwner::transport);
  constexpr std::int64_t elements = 4096;
  const auto pattern = [&](int rank) {
    return at::full({elements}, 1000 + rank, at::TensorOptions(at::kFloat).device(settings_.device));
  };
  const at::Tensor sent = pattern(rank_);
  std::vector<std::shared_ptr<NcclTransfer>> exchange;
  for (const int peer : edge.ends().ranks) {
    for (const bool sends : {true, false}) {
      if (peer == rank_) continue;
      exchange.push_back(
          std::make_shared<NcclTransfer>(NcclTransfer{.sends = sends, .tensor = sends ? sent : at::empty_like(sent)}));
      add(peer, edge.ends().direction, exchange.back());
    }
  }
  wait("the first exchange over " + edge.text(),
       [&] { return std::ranges::all_of(exchange, [](const auto& each) { return each->arrived; }); });
  for (const auto& each : exchange) {
    if (each->sends || at::equal(each->tensor, pattern(each->peer))) continue;
    throw RunError("rank " + std::to_string(rank_) + ": " + edge.text() +
                   " does not deliver what was sent; direct access between these GPUs may be broken on this machine: "
                   "try NCCL_P2P_DISABLE=1");
  }
}

void NcclPayloads::add(int peer, Direction direction, std::shared_ptr<NcclTransfer> transfer) {
  transfer->peer = peer;
  batch_.emplace_back(&find_edge(peer, direction), std::move(transfer));
}

at::Tensor NcclPayloads::allocate(int peer, Direction direction, const std::function<at::Tensor()>& make) {
  return find_edge(peer, direction).allocate(make);
}

bool NcclPayloads::starting() const {
  return std::ranges::any_of(
      edges_, &NcclEdge::starting, [](const auto& each) -> auto& { return *each; });
}

bool NcclPayloads::started() const {
  return batch_.empty() && !starting();
}

void NcclPayloads::progress() {
  for (const auto& edge : edges_) edge->progress();
  if (!batch_.empty() && !starting()) start_batch();
}

void NcclPayloads::start_batch() {
  const auto batch = std::exchange(batch_, {});
  // What is sent is computed by work queued on the compute stream.
  const GpuEvent computed = events_.record(gpu_.cuda.compute_stream());
  OpenGroup group(gpu_.nccl);
  for (const auto& [edge, transfer] : batch) edge->start(transfer, computed);
  const bool done = group.close() == NcclProgress::done;
  events_.recycle(computed);
  for (const auto& [edge, transfer] : batch) {
    if (done && edge->starting()) edge->started();
  }
}

void NcclPayloads::hand_on(const NcclTransfer& receive) {
  gpu_.cuda.wait(gpu_.cuda.compute_stream(), receive.event);
}

void NcclPayloads::close(const Control::Wait& wait) {
  for (const auto& edge : edges_) edge->begin_close();
  for (const auto& edge : edges_) {
    wait("the end of " + edge->text(), [&one = *edge] { return one.closed(); });
  }
  by_peer_.clear();
  edges_.clear();
}

void NcclPayloads::abort() noexcept {
  std::vector<NcclCommunicator> communicators;
  for (const auto& edge : edges_) {
    if (const NcclCommunicator communicator = edge->release(); communicator != NcclCommunicator::none) {
      communicators.push_back(communicator);
    }
  }
  if (!communicators.empty()) {
    // ncclCommAbort may hang or wait for another communicator's receive (both were observed), so each call has its own
    // thread and a time limit.
    std::vector<std::function<void()>> calls;
    for (const NcclCommunicator communicator : communicators) {
      calls.push_back([&nccl = gpu_.nccl, communicator] { nccl.abort(communicator); });
    }
    call_bounded(settings_.abort_limit, std::move(calls));
  }
  batch_.clear();
  by_peer_.clear();
  edges_.clear();
}

}  // namespace plumbline
