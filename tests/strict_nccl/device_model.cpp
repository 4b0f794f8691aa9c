// SPDX-License-Identifier: BSD-3-Clause
#include "tests/strict_nccl/device_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace plumbline::strict {
namespace {

class Recording : public Work {
 public:
  explicit Recording(std::shared_ptr<Mark> mark) : mark_(std::move(mark)) {}
  bool run(Stream& stream, DeviceModel& /*model*/) override {
    stream.clock.tick(stream.id);
    mark_->clock = stream.clock;
    mark_->reached = true;
    return true;
  }
  std::string text() const override { return "the recording of an event"; }

 private:
  std::shared_ptr<Mark> mark_;
};

class Waiting : public Work {
 public:
  explicit Waiting(std::shared_ptr<Mark> mark) : mark_(std::move(mark)) {}
  bool run(Stream& stream, DeviceModel& /*model*/) override {
    if (!mark_->reached) return false;
    stream.clock.merge(mark_->clock);
    return true;
  }
  std::set<int> waits_for() const override { return {mark_->stream}; }
  std::string text() const override { return "the wait for an event"; }

 private:
  std::shared_ptr<Mark> mark_;
};

class Running : public Work {
 public:
  Running(int rank, Kernel kernel)
      : who_("rank " + std::to_string(rank) + "'s kernel " + kernel.name), kernel_(std::move(kernel)) {}

  bool run(Stream& stream, DeviceModel& model) override {
    if (!end_) {
      end_ = model.now() + kernel_.time;
      for (const Range& range : kernel_.reads) accesses_.push_back(model.begin_access(stream, range, false, who_));
      for (const Range& range : kernel_.writes) accesses_.push_back(model.begin_access(stream, range, true, who_));
    }
    if (!model.over(*end_)) return false;
    model.note_compute(stream.rank, *end_ - kernel_.time, *end_);
    kernel_.body();
    const std::uint64_t tick = stream.clock.tick(stream.id);
    for (const auto& access : accesses_) access->tick = tick;
    return true;
  }
  std::string text() const override { return who_; }
  std::vector<std::pair<Range, bool>> ranges() const override {
    std::vector<std::pair<Range, bool>> all;
    for (const Range& range : kernel_.reads) all.emplace_back(range, false);
    for (const Range& range : kernel_.writes) all.emplace_back(range, true);
    return all;
  }

 private:
  std::string who_;
  Kernel kernel_;
  std::optional<Time> end_;
  std::vector<std::shared_ptr<Access>> accesses_;
};

}  // namespace

std::unique_ptr<Work> make_kernel(int rank, Kernel kernel) {
  return std::make_unique<Running>(rank, std::move(kernel));
}

Stream& DeviceModel::create_stream(int rank, std::string name) {
  Stream& made = streams_[++last_stream_];
  made.id = last_stream_;
  made.rank = rank;
  made.name = std::move(name);
  return made;
}

Stream& DeviceModel::stream(int id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.destroyed) throw std::logic_error("a stream was used that is not there");
  return found->second;
}

void DeviceModel::destroy_stream(int id) {
  stream(id).destroyed = true;
  run();
}

void DeviceModel::put(Stream& stream, std::unique_ptr<Work> work) {
  stream.entries.push_back({std::move(work), host(stream.rank), ++last_number_});
}

void DeviceModel::put(Works works) {
  ++last_number_;
  for (auto& [id, work] : works) {
    Stream& stream = this->stream(id);
    stream.entries.push_back({std::move(work), host(stream.rank), last_number_});
  }
}

void DeviceModel::drop(const std::function<bool(const Work&)>& chosen) {
  for (auto& [id, stream] : streams_) {
    std::erase_if(stream.entries, [&](const Stream::Entry& entry) { return chosen(*entry.work); });
  }
}

std::shared_ptr<Mark> DeviceModel::record(Stream& stream) {
  auto mark = std::make_shared<Mark>();
  mark->stream = stream.id;
  put(stream, std::make_unique<Recording>(mark));
  return mark;
}

void DeviceModel::wait(Stream& stream, std::shared_ptr<Mark> mark) {
  put(stream, std::make_unique<Waiting>(std::move(mark)));
}

bool DeviceModel::reached(int rank, const Mark& mark) {
  if (mark.reached) host(rank).merge(mark.clock);
  return mark.reached;
}

bool DeviceModel::idle(int rank, Stream& stream) {
  if (!stream.entries.empty()) return false;
  host(rank).merge(stream.clock);
  return true;
}

bool DeviceModel::all_idle(int rank) const {
  return std::ranges::all_of(
      streams_, [&](const auto& entry) { return entry.second.rank != rank || entry.second.entries.empty(); });
}

const Stream* DeviceModel::before(const Stream& stream) const {
  const Stream* first = &stream;
  if (!serial_) return nullptr;
  for (const auto& [id, each] : streams_) {
    if (each.rank != stream.rank || each.entries.empty()) continue;
    if (each.entries.front().number < first->entries.front().number) first = &each;
  }
  return first == &stream ? nullptr : first;
}

bool DeviceModel::step(Stream& stream) {
  if (stream.entries.empty()) return false;
  if (before(stream) != nullptr) return false;
  Stream::Entry& entry = stream.entries.front();
  stream.clock.merge(entry.host);
  if (!entry.work->run(stream, *this)) return false;
  done_.push_back(std::move(entry.work));
  stream.entries.pop_front();
  last_move_ = std::chrono::steady_clock::now();
  return true;
}

bool DeviceModel::over(Time end) {
  if (now() >= end) return true;
  next_end_ = std::min(next_end_, end);
  return false;
}

void DeviceModel::jump() {
  if (now_ && next_end_ != Time::max()) now_ = next_end_;
}

void DeviceModel::note_compute(int rank, Time begin, Time end) {
  Computed& of_rank = computed_[static_cast<std::size_t>(rank)];
  of_rank.begin = std::min(of_rank.begin, begin);
  of_rank.end = std::max(of_rank.end, end);
  of_rank.busy += std::chrono::duration_cast<std::chrono::microseconds>(end - begin);
}

void DeviceModel::run() {
  next_end_ = Time::max();
  for (const auto& [rank, until] : asleep_) over(until);
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& [id, stream] : streams_) {
      while (!frozen_.contains(stream.rank) && step(stream)) moved = true;
    }
  }
  std::erase_if(streams_, [](const auto& entry) { return entry.second.destroyed && entry.second.entries.empty(); });
}

std::vector<const Stream*> DeviceModel::circle() const {
  for (const auto& [start, unused] : streams_) {
    std::vector<const Stream*> path;
    std::set<int> dead_ends;
    // depth first: a stream continues only after all that it waits for
    const std::function<bool(int)> search = [&](int id) {
      const auto found = streams_.find(id);
      if (found == streams_.end() || found->second.entries.empty() || dead_ends.contains(id)) return false;
      const auto seen = std::ranges::find(path, id, &Stream::id);
      if (seen != path.end()) {
        path.erase(path.begin(), seen);
        return true;
      }
      path.push_back(&found->second);
      std::set<int> awaited = found->second.entries.front().work->waits_for();
      if (const Stream* first = before(found->second)) awaited = {first->id};
      for (const int next : awaited) {
        if (search(next)) return true;
      }
      path.pop_back();
      dead_ends.insert(id);
      return false;
    };
    if (search(start)) return path;
  }
  return {};
}

std::shared_ptr<Access> DeviceModel::begin_access(Stream& stream, Range range, bool write, std::string who) {
  std::optional<std::string> finding;
  auto access = log_.begin({range, write, stream.rank, stream.id, std::move(who)}, stream.clock, finding);
  if (finding) note(*finding);
  return access;
}

bool DeviceModel::will_be_used(Range range) const {
  for (const auto& [id, stream] : streams_) {
    for (const Stream::Entry& entry : stream.entries) {
      for (const auto& [used, write] : entry.work->ranges()) {
        if (used.overlaps(range)) return true;
      }
    }
  }
  return false;
}

std::vector<std::string> DeviceModel::leftovers() const {
  std::vector<std::string> left;
  for (const auto& [id, stream] : streams_) {
    if (!stream.destroyed && stream.name != "compute") {
      left.push_back("rank " + std::to_string(stream.rank) + "'s " + stream.name + " stream");
    }
    for (const Stream::Entry& entry : stream.entries) {
      left.push_back(entry.work->text() + " on rank " + std::to_string(stream.rank) + "'s " + stream.name + " stream");
    }
  }
  return left;
}

}  // namespace plumbline::strict
