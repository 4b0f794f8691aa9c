// SPDX-License-Identifier: BSD-3-Clause
// Sent tensors and receive buffers live as long as necessary, and count as the transport's memory.
#pragma once

#include <ATen/ops/count_nonzero.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <thread>

#include "tests/pipeline/transport/suite/fixture.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

// A send must not complete before its receive is posted, so that a test cannot pass only because a transport buffers.
TYPED_TEST_P(TransportSuite, SendCompletesOnlyWhenReceived) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      Pending id = post_one(t, send_to(t, 1, 0, content(0, 0, {1, 1, 1})));
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(id->test());
      t.barrier();
      t.wait_for_sends();
      EXPECT_TRUE(id->test());
    } else {
      t.barrier();
      if (t.rank() == 1) post_one(t, receive_from(t, 0, 0, {1, 1, 1}))->wait();
    }
  });
}

TYPED_TEST_P(TransportSuite, SentTensorIsKeptUntilReceived) {
  this->run([](Transport& t) {
    if (t.rank() == 0) {
      at::Tensor payload = content(0, 0, {4, 16, 8});
      const c10::weak_intrusive_ptr<c10::TensorImpl> kept(payload.getIntrusivePtr());
      post(t, {send_to(t, 1, 0, payload)});
      payload.reset();
      EXPECT_FALSE(kept.expired());
      t.barrier();
      t.wait_for_sends();
      EXPECT_TRUE(kept.expired());
    } else {
      t.barrier();
      if (t.rank() == 1) {
        EXPECT_TRUE(at::equal(post_one(t, receive_from(t, 0, 0, {4, 16, 8}))->wait(), content(0, 0, {4, 16, 8})));
      }
    }
  });
}

TYPED_TEST_P(TransportSuite, ReceiveBufferCountsAsTransportMemory) {
  install_memory_meter();
  this->run([](Transport& t) {
    new_memory_meter().attach();
    const MemoryScope scope(MemoryOwner::activations);
    constexpr std::int64_t bytes = 4 * 16 * 8 * 4;
    if (t.rank() == 1) {
      Pending id = post_one(t, receive_from(t, 0, 0, {4, 16, 8}));
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).live, bytes);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::activations).live, 0);
      t.barrier();
      at::Tensor got = id->wait();
      EXPECT_EQ(storage_bytes(got), bytes);
      got.reset();
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).live, 0);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).peak, bytes);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::activations).peak, 0);
    } else {
      t.barrier();
      if (t.rank() == 0) post(t, {send_to(t, 1, 0, content(0, 0, {4, 16, 8}))});
      t.wait_for_sends();
    }
  });
}

TYPED_TEST_P(TransportSuite, ReceivesIntoAGivenTensor) {
  install_memory_meter();
  this->run([](Transport& t) {
    new_memory_meter().attach();
    if (t.rank() == 1) {
      const at::Tensor whole = at::zeros({3, 5, 4});
      const at::Tensor into = whole.narrow(0, 1, 2);
      Pending id = t.receive(0, receive_from(t, 0, 0, {2, 5, 4}).header, into);
      const at::Tensor got = id->wait();
      t.wait_for_payloads();
      EXPECT_EQ(got.const_data_ptr(), into.const_data_ptr());
      EXPECT_TRUE(at::equal(into, content(0, 0, {2, 5, 4})));
      EXPECT_EQ(whole[0].count_nonzero().item<std::int64_t>(), 0);
      EXPECT_EQ(this_thread_meter().count(MemoryOwner::transport).peak, 0);
    } else if (t.rank() == 0) {
      post(t, {send_to(t, 1, 0, content(0, 0, {2, 5, 4}))});
      t.wait_for_sends();
    }
  });
}

}  // namespace plumbline
