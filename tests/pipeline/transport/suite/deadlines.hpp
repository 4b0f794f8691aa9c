// SPDX-License-Identifier: BSD-3-Clause
// When a deadline passes, the error names the missing message; a slow message arrives. And invalid uses of a transport.
#pragma once

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <string>
#include <thread>

#include "pipeline/transport/message.hpp"
#include "schedule/direction.hpp"
#include "tests/pipeline/transport/suite/fixture.hpp"

namespace plumbline {

TYPED_TEST_P(TransportSuite, DeadlineNamesAnUnansweredReceive) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 1) return;
    Pending id = post_one(t, receive_from(t, 0, 3, {64, 128, 512}));
    const auto before = std::chrono::steady_clock::now();
    const std::string message = thrown_by<DeadlineError>([&] { id->wait(); });
    const auto waited = std::chrono::steady_clock::now() - before;
    EXPECT_THAT(message, HasSubstr("rank 1 waits for RECV_F microbatch 3 from rank 0, 64x128x512 float32, 0.1 s"));
    EXPECT_GE(waited, hasty.timeout);
  });
}

TYPED_TEST_P(TransportSuite, DeadlineNamesAnUnreceivedSend) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 0) return;
    post(t, {send_to(t, 1, 2, content(0, 2, {1, 2, 4}, Direction::backward), Direction::backward)});
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.wait_for_sends(); }),
                HasSubstr("rank 0 waits for SEND_B microbatch 2 to rank 1, 1x2x4 float32"));
  });
}

TYPED_TEST_P(TransportSuite, DeadlineOfControlCallsNamesCallAndRank) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() == 1) return;
    const std::string message = thrown_by<DeadlineError>([&] {
      t.gather("here");
      t.barrier();
    });
    if (t.rank() == 0) {
      EXPECT_THAT(message, ContainsRegex(R"(rank 0 waits for gather \(control message [01]\) from rank 1, 0\.1 s)"));
    }
    if (t.rank() == 2) {
      EXPECT_THAT(message, HasSubstr("rank 2 waits for"));
    }
  });
}

TYPED_TEST_P(TransportSuite, DeadlineOfATiedGradientNamesTheRank) {
  this->run_broken(hasty, [](Transport& t) {
    if (t.rank() != 1) return;
    const MessageHeader sum = tied_gradient_header(0, 1, true, at::zeros({3, 2}));
    EXPECT_THAT(thrown_by<DeadlineError>([&] { t.receive(0, sum)->wait(); }),
                HasSubstr("rank 1 waits for RECV summed tied gradient from rank 0, 3x2 float32, 0.1 s"));
  });
}

TYPED_TEST_P(TransportSuite, SlowMessagesAreAccepted) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      std::this_thread::sleep_for(300ms);
      post(t, {send_to(t, 1, 0, content(0, 0, {1, 2, 4}))});
    }
    if (t.rank() == 1) {
      EXPECT_TRUE(at::equal(post_one(t, receive_from(t, 0, 0, {1, 2, 4}))->wait(), content(0, 0, {1, 2, 4})));
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, FinishRefusesPendingOperations) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 1) return;
    post(t, {receive_from(t, 0, 3, {1, 2, 4})});
    EXPECT_THAT(thrown_by<RunError>([&] { t.finish(); }),
                AllOf(HasSubstr("rank 1 ends with 1 operations open"), HasSubstr("RECV_F microbatch 3 from rank 0")));
  });
}

TYPED_TEST_P(TransportSuite, MisuseThrowsALogicError) {
  this->run_broken(patient, [](Transport& t) {
    Message to_itself = send_to(t, t.rank(), 0, content(0, 0, {1, 2, 4}));
    EXPECT_THROW(post(t, {to_itself}), std::logic_error);
    EXPECT_THROW(post(t, {receive_from(t, t.size(), 0, {1, 2, 4})}), std::logic_error);
    if (t.rank() == 0) post(t, {send_to(t, 1, 0, content(0, 0, {1, 2, 4}))});
    if (t.rank() == 1) {
      Pending id = post_one(t, receive_from(t, 0, 0, {1, 2, 4}));
      id->wait();
      EXPECT_THROW(id->wait(), std::logic_error);
    }
    t.wait_for_sends();
  });
}

}  // namespace plumbline
