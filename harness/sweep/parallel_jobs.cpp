// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/parallel_jobs.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <map>
#include <mutex>

#include "harness/sweep/slots.hpp"

namespace plumbline {
namespace {

class ParallelJobs {
 public:
  ParallelJobs(const std::vector<SlottedRun>& runs, std::int64_t slots, const std::function<void()>& tick)
      : runs_(runs), slots_(slots), tick_(tick) {
    for (std::size_t i = 0; i < runs.size(); ++i) slots_.add(i, runs[i].ranks);
  }

  void go() {
    for (;;) {
      start_fitting_runs();
      if (under_way_.empty()) break;
      wait();
      attempt(tick_);
      collect_ended_runs();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void start_fitting_runs() {
    while (!failure_) {
      const auto next = slots_.next();
      if (!next) return;
      if (!attempt(runs_[next->run].before)) return slots_.ended(next->run);
      under_way_[next->run] = std::async(std::launch::async, [this, begun = *next] {
        const Notice notice(*this, begun.run);
        runs_[begun.run].run(begun.slots);
      });
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    some_ended_.wait_for(lock, std::chrono::milliseconds(20), [&] { return !ended_.empty(); });
  }

  void collect_ended_runs() {
    std::vector<std::size_t> ended;
    {
      const std::lock_guard lock(mutex_);
      ended.swap(ended_);
    }
    for (const std::size_t run : ended) {
      const bool well = attempt([&] { under_way_.at(run).get(); });
      under_way_.erase(run);
      slots_.ended(run);
      if (well) attempt(runs_[run].after);
    }
  }

  /// Keeps the first exception.
  template <typename Call>
  bool attempt(const Call& call) {
    try {
      call();
      return true;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      return false;
    }
  }

  /// Marks a run as ended, with or without an exception.
  struct Notice {
    Notice(ParallelJobs& all_runs, std::size_t ended_run) : all(all_runs), run(ended_run) {}
    ~Notice() {
      const std::lock_guard lock(all.mutex_);
      all.ended_.push_back(run);
      all.some_ended_.notify_one();
    }
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;
    ParallelJobs& all;
    std::size_t run;
  };

  const std::vector<SlottedRun>& runs_;
  Slots slots_;
  const std::function<void()>& tick_;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::condition_variable some_ended_;
  std::vector<std::size_t> ended_;
  std::map<std::size_t, std::future<void>> under_way_;  // last member, because its threads use those above
};

}  // namespace

void run_parallel_jobs(const std::vector<SlottedRun>& runs, std::int64_t slots, const std::function<void()>& tick) {
  ParallelJobs(runs, slots, tick).go();
}

}  // namespace plumbline
