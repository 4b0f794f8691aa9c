// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/mpi_transport.hpp"

#include <mpi.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/mpi_library.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// Where the messages of a channel travel. Those of one peer have the same communicator and tag, so only their order
/// distinguishes them, as on transports without tags.
struct Route {
  int peer;
  int tag;
  MPI_Comm communicator;
};

// A message is its head and then its body, in order on one route. One MPI message with a struct datatype over both
// would be packed in pieces by the sender, which then must call MPI while the receiver waits; contiguous memory is
// copied by the receiver alone (Open MPI 4.1, one host: 0.3 ms in place of the sender's whole action).
class MpiMessage : public TransportRequest {
 public:
  ~MpiMessage() override {
    for (MPI_Request& piece : pieces_) {
      if (piece == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&piece);
      MPI_Request_free(&piece);
    }
  }
  MpiMessage(const MpiMessage&) = delete;
  MpiMessage& operator=(const MpiMessage&) = delete;

 protected:
  MpiMessage() = default;
  /// The request of the head or of a part of the body; the caller starts it.
  MPI_Request* next_piece() { return &pieces_.emplace_back(MPI_REQUEST_NULL); }
  /// Whether the first `count` pieces have ended.
  bool have_ended(std::size_t count) {
    int ended = 0;
    check_mpi(MPI_Testall(static_cast<int>(count), pieces_.data(), &ended, MPI_STATUSES_IGNORE), "MPI_Testall");
    return ended != 0;
  }

  std::vector<MPI_Request> pieces_;
};

class MpiSend final : public MpiMessage {
 public:
  MpiSend(const Route& to, std::size_t part_bytes, ConstBytes head, ConstBytes body) {
    start(to, head);
    for (; !body.empty(); body = body.subspan(std::min(part_bytes, body.size()))) {
      start(to, body.first(std::min(part_bytes, body.size())));
    }
  }
  bool test() override { return have_ended(pieces_.size()); }

 private:
  void start(const Route& to, ConstBytes bytes) {
    check_mpi(MPI_Issend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.peer, to.tag, to.communicator,
                         next_piece()),
              "MPI_Issend");
  }
};

class MpiReceive final : public MpiMessage {
 public:
  /// `order`: the receives of this route that are not matched yet.
  MpiReceive(const Route& from, std::size_t part_bytes, Bytes head, Endpoint::Place place,
             std::deque<MpiReceive*>& order)
      : from_(from), part_bytes_(part_bytes), head_(head), place_(std::move(place)), order_(order) {
    order_.push_back(this);
  }
  ~MpiReceive() override { std::erase(order_, this); }

  bool test() override { return (matched_ || (order_.front() == this && match())) && have_ended(pieces_.size()); }

 private:
  /// Starts to receive what has come; returns whether that is the whole message.
  bool match() {
    if (pieces_.empty()) {
      const auto bytes = take(head_);
      if (!bytes) return false;
      check_head(from_.peer, *bytes, head_.size());
    }
    if (!rest_) {
      if (!have_ended(1)) return false;
      rest_ = place_();
    }
    while (!rest_->empty()) {
      const Bytes part = rest_->first(std::min(part_bytes_, rest_->size()));
      const auto bytes = take(part);
      if (!bytes) return false;
      body_bytes_ += *bytes;
      rest_ = *bytes == part.size() ? rest_->subspan(part.size()) : Bytes();
    }
    matched_ = true;
    order_.pop_front();
    return true;
  }

  /// If the next piece is there, starts to receive it, elsewhere unless it has the expected size, which it returns.
  std::optional<std::size_t> take(Bytes expected) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    check_mpi(MPI_Improbe(from_.peer, from_.tag, from_.communicator, &there, &message, &status), "MPI_Improbe");
    if (there == 0) return std::nullopt;
    int bytes = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    const auto size = static_cast<std::size_t>(bytes);
    if (size != expected.size()) {
      unexpected_.resize(size);
      expected = unexpected_;
    }
    check_mpi(MPI_Imrecv(expected.data(), bytes, MPI_BYTE, &message, next_piece()), "MPI_Imrecv");
    return size;
  }

  Route from_;
  std::size_t part_bytes_;
  Bytes head_;
  Endpoint::Place place_;
  std::deque<MpiReceive*>& order_;
  std::vector<std::byte> unexpected_;
  std::optional<Bytes> rest_;  ///< of the body, once the head is there
  bool matched_ = false;
};

/// A private communicator of all ranks whose calls return errors. Freeing it is collective, so only `free` does that; a
/// job that ends otherwise leaves it to MPI.
class MpiCommunicator {
 public:
  MpiCommunicator() {
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  MPI_Comm get() const { return communicator_; }
  void free() { check_mpi(MPI_Comm_free(&communicator_), "MPI_Comm_free"); }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

class MpiEndpoint final : public Endpoint {
 public:
  MpiEndpoint(EndJob end_job, std::size_t part_bytes)
      : end_job_(std::move(end_job)), part_bytes_(part_bytes), owns_mpi_(initialize_mpi()) {
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    communicators_.emplace();
    core_each_ = static_cast<unsigned>(size_) <= std::thread::hardware_concurrency();
    if (core_each_) prctl(PR_SET_TIMERSLACK, 1UL);  // of this thread, in ns: by default sleeps take 50 us longer
  }

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }

  std::unique_ptr<TransportRequest> send(int peer, Channel channel, ConstBytes head, ConstBytes body) override {
    return std::make_unique<MpiSend>(route(peer, channel), part_bytes_, head, body);
  }
  std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) override {
    return std::make_unique<MpiReceive>(route(peer, channel), part_bytes_, head, std::move(place),
                                        unmatched_[{peer, channel}]);
  }

  void idle(std::chrono::steady_clock::time_point deadline) override {
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    if (core_each_ && now - last_idle_ > 1ms) yield_until_ = now + 200us;  // a new wait
    if (now < yield_until_) {
      std::this_thread::yield();  // sees a message that is about to come at once
    } else if (now < deadline) {
      // With more ranks than cores, a waiting rank must leave its core to the rank that it waits for.
      std::this_thread::sleep_for(
          std::min<std::chrono::steady_clock::duration>(deadline - now, core_each_ ? 20us : 60us));
    }
    last_idle_ = std::chrono::steady_clock::now();
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
    if (owns_mpi_) finalize_mpi();
  }

 private:
  /// Wait notes share the control messages' communicator, each other channel has its own.
  Route route(int peer, Channel channel) const {
    const bool notes = channel == Channel::waits;
    const auto index = static_cast<std::size_t>(notes ? Channel::control : channel);
    return {peer, notes ? 1 : 0, communicators_->at(index).get()};
  }

  EndJob end_job_;
  std::size_t part_bytes_;
  bool owns_mpi_;
  int rank_ = 0;
  int size_ = 1;
  bool core_each_ = false;  ///< every rank has a core of its own
  std::chrono::steady_clock::time_point last_idle_, yield_until_;
  std::optional<std::array<MpiCommunicator, 3>> communicators_;  ///< empty until MPI is initialized
  std::map<std::pair<int, Channel>, std::deque<MpiReceive*>> unmatched_;
};

}  // namespace

std::unique_ptr<Endpoint> make_mpi_endpoint(EndJob end_job, std::size_t part_bytes) {
  return std::make_unique<MpiEndpoint>(std::move(end_job), part_bytes);
}

std::unique_ptr<Transport> make_mpi_transport(TransportSettings settings, EndJob end_job) {
  return std::make_unique<MessageTransport>(make_mpi_endpoint(std::move(end_job)), settings);
}

}  // namespace plumbline
