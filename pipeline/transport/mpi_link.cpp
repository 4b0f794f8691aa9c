// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/mpi_link.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include "pipeline/transport/mpi_handles.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// One duplicated communicator per purpose, so that their messages cannot match each other.
enum class Purpose : std::uint8_t { headers, forward, backward, control };
constexpr std::size_t purposes = 4;

Purpose purpose_of(Channel channel) {
  switch (channel) {
    case Channel::forward_header:
    case Channel::backward_header:
      return Purpose::headers;
    case Channel::forward:
      return Purpose::forward;
    case Channel::backward:
      return Purpose::backward;
    default:
      return Purpose::control;
  }
}

/// Headers of both directions share a communicator, and so do control and wait notes; all other messages of a
/// communicator have the same tag, so only their order distinguishes them, as on transports without tags.
int tag_of(Channel channel) {
  return channel == Channel::backward_header || channel == Channel::waits ? 1 : 0;
}

class MpiLink final : public Link {
 public:
  MpiLink(EndJob end_job, std::size_t part_bytes)
      : end_job_(std::move(end_job)), part_bytes_(part_bytes), owns_mpi_(initialise_mpi()) {
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    communicators_.emplace();
  }

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  /// Open MPI 4.1.4 copies a message above 4 KiB through shared memory whole, beyond the buffer's end, and only then
  /// reports MPI_ERR_TRUNCATE.
  bool respects_capacity() const override { return false; }

  Handle send(int peer, Channel channel, const void* data, std::size_t bytes) override {
    Message& message = pending_[++last_handle_];
    message.sent_bytes = bytes;
    const auto* begin = static_cast<const std::byte*>(data);
    for_each_part(bytes, [&](std::size_t offset, int part) {
      check_mpi(MPI_Issend(begin + offset, part, MPI_BYTE, peer, tag_of(channel), communicator(channel),
                           message.requests.emplace_back().address()),
                "MPI_Issend");
    });
    return last_handle_;
  }

  Handle receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) override {
    Message& message = pending_[++last_handle_];
    message.is_receive = true;
    auto* begin = static_cast<std::byte*>(data);
    for_each_part(capacity_bytes, [&](std::size_t offset, int part) {
      check_mpi(MPI_Irecv(begin + offset, part, MPI_BYTE, peer, tag_of(channel), communicator(channel),
                          message.requests.emplace_back().address()),
                "MPI_Irecv");
    });
    return last_handle_;
  }

  std::optional<std::size_t> test(Handle handle) override {
    const auto entry = pending_.find(handle);
    if (entry == pending_.end()) throw std::logic_error("a handle was used after its message had completed");
    Message& message = entry->second;
    for (MpiRequest& request : message.requests) {
      if (request.ended()) continue;
      int ended = 0;
      MPI_Status status{};
      check_mpi(MPI_Test(request.address(), &ended, &status), "MPI_Test");
      if (ended == 0) return std::nullopt;
      if (!message.is_receive) continue;
      int bytes = 0;
      check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      message.received_bytes += static_cast<std::size_t>(bytes);
    }
    const std::size_t bytes = message.is_receive ? message.received_bytes : message.sent_bytes;
    pending_.erase(entry);
    return bytes;
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    // Sleeps instead of spinning: with more ranks than cores, a waiting rank must leave its core to the rank it waits
    // for.
    const auto left = deadline - std::chrono::steady_clock::now();
    const std::chrono::steady_clock::duration interval = std::chrono::microseconds(60);
    if (left > std::chrono::steady_clock::duration::zero()) std::this_thread::sleep_for(std::min(left, interval));
  }

  void abort(const std::string& reason, ExitCode code) noexcept override {
    std::fprintf(stderr, "rank %d ended the run: %s\n", rank_, reason.c_str());
    std::fflush(stderr);
    if (!end_job_) abort_mpi(static_cast<int>(code));
    try {
      end_job_(reason);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank_, error.what());
    }
  }

  void close() override {
    for (MpiCommunicator& communicator : *communicators_) communicator.free();
    if (owns_mpi_) finalise_mpi();
  }

 private:
  struct Message {
    std::deque<MpiRequest> requests;
    bool is_receive = false;
    std::size_t sent_bytes = 0;
    std::size_t received_bytes = 0;
  };

  MPI_Comm communicator(Channel channel) const {
    return communicators_->at(static_cast<std::size_t>(purpose_of(channel))).get();
  }

  template <typename Start>
  void for_each_part(std::size_t bytes, const Start& start) const {
    std::size_t offset = 0;
    do {
      const std::size_t part = std::min(part_bytes_, bytes - offset);
      start(offset, static_cast<int>(part));
      offset += part;
    } while (offset < bytes);
  }

  EndJob end_job_;
  std::size_t part_bytes_;
  bool owns_mpi_;
  int rank_ = 0;
  int size_ = 1;
  std::optional<std::array<MpiCommunicator, purposes>> communicators_;  ///< empty until MPI is initialised
  Handle last_handle_ = 0;
  /// Non-empty at destruction only if the job was to be aborted and a test replaced the abort.
  std::map<Handle, Message> pending_;
};

}  // namespace

std::unique_ptr<Link> make_mpi_link(EndJob end_job, std::size_t part_bytes) {
  return std::make_unique<MpiLink>(std::move(end_job), part_bytes);
}

}  // namespace plumbline
