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

/// One duplicated communicator per purpose: nothing of one can match with another.
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

/// Headers of both directions share a communicator, as do control and waits; within the others all messages have the
/// same tag, so that order is all that tells them apart, as it is where there are no tags.
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
  /// Open MPI 4.1.4 copies a message above 4 KiB whole through shared memory, over the buffer's end, and then reports
  /// MPI_ERR_TRUNCATE.
  bool respects_capacity() const override { return false; }

  Ticket send(int peer, Channel channel, const void* data, std::size_t bytes) override {
    Message& message = open_[++last_ticket_];
    message.sent_bytes = bytes;
    const auto* begin = static_cast<const std::byte*>(data);
    for_each_part(bytes, [&](std::size_t offset, int part) {
      check_mpi(MPI_Issend(begin + offset, part, MPI_BYTE, peer, tag_of(channel), communicator(channel),
                           message.requests.emplace_back().address()),
                "MPI_Issend");
    });
    return last_ticket_;
  }

  Ticket receive(int peer, Channel channel, void* data, std::size_t capacity_bytes) override {
    Message& message = open_[++last_ticket_];
    message.is_receive = true;
    auto* begin = static_cast<std::byte*>(data);
    for_each_part(capacity_bytes, [&](std::size_t offset, int part) {
      check_mpi(MPI_Irecv(begin + offset, part, MPI_BYTE, peer, tag_of(channel), communicator(channel),
                          message.requests.emplace_back().address()),
                "MPI_Irecv");
    });
    return last_ticket_;
  }

  std::optional<std::size_t> test(Ticket ticket) override {
    const auto entry = open_.find(ticket);
    if (entry == open_.end()) throw std::logic_error("a ticket was used after its message had ended");
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
    open_.erase(entry);
    return bytes;
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    // A sleep, not a spin: with more ranks than cores a rank that waits must leave its core to the one that it waits
    // for.
    const auto left = deadline - std::chrono::steady_clock::now();
    const std::chrono::steady_clock::duration nap = std::chrono::microseconds(60);
    if (left > std::chrono::steady_clock::duration::zero()) std::this_thread::sleep_for(std::min(left, nap));
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
  std::optional<std::array<MpiCommunicator, purposes>> communicators_;  ///< once MPI is there
  Ticket last_ticket_ = 0;
  /// Some are left only where the job was to be ended and a test stood in the way.
  std::map<Ticket, Message> open_;
};

}  // namespace

std::unique_ptr<Link> make_mpi_link(EndJob end_job, std::size_t part_bytes) {
  return std::make_unique<MpiLink>(std::move(end_job), part_bytes);
}

}  // namespace plumbline
