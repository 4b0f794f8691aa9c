// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/threads_transport.hpp"

#include <atomic>
#include <thread>

#include "pipeline/transport/message.hpp"
#include "pipeline/transport/message_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/pipeline/transport/transport_suite.hpp"

namespace plumbline {
namespace {

/// An endpoint on which no message ends at once, so that both ends observe two messages in varying order.
class ReluctantEndpoint final : public Endpoint {
 public:
  explicit ReluctantEndpoint(std::unique_ptr<Endpoint> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::unique_ptr<TransportRequest> send(int peer, Channel channel, ConstBytes head, ConstBytes body) override {
    return std::make_unique<Reluctant>(*this, inner_->send(peer, channel, head, body));
  }
  std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) override {
    return std::make_unique<Reluctant>(*this, inner_->receive(peer, channel, head, std::move(place)));
  }
  void idle(std::chrono::steady_clock::time_point deadline) override {
    inner_->idle(std::min(deadline, std::chrono::steady_clock::now() + 20us));
  }
  void abort(const std::string& reason, ExitCode code) noexcept override { inner_->abort(reason, code); }
  void close() override { inner_->close(); }

 private:
  class Reluctant final : public TransportRequest {
   public:
    Reluctant(ReluctantEndpoint& endpoint, std::unique_ptr<TransportRequest> inner)
        : endpoint_(endpoint), inner_(std::move(inner)) {}
    bool test() override {
      // A number that varies between calls and repeats between runs.
      endpoint_.state_ = endpoint_.state_ * 1664525U + 1013904223U;
      if ((endpoint_.state_ >> 24) % 3 != 0 || !inner_->test()) return false;
      body_bytes_ = inner_->body_bytes();
      return true;
    }

   private:
    ReluctantEndpoint& endpoint_;
    std::unique_ptr<TransportRequest> inner_;
  };

  std::unique_ptr<Endpoint> inner_;
  std::uint32_t state_ = 1;
};

enum class Endpoints { prompt, reluctant };

/// One thread per rank. With a broken ending all transports live until every body has returned, as with processes that
/// hang; a test below shows how an early end releases the others.
template <int ranks, Endpoints endpoints = Endpoints::prompt>
struct ThreadRanks {
  static int world_size() { return ranks; }
  static void run(TransportSettings settings, Ending ending, const Body& body) {
    auto transports = make_threads_transports(ranks, settings);
    if constexpr (endpoints == Endpoints::reluctant) {
      transports.clear();
      for (auto& endpoint : make_threads_endpoints(ranks)) {
        auto reluctant = std::make_unique<ReluctantEndpoint>(std::move(endpoint));
        transports.push_back(std::make_unique<MessageTransport>(std::move(reluctant), settings));
      }
    }
    run_on_threads(transports, ending, body);
  }
};

using Worlds = ::testing::Types<ThreadRanks<2>, ThreadRanks<3>, ThreadRanks<5>, ThreadRanks<3, Endpoints::reluctant>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Threads, TransportSuite, Worlds);

/// The errors of all ranks; a rank's transport is destroyed as soon as its body has ended.
std::vector<std::string> errors_of(int ranks, const Body& body) {
  auto transports = make_threads_transports(ranks, patient);
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < transports.size(); ++r) {
    threads.emplace_back([&, r] {
      const std::unique_ptr<Transport> own = std::move(transports[r]);
      try {
        body(*own);
      } catch (const RunError& error) {
        errors[r] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST(ThreadsTransport, AbortEndsEveryWaitWithRankAndReason) {
  const auto before = std::chrono::steady_clock::now();

  const auto errors = errors_of(5, [](Transport& t) {
    if (t.rank() == 1) post_one(t, receive_from(t, 0, 0, {1, 1, 4}))->wait();
    if (t.rank() == 2) t.barrier();
    if (t.rank() == 3) {
      post(t, {send_to(t, 4, 0, content(3, 0, {1, 1, 4}))});
      t.wait_for_sends();
    }
    if (t.rank() == 4) t.receive(3, tied_gradient_header(0, 4, false, at::zeros({3, 2})))->wait();
    if (t.rank() == 0) {
      std::this_thread::sleep_for(50ms);
      t.abort("the disk is full");
    }
  });

  EXPECT_LT(std::chrono::steady_clock::now() - before, patient.timeout) << "not the deadline";
  for (std::size_t r = 1; r < 5; ++r) {
    EXPECT_THAT(errors[r], AllOf(HasSubstr("rank 0 ended the run"), HasSubstr("the disk is full"))) << "rank " << r;
  }
}

TransportSettings with_limit(std::chrono::milliseconds timeout) {
  TransportSettings settings;
  settings.timeout = timeout;
  return settings;
}

TEST(WaitingRanks, AnnounceLongWaits) {
  const auto transports = make_threads_transports(3, with_limit(1s));
  run_on_threads(transports, Ending::broken, [](Transport& t) {
    if (t.rank() == 2) return;  // looks stopped to the others
    Pending id = post_one(t, receive_from(t, t.rank() + 1, 0, {1, 2}));
    if (t.rank() == 0) std::this_thread::sleep_for(20ms);
    try {
      id->wait();
      ADD_FAILURE() << "no rank sends";
    } catch (const DeadlineError& error) {
      const std::string end = "rank 2 has not reported that it waits";
      if (t.rank() == 1) {
        EXPECT_THAT(error.what(), HasSubstr("; " + end));
        EXPECT_THAT(error.waited_for, ElementsAre(2));
      } else {
        EXPECT_THAT(error.what(), HasSubstr("; rank 1 waits for RECV_F microbatch 0 from rank 2, 1x2 float32; " + end));
        EXPECT_THAT(error.waited_for, ElementsAre(1, 2));
      }
    }
  });
}

TEST(WaitingRanks, NameRanksThatWaitForEachOther) {
  const auto transports = make_threads_transports(2, with_limit(1s));
  run_on_threads(transports, Ending::broken, [](Transport& t) {
    Pending id = post_one(t, receive_from(t, 1 - t.rank(), 0, {1, 2}));
    try {
      id->wait();
      ADD_FAILURE() << "no rank sends";
    } catch (const DeadlineError& error) {
      EXPECT_THAT(error.what(), HasSubstr(": they wait for each other"));
      EXPECT_THAT(error.waited_for, ElementsAre(1 - t.rank(), t.rank()));
    }
  });
}

TEST(WaitingRanks, ShowALongWaitAndNoShortOne) {
  const auto transports = make_threads_transports(2, with_limit(60s));
  std::string shown;
  run_on_threads(transports, Ending::clean, [&](Transport& t) {
    if (t.rank() == 1) t.show_long_waits([&](const std::string& words) { shown = words; }, 2s);
    for (const auto pause : {100ms, 3500ms}) {
      if (t.rank() == 0) std::this_thread::sleep_for(pause);
      if (t.rank() == 1 && pause == 3500ms) {
        EXPECT_EQ(shown, "");
      }
      t.barrier();
    }
  });
  EXPECT_THAT(shown,
              ::testing::MatchesRegex("rank 1 waits for rank 0 to take barrier .control message [0-9]+., [23].[0-9] s; "
                                      "rank 0 has not reported that it waits"));
}

TEST(WaitingRanks, ReceiveAStragglersNotesBeforeTheEnd) {
  const auto transports = make_threads_transports(3, with_limit(10s));
  run_on_threads(transports, Ending::clean, [](Transport& t) {
    if (t.rank() == 1) std::this_thread::sleep_for(2500ms);
    t.barrier();
  });
}

TEST(ThreadsTransport, AnEarlyExitReleasesTheOthers) {
  const auto before = std::chrono::steady_clock::now();

  const auto errors = errors_of(3, [](Transport& t) {
    if (t.rank() != 2) t.barrier();
  });

  EXPECT_LT(std::chrono::steady_clock::now() - before, patient.timeout) << "not the deadline";
  EXPECT_THAT(errors[0], HasSubstr("rank 2 ended the run: it ended without finishing"));
  EXPECT_THAT(errors[1], HasSubstr("rank 2 ended the run"));
}

TEST(ThreadsTransport, PropagatesTheCauseOfAFailure) {
  const auto errors = errors_of(2, [](Transport& t) {
    if (t.rank() == 0) post(t, {send_to(t, 1, 9, content(0, 9, {1, 1, 4}))});
    if (t.rank() == 1) post_one(t, receive_from(t, 0, 3, {1, 1, 4}))->wait();
    t.barrier();
  });

  EXPECT_THAT(errors[1], HasSubstr("differ in the microbatch"));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 ended the run"), HasSubstr("differ in the microbatch")));
}

TEST(ThreadsTransport, ASenderMayEndWithAPendingMessage) {
  // The receiver must never read the freed payload (a sanitizer would report it). Whether the sender is gone when the
  // receive is posted is a race: then the receive ends with the reason, else with the payload.
  std::atomic<bool> leaving = false;
  const auto errors = errors_of(2, [&](Transport& t) {
    if (t.rank() == 0) {
      post(t, {send_to(t, 1, 0, content(0, 0, {8, 512, 512}))});
      leaving = true;
    }
    if (t.rank() == 1) {
      while (!leaving) std::this_thread::yield();
      std::this_thread::sleep_for(20ms);
      const at::Tensor got = post_one(t, receive_from(t, 0, 0, {8, 512, 512}))->wait();
      EXPECT_TRUE(at::equal(got, content(0, 0, {8, 512, 512})));
    }
  });

  EXPECT_THAT(errors[1], ::testing::AnyOf(::testing::IsEmpty(), HasSubstr("rank 0 ended the run")));
}

TEST(ThreadsTransport, ReceivedTensorIsNotTheSendersMemory) {
  const void* sent = nullptr;
  const void* received = nullptr;
  const at::Tensor payload = content(0, 0, {1, 3, 4});
  sent = payload.const_data_ptr();

  ThreadRanks<2>::run(patient, Ending::clean, [&](Transport& t) {
    if (t.rank() == 0) post(t, {send_to(t, 1, 0, payload)});
    if (t.rank() == 1) received = post_one(t, receive_from(t, 0, 0, {1, 3, 4}))->wait().const_data_ptr();
    t.wait_for_sends();
  });

  EXPECT_NE(sent, received);
}

TEST(ThreadsTransport, StartUpHasItsOwnLimit) {
  constexpr TransportSettings patient_start{.timeout = 100ms, .start_timeout = 60s, .starting = true};
  ThreadRanks<2>::run(patient_start, Ending::broken, [](Transport& t) {
    if (t.rank() == 1) {
      std::this_thread::sleep_for(300ms);  // loads the larger part
      t.barrier();
      return;
    }
    t.barrier();
    t.enter_steps();
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.gather(""); }),
                HasSubstr("from rank 1, 0.1 s: this exceeds the time limit; if the other rank is only slow, raise "
                          "pipeline.timeout_ms"));
  });
  constexpr TransportSettings hasty_start{.timeout = 60s, .start_timeout = 100ms, .starting = true};
  ThreadRanks<2>::run(hasty_start, Ending::broken, [](Transport& t) {
    if (t.rank() == 1) return;
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.barrier(); }),
                HasSubstr("0.1 s: this exceeds the time limit for start-up; if the other rank is only slow, raise "
                          "pipeline.start_timeout_ms"));
  });
}

TEST(ThreadsTransport, BroadcastsCarryRequests) {
  for (const int requested : {0, 1, 2}) {
    ThreadRanks<3>::run(hasty, Ending::clean, [&](Transport& t) {
      bool now = false;
      t.carry_request([&] { return now; });
      const auto agree = [&] {
        t.gather("");
        t.broadcast("");
        return t.request_carried();
      };
      EXPECT_FALSE(agree());
      now = t.rank() == requested;
      EXPECT_TRUE(agree()) << "rank " << requested << ", seen by rank " << t.rank();
      now = false;
      EXPECT_FALSE(agree()) << "once";
    });
  }
}

TEST(ThreadsTransport, ACheckpointHasItsOwnLimit) {
  constexpr TransportSettings patient_save{.timeout = 100ms, .start_timeout = 100ms, .save_timeout = 60s};
  ThreadRanks<2>::run(patient_save, Ending::clean, [](Transport& t) {
    t.leave_steps();
    if (t.rank() == 0) std::this_thread::sleep_for(300ms);  // writes a checkpoint
    t.broadcast("");
    t.enter_steps();
    t.barrier();
  });
  constexpr TransportSettings hasty_save{.timeout = 60s, .start_timeout = 60s, .save_timeout = 100ms};
  ThreadRanks<2>::run(hasty_save, Ending::broken, [](Transport& t) {
    t.leave_steps();
    if (t.rank() == 1) return;
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.barrier(); }),
                HasSubstr("0.1 s: this exceeds the time limit for a checkpoint; if the other rank is only slow, raise "
                          "checkpoint.timeout_ms"));
  });
}

TEST(ThreadsTransport, OneRankRunsAlone) {
  const auto transports = make_threads_transports(1, hasty);
  Transport& t = *transports.at(0);

  EXPECT_THAT(t.gather("x"), ElementsAre("x"));
  EXPECT_EQ(t.broadcast("y"), "y");
  t.barrier();
  EXPECT_TRUE(post(t, {}).empty());
  t.wait_for_sends();
  EXPECT_TRUE(t.collect_traffic().empty());
  t.finish();
  EXPECT_THROW(t.barrier(), std::logic_error);
}

TEST(ThreadsTransport, RefusesZeroRanks) {
  EXPECT_THROW(make_threads_transports(0, patient), InputError);
}

}  // namespace
}  // namespace plumbline
