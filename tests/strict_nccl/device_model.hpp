// SPDX-License-Identifier: BSD-3-Clause
// Streams and events as queues: an operation happens when its stream reaches it.
//
// The model has no thread: every query advances all streams as far as possible. The caller holds one lock, which guards
// all of it.
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
  /// Called repeatedly once the stream reaches it, until it returns that it is done.
  virtual bool run(Stream& stream, DeviceModel& model) = 0;
  /// Streams that must advance first if it is not done.
  virtual std::set<int> waits_for() const { return {}; }
  virtual std::string text() const = 0;
  /// Memory that it will use, and whether it writes there.
  virtual std::vector<std::pair<Range, bool>> ranges() const { return {}; }
};

class Stream {
 public:
  struct Entry {
    std::unique_ptr<Work> work;
    Clock host;                ///< what the host was ordered after when it queued the operation
    std::uint64_t number = 0;  ///< in the order in which operations were queued
  };
  int id = 0;
  int rank = 0;
  std::string name;
  std::deque<Entry> entries;
  Clock clock;
  bool destroyed = false;  ///< removed when it is empty
};

/// A rank's compute so far.
struct Computed {
  Time begin = Time::max();
  Time end = Time::min();
  std::chrono::microseconds busy{0};
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
  DeviceModel(int ranks, bool serial, bool virtual_time)
      : hosts_(static_cast<std::size_t>(ranks)), computed_(hosts_.size()), serial_(serial) {
    if (virtual_time) now_ = Time{};
  }

  /// The time of what the model executes; `last_move` is in real time.
  Time now() const { return now_ ? *now_ : std::chrono::steady_clock::now(); }
  /// Whether time `end` is reached.
  bool over(Time end);
  /// Virtual time: jumps to the next end of an operation or of a host's sleep.
  void jump();
  /// The rank's host does nothing until then.
  void sleep(int rank, Time until) { asleep_[rank] = until; }

  Stream& create_stream(int rank, std::string name);
  Stream& stream(int id);
  void destroy_stream(int id);
  void put(Stream& stream, std::unique_ptr<Work> work);
  using Works = std::vector<std::pair<int, std::unique_ptr<Work>>>;  ///< with their streams
  /// Queues these together on one rank: none waits for another, even on a device that executes its streams in order.
  void put(Works works);
  /// Drops the operations that the predicate selects, in any state.
  void drop(const std::function<bool(const Work&)>& chosen);

  std::shared_ptr<Mark> record(Stream& stream);
  void wait(Stream& stream, std::shared_ptr<Mark> mark);
  /// Whether the mark is reached; the calling host is then ordered after it.
  bool reached(int rank, const Mark& mark);
  bool idle(int rank, Stream& stream);
  /// Whether all of the rank's streams are empty.
  bool all_idle(int rank) const;

  /// Completed operations, to be destroyed without the lock, together with their tensors.
  std::vector<std::unique_ptr<Work>> take_done() { return std::exchange(done_, {}); }

  /// Advances all streams until none can advance.
  void run();
  /// Freezes this rank's streams until `thaw`.
  void freeze(int rank) { frozen_.insert(rank); }
  void thaw(int rank) { frozen_.erase(rank); }
  /// The streams of a cycle in which each waits for the next, if there is one.
  std::vector<const Stream*> circle() const;
  Time last_move() const { return last_move_; }

  void note_compute(int rank, Time begin, Time end);
  const Computed& computed(int rank) const { return computed_[static_cast<std::size_t>(rank)]; }

  /// Begins an access by an operation on `stream`; records a finding.
  std::shared_ptr<Access> begin_access(Stream& stream, Range range, bool write, std::string who);
  /// Whether an unfinished operation other than a message uses the memory.
  bool will_be_used(Range range) const;
  void note(std::string finding) { findings_.insert(std::move(finding)); }
  const std::set<std::string>& findings() const { return findings_; }
  std::vector<std::string> leftovers() const;

 private:
  Clock& host(int rank) { return hosts_[static_cast<std::size_t>(rank)]; }
  bool step(Stream& stream);
  /// A stream whose operation the rank's device must complete before this one's; null if it may continue.
  const Stream* before(const Stream& stream) const;

  std::vector<Clock> hosts_;
  std::vector<Computed> computed_;
  std::optional<Time> now_;  ///< set in virtual time
  Time next_end_ = Time::max();
  bool serial_;
  std::uint64_t last_number_ = 0;
  std::map<int, Stream> streams_;
  int last_stream_ = 0;
  std::vector<std::unique_ptr<Work>> done_;
  std::set<int> frozen_;
  std::map<int, Time> asleep_;  ///< by rank, including those in the past
  AccessLog log_;
  std::set<std::string> findings_;
  Time last_move_ = std::chrono::steady_clock::now();
};

/// A compute operation that takes `time`, and the memory it uses.
struct Kernel {
  std::string name;
  std::vector<Range> reads;
  std::vector<Range> writes;
  std::function<void()> body;
  std::chrono::microseconds time{0};
};
std::unique_ptr<Work> make_kernel(int rank, Kernel kernel);

}  // namespace plumbline::strict
