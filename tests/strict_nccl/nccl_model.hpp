// SPDX-License-Identifier: BSD-3-Clause
// Communicators, groups and messages as strict as NCCL's contract allows: a send completes only with its receive (there
// are no buffers), messages of one communicator from one rank to another are first-in-first-out, count and type must
// agree, and a group completes as a whole. A real library may accept what fails here, for small messages.
//
// The caller holds one lock, which guards all of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/transport/nccl/gpu_api.hpp"
#include "tests/strict_nccl/device_model.hpp"
#include "tests/strict_nccl/settings.hpp"

namespace plumbline::strict {

struct Clique;

/// One half of a message.
struct Transfer {
  Clique* clique = nullptr;
  int from = 0;  ///< ranks of the world
  int to = 0;
  bool send = false;
  void* data = nullptr;
  std::size_t count = 0;
  NcclType type = NcclType::uint8;
  int stream = 0;

  bool active = false;  ///< its stream has reached it
  bool ended = false;
  std::size_t content = 0;  ///< hash of the sent data, once it is available
  bool content_known = false;
  Time due{};
  bool matched = false;
  std::shared_ptr<Access> access;

  std::size_t bytes() const;
  int rank() const { return send ? from : to; }
  std::string text() const;  ///< "rank 0's send of 12 float32 to rank 1"
};

/// What a rank has passed as one group, until it is on the streams.
struct Passed {
  NcclCommunicator first = NcclCommunicator::none;  ///< one of its communicators, whose answers count
  int busy_answers = 0;
  DeviceModel::Works works;
};

/// One rank's communicator.
struct Member {
  int rank = 0;  ///< of the world
  bool here = false;
  bool gone = false;  ///< aborted or destroyed
  bool finalizing = false;
  int busy_answers = 0;
  std::string failure;
  int stream = 0;                  ///< the stream it is used on
  std::shared_ptr<Passed> passed;  ///< shared by the communicators of a group

  bool starts() const { return passed && !passed->works.empty(); }
};

/// The communicators of one id.
struct Clique {
  std::vector<Member> members;
  /// By (from, to): halves in the order passed.
  struct Way {
    std::deque<std::shared_ptr<Transfer>> sends;
    std::deque<std::shared_ptr<Transfer>> receives;
  };
  std::map<std::pair<int, int>, Way> ways;
};

class NcclModel {
 public:
  NcclModel(DeviceModel& device, const Settings& settings) : device_(device), settings_(settings) {}

  std::string unique_id() { return "id " + std::to_string(1000000 + ++last_id_); }
  NcclCommunicator init(int rank, const std::string& id, int ranks, int own);
  NcclState state(NcclCommunicator communicator);
  void finalize(NcclCommunicator communicator);
  void destroy(NcclCommunicator communicator);

  void abort(NcclCommunicator communicator);

  struct Call {
    NcclCommunicator communicator;
    bool send = false;
    void* data = nullptr;
    std::size_t count = 0;
    NcclType type = NcclType::uint8;
    int peer = 0;
    int stream = 0;
  };
  NcclProgress start_group(int rank, const std::vector<Call>& calls);
  /// Whether a group of this stream was passed but is not on the stream yet.
  bool starts_later(int stream) const;

  /// Fails the communicators of this rank (or those that share one with it), as an asynchronous error does.
  void fail(int rank, const std::string& text);
  void fail_peers_of(int rank, const std::string& text);
  /// Searches streams that wait for each other in a cycle, and fails their communicators.
  void find_circle();
  std::vector<std::string> leftovers() const;

 private:
  struct Handle {
    std::string id;
    std::size_t own = 0;
  };
  Clique& clique(NcclCommunicator communicator) { return cliques_.at(handles_.at(communicator).id); }
  Member& member(NcclCommunicator communicator) { return clique(communicator).members[handles_.at(communicator).own]; }
  /// Queues the group on its streams if a launch need not wait; returns whether the group is there.
  bool start(int rank, Passed& group);
  static void fail(Clique& clique, const std::string& text);

  DeviceModel& device_;
  const Settings& settings_;
  int last_id_ = 0;
  std::uintptr_t last_handle_ = 0;
  std::map<std::string, Clique> cliques_;
  std::map<NcclCommunicator, Handle> handles_;
};

}  // namespace plumbline::strict
