// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/parallel_jobs.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <list>
#include <set>

namespace plumbline {
namespace {

struct Job {
  const SlottedRun& run;
  std::vector<std::int64_t> slots;
  std::future<void> end;
};

}  // namespace

void run_parallel_jobs(const std::vector<SlottedRun>& runs, std::int64_t slots, const std::function<void()>& tick) {
  std::set<std::int64_t> free;
  for (std::int64_t slot = 0; slot < slots; ++slot) free.insert(slot);
  std::list<const SlottedRun*> waiting;
  for (const SlottedRun& run : runs) waiting.push_back(&run);
  std::list<Job> jobs;
  std::exception_ptr failure;  // the first
  const auto attempt = [&](const std::function<void()>& call) {
    try {
      call();
      return true;
    } catch (...) {
      if (!failure) failure = std::current_exception();
      return false;
    }
  };
  const auto start_fitting_runs = [&] {
    for (auto next = waiting.begin(); next != waiting.end() && !failure;) {
      const SlottedRun& run = **next;
      const auto wanted = std::min(run.ranks, slots);
      if (wanted > std::ssize(free)) {
        ++next;
        continue;
      }
      if (!attempt(run.before)) return;
      const std::vector<std::int64_t> taken(free.begin(), std::next(free.begin(), wanted));
      for (const std::int64_t slot : taken) free.erase(slot);
      jobs.push_back(
          {run, taken, std::async(std::launch::async, run.run, slots > 1 ? taken : std::vector<std::int64_t>{})});
      next = waiting.erase(next);
    }
  };
  const auto collect_ended_runs = [&] {
    for (auto job = jobs.begin(); job != jobs.end();) {
      if (job->end.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        ++job;
        continue;
      }
      if (attempt([&] { job->end.get(); })) attempt(job->run.after);
      free.insert(job->slots.begin(), job->slots.end());
      job = jobs.erase(job);
    }
  };
  for (start_fitting_runs(); !jobs.empty(); start_fitting_runs()) {
    jobs.front().end.wait_for(std::chrono::milliseconds(20));
    attempt(tick);
    collect_ended_runs();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace plumbline
