// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/message.hpp"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <functional>
#include <utility>
#include <vector>

#include "support/error.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

/// Microbatch 3 of step 2, from stage 0 to stage 1.
MessageEnd one_message(bool sends) {
  MessageEnd end{sends, sends ? 1 : 0, {}};
  end.header.to_stage = 1;
  end.header.step = 2;
  end.header.microbatch = 3;
  end.header.dtype = static_cast<std::int32_t>(at::kFloat);
  end.header.dimensions = 3;
  end.header.sizes = {2, 5, 8, 0};
  end.header.sequence = 4;
  return end;
}

std::string refusal_of(const std::function<void()>& use) {
  try {
    use();
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(Message, NamesWhatReplicasExchange) {
  MessageEnd end = one_message(true);
  EXPECT_EQ(describe(end), "SEND_F microbatch 3 to rank 1, 2x5x8 float32");
  end.header.from_stage = end.header.to_stage;
  EXPECT_EQ(describe(end), "SEND gradient bucket 3 to rank 1, 2x5x8 float32");
  end.sends = false;
  end.header.direction = Direction::backward;
  EXPECT_EQ(describe(end), "RECV summed gradient bucket 3 from rank 1, 2x5x8 float32");
  MessageHeader other = end.header;
  ++other.step;
  EXPECT_THAT(refusal_of([&] { check_header(1, end, other); }),
              HasSubstr("sent summed gradient bucket 3 of step 3, stage 1, 2x5x8 float32"));
  end.header.microbatch = -1;
  EXPECT_EQ(describe(end), "RECV values of replicas from rank 1, 2x5x8 float32");
}

TEST(Message, ChecksEachFieldOfTheHeader) {
  const MessageEnd receive = one_message(false);
  const std::vector<std::pair<std::string, void (*)(MessageHeader&)>> changes{
      {"magic number", [](MessageHeader& header) { ++header.magic; }},
      {"direction", [](MessageHeader& header) { header.direction = Direction::backward; }},
      {"step", [](MessageHeader& header) { ++header.step; }},
      {"microbatch", [](MessageHeader& header) { ++header.microbatch; }},
      {"stage", [](MessageHeader& header) { ++header.from_stage; }},
      {"stage", [](MessageHeader& header) { ++header.to_stage; }},
      {"dtype", [](MessageHeader& header) { header.dtype = static_cast<std::int32_t>(at::kDouble); }},
      {"shape", [](MessageHeader& header) { header.dimensions = 2; }},
      {"shape", [](MessageHeader& header) { ++header.sizes[1]; }},
      {"sequence number", [](MessageHeader& header) { ++header.sequence; }}};
  for (const auto& [field, change] : changes) {
    MessageHeader got = receive.header;
    change(got);
    EXPECT_THAT(refusal_of([&] { check_header(1, receive, got); }), HasSubstr("they differ in the " + field + ":"));
  }
  EXPECT_EQ(refusal_of([&] { check_header(1, receive, receive.header); }), "");
}

TEST(Message, APayloadMatchesItsHeader) {
  const auto refusal = [](const at::Tensor& payload) {
    return refusal_of([&] { check_payload(0, one_message(true), payload); });
  };

  EXPECT_EQ(refusal(at::zeros({2, 5, 8})), "");
  EXPECT_THAT(refusal({}), HasSubstr("is missing"));
  EXPECT_THAT(refusal(at::zeros({5, 2, 8}).transpose(0, 1)), HasSubstr("is not contiguous"));
  EXPECT_THAT(refusal(at::zeros({2, 4, 8})), HasSubstr("is 2x4x8 float32, not what its header says"));
  EXPECT_THAT(refusal(at::zeros({2, 5, 8}, at::kDouble)), HasSubstr("is 2x5x8 float64, not what its header says"));
}

TEST(Message, RefusesInvalidBufferSizes) {
  const auto refusal = [](std::int32_t dimensions, std::int64_t size) {
    MessageHeader header = one_message(false).header;
    header.dimensions = dimensions;
    header.sizes[0] = size;
    return refusal_of([&] { allocate_buffer(1, header); });
  };

  EXPECT_EQ(refusal(3, 2), "");
  EXPECT_THAT(refusal(0, 2), HasSubstr("it has 0 dimensions, 1 to 4 are possible"));
  EXPECT_THAT(refusal(5, 2), HasSubstr("it has 5 dimensions, 1 to 4 are possible"));
  EXPECT_THAT(refusal(3, -1), HasSubstr("impossible sizes"));
  EXPECT_THAT(refusal(3, std::int64_t{1} << 62), HasSubstr("impossible sizes"));
  EXPECT_THAT(refusal(3, std::int64_t{1} << 52), HasSubstr("allocate memory")) << "more than an address space";
}

}  // namespace
}  // namespace plumbline
