// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/replica_sum.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "training/memory_meter.hpp"

namespace plumbline {

BucketPart bucket_part(std::int64_t elements, int replica, int replicas) {
  return {elements * replica / replicas, elements * (replica + 1) / replicas};
}

MessageHeader ReplicaSum::header_of(const About& about, std::int64_t elements, at::ScalarType dtype) {
  MessageHeader header;
  header.direction = about.summed ? Direction::backward : Direction::forward;
  header.from_stage = about.stage;
  header.to_stage = about.stage;
  header.step = about.step;
  header.microbatch = about.bucket;
  header.dtype = static_cast<std::int32_t>(dtype);
  header.dimensions = 1;
  header.sizes = {elements, 0, 0, 0};
  return header;
}

ReplicaSum::InProgress ReplicaSum::send(int replica, const About& about, at::Tensor tensor) {
  const MessageHeader header = header_of(about, tensor.numel(), tensor.scalar_type());
  return {group_.send(replica, header, std::move(tensor)), replica};
}

ReplicaSum::InProgress ReplicaSum::receive(int replica, const About& about, std::int64_t elements, at::ScalarType dtype,
                                           at::Tensor into) {
  return {group_.receive(replica, header_of(about, elements, dtype), std::move(into)), replica};
}

at::Tensor ReplicaSum::wait(InProgress& message) {
  if (message.pending->test()) return message.pending->wait();
  if (waits_for_) waits_for_(group_.in_world(message.replica));
  at::Tensor received = message.pending->wait();
  if (waits_for_) waits_for_(-1);
  return received;
}

at::Tensor ReplicaSum::part_of(const Bucket& bucket, int replica) const {
  const BucketPart part = bucket_part(bucket.flat.numel(), replica, group_.size());
  return bucket.flat.narrow(0, part.begin, part.end - part.begin);
}

void ReplicaSum::wait_for_sends(Bucket& bucket) {
  for (InProgress& send : bucket.sends) wait(send);
  bucket.sends.clear();
}

/// Every replica gets its part of this rank's gradients.
void ReplicaSum::hand_out(Bucket& bucket) {
  const std::int64_t own = part_of(bucket, group_.rank()).numel();
  for (int replica = 0; replica < group_.size(); ++replica) {
    if (replica == group_.rank()) continue;
    if (own > 0) {
      bucket.receives.push_back(receive(replica, bucket.about, own, bucket.flat.scalar_type()));
    }
    if (const at::Tensor part = part_of(bucket, replica); part.numel() > 0) {
      bucket.sends.push_back(send(replica, bucket.about, part));
    }
  }
  group_.world().end_batch();
}

/// Adds this rank's part in the order of the replicas, and hands the sum to all.
void ReplicaSum::add(Bucket& bucket) {
  at::Tensor own = part_of(bucket, group_.rank());
  if (own.numel() > 0) {
    auto received = bucket.receives.begin();
    const auto next = [&](int replica) { return replica == group_.rank() ? own : wait(*received++); };
    at::Tensor sum = next(0);
    for (int replica = 1; replica < group_.size(); ++replica) {
      const at::Tensor more = next(replica);
      const bool last = replica + 1 == group_.size();
      at::Tensor into = last ? own : sum;
      at::add_out(into, sum, more);
      sum = into;
    }
  }
  bucket.receives.clear();
  wait_for_sends(bucket);  // before what was sent is written over
  bucket.about.summed = true;
  for (int replica = 0; replica < group_.size(); ++replica) {
    if (replica == group_.rank()) continue;
    if (own.numel() > 0) bucket.sends.push_back(send(replica, bucket.about, own));
    if (const at::Tensor theirs = part_of(bucket, replica); theirs.numel() > 0) {
      bucket.receives.push_back(receive(replica, bucket.about, theirs.numel(), theirs.scalar_type(), theirs));
    }
  }
  group_.world().end_batch();
}

/// Waits for the sums of the other replicas' parts.
void ReplicaSum::take(Bucket& bucket) {
  for (InProgress& receive : bucket.receives) wait(receive);
  wait_for_sends(bucket);
  bucket.receives.clear();
}

void ReplicaSum::start(std::int64_t step, std::int64_t stage, const TrainState& state) {
  TrainState of_stage;
  std::ranges::copy_if(state.parameters, std::back_inserter(of_stage.parameters),
                       [&](const TrainedParameter& each) { return each.stage == stage; });
  for (const at::Tensor& run : gradient_runs(of_stage)) {
    for (const at::Tensor& flat : run.split(most_bytes_ / static_cast<std::int64_t>(run.element_size()))) {
      const About about{step, static_cast<std::int32_t>(stage), static_cast<std::int32_t>(buckets_.size())};
      const std::int64_t begin = buckets_.empty() ? 0 : buckets_.back().end;
      buckets_.push_back({about, flat, begin, begin + static_cast<std::int64_t>(flat.nbytes())});
    }
  }
  progress();
}

void ReplicaSum::advance(bool blocks) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::transport);
  const auto can_end = [&](Bucket& bucket) {
    const auto ended = [](InProgress& each) { return each.pending->test(); };
    return blocks || (std::ranges::all_of(bucket.receives, ended) && std::ranges::all_of(bucket.sends, ended));
  };
  // Buckets ahead and behind, so that messages are on their way while gradients are added.
  for (; added_ < buckets_.size(); ++added_) {
    Bucket& next = buckets_[added_];
    const auto is_full = [&] { return next.begin - buckets_[taken_].begin > most_bytes_; };
    for (; is_full() && can_end(buckets_[taken_]); ++taken_) take(buckets_[taken_]);
    if (is_full()) return;
    for (; handed_out_ < buckets_.size() &&
           (handed_out_ <= added_ || buckets_[handed_out_].begin - next.end < most_bytes_);
         ++handed_out_) {
      hand_out(buckets_[handed_out_]);
    }
    if (!can_end(next)) return;
    add(next);
  }
  for (; taken_ < added_ && can_end(buckets_[taken_]); ++taken_) take(buckets_[taken_]);
}

void ReplicaSum::finish() {
  advance(true);
  buckets_.clear();
  handed_out_ = added_ = taken_ = 0;
  group_.world().wait_for_payloads();  // the caller reads the sums on the host, where no deadline ends a wait for them
}

std::vector<float> ReplicaSum::gather(std::int64_t step, std::int32_t stage, const std::vector<float>& own) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::transport);
  const auto count = static_cast<std::int64_t>(own.size());
  const About about{step, stage, -1, true};
  const at::Tensor sent =
      at::from_blob(const_cast<float*>(own.data()), {count}, at::kFloat).to(device_, at::kFloat, false, true);
  std::vector<InProgress> sends, receives;
  for (int replica = 0; replica < group_.size(); ++replica) {
    if (replica == group_.rank()) continue;
    receives.push_back(receive(replica, about, count, at::kFloat));
    sends.push_back(send(replica, about, sent));
  }
  std::vector<at::Tensor> values;
  auto received = receives.begin();
  for (int replica = 0; replica < group_.size(); ++replica) {
    values.push_back(replica == group_.rank() ? sent : wait(*received++));
  }
  for (InProgress& send : sends) wait(send);
  group_.world().wait_for_payloads();
  std::vector<float> all;
  for (const at::Tensor& each : values) {
    const at::Tensor on_host = each.to(at::kCPU);
    all.insert(all.end(), on_host.const_data_ptr<float>(), on_host.const_data_ptr<float>() + count);
  }
  return all;
}

}  // namespace plumbline
