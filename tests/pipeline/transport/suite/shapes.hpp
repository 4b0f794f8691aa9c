// SPDX-License-Identifier: BSD-3-Clause
// All kinds of shapes and types, known in advance or not.
#pragma once

#include <ATen/ops/equal.h>

#include <vector>

#include "tests/pipeline/transport/suite/fixture.hpp"

namespace plumbline {

TYPED_TEST_P(TransportSuite, ChangingShapes) {
  this->run([](Transport& t) {
    const std::vector<std::int64_t> lengths = {1, 128, 3, 64, 64, 1, 200, 17};
    for (int m = 0; m < static_cast<int>(lengths.size()); ++m) {
      const std::vector<std::int64_t> shape = {2, lengths[static_cast<std::size_t>(m)], 8};
      at::Tensor carried = content(0, m, shape);
      if (t.rank() > 0) {
        carried = post_one(t, receive_from(t, t.rank() - 1, m, shape))->wait();
        EXPECT_TRUE(at::equal(carried, content(0, m, shape))) << "microbatch " << m;
      }
      if (t.rank() + 1 < t.size()) post(t, {send_to(t, t.rank() + 1, m, carried)});
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, OneTokenOfOneRow) {
  this->run([](Transport& t) {
    if (t.rank() == 0) post(t, {send_to(t, 1, 0, content(0, 0, {1, 1, 1}))});
    if (t.rank() == 1) {
      EXPECT_TRUE(at::equal(post_one(t, receive_from(t, 0, 0, {1, 1, 1}))->wait(), content(0, 0, {1, 1, 1})));
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, SeveralShapesKeepTheirOrder) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      post(t, {send_to(t, 1, 0, content(0, 0, {2, 9, 4})), send_to(t, 1, 1, content(0, 1, {1, 2})),
               send_to(t, 1, 2, content(0, 2, {2, 9, 4})), send_to(t, 1, 3, content(0, 3, {1, 5, 2, 3}))});
    }
    if (t.rank() == 1) {
      auto ids = post(t, {receive_from(t, 0, 0, {2, 9, 4}), receive_from(t, 0, 1, {1, 2}),
                          receive_from(t, 0, 2, {2, 9, 4}), receive_from(t, 0, 3, {1, 5, 2, 3})});
      EXPECT_TRUE(at::equal(ids[3]->wait(), content(0, 3, {1, 5, 2, 3})));
      EXPECT_TRUE(at::equal(ids[2]->wait(), content(0, 2, {2, 9, 4})));
      EXPECT_TRUE(at::equal(ids[1]->wait(), content(0, 1, {1, 2})));
      EXPECT_TRUE(at::equal(ids[0]->wait(), content(0, 0, {2, 9, 4})));
    }
    t.wait_for_sends();
  });
}

TYPED_TEST_P(TransportSuite, OtherDtypes) {
  this->run([](Transport& t) {
    for (const at::ScalarType dtype : {at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
      const at::Tensor payload = content(0, 3, {2, 5, 4}).to(dtype);
      if (t.rank() == 0) post(t, {send_to(t, 1, 3, payload)});
      if (t.rank() == 1) {
        Message receive = receive_from(t, 0, 3, {2, 5, 4});
        receive.header.dtype = static_cast<std::int32_t>(dtype);
        const at::Tensor got = post_one(t, receive)->wait();
        EXPECT_EQ(got.scalar_type(), dtype);
        EXPECT_TRUE(at::equal(got, payload));
      }
    }
    t.wait_for_sends();
  });
}

}  // namespace plumbline
