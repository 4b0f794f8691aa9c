// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/replica_group.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "training/memory_meter.hpp"

namespace plumbline {

BucketPart bucket_part(std::int64_t elements, int replica, int replicas) {
  return {elements * replica / replicas, elements * (replica + 1) / replicas};
}

ReplicaGroup::ReplicaGroup(Transport& world, int ranks, at::Device device)
    : world_(world),
      ranks_(ranks),
      rank_(world.rank() % ranks),
      replica_(world.rank() / ranks),
      replicas_(world.world_size() / ranks),
      messages_(world, device) {}

std::vector<ReplicaGroup::Bucket> ReplicaGroup::buckets_of(const TrainState& state) const {
  std::vector<Bucket> buckets;
  std::int64_t room = 0;
  for (const TrainedParameter& parameter : state.parameters) {
    const at::Tensor gradient = parameter.gradient();
    if (!gradient.is_contiguous()) throw std::logic_error("the gradient of " + parameter.name + " is not contiguous");
    const at::Tensor flat = gradient.view({-1});
    for (std::int64_t begin = 0; begin < flat.numel();) {
      if (room == 0) {
        const auto number = static_cast<std::int32_t>(buckets.size());
        buckets.emplace_back().number = number;
        room = bucket_bytes / static_cast<std::int64_t>(flat.element_size());
      }
      const std::int64_t taken = std::min(room, flat.numel() - begin);
      buckets.back().views.push_back(flat.narrow(0, begin, taken));
      buckets.back().size += taken;
      begin += taken;
      room -= taken;
    }
  }
  return buckets;
}

at::Tensor ReplicaGroup::part_of(const Bucket& bucket, int replica) const {
  const BucketPart part = bucket_part(bucket.size, replica, replicas_);
  return bucket.flat.narrow(0, part.begin, part.end - part.begin);
}

void ReplicaGroup::wait_for_sends(Bucket& bucket) {
  for (ReplicaMessages::InProgress& send : bucket.sends) messages_.wait(send);
  bucket.sends.clear();
}

/// Every replica gets its part of this rank's gradients.
void ReplicaGroup::hand_out(Bucket& bucket, const ReplicaMessages::About& about) {
  bucket.flat = bucket.views.size() == 1 ? bucket.views.front() : at::cat(bucket.views);
  const std::int64_t own = part_of(bucket, replica_).numel();
  for (int replica = 0; replica < replicas_; ++replica) {
    if (replica == replica_) continue;
    if (own > 0) {
      bucket.receives.push_back(messages_.receive(peer(replica), about, own, bucket.flat.scalar_type()));
    }
    if (const at::Tensor part = part_of(bucket, replica); part.numel() > 0) {
      bucket.sends.push_back(messages_.send(peer(replica), about, part));
    }
  }
}

/// Adds this rank's part in the order of the replicas, and hands the sum to all.
void ReplicaGroup::add(Bucket& bucket, const ReplicaMessages::About& about) {
  at::Tensor own = part_of(bucket, replica_);
  if (own.numel() > 0) {
    auto received = bucket.receives.begin();
    const auto next = [&](int replica) { return replica == replica_ ? own : messages_.wait(*received++); };
    at::Tensor sum = next(0);
    for (int replica = 1; replica < replicas_; ++replica) {
      const at::Tensor more = next(replica);
      const bool last = replica + 1 == replicas_;
      at::Tensor into = last ? own : sum;
      at::add_out(into, sum, more);
      sum = into;
    }
  }
  bucket.receives.clear();
  wait_for_sends(bucket);  // before what was sent is written over
  for (int replica = 0; replica < replicas_; ++replica) {
    if (replica == replica_) continue;
    if (own.numel() > 0) bucket.sends.push_back(messages_.send(peer(replica), about, own));
    const std::int64_t theirs = part_of(bucket, replica).numel();
    if (theirs > 0) {
      bucket.receives.push_back(messages_.receive(peer(replica), about, theirs, bucket.flat.scalar_type()));
    }
  }
}

/// Takes the sums of the other replicas' parts.
void ReplicaGroup::take(Bucket& bucket) {
  auto received = bucket.receives.begin();
  for (int replica = 0; replica < replicas_; ++replica) {
    at::Tensor part = part_of(bucket, replica);
    if (replica != replica_ && part.numel() > 0) part.copy_(messages_.wait(*received++));
  }
  wait_for_sends(bucket);
  std::int64_t begin = 0;
  for (std::size_t i = 0; bucket.views.size() > 1 && i < bucket.views.size(); ++i) {
    bucket.views[i].copy_(bucket.flat.narrow(0, begin, bucket.views[i].numel()));
    begin += bucket.views[i].numel();
  }
  bucket = {};
}

void ReplicaGroup::sum_gradients(std::int64_t step, std::int32_t stage, const TrainState& state) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::transport);
  std::vector<Bucket> buckets = buckets_of(state);
  const auto about = [&](const Bucket& bucket, bool summed) {
    return ReplicaMessages::About{step, stage, bucket.number, summed};
  };
  // One bucket ahead and one behind, so that messages are on their way while gradients are added.
  for (std::size_t i = 0; i <= buckets.size(); ++i) {
    if (i == 0 && !buckets.empty()) hand_out(buckets[0], about(buckets[0], false));
    if (i + 1 < buckets.size()) hand_out(buckets[i + 1], about(buckets[i + 1], false));
    if (i < buckets.size()) add(buckets[i], about(buckets[i], true));
    if (i > 0) take(buckets[i - 1]);
  }
}

std::vector<float> ReplicaGroup::gather(std::int64_t step, std::int32_t stage, const std::vector<float>& own) {
  const at::NoGradGuard no_grad;
  const MemoryScope scope(MemoryOwner::transport);
  const auto count = static_cast<std::int64_t>(own.size());
  const ReplicaMessages::About about{step, stage, -1, true};
  const at::Tensor sent = at::from_blob(const_cast<float*>(own.data()), {count}, at::kFloat)
                              .to(messages_.device(), at::kFloat, false, true);
  std::vector<ReplicaMessages::InProgress> sends, receives;
  for (int replica = 0; replica < replicas_; ++replica) {
    if (replica == replica_) continue;
    receives.push_back(messages_.receive(peer(replica), about, count, at::kFloat));
    sends.push_back(messages_.send(peer(replica), about, sent));
  }
  std::vector<at::Tensor> values;
  auto received = receives.begin();
  for (int replica = 0; replica < replicas_; ++replica) {
    values.push_back(replica == replica_ ? sent : messages_.wait(*received++));
  }
  for (ReplicaMessages::InProgress& send : sends) messages_.wait(send);
  world_.wait_for_payloads();
  std::vector<float> all;
  for (const at::Tensor& each : values) {
    const at::Tensor on_host = each.to(at::kCPU);
    all.insert(all.end(), on_host.const_data_ptr<float>(), on_host.const_data_ptr<float>() + count);
  }
  return all;
}

}  // namespace plumbline
