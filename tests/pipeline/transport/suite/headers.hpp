// SPDX-License-Identifier: BSD-3-Clause
// A header that does not match the receiver's is an error that names both ends.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/direction.hpp"
#include "tests/pipeline/transport/suite/fixture.hpp"

namespace plumbline {

/// One field of the header differs from what the receiver expects.
struct Disagreement {
  std::string field;
  std::function<void(Message&)> alter;
  std::string expected;
  std::string got;
};

inline std::vector<Disagreement> disagreements() {
  return {
      {"microbatch", [](Message& o) { o.header.microbatch = 4; }, "F microbatch 3 of step 2", "F microbatch 4 of"},
      {"step", [](Message& o) { o.header.step = 1; }, "step 2", "step 1"},
      {"stage", [](Message& o) { o.header.from_stage = 7; }, "stage 0 -> 1", "stage 7 -> 1"},
      {"stage", [](Message& o) { o.header.to_stage = 6; }, "stage 0 -> 1", "stage 0 -> 6"},
      {"magic number", [](Message& o) { o.header.magic = 1; }, "expected F", "sent F"},
      {"dtype",
       [](Message& o) {
         o.payload = o.payload.to(at::kBFloat16);
         o.header.dtype = static_cast<std::int32_t>(at::kBFloat16);
       },
       "2x5x4 float32", "2x5x4 bfloat16"},
      {"shape",
       [](Message& o) {
         o.payload = content(0, 3, {2, 4, 4});
         o.header.sizes[1] = 4;
       },
       "2x5x4 float32", "2x4x4 float32"},
      {"shape",  // longer than the buffer: refused by its header, not by the library's truncation
       [](Message& o) {
         o.payload = content(0, 3, {2, 500, 4});
         o.header.sizes[1] = 500;
       },
       "2x5x4 float32", "2x500x4 float32"},
      {"shape",  // as many elements, another shape
       [](Message& o) {
         o.payload = content(0, 3, {5, 2, 4});
         o.header.sizes = {5, 2, 4, 0};
       },
       "2x5x4 float32", "5x2x4 float32"},
  };
}

TYPED_TEST_P(TransportSuite, MismatchedHeaderNamesBothEnds) {
  for (const Disagreement& disagreement : disagreements()) {
    SCOPED_TRACE(disagreement.field + ", got " + disagreement.got);
    this->run_broken(patient, [&](Transport& t) {
      if (t.rank() == 0) {
        Message send = send_to(t, 1, 3, content(0, 3, {2, 5, 4}));
        disagreement.alter(send);
        post(t, {send});
      }
      if (t.rank() == 1) {
        const std::string message = thrown_by<RunError>([&] { post_one(t, receive_from(t, 0, 3, {2, 5, 4}))->wait(); });
        EXPECT_THAT(message,
                    AllOf(HasSubstr("from rank 0 to rank 1"), HasSubstr("differ in the " + disagreement.field + ":")));
        EXPECT_THAT(message, AllOf(HasSubstr(disagreement.expected), HasSubstr(disagreement.got)));
        EXPECT_EQ(message.find("time limit"), std::string::npos);
        // A failed transport stays failed: its channels may be out of step.
        EXPECT_EQ(thrown_by<RunError>([&] { t.barrier(); }), message);
      }
    });
  }
}

TYPED_TEST_P(TransportSuite, FindsSwappedMessagesOfOneEdge) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() == 0)
      post(t, {send_to(t, 1, 1, content(0, 1, {2, 5, 4})), send_to(t, 1, 0, content(0, 0, {2, 5, 4}))});
    if (t.rank() == 1) {
      EXPECT_THAT(thrown_by<RunError>([&] {
                    post(t, {receive_from(t, 0, 0, {2, 5, 4}), receive_from(t, 0, 1, {2, 5, 4})})[1]->wait();
                  }),
                  HasSubstr("microbatch"));
    }
  });
}

TYPED_TEST_P(TransportSuite, RefusesAPayloadThatDoesNotMatchItsHeader) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 0) return;
    Message shorter = send_to(t, 1, 3, content(0, 3, {2, 5, 4}));
    shorter.payload = content(0, 3, {2, 4, 4});
    EXPECT_THAT(
        thrown_by<RunError>([&] { post(t, {shorter}); }),
        AllOf(HasSubstr("rank 0, SEND_F microbatch 3 to rank 1, 2x5x4 float32"), HasSubstr("is 2x4x4 float32")));
  });
}

TYPED_TEST_P(TransportSuite, RefusesAGivenTensorThatDoesNotMatchTheHeader) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 0) return;
    EXPECT_THAT(
        thrown_by<RunError>([&] {
          t.receive(1, receive_from(t, 1, 3, {2, 5, 4}).header, content(0, 3, {2, 4, 4}));
        }),
        AllOf(HasSubstr("rank 0, RECV_F microbatch 3 from rank 1, 2x5x4 float32"), HasSubstr("is 2x4x4 float32")));
  });
}

TYPED_TEST_P(TransportSuite, RefusesAStridedPayload) {
  this->run_broken(patient, [](Transport& t) {
    if (t.rank() != 0) return;
    const Message strided = send_to(t, 1, 3, content(0, 3, {2, 5, 4}).transpose(0, 1));
    EXPECT_THAT(thrown_by<RunError>([&] { post(t, {strided}); }), HasSubstr("not contiguous"));
  });
}

}  // namespace plumbline
