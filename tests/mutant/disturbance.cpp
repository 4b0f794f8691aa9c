// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/disturbance.hpp"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "tests/mutant/forwarding_transport.hpp"

namespace plumbline::mutant {
namespace {

struct Way {
  const char* name;
  const char* what;
};
constexpr Way ways[] = {
    {"killed", "the rank kills itself by SIGKILL"},
    {"stopped", "the rank stops itself by SIGSTOP"},
    {"hangs", "the rank sleeps forever"},
    {"spins", "the rank computes forever"},
    {"throws", "the rank throws an exception unknown to the trainer"},
    {"leaves", "the rank exits with code 0 without a message"},
    {"slow", "equivalent change: the rank takes a second longer"},
};
constexpr const char* places[] = {"start", "forward", "backward", "receive", "update", "end", "finalize"};

/// What happens to this process in MPI_Finalize, after its record is complete; empty: nothing.
std::string way_of_finalize;

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

[[noreturn]] void compute_for_ever() {
  std::atomic<std::uint64_t> turns{0};
  for (;;) ++turns;
}

void disturb(const std::string& way) {
  // For tests that measure how long it takes until this is noticed; CLOCK_MONOTONIC is the same in all processes.
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  std::fprintf(stderr, "disturbed at %.6f\n", now.count());
  if (way == "killed") raise(SIGKILL);
  if (way == "stopped") raise(SIGSTOP);
  if (way == "hangs") sleep_for_ever();
  if (way == "spins") compute_for_ever();
  if (way == "throws") throw std::runtime_error("thrown for a test");
  if (way == "leaves") _exit(0);
  if (way == "slow") std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// The way and the place of "H4-killed-forward".
std::pair<std::string, std::string> parts_of(const std::string& id) {
  const auto first = id.find('-'), last = id.rfind('-');
  return {id.substr(first + 1, last - first - 1), id.substr(last + 1)};
}

/// Disturbs the rank while it waits for a message.
class DisturbedReceive : public ForwardingTransport {
 public:
  DisturbedReceive(Transport& inner, std::string way, const std::int64_t& step, std::int64_t struck)
      : ForwardingTransport(inner), way_(std::move(way)), step_(step), struck_(struck) {}

  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    return with_wait(inner_.receive(peer, expected, std::move(into)), [this](Pending& inner) {
      if (step_ == struck_ && !std::exchange(done_, true)) disturb(way_);
      return inner->wait();
    });
  }

 private:
  std::string way_;
  const std::int64_t& step_;
  std::int64_t struck_;
  bool done_ = false;
};

class Disturbance : public Seams {
 public:
  explicit Disturbance(const Fault& fault) : fault_(fault) { std::tie(way_, place_) = parts_of(fault.id); }

  Transport& transport(Transport& inner) override {
    if (place_ != "receive") return inner;
    receiving_ = std::make_unique<DisturbedReceive>(inner, way_, step_, fault_.step);
    return *receiving_;
  }
  void made(const Run& /*run*/, const RankParts& /*parts*/) override {
    if (place_ == "start") disturb(way_);
    if (place_ == "finalize") way_of_finalize = way_;
  }
  void stage_begins(bool forward, std::int64_t step, std::int64_t microbatch) override {
    if (place_ == (forward ? "forward" : "backward") && fault_.strikes(step, microbatch)) disturb_once();
  }
  bool zeroes_gradients(std::int64_t step) override {
    step_ = step;
    return true;
  }
  void before_update(TrainState& state) override {
    updated_ = state.step;
    if (place_ == "update" && updated_ == fault_.step) disturb(way_);
  }
  void after_update(TrainState& /*state*/) override {
    if (place_ == "end" && updated_ == fault_.step) disturb(way_);
  }

 private:
  void disturb_once() {
    if (!std::exchange(done_, true)) disturb(way_);
  }

  Fault fault_;
  std::string way_, place_;
  std::int64_t step_ = -1, updated_ = -1;
  bool done_ = false;
  std::unique_ptr<Transport> receiving_;
};

}  // namespace

const std::vector<KnownFault>& disturbances() {
  static const std::vector<KnownFault> all = [] {
    static std::deque<std::string> texts;  // addresses of its elements do not change
    std::vector<KnownFault> made;
    for (const Way& way : ways) {
      for (const char* place : places) {
        const std::string& id = texts.emplace_back("H4-" + std::string(way.name) + "-" + place);
        const std::string& what = texts.emplace_back(std::string(way.what) + ", at: " + place);
        made.push_back({id.c_str(), what.c_str()});
      }
    }
    return made;
  }();
  return all;
}

std::unique_ptr<Seams> make_disturbance(const Fault& fault) {
  return std::make_unique<Disturbance>(fault);
}

void disturb_in_finalize() {
  if (!way_of_finalize.empty()) disturb(way_of_finalize);
}

}  // namespace plumbline::mutant

/// Replaces MPI's own function, through its profiling interface.
extern "C" int MPI_Finalize() {
  plumbline::mutant::disturb_in_finalize();
  return PMPI_Finalize();
}
