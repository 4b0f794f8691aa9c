// SPDX-License-Identifier: BSD-3-Clause
// Streams and events as queues: work happens when its stream gets to it, and not before.
//
// There is no thread behind it: whoever asks the model something moves all streams on, as far as they go. One lock,
// held by the caller, guards all of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/strict_nccl/access_log.hpp"
#include "tests/strict_nccl/clock.hpp"

namespace plumbline::strict {

using Time = std::chrono::steady_clock::time_point;

class Stream;
class DeviceModel;

/// One entry of a stream.
class Work {
 public:
  virtual ~Work() = default;
  /// Called again and again from when the stream gets to it until it says that it is done.
  virtual bool run(Stream& stream, DeviceModel& model) = 0;
  /// Streams that must get on first, when it is not done.
  virtual std::set<int> waits_for() const { return {}; }
  virtual std::string text() const = 0;
  /// Memory that it will use; whether it writes there.
  virtual std::vector<std::pair<Range, bool>> ranges() const { return {}; }
};

class Stream {
 public:
  struct Entry {
    std::unique_ptr<Work> work;
    Clock host;                ///< what the host knew when it put the work there
    std::uint64_t number = 0;  ///< in the order in which work was put on streams
  };
  int id = 0;
  int rank = 0;
  std::string name;
  std::deque<Entry> entries;
  Clock clock;
  bool destroyed = false;  ///< goes when it is empty
};

/// One recording of an event.
struct Mark {
  int stream = 0;
  bool reached = false;
  Clock clock;
};

class DeviceModel {
 public:
  /// `serial`: a rank's streams make progress one after the other.
  DeviceModel(int ranks, bool serial) : hosts_(static_cast<std::size_t>(ranks)), serial_(serial) {}

  Stream& create_stream(int rank, std::string name);
  Stream& stream(int id);
  void destroy_stream(int id);
  void put(Stream& stream, std::unique_ptr<Work> work);
  /// Drops what the predicate chooses, in whatever state.
  void drop(const std::function<bool(const Work&)>& chosen);

  std::shared_ptr<Mark> record(Stream& stream);
  void wait(Stream& stream, std::shared_ptr<Mark> mark);
  /// Whether it is reached; the asking host is then ordered after it.
  bool reached(int rank, const Mark& mark);
  bool idle(int rank, Stream& stream);
  /// Nothing is on any of the rank's streams.
  bool all_idle(int rank) const;

  /// Work that is over, to be destroyed without the lock: its tensors go with it.
  std::vector<std::unique_ptr<Work>> take_done() { return std::exchange(done_, {}); }

  /// Moves all streams on until nothing moves any more.
  void run();
  /// Streams of this rank stand still until `thaw`.
  void freeze(int rank) { frozen_.insert(rank); }
  void thaw(int rank) { frozen_.erase(rank); }
  /// The streams of a circle in which each waits for the next, if there is one.
  std::vector<const Stream*> circle() const;
  Time last_move() const { return last_move_; }

  /// Begins an access by work on `stream`; a finding is noted.
  std::shared_ptr<Access> begin_access(Stream& stream, Range range, bool write, std::string who);
  /// Whether some work that is not over yet, other than a message, uses the memory.
  bool will_be_used(Range range) const;
  void note(std::string finding) { findings_.insert(std::move(finding)); }
  const std::set<std::string>& findings() const { return findings_; }
  std::vector<std::string> leftovers() const;

 private:
  Clock& host(int rank) { return hosts_[static_cast<std::size_t>(rank)]; }
  bool step(Stream& stream);
  /// The stream whose work the rank's device has to end first; null where any may go on.
  const Stream* first_of(int rank) const;

  std::vector<Clock> hosts_;
  bool serial_;
  std::uint64_t last_number_ = 0;
  std::map<int, Stream> streams_;
  int last_stream_ = 0;
  std::vector<std::unique_ptr<Work>> done_;
  std::set<int> frozen_;
  AccessLog log_;
  std::set<std::string> findings_;
  Time last_move_ = std::chrono::steady_clock::now();
};

/// A piece of compute that takes `time`, and what it uses.
struct Kernel {
  std::string name;
  std::vector<Range> reads;
  std::vector<Range> writes;
  std::function<void()> body;
  std::chrono::microseconds time{0};
};
std::unique_ptr<Work> make_kernel(int rank, Kernel kernel);

}  // namespace plumbline::strict
